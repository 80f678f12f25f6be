"""The playground: a page at `/` on which the one user of this machine calls the tools of the same /mcp as any client.

The page holds the key. The widgets that show results run in a sandboxed frame without an origin; the frame's own
response headers set the sandbox. A widget cannot reach the page or its storage and cannot fetch anything, and /mcp
refuses the origin `null`.
"""

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from server.base.settings import Settings
from server.tools.tool import DIST, PLAYGROUND, way_to_build

INLINE = re.compile(r"<(script|style)[^>]*>(.*?)</\1>", re.DOTALL)
FRAME = """<!doctype html>
<meta charset="utf-8">
<title>View</title>
<script>
addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.method !== "ui/notifications/sandbox-resource-ready") return;
  document.open();
  document.write(data.params.html);
  document.close();
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script>
"""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
NOWHERE = "default-src 'none'; base-uri 'none'; form-action 'none'"
# a widget runs what stands in it, in a frame of ours, without an origin
IN_A_FRAME = (
    f"sandbox allow-scripts; {NOWHERE}; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'"
)


class Page(Struct, frozen=True):
    """One page and its content security policy."""

    text: str
    policy: str

    @property
    def headers(self) -> Mapping[str, str]:
        """The response headers of the page."""
        return {**HEADERS, "Content-Security-Policy": self.policy}


def playground(settings: Settings, protect: Callable[[ASGIApp], ASGIApp], folder: Path = DIST) -> Sequence[Route]:
    """Return the routes of the playground; none with many users.

    `protect` returns an application that answers only requests with the key. It guards the charts of the instance; the
    pages are the same for every instance.
    """
    if settings.many_users:
        return []
    charts = Route("/charts.json", protect(chart_examples(settings.instance)), methods=["GET"])
    pages = {"/": own_page(folder), "/view": Page(FRAME, IN_A_FRAME), "/chart": chart_page(folder)}
    return [charts, *(Route(path, serve_page(page, settings), methods=["GET"]) for path, page in pages.items())]


def chart_examples(instance: Path) -> Response:
    """Return the charts that an instance offers, from its charts.json; no charts where it has no such file."""
    path = instance / "charts.json"
    charts = path.read_bytes() if path.is_file() else b'{"charts": []}'
    return Response(charts, media_type="application/json", headers=HEADERS)


def own_page(folder: Path) -> Page | None:
    """Return the playground page; its policy allows only this server and the script that was built."""
    if not (folder / PLAYGROUND).is_file():
        return None
    text = (folder / PLAYGROUND).read_text(encoding="utf-8")
    inline = " ".join(f"{kind}-src {hashes};" for kind, hashes in inline_hashes(text).items())
    policy = f"{NOWHERE}; {inline} connect-src 'self'; frame-src 'self'; img-src data:; frame-ancestors 'none'"
    return Page(text, f"{policy}; require-trusted-types-for 'script'; trusted-types 'none'")


def chart_page(folder: Path) -> Page | None:
    """Return the view of charts, which the playground shows in a frame as it does widgets."""
    built = folder / "chart.html"
    return Page(built.read_text(encoding="utf-8"), IN_A_FRAME) if built.is_file() else None


def inline_hashes(text: str) -> Mapping[str, str]:
    """Return the hashes of a page's scripts and styles in the syntax of a content security policy."""
    parts = INLINE.findall(text)
    return {
        sort: " ".join(f"'sha256-{digest(part)}'" for kind, part in parts if kind == sort)
        for sort in ("script", "style")
    }


def digest(text: str) -> str:
    """Return the SHA-256 of a text in base64."""
    return b64encode(sha256(text.encode()).digest()).decode()


def serve_page(page: Page | None, settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that serves a page to its own origin."""

    async def answer(request: Request) -> Response:
        if request.headers.get("origin", settings.origins[0]) not in settings.origins:
            return PlainTextResponse("Invalid Origin header\n", 403, HEADERS)
        if page is None:
            return PlainTextResponse(f"The playground is not built: {way_to_build()}.\n", 404, HEADERS)
        return HTMLResponse(page.text, headers=page.headers)

    return answer
