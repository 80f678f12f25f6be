"""The server: the engine as MCP tools over Streamable HTTP, and the loader that feeds it."""
