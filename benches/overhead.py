"""The server around a trivial tool, beside a bare Starlette route that answers the same bytes.

Both run in processes of their own under uvicorn; one connection asks each in turns. What is between them is the MCP
protocol, authentication, dispatch to a thread, and the two copies of the result.
"""

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benches.books import demo_books
from benches.timing import in_turns, report
from tests.support.service.servers import KEY, SERVE, free_port, serving, wait_until_healthy

ROUNDS = 2001
SMALL = 150_000
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_dimensions", "arguments": {}}}
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


def bare(port: int, body: bytes) -> None:
    """Serve one route that reads the request and answers some bytes."""

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    async def health(_: Request) -> Response:
        return Response()

    routes = [Route("/mcp", answer, methods=["POST"]), Route("/health", health)]
    uvicorn.run(Starlette(routes=routes), port=port, http="h11", log_level="warning")


def main(_: int) -> None:
    """Run the bench; the books are small, for the tool reads no facts."""
    books = demo_books(SMALL)
    port = free_port()
    with serving(books.instance, books.state, command=SERVE) as server, httpx2.Client(headers=HEADERS) as client:
        body = client.post(server.url, json=CALL).raise_for_status().content
        if json.loads(body)["result"]["isError"]:
            raise SystemExit(body.decode())
        start = f"from benches.overhead import bare; bare({port}, {body!r})"
        log = Path(books.state, "bare.log")
        with log.open("w") as sink:
            process = subprocess.Popen([sys.executable, "-c", start], stdout=sink, stderr=sink, text=True)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}/health", process, log)
            url = f"http://127.0.0.1:{port}/mcp"
            times = in_turns(
                {
                    "bare Starlette route, same bytes": lambda: client.post(url, json=CALL).content,
                    "Tieout list_dimensions": lambda: client.post(server.url, json=CALL).content,
                },
                ROUNDS,
            )
        finally:
            process.terminate()
            process.wait()
    print(f"{len(body):,} bytes, one connection, {ROUNDS} calls each")
    report(times, "bare Starlette route, same bytes")
