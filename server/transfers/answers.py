"""What a link answers that neither gives nor takes a file."""

from starlette.responses import JSONResponse

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
}


def refused(status: int, words: str, **headers: str) -> JSONResponse:
    """Return the answer of a link that gives and takes nothing."""
    return JSONResponse({"error": words}, status_code=status, headers={**HEADERS, **headers})
