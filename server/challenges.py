"""Challenges: what whoever has no token that opens anything is told, as RFC 6750 and RFC 9728 word it.

Of a server of many users the challenge leads to the metadata of the resource, and that to the identity provider. Each
answer says in one sentence what to do next, and none waits for the body of its request.
"""

from collections.abc import Mapping
from math import ceil
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.settings import Settings
from server.tokens.authority import ScopeMissing, TokenRefused

WELL_KNOWN = "/.well-known/oauth-protected-resource"
REALM = "tieout"
NOT_STORED = {"Cache-Control": "no-store"}
ANYBODYS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}  # clients in browsers, too
INVALID_TOKEN, INVALID_REQUEST, INSUFFICIENT_SCOPE = "invalid_token", "invalid_request", "insufficient_scope"
PROVIDER_RETRY_SECONDS = 5.0


class Challenges:
    """The answers of one server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def missing(self) -> Response:
        """Return the answer to a request without a token."""
        where = f"one of {self._settings.oidc_issuer}" if self._settings.many_users else "the key that the server made"
        return self._answer(401, f"Send a bearer token in the Authorization header: {where}.")

    def twice(self) -> Response:
        """Return the answer to a request with several tokens."""
        return self._answer(400, "Send one Authorization header, with one bearer token.", INVALID_REQUEST)

    def refused(self, why: TokenRefused) -> Response:
        """Return the answer to a token that opens nothing."""
        if isinstance(why, ScopeMissing):
            return self._answer(403, str(why), INSUFFICIENT_SCOPE)
        return self._answer(401, str(why), INVALID_TOKEN)

    def too_many(self, wait: float) -> Response:
        """Return the answer to one more refused token of an address that sent too many."""
        words = "Too many tokens from this address were refused. Wait, then send a token that is valid."
        return told(429, words, retry_after(wait))

    def unverifiable(self) -> Response:
        """Return the answer while no token can be verified, which is no reason to log in again."""
        words = "The identity provider cannot be reached to verify the token. Send the same request again shortly."
        return told(503, words, retry_after(PROVIDER_RETRY_SECONDS))

    def metadata_routes(self) -> list[Route]:
        """Return where a server of many users tells who issues tokens for it; none for one user."""
        if not self._settings.many_users:
            return []
        metadata = {
            "resource": self._settings.resource,
            "authorization_servers": [self._settings.oidc_issuer],
            "scopes_supported": self._settings.oidc_scope.split(),
            "bearer_methods_supported": ["header"],
            "resource_name": "Tieout",
        }

        async def show(_: Request) -> Response:
            return JSONResponse(metadata, headers=ANYBODYS)

        return [Route(WELL_KNOWN + path, show) for path in ("", urlsplit(self._settings.resource).path)]

    def _answer(self, status: int, words: str, error: str | None = None) -> Response:
        told_more = {"error": error, "error_description": error and words}
        if self._settings.many_users:
            path = urlsplit(self._settings.resource).path
            told_more["resource_metadata"] = f"{self._settings.base_url}{WELL_KNOWN}{path}"
            told_more["scope"] = self._settings.oidc_scope
        return told(status, words, {"WWW-Authenticate": challenge(told_more)})


def challenge(parameters: Mapping[str, str | None]) -> str:
    """Return a challenge with those parameters that have a value."""
    given = {"realm": REALM, **parameters}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)


def retry_after(seconds: float) -> Mapping[str, str]:
    """Return the header that says when to come again."""
    return {"Retry-After": str(max(1, ceil(seconds)))}


def told(status: int, words: str, headers: Mapping[str, str]) -> Response:
    """Return an answer in words."""
    return JSONResponse({"error": words}, status_code=status, headers={**NOT_STORED, **headers})
