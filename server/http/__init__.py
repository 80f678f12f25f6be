"""The HTTP service: the ASGI application, the MCP endpoint and the transfer routes."""
