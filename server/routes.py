"""The plain HTTP routes beside the MCP endpoint."""
