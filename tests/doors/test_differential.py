"""Books on which a differential of generated books showed a wrong figure, each with the figures that are right."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.doors.case_books import CASES, CaseBooks, members, number, parameters, read_case
from tests.doors.not_yet import DIFFERENTIAL
from tests.support.books.fed import SOMEBODY

GROUP = CASES / "differential"
ARGUMENTS = ("metrics", "scenario", "period", "dimensions", "filters", "formulas", "order_by", "top", "subtotals")


def calls(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a case, each with what it repeats of the call before it."""
    last: dict[str, Any] = {}
    asked = []
    for ask in case["asks"]:
        last = {**last, **{name: ask[name] for name in ARGUMENTS if name in ask}}
        asked.append({**ask, "arguments": last})
    return asked


def check_each(books: CaseBooks, case: dict[str, Any]) -> None:
    """Check calls whose right figure is one figure, of the cell that the call names or of the total."""
    for ask in calls(case):
        given: dict[str, Any] = {name: value for name, value in ask["arguments"].items() if name != "metrics"}
        (metric,) = ask["arguments"]["metrics"]
        figures = books.figures(metric, given.pop("period"), given.pop("scenario"), **given)
        assert figures.get((ask.get("cell", "Total"),)) == number(ask["right"]), ask


def check_order(books: CaseBooks, case: dict[str, Any]) -> None:
    """F1: no answer depends on what was asked before it."""
    for ask in case["asks"]:
        answer = books.ask(
            "run_statement_data", ask["period"], statement=ask["statement"], dimensions=ask["dimensions"]
        )
        if "cell" in ask:
            row = next(row for row in answer["rows"] if row["key"] == ask["cell"].split()[0].strip(","))
            at = [column["members"] for column in answer["columns"]].index({"entity": "DE", "product": "Pro"})
            assert number(row["values"][at]) == ask["right"], ask


def check_table(books: CaseBooks, case: dict[str, Any]) -> None:
    """F8: the table shows the digits of the figure."""
    (ask,) = case["asks"]
    arguments = {"metrics": ask["metrics"], "scenarios": [{"scenario": "actual"}], "period_start": ask["period"]}
    result = asyncio.run(books.fed.dispatch.call("run_metric", {**arguments, "decimals": 2}, SOMEBODY))
    assert ask["right_table"] in str(result.render_block)


def check_lacking(books: CaseBooks, _case: dict[str, Any]) -> None:
    """F9: lines of a domain that lacks the dimension repeat their aggregate."""
    for dimension in ("ptree", "product"):
        answer = books.ask("run_statement", "2026-01", statement="s", dimensions=[dimension])
        lines = {row["key"]: set(map(number, row["values"])) for row in answer["rows"]}
        assert (lines["largest"], lines["companies"]) == ({Decimal(6)}, {Decimal(2)})


def check_cut_periods(books: CaseBooks, case: dict[str, Any]) -> None:
    """F11: a filter by periods that cut those of the range is refused."""
    for ask in calls(case):
        start, _, end = ask["arguments"]["period"].partition("..")
        given: dict[str, Any] = {
            "metrics": ["m"],
            "scenarios": [{"scenario": "actual"}],
            "filters": {"mth": ["2025-05"]},
        }
        books.fed.refused("run_metric", **given, period_start=start, period_end=end or start)


def check_ranked(books: CaseBooks, case: dict[str, Any]) -> None:
    """F12: members are ranked by the sub-totals of this answer."""
    for ask in calls(case):
        given: dict[str, Any] = {
            name: value for name, value in ask["arguments"].items() if name not in ("metrics", "scenario", "period")
        }
        first = next(iter(books.figures("m", "2026-01", **given)))
        assert first[0] == "Q", ask


def check_named_formula(books: CaseBooks, case: dict[str, Any]) -> None:
    """F13: a formula that is used by name is computed as written out."""
    for ask, right in zip(calls(case), (11, 11, 16), strict=True):
        answer = books.ask("run_metric", "2026-01", metrics=["a"], formulas=ask["arguments"]["formulas"])
        assert number(answer["rows"][-1]["values"][-1]) == right, ask


def check_drivers(books: CaseBooks, _case: dict[str, Any]) -> None:
    """F14: a member's row holds what has volume, (without_volume) the rest; each column adds up to its total."""
    answer = books.fed.ask(
        "explain_variance",
        metric="rev",
        scenarios=["actual", "budget"],
        by=["product"],
        drivers=True,
        period_start="2026-01",
    )
    (listed,) = answer["lists"]
    rows = {row["key"]: row for row in listed["rows"]}
    assert [rows["R"][key] for key in ("a", "b", "contribution")] == [0, 5, -5]
    assert [rows["(without_volume)"][key] for key in ("a", "b", "contribution")] == [7, 0, 7]
    amounts = [row for key, row in rows.items() if key != "(volume)"]
    for column, total in (("a", answer["a"]), ("b", answer["b"]), ("contribution", answer["variance"])):
        assert sum(row[column] for row in amounts) == total


def check_others(books: CaseBooks, _case: dict[str, Any]) -> None:
    """F15: (others) is over the leaves of its members alone."""
    answer = books.ask("run_metric", "2026-01", metrics=["m", "h"], dimensions=["tree"], order_by="m@actual", top=1)
    heads = {members(row): row["values"][1] for row in answer["rows"]}
    assert heads[("(others)",)] is None
    assert heads[("Total",)] == 12


def check_holds(books: CaseBooks, _case: dict[str, Any]) -> None:
    """F16: (others) counts the members that have a row without `top`."""
    given: dict[str, Any] = {
        "dimensions": ["tree", "area", "product"],
        "subtotals": True,
        "order_by": "pq@actual",
        "top": 1,
    }
    answer = books.ask("run_metric", "2026-01", metrics=["pq", "largest"], **given)
    held = {members(row): row.get("holds") for row in answer["rows"]}
    assert held["Sales", "(others)", "(others)"] == 1


CHECKS: dict[str, Callable[[CaseBooks, dict[str, Any]], None]] = {
    "F1_order_of_questions": check_order,
    "F2_blend_in_variance_scope": check_each,
    "F3_week_window_prior_year": check_each,
    "F4_whole_weeks_unavailable": check_each,
    "F5_ytd_py_first_day": check_each,
    "F8_table_shows_more_digits": check_table,
    "F9_lacking_dimension_weighs": check_lacking,
    "F10_weekly_balance_summed": check_each,
    "F11_time_filter_cuts_weeks": check_cut_periods,
    "F12_ranked_by_another_figure": check_ranked,
    "F13_constant_beside_missing": check_named_formula,
    "F14_driver_rows_show_an_amount_twice": check_drivers,
    "F15_others_beyond_its_members": check_others,
    "F16_holds_counts_members_not_there": check_holds,
}


@pytest.mark.parametrize("case", parameters("differential", CHECKS, DIFFERENTIAL))
def test_the_figures_of_generated_books_are_right(case: str, tmp_path: Path) -> None:
    told = read_case(GROUP / f"{case}.json")
    for name, text in told["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    CHECKS[case](CaseBooks(tmp_path, "cut" if told["profile"] else None), told)
