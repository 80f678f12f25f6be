"""Charts that are not drawn, as a model reads it; and what nobody reaches by way of a chart."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server.stores.memory import new_reference
from tests.integration.server.test_downloads import FINANCE, NORTH, ask, here
from tests.integration.server.test_stores_down import store_of
from tests.support.answers.chart_cases import ACTUAL, BY_MONTH, drawn
from tests.support.books.loads import ROOT
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.operations import readyz
from tests.support.service.pauses import paused
from tests.support.service.servers import KEY, McpBooks, Server, connected, serving, wait_for
from tests.support.service.users import HOST, PROFILES, serving_many, write_books
from tests.unit.sandbox.trap import CANARY, FOLDER

TOOL = "eval_chart_transform"
BAR = {"chart_type": "bar", "title": "A chart", "x": "period", "y": "value", "series": "alias"}
PLAIN = {"chart_type": "bar", "title": "A chart", "x": "label", "y": "value"}
MONEY = "result = df.filter(pl.col('unit') == 'USD')"
MEMBERS = "result = df.filter(pl.col('period').is_not_null())"
REPORT = {"statement": "pnl", "scenarios": [ACTUAL], "period_start": "2021-01"}
OF_THE_SERVICE = "SBX-SERVICE-ENVIRONMENT-77"
ATTACKS = [
    case
    for case in json.loads((ROOT / "tests/unit/sandbox/cases/attacks.json").read_text(encoding="utf-8"))
    if case["expected"] != "bounded"
]


@pytest.fixture(scope="module")
def reference(demo_server: Server) -> str:
    """A result of the demo."""
    with connected(demo_server.url, "auto") as books:
        return str(books.ask("run_metric", **BY_MONTH)["data_ref"])


def refused(books: McpBooks, **asked: Any) -> dict[str, Any]:
    """Ask for a chart, which must be refused."""
    called = books.call(TOOL, **{"transform_code": MEMBERS, "chart_spec": BAR} | asked)
    assert called.is_error, called.result
    return called.result


@pytest.mark.parametrize(
    ("code", "error_type", "words"),
    [
        ("import os", "transform_refused", ("line 1: os cannot be imported", "a script may import polars")),
        ("x = 1\nopen('/etc/passwd')", "transform_failed", ("line 2", "a script opens no files")),
        ("pl.read_csv('x')", "transform_refused", ("polars.read_csv is not available", "its data is df and frames")),
        ("df.__class__", "transform_refused", ("line 1", "__class__")),
        ("class A: pass", "transform_refused", ("line 1: there are no classes", "use functions")),
        ("result = df.sort('perod')", "transform_failed", ("line 1", 'unable to find column "perod"')),
        (
            "print('so far')\nresult = 1 / 0",
            "transform_failed",
            ("line 2: ZeroDivisionError", "It had printed: so far"),
        ),
        ("result = np.zeros(3)", "transform_failed", ("numpy is not here: use polars expressions",)),
        ("x = df", "transform_failed", ("leaves no result: leave a polars DataFrame",)),
        ("result = [1, 2]", "transform_failed", ("leave a list of dicts",)),
        ("result = (", "transform_refused", ("line 1", "'(' was never closed")),
        ("result = [{'i': i} for i in range(5001)]", "transform_limit", ("5,001 rows, 5,000 are the most: aggregate",)),
        ("result = 'x' * 10**12", "transform_limit", ("memory",)),
        ("while True: pass", "transform_limit", ("exceeded its time limit",)),
        ("#" * 40_000, "transform_refused", ("40,000 bytes, 32,768 are the most: shorten it",)),
    ],
    ids=lambda part: part[:30] if isinstance(part, str) else "",
)
def test_a_script_that_leaves_no_table_tells_line_cause_and_what_to_use(
    demo: McpBooks, reference: str, code: str, error_type: str, words: tuple[str, ...]
) -> None:
    error = refused(demo, data_refs=[reference], transform_code=code)
    assert (error["error_type"], error["field"], "retryable" in error) == (error_type, "transform_code", False)
    assert all(part in error["error"] for part in words), error["error"]
    if error_type == "transform_failed":
        assert error["valid"][:3] == ["metric", "label", "line_order"]


@pytest.mark.parametrize(
    ("asked", "error_type", "field", "words"),
    [
        ({"data_refs": []}, "bad_arguments", "data_refs", "takes 1 to 8 references"),
        ({"data_refs": [new_reference()] * 9}, "bad_arguments", "data_refs", "9 were given"),
        ({"data_refs": new_reference()}, "bad_arguments", "data_refs", "takes a list, not text"),
        ({"data_refs": ["../../etc/passwd"]}, "expired_reference", "data_refs.0", "Run the report again"),
        ({"transform_code": 5}, "bad_arguments", "transform_code", "takes text"),
        ({"chart_spec": "bar"}, "bad_arguments", "chart_spec", "takes an object"),
        (
            {"chart_spec": {**BAR, "chart_type": "bars"}},
            "bad_arguments",
            "chart_spec.chart_type",
            "Did you mean 'bar'?",
        ),
        ({"chart_spec": {**BAR, "styles": {"A": "plans"}}}, "bad_arguments", "chart_spec.styles.A", "mean 'plan'?"),
        ({"chart_spec": {**BAR, "colour": "red"}}, "bad_arguments", "chart_spec.colour", "no argument"),
        ({"chart_spec": {"chart_type": "bar"}}, "bad_arguments", "chart_spec.title", "is missing"),
        ({"chart_spec": {**BAR, "x": "perod"}}, "chart_invalid", "chart_spec.x", "no column 'perod'"),
        ({"chart_spec": {**BAR, "url": "x"}}, "bad_arguments", "chart_spec.url", "no argument"),
        ({"out": "x"}, "bad_arguments", "out", "no argument"),
    ],
)
def test_what_is_asked_amiss_is_named_with_what_would_do(
    demo: McpBooks, reference: str, asked: Mapping[str, Any], error_type: str, field: str, words: str
) -> None:
    error = refused(demo, **{"data_refs": [reference], **asked})
    assert (error["error_type"], error["field"]) == (error_type, field)
    assert words in error["error"]
    if field == "data_refs":
        sent = asked[field]
        assert error["example"] == {"data_refs": [sent] if isinstance(sent, str) else ["ds_…"]}


def test_of_several_references_the_one_that_expired_is_named(demo: McpBooks, reference: str) -> None:
    gone = new_reference()
    error = refused(demo, data_refs=[reference, gone, new_reference()])
    assert (error["field"], error["got"]) == ("data_refs.1", gone)


def test_attacks_reach_nothing_of_the_service_and_the_next_chart_is_drawn(small_instance: tuple[Path, Path]) -> None:
    canary = Path(FOLDER, "canary_secret.txt")
    canary.parent.mkdir(exist_ok=True)
    canary.write_text(CANARY, encoding="ascii")
    with serving(*small_instance, SBX_SECRET=OF_THE_SERVICE) as server, connected(server.url, "auto") as books:
        report = books.ask("run_statement", **REPORT)["data_ref"]
        for case in ATTACKS[::8]:
            books.call(TOOL, data_refs=[report], transform_code=case["code"], chart_spec=PLAIN)
            told = b"".join(books.responses).decode()
            assert not any(secret in told for secret in (CANARY, OF_THE_SERVICE, KEY)), case["id"]
        assert drawn(books, report, MONEY, **PLAIN)["rows"]
        assert server.process.poll() is None
    assert canary.read_text(encoding="ascii") == CANARY
    assert not list(canary.parent.glob("pwned_*"))


def test_without_a_jail_the_tool_is_hidden_and_its_calls_are_rejected(small_instance: tuple[Path, Path]) -> None:
    command = (sys.executable, "-m", "tests.support.service.unjailed")
    with serving(*small_instance, command=command) as server, connected(server.url, "auto") as books:
        assert TOOL not in [tool.name for tool in books.tools()]
        error = refused(books, data_refs=[new_reference()])
        assert error["error_type"] == "tool_disabled"
        assert "jail" not in json.dumps(error)
        assert TOOL not in json.dumps(books.call("eval_chart").result)
        assert "the jail does not hold" in server.log.read_text()
        wait_for(lambda: "note" in readyz(server)[1]["artifacts"])
        status, checks = readyz(server)
        assert status == 200
        assert (
            "workers that do not offer eval_chart_transform: 1; the jail does not hold" in checks["artifacts"]["note"]
        )


def test_while_the_cache_store_hangs_a_chart_is_unavailable_and_soon(own: tuple[Path, Path]) -> None:
    with serving(*own) as server, connected(server.url, "auto") as books:
        report = books.ask("run_statement", **REPORT)["data_ref"]
        asked = {"data_refs": [report], "transform_code": MONEY, "chart_spec": PLAIN}
        store = store_of(server, "valkey-server")
        assert store is not None
        with paused(store):
            error = refused(books, **asked)
            assert (error["error_type"], error["retryable"]) == ("unavailable", True)
            assert "or run the report again" in error["error"]
        wait_for(lambda: not books.call(TOOL, data_refs=[report], transform_code=MONEY, chart_spec=PLAIN).is_error)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """An issuer of tokens."""
    with issuing() as issuer:
        yield issuer


@pytest.fixture
def many(issuer: Issuer, tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A server of many users whose profiles a test may change, and its instance."""
    books = write_books(tmp_path)
    with serving_many(books, issuer.url) as server:
        yield server, books[0]


def charted(server: Server, token: str, *references: str, **spec: Any) -> Mapping[str, Any]:
    """Ask for a chart of results."""
    asked = {"data_refs": references, "transform_code": "result = df", "chart_spec": {**PLAIN, **spec}}
    return ask(server, token, TOOL, **asked)


def pictured(server: Server, token: str, reference: str) -> Mapping[str, Any]:
    """Ask for a chart with its picture until there is one: on a busy machine the first may be late."""
    charts: list[Mapping[str, Any]] = []

    def is_drawn() -> bool:
        charts.append(charted(server, token, reference, render="artifact"))
        return "artifact" in charts[-1]

    wait_for(is_drawn)
    return charts[-1]


def reported(server: Server, token: str) -> str:
    """Run a report and return its reference."""
    asked = {"statement": "pnl", "scenarios": [ACTUAL], "period_start": "2026-01"}
    return str(ask(server, token, "run_statement", **asked)["data_ref"])


def test_nobody_draws_what_another_keeps_nor_opens_what_another_drew(
    many: tuple[Server, Path],
    issuer: Issuer,
) -> None:
    server, _ = many
    ann, bob = issuer.token(sub="ann", **FINANCE), issuer.token(sub="bob", **FINANCE)
    hers, his = reported(server, ann), reported(server, bob)
    unknown = charted(server, bob, his, new_reference())
    assert (unknown["error_type"], unknown["field"]) == ("expired_reference", "data_refs.1")
    assert {**charted(server, bob, his, hers), "got": unknown["got"]} == unknown
    chart = pictured(server, ann, hers)
    assert charted(server, bob, chart["data_ref"])["error_type"] == "expired_reference"
    for form in ("json", "xlsx"):
        mine = ask(server, bob, "export_dataset", data_ref=chart["data_ref"], format=form)
        assert mine["error_type"] == "expired_reference"
    file = chart["artifact"]["file_id"]
    assert ask(server, bob, "get_file_download", file_id=file)["error_type"] == "unknown_file"
    assert httpx2.get(here(server, chart["artifact"]["download_url"]), headers={"Host": HOST}).status_code == 200


def test_whoever_may_see_less_now_draws_and_opens_nothing_made_of_more(
    many: tuple[Server, Path],
    issuer: Issuer,
) -> None:
    server, instance = many
    token, narrow = issuer.token(sub="ann", **FINANCE), issuer.token(sub="ann", **NORTH)
    report = reported(server, token)
    chart = pictured(server, token, report)
    again = charted(server, token, chart["data_ref"])
    url = here(server, chart["artifact"]["download_url"])
    assert httpx2.get(url, headers={"Host": HOST}).status_code == 200
    for reference in (report, chart["data_ref"], again["data_ref"]):
        assert charted(server, narrow, reference)["error_type"] == "expired_reference"
        for form in ("json", "xlsx"):
            refusal = ask(server, narrow, "export_dataset", data_ref=reference, format=form)
            assert refusal["error_type"] == "expired_reference"
    wait_for(lambda: httpx2.get(url, headers={"Host": HOST}).status_code == 404)
    mixed = charted(server, narrow, reported(server, narrow), report)
    assert (mixed["error_type"], mixed["field"]) == ("expired_reference", "data_refs.1")
    (instance / "profiles.yaml").write_text(PROFILES.replace("groups: finance", "groups: board"))
    wait_for(lambda: charted(server, token, report).get("error_type") == "expired_reference")
    (instance / "profiles.yaml").write_text(PROFILES)
    wait_for(lambda: "error" not in charted(server, token, again["data_ref"]))
