"""The playground's pages: there for the one user of this machine, under a policy of their own, and without the key."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp

from server.auth.bearer import KEY_FILE, DevKey, dev_key
from server.base.settings import Settings
from server.http.playground import playground
from server.run.commands.serve import announcement
from server.tools.tool import DIST, PLAYGROUND, way_to_build
from tests.support.machine.programs import missing
from tests.support.service.issuers import issuing
from tests.support.service.servers import KEY, McpBooks, Server
from tests.support.service.users import HOST, serving_many, write_books

BUILT = "<title>Playground</title><style>p{color:red}</style><script type=module>go()</script>"
PAGES = ("/", "/view", "/chart")
CHARTS = "/charts.json"
MAX_BYTES = 48_000  # of the page, without what draws charts
SETTINGS = Settings(port=8768)
ORIGIN = "http://127.0.0.1:8768"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder with a page and a view of charts, as small as they can be."""
    (tmp_path / PLAYGROUND).write_text(BUILT, encoding="utf-8")
    (tmp_path / "chart.html").write_text("<title>Chart</title>", encoding="utf-8")
    return tmp_path


def unprotected(app: ASGIApp) -> ASGIApp:
    """Return an application as it is: the pages ask for no key."""
    return app


def get(folder: Path, path: str, **headers: str) -> httpx2.Response:
    """Return what the routes of a folder answer."""

    async def ask() -> httpx2.Response:
        over = httpx2.ASGITransport(app=Starlette(routes=list(playground(SETTINGS, unprotected, folder))))
        async with httpx2.AsyncClient(transport=over, base_url=ORIGIN) as client:
            return await client.get(path, headers=headers)

    return asyncio.run(ask())


def policy(answer: httpx2.Response) -> Mapping[str, str]:
    """Return the directives of a page's policy."""
    parts = answer.headers["content-security-policy"].split(";")
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in parts)}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_kept_to_itself(built: Path, path: str) -> None:
    answer = get(built, path)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert policy(answer).items() >= {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}.items()
    assert "access-control-allow-origin" not in answer.headers


def test_the_page_runs_the_script_that_was_built_asks_this_server_alone_and_stands_in_no_frame(built: Path) -> None:
    held = policy(get(built, "/"))
    for sort, text in {"script": "go()", "style": "p{color:red}"}.items():
        assert held[f"{sort}-src"] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    assert held["connect-src"] == held["frame-src"] == "'self'"
    assert held["frame-ancestors"] == "'none'"


@pytest.mark.parametrize("path", ["/view", "/chart"])
def test_a_view_has_no_origin_fetches_nothing_and_stands_in_our_page_alone(built: Path, path: str) -> None:
    held = policy(get(built, path))
    assert held["sandbox"] == "allow-scripts"
    assert "connect-src" not in held, "what is not named is default-src, and that is nothing"
    assert held["frame-ancestors"] == "'self'"


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ORIGIN}, 200),
    ],
)
def test_a_page_is_for_its_own_origin(built: Path, path: str, headers: dict[str, str], status: int) -> None:
    answer = get(built, path, **headers)
    assert answer.status_code == status
    assert (BUILT in answer.text) is (path == "/" and status == 200)


def test_without_node_the_page_says_how_it_is_built(tmp_path: Path) -> None:
    answer = get(tmp_path, "/")
    assert (answer.status_code, "make widgets" in answer.text) == (404, True)
    assert answer.headers["content-type"].startswith("text/plain")


def test_the_page_as_it_is_built_is_small_and_no_chart_is_loaded_with_it() -> None:
    if not (DIST / PLAYGROUND).is_file():
        missing("the playground is not built; run: make widgets")
    page = (DIST / PLAYGROUND).read_text(encoding="utf-8")
    assert len(page.encode()) <= MAX_BYTES
    assert "vega.github.io" not in page


def test_many_users_have_no_playground(tmp_path: Path, built: Path) -> None:
    with issuing() as issuer, serving_many(write_books(tmp_path / "books"), issuer.url) as many:
        for path in (*PAGES, CHARTS):
            assert httpx2.get(many.url.removesuffix("/mcp") + path, headers={"Host": HOST}).status_code == 404
    assert playground(Settings(oidc_issuer="https://login.example"), unprotected, built) == []


def test_the_charts_of_an_instance_are_given_for_the_key_alone(demo_server: Server, demo_folder: Path) -> None:
    at = demo_server.url.removesuffix("/mcp") + CHARTS
    for headers in ({}, {"Authorization": "Bearer not-the-key"}):
        refused = httpx2.get(at, headers=headers)
        assert refused.status_code == 401
        assert "charts" not in refused.json()
    given = httpx2.get(at, headers={"Authorization": f"Bearer {KEY}"})
    assert given.json() == json.loads((demo_folder / "charts.json").read_bytes())
    assert given.headers["cache-control"] == "no-store"


def test_an_instance_without_charts_offers_none(small_server: Server) -> None:
    at = small_server.url.removesuffix("/mcp") + CHARTS
    assert httpx2.get(at, headers={"Authorization": f"Bearer {KEY}"}).json() == {"charts": []}


def test_no_page_and_no_log_holds_the_key(small_server: Server, books: McpBooks) -> None:
    books.ask("svc_orientation")
    pages = [httpx2.get(small_server.url.removesuffix("/mcp") + path) for path in PAGES]
    assert pages[1].status_code == 200, "the frame is there, built or not"
    assert not any(KEY in page.text or KEY in str(page.headers) for page in pages)
    assert KEY not in small_server.log.read_text(encoding="utf-8")


def test_views_cannot_call_the_tools_even_with_the_key(small_server: Server) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for origin in ("null", "https://evil.example"):
        headers = {"Authorization": f"Bearer {KEY}", "Origin": origin, "Content-Type": "application/json"}
        called = httpx2.post(small_server.url, headers=headers, json=listing)
        assert called.status_code == 403, origin


def test_what_is_not_printed_to_a_terminal_says_where_the_key_lies(tmp_path: Path) -> None:
    key = dev_key(None, tmp_path)
    told = announcement(Settings(state=tmp_path), "Books", key, printed=False)
    assert key.key not in told
    assert f"\nkey: in {tmp_path / KEY_FILE}; KEY stands for it here\n" in told
    assert '"Authorization": "Bearer KEY"' in told
    assert "\nkey: in MCP_DEV_KEY; " in announcement(Settings(dev_key=key.key), "Books", key, printed=False)
    assert "tokens: https://id.example" in announcement(
        Settings(oidc_issuer="https://id.example"), "Books", None, printed=False
    )


def test_the_log_of_a_service_has_no_key(small_server: Server) -> None:
    announced = small_server.log.with_suffix(".out").read_text(encoding="utf-8")
    assert "KEY stands for it here" in announced
    assert KEY not in announced


def test_what_is_printed_has_the_key_where_browsers_send_it_nowhere() -> None:
    told = announcement(SETTINGS, "Books", DevKey("a/b+c" * 8))
    (printed,) = re.findall(r"^playground: (.+)$", told, re.MULTILINE)
    if (DIST / PLAYGROUND).is_file():
        assert printed == f"{ORIGIN}/#key={'a%2Fb%2Bc' * 8}"
    else:
        assert printed == f"not built: {way_to_build()}"


def test_what_to_do_where_it_is_not_built_is_said_of_a_checkout_and_of_a_wheel(tmp_path: Path) -> None:
    assert "make widgets" in way_to_build()
    assert way_to_build(tmp_path / "dist") == "install a wheel that was built where Node is"
