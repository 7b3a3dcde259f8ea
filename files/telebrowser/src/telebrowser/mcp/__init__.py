"""The MCP server: tool definitions and the endpoint that serves them."""
