"""The MCP endpoint: the SDK comes in, requests and answers go out."""
