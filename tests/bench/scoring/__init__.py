"""Scores MCP browser servers on the case pages: what each answered, and what was true in the browser."""
