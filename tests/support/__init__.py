"""Harness of the tests that drive real processes: stack, MCP clients, independent truth, page server."""
