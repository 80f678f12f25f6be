"""The server before clients that were not written for it: the MCP conformance suite and the MCP Inspector."""
