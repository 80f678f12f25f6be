"""Material lines over HTTP, on books that are not the demo: the answer, its rows, its files, and its refusals."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import TextResourceContents

from tests.spec.test_materiality import FLUX
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import filled_in
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import McpBooks, connected, serving

ASKED: dict[str, Any] = {
    "statement": "pl",
    "scenarios": [
        {"scenario": "actual", "alias": "Actual"},
        {"scenario": "budget", "alias": "Budget"},
        {"scenario": "var(actual,budget)", "alias": "Variance"},
    ],
    "period_start": "2026-03",
}
FLUXED = {**ASKED, "materiality": {"of": "Variance", "absolute": 50, "by": "function", "top": 1}}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of the books of income, costs and staff."""
    folder = tmp_path_factory.mktemp("flux")
    profiles = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"
    instance = write_instance(folder / "books", **FLUX, profiles=profiles)
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, "auto") as client:
        yield client


def test_one_call_reviews_every_line(books: McpBooks) -> None:
    told = books.call("run_statement", **FLUXED).result
    assert [(row["key"], row.get("values")) for row in told["rows"]] == [
        ("header_1", None),
        ("revenue", [1000, 900, 100]),
        ("revenue/sales", [1000, 900, 100]),
        ("header_3", None),
        ("costs", [760, 705, 55]),
        ("costs/dev", [365, 255, 110]),
        ("costs/(others)", [395, 450, -55]),
        ("tree.People", [570, 520, 50]),
        ("tree.People/dev", [320, 250, 70]),
        ("tree.People/(others)", [250, 270, -20]),
        ("header_6", None),
        ("margin", [0.24, 0.216666666666667, 0.0233333333333333]),
        ("per_head", [125, 128.571428571429, -3.57142857142857]),
    ]
    (others,) = (row for row in told["rows"] if row["key"] == "costs/(others)")
    assert (others["kind"], others["level"], others["holds"], others["label"]) == ("others", 1, 2, "Others")
    assert told["immaterial"] == [
        {"unit": "USD", "lines": 2, "largest": "result", "value": 45},
        {"unit": "number", "lines": 1, "largest": "heads", "value": 1},
        {"below": "costs", "lines": 2, "sum": 5, "largest": "tree.Rooms", "value": 10},
        {"below": "tree.People", "lines": 2, "sum": 50, "largest": "tree.Salaries", "value": 30},
    ]


def test_the_rows_behind_each_member_make_its_figure(books: McpBooks) -> None:
    told = filled_in(books.ask("run_statement_data", **FLUXED))
    actual, followed = told["columns"][0], 0
    for row in told["rows"]:
        for _, _, asked in calls(row, actual) if row["key"].startswith("costs/") else ():
            assert figure_behind(asked, lambda given: books.ask("inspect_rows", **given)) == row["values"][0]
            followed += 1
    assert followed == 2


def test_what_is_kept_says_what_it_leaves_out(books: McpBooks) -> None:
    ref = books.keep("run_statement", **FLUXED)
    (content,) = books.resource(f"tieout://dataset/{ref}").contents
    assert isinstance(content, TextResourceContents)
    told = json.loads(content.text)
    assert told["materiality"] == {"of": "Variance", "absolute": 50}
    assert told["immaterial"][0]["label"] == "Result"
    assert books.ask("export_dataset", data_ref=ref, format="xlsx")
    drawn: dict[str, Any] = {"data_refs": [ref], "chart_spec": {"chart_type": "bar", "title": "t"}}
    told = books.call("eval_chart_transform", **drawn).result  # a member has a point below each of its lines
    assert told["error"].startswith("More than one row for")
    kept = "df.filter(pl.col('unit') == 'USD', ~pl.col('kind').is_in(['member', 'others']))"
    code = f"result = {kept}.select(['label', 'alias', 'value'])"
    drawn["chart_spec"] |= {"x": "label", "series": "alias"}
    assert books.ask("eval_chart_transform", transform_code=code, **drawn)["vega_lite"]


@pytest.mark.parametrize(
    ("materiality", "field", "words", "works"),
    [
        ({"of": "Var", "absolute": 50}, "materiality.of", "is no column of this call", True),
        ({"of": "Actual", "percent": 5}, "materiality.of", "has no comparative for percent", True),
        ({"of": "Variance"}, "materiality", "needs absolute, percent, or both", True),
        ({"of": "Variance", "absolute": 50, "top": 2}, "materiality.top", "Name a dimension in by", True),
        ({"of": "Variance", "absolute": 50, "by": "functon"}, "materiality.by", "Did you mean 'function'?", False),
        ({"of": "Variance", "absolute": 50, "rule": "both"}, "materiality.rule", "any", False),
        ({"absolute": 50}, "materiality", "of", False),
    ],
)
def test_a_refusal_says_what_to_do_next(
    books: McpBooks, materiality: dict[str, Any], field: str, words: str, works: bool
) -> None:
    called = books.call("run_statement", **{**ASKED, "materiality": materiality})
    assert called.is_error
    assert called.result["field"].startswith(field), called.result
    assert words in called.result["error"], called.result
    if works:
        assert books.ask("run_statement", **{**ASKED, **called.result["example"]})["rows"]
