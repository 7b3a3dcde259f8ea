"""Another MCP server behind ours: its process, its way to the browser, and one conversation with the client for both."""
