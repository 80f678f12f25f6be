"""Over HTTP, on books of a bakery: periods that a condition leaves out, totals of drivers, and changes of shares."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from tests.support.answers.drills import calls, figure_behind
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import McpBooks, connected, serving

ROWS = (  # day, scenario, loaf, pieces and money
    ("2026-01-10", "actual", "rye", 10, 100),
    ("2026-01-10", "actual", "spelt", 30, 150),
    ("2026-01-11", "actual", "cake", 20, 400),
    ("2026-02-10", "actual", "rye", 5, 60),
    ("2026-03-10", "actual", "cake", 30, 600),
    ("2026-01-10", "budget", "rye", 20, 180),
    ("2026-01-10", "budget", "spelt", 10, 60),
    ("2026-01-11", "budget", "cake", 20, 380),
)
QUARTER: dict[str, Any] = {"period_start": "2026-01", "period_end": "2026-03"}
JANUARY: dict[str, Any] = {"period_start": "2026-01", "period_end": "2026-01"}


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of the books of a bakery."""
    folder = tmp_path_factory.mktemp("bakery")
    instance = write_instance(
        folder / "books",
        facts={
            "till": "\n".join(["date scenario loaf pieces money", *(" ".join(map(str, row)) for row in ROWS)]),
            "store": "date scenario loaf flour\n"
            "2026-01-31 actual rye 7\n2026-02-28 actual rye 9\n2026-03-31 actual rye 4",
        },
        domains={
            "till": """
            time: {column: date}
            dimensions: {loaf: loaf}
            measures: {money: {places: 2}, pieces: {places: 0, type: number}}
            inspect_enabled: true
            metrics:
              takings: {measure: money, favourable: up, drivers: {volume: sold, price: price}}
              sold: {measure: pieces}
              price: {formula: takings / sold}
            """,
            "store": """
            time: {column: date}
            dimensions: {loaf: loaf}
            measures: {flour: {places: 0, type: number}}
            metrics: {stock: {measure: flour, over_time: closing}}
            """,
        },
        dimensions="""
        loaf: {kind: leaf, members: live.loaf}
        family: {kind: derived, from: loaf, attribute: family}
        month: {kind: leaf, grain: month}
        """,
        tables={"loaf": "id family\nrye bread\nspelt bread\ncake sweet"},
        profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
    )
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, "auto") as client:
        yield client


def taken(month: str, loaf: str = "", scenario: str = "actual") -> int:
    """Return the money of a month, perhaps of one loaf."""
    return sum(row[4] for row in ROWS if row[0][:7] == month and row[1] == scenario and loaf in ("", row[2]))


def test_the_others_of_months_lead_to_the_rows_that_make_them(bakery: McpBooks) -> None:
    asked = {"metrics": ["takings"], "scenarios": [{"scenario": "actual"}], **QUARTER, "dimensions": ["month"]}
    told = bakery.ask("run_metric", **asked, having=[{"column": "takings", "min": 100}], order_by="takings", top=1)
    best, others, total = told["rows"]
    assert (best["key"], best["values"]) == ("2026-01", [taken("2026-01")])
    assert (others["values"], others["holds"], others["unmet"]) == ([taken("2026-02") + taken("2026-03")], 2, 1)
    assert total["values"] == [sum(map(taken, ("2026-01", "2026-02", "2026-03")))]
    ((_, _, call),) = calls(others, told["columns"][0])
    assert call["filters"]["month"] == {"exclude": ["2026-01"]}
    assert figure_behind(call, lambda given: bakery.ask("inspect_rows", **given)) == Fraction(660)
    held = bakery.ask("run_metric", **{**asked, "metrics": ["stock"]}, top=1)
    assert [row["values"] for row in held["rows"]] == [[9], [None], [4]]
    assert {note["code"] for note in held["notes"]} >= {"no_others"}
    ref = bakery.keep("run_metric", **asked, top=1)
    for kind in ("json", "xlsx"):
        assert bakery.ask("export_dataset", data_ref=ref, format=kind)
    drawn = bakery.ask("eval_chart_transform", data_refs=[ref], chart_spec={"chart_type": "bar", "title": "Best"})
    assert [row[0] for row in drawn["rows"]] == ["2026-01", "(others)"]


def test_an_explanation_says_volume_mix_and_price_of_all_its_rows(bakery: McpBooks) -> None:
    asked = {"metric": "takings", "scenarios": ["actual", "budget"], "by": ["family"], "drivers": True, **JANUARY}
    told = bakery.ask("explain_variance", **asked, top=1)
    (by_family,) = told["lists"]
    assert by_family["totals"] == {"volume": 124, "mix": -44, "price": -50}
    assert sum(by_family["totals"].values()) == told["variance"] == 30
    (note,) = (note for note in told["notes"] if note["code"] == "mix_inside")
    assert (note["by"], note["finer"], note["amount"]) == ("family", "loaf", "-50")
    finer = bakery.ask("explain_variance", **{**asked, "by": [note["finer"]]})
    assert finer["lists"][0]["totals"] == {"volume": 124, "mix": -94, "price": 0}


def test_a_change_of_shares_is_in_points(bakery: McpBooks) -> None:
    change = {"scenario": "var(share(actual),share(budget))", "alias": "Gain"}
    told = bakery.ask("run_metric", metrics=["takings"], scenarios=[change], **JANUARY, dimensions=["loaf"])
    actual, budget = taken("2026-01"), taken("2026-01", scenario="budget")
    expected = {
        loaf: Fraction(taken("2026-01", loaf), actual) - Fraction(taken("2026-01", loaf, "budget"), budget)
        for loaf in ("cake", "rye", "spelt")
    }
    shown = {row["key"]: row["values"][0] for row in told["rows"] if row["kind"] == "member"}
    assert shown == {loaf: float(f"{float(each):.15g}") for loaf, each in expected.items()}
    assert told["scenarios"][0]["unit"] == "pp"
    refused = bakery.call("run_metric", metrics=["takings"], scenarios=[change], **JANUARY)
    assert refused.result["error"] == (
        "'var(share(actual),share(budget))' is of the members of a breakdown. Name a dimension."
    )
    assert refused.result["example"]["dimensions"]
