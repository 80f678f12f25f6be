"""Refusals, descriptions and prompts of books that are not the demo: what they show is of these books, and answered."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from server.feeds.instance import read_instance
from tests.support.books.demo import DEMO
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import McpBooks, connected, serving

LEDGER = """
time: {column: tag}
scenario: szenario
inspect_enabled: true
dimensions: {ware: ware, gegend: gegend}
measures: {betrag: {places: 2}, menge: {type: number, places: 0}}
metrics:
  umsatz: {measure: betrag}
  absatz: {measure: menge}
  preis: {formula: umsatz / absatz}
"""
STAFF = """
time: {column: tag, grain: month}
scenario: szenario
dimensions: {gegend: gegend}
measures: {koepfe: {type: number, places: 0}}
metrics: {personal: {measure: koepfe, over_time: closing}}
"""
DIMENSIONS = """
ware: {kind: leaf}
gegend: {kind: leaf}
baum: {kind: ragged, leaf_dimension: ware, nodes: live.baum}
"""
SCENARIOS = "ist: {alias: Ist, kind: actual, closed_through: 2019-04}\nsoll: {alias: Soll, kind: budget}\n"
PROFILES = "alle: {operations: true, scenarios: {'*': {}}}\nassign: [{subject: dev, profile: alle}]\n"
MONTHS = range(1, 7)
BOTH = ("ist", "soll")
ROWS = [
    f"2019-{month:02}-0{day} {scenario} {ware} {gegend} {100 * month + day} {day}"
    for month in MONTHS
    for day in (1, 5)
    for scenario in BOTH
    for ware, gegend in (("W1", "Nord"), ("W2", "Sued"))
]
HEADS = [f"2019-{month:02} {scenario} Nord {month}" for month in MONTHS for scenario in BOTH]

METRIC = {"metrics": ["umsatz"], "scenarios": [{"scenario": "ist"}], "period_start": "2019-03"}
STATEMENT = {"statement": "guv", "scenarios": [{"scenario": "ist"}], "period_start": "2019-03"}
EXPLAINED = {"metric": "umsatz", "scenarios": ["ist", "soll"], "by": ["gegend"], "period_start": "2019-03"}
INSPECTED = {"source_key": "journal", "scenario_id": "ist", "period_start": "2019-03"}
CALLS: dict[str, dict[str, Any]] = {
    "run_metric": METRIC,
    "run_statement": STATEMENT,
    "explain_variance": EXPLAINED,
    "inspect_rows": INSPECTED,
}
NO_PERIODS = (
    "2019-13",
    "2026-13",
    "2019-02-30",
    "0001-05",
    "9999-Q1",
    "2019-Q7",
    "2019-W60",
    "rubbish",
    "recently",
    "",
)
BAR = {"chart_type": "bar", "title": "Umsatz", "x": "gegend_label", "y": "value"}
MEMBERS = "result = df.select('gegend_label', 'alias', 'value')"

REFUSED: list[tuple[str, dict[str, Any]]] = [
    *((tool, {**call, "period_start": text}) for tool, call in CALLS.items() for text in NO_PERIODS),
    *(
        ("run_metric", {**METRIC, "period_end": text})
        for text in ("2019-13", "2019-Q7", "2020", "rubbish", "(undated)")
    ),
    *(
        ("run_metric", {**METRIC, "dimensions": ["period"], "filters": {"ware": ["W1"], "period": [text]}})
        for text in ("2019-13", "rubbish", "(undated)")
    ),
    ("run_metric", {key: value for key, value in METRIC.items() if key != "period_start"}),
    ("run_metric", {**METRIC, "metrics": ["umsatz", "personal"]}),
    ("run_metric", {**METRIC, "filters": {"gegend": {"not": ["Nord"]}}}),
    ("run_metric", {**METRIC, "scenarios": "ist"}),
    ("run_metric", {**METRIC, "scenarios": []}),
    ("run_metric", {**METRIC, "scenarios": [{"scenario": "ist@yty"}]}),
    *(("run_statement", {**STATEMENT, "scenarios": [{"scenario": text}]}) for text in ("var(ist)", "ist-soll", "ist@")),
    *(("explain_variance", {**EXPLAINED, "scenarios": names}) for names in ("ist", ["ist"], ["ist", "ist"], [])),
    ("explain_variance", {**EXPLAINED, "scenarios": [{"scenario": "ist"}]}),
    ("explain_variance", {**EXPLAINED, "scenarios": ["ist@yty", "soll"]}),
    ("explain_variance", {**EXPLAINED, "scenarios": ["ist@ytd", "soll@"]}),
    ("explain_variance", {**EXPLAINED, "scenarios": ["ist", "var(ist,soll)"]}),
    *(("run_metric", {**METRIC, "metrics": value}) for value in ("ghost", 5, "")),
    *(("run_metric", {**METRIC, "scenarios": value}) for value in ("ghost", "ist@yty", ["ghost"], 5)),
    *(("run_statement", {**STATEMENT, "statement": value}) for value in (5, ["ghost"])),
    *(("run_statement", {**STATEMENT, "period_start": value}) for value in (5, ["ghost"])),
    *(("explain_variance", {**EXPLAINED, "metric": value}) for value in (5, ["ghost"])),
    *(("explain_variance", {**EXPLAINED, "scenarios": value}) for value in ("ghost", "ist@yty", 5)),
    *(("inspect_rows", {**INSPECTED, "source_key": value}) for value in (5, ["ghost"])),
    *(("search_hierarchy", {"dimension": value}) for value in (5, ["ghost"])),
    ("explain_variance", {**EXPLAINED, "by": []}),
    ("explain_variance", {**EXPLAINED, "materiality": {}}),
    ("inspect_rows", {**INSPECTED, "scenario_id": "var(ist,ist@py)"}),
    ("inspect_rows", {**INSPECTED, "scenario_id": "ist@yty", "filters": {"ware": ["W1"]}}),
    ("inspect_rows", {**INSPECTED, "scenario_id": "var(ist)"}),
    ("inspect_rows", {**INSPECTED, "filters": {"scenario": "soll"}}),
    ("list_variants", {"scenario_id": "ist@yty"}),
    *((tool, {}) for tool in ("run_metric", "explain_variance", "inspect_rows", "list_variants", "get_binding")),
    ("search_hierarchy", {"query": "x" * 300}),
]
REFUSED_CHARTS: list[dict[str, Any]] = [
    {},
    {"transform_code": "result = 5", "chart_spec": BAR},
    {"transform_code": "result = df.select('nope')", "chart_spec": BAR},
    {"transform_code": MEMBERS, "chart_spec": {**BAR, "x": "nope"}},
    {"transform_code": MEMBERS, "chart_spec": {**BAR, "y": "alias"}},
    {"transform_code": MEMBERS, "chart_spec": {**BAR, "title": ""}},
    {"transform_code": MEMBERS, "chart_spec": {**BAR, "chart_type": "waterfall"}},
    {"transform_code": MEMBERS, "chart_spec": {**BAR, "chart_type": "scatter"}},
    {"chart_spec": {**BAR, "series": "nope"}},
]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """Books of 2019 whose names none of the demo's are."""
    folder = tmp_path_factory.mktemp("elsewhere")
    instance = write_instance(
        folder / "books",
        facts={
            "journal": "tag szenario ware gegend betrag menge\n" + "\n".join(ROWS),
            "stellen": "tag szenario gegend koepfe\n" + "\n".join(HEADS),
        },
        domains={"journal": LEDGER, "stellen": STAFF},
        dimensions=DIMENSIONS,
        tables={"baum": "node parent\nAlle -\nW1 Alle\nW2 Alle"},
        scenarios=SCENARIOS,
        statements={"guv": "  - {metric: umsatz}\n  - {metric: preis}\n"},
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, "auto") as client:
        yield client


@pytest.fixture(scope="module")
def of_demo() -> re.Pattern[str]:
    """What only the demo has, and years that these books have not."""
    catalogue = read_instance(DEMO).catalogue
    keys = [*catalogue.metrics, *catalogue.statements, *catalogue.scenarios, *catalogue.domains, "entity", "DE01"]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, keys))})\b|\b202\d")


def shown(refusal: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return what a refusal shows to send, without what was sent itself."""
    text = json.dumps([refusal.get(key) for key in ("valid", "example")], ensure_ascii=False)
    sent = [part for part in re.findall(r'"([^"]+)"', json.dumps(asked)) if part[:3] == "202"]
    return re.sub("|".join(map(re.escape, sent)) or "(?!)", "", text)


def has_data(answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer has a figure, a row or a record."""
    rows = answer.get("rows")
    if rows is None:
        return any(isinstance(part, list | dict | str | int) and part for part in answer.values())
    cells = [cell for row in rows for cell in (row if isinstance(row, list) else row["values"])]
    return any(cell is not None for cell in cells)


@pytest.mark.parametrize(("tool", "asked"), REFUSED)
def test_what_a_refusal_shows_is_of_these_books_and_is_answered(
    books: McpBooks, of_demo: re.Pattern[str], tool: str, asked: dict[str, Any]
) -> None:
    refused = books.call(tool, **asked)
    assert refused.is_error, refused.result
    assert not of_demo.search(shown(refused.result, asked)), refused.result
    example = refused.result["example"]
    answered = books.call(tool, **{**asked, **example})
    assert not answered.is_error, (example, answered.result)
    assert has_data(answered.result), (example, answered.result)


@pytest.mark.parametrize("asked", REFUSED_CHARTS)
def test_what_a_refused_chart_shows_is_drawn(books: McpBooks, of_demo: re.Pattern[str], asked: dict[str, Any]) -> None:
    reference = books.keep("run_metric", **METRIC, dimensions=["gegend"])
    refused = books.call("eval_chart_transform", data_refs=[reference], **asked)
    assert refused.is_error, refused.result
    assert not of_demo.search(json.dumps(refused.result.get("valid", []))), refused.result
    answered = books.call("eval_chart_transform", **{"data_refs": [reference], **asked, **refused.result["example"]})
    assert not answered.is_error, answered.result
    assert has_data(answered.result), answered.result


def test_the_call_of_a_filter_that_is_refused_keeps_the_other_filters(books: McpBooks) -> None:
    filters = {"ware": ["W1"], "gegend": {"exclude": ["Sued"], "include": []}, "period": ["2019-13"]}
    error = books.call("run_metric", **METRIC, filters=filters).result
    assert error["example"] == {"filters": {**filters, "period": ["2019-03"]}}
    (view,) = [
        books.call("inspect_rows", **{**INSPECTED, "scenario_id": "ist@yty"}, filters={"ware": ["W1"]}).result[
            "example"
        ]
    ]
    assert view == {"scenario_id": "ist@ytd", "filters": {"ware": ["W1"]}}


def test_descriptions_and_prompts_name_what_these_books_have(books: McpBooks, of_demo: re.Pattern[str]) -> None:
    for tool, example in books.examples().items():
        assert not of_demo.search(json.dumps(example)), tool
    given = {"metric": "umsatz", "period": "2019-03", "statement": "guv", "scenario": "ist"}
    for prompt in books.read(lambda client: client.list_prompts()).prompts:
        words = " ".join([argument.description or "" for argument in prompt.arguments or ()])
        assert not re.search(r"such as \w+@|\b20\d\d|\bactual\b", words)
        takes = {argument.name: given[argument.name] for argument in prompt.arguments or () if argument.name in given}
        text = books.prompt(prompt.name, takes)
        named = set(re.findall(r"[\w(,@]+\b(?:ist|soll)\b[\w@)]*", text)) | {"ist"}
        assert not re.search(r"\bactual\b|\bbudget\b", text), prompt.name
        columns = [{"scenario": name} for name in sorted({part.strip(",") for part in named})]
        assert books.ask("run_statement", **{**STATEMENT, "scenarios": columns})["notes"] is not None
