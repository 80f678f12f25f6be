"""Checks of the cases that ask for computed columns, for members that meet a condition, and for operands."""

from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.doors.case_books import Figures, asked_of, members, number, served_books


def by_member(expected: dict[str, str]) -> Figures:
    """Return figures of a case as those of its rows."""
    return {(member,): Decimal(text) for member, text in expected.items()}


def check_shares(folder: Path, expected: dict[str, Any]) -> None:
    """Shares of the total and of the sub-total above, and running shares of ranked members, each in one call."""
    nested = {"dimensions": ["dept", "item"], "subtotals": True}
    with served_books(folder) as books:

        def figures(reference: str, **arguments: Any) -> Figures:
            answer = books.ask("run_metric_data", **asked_of("sales", "2026-01..2026-12", reference, **arguments))
            return {members(row): number(row["values"][0]) for row in answer["rows"]}

        for name, reference in (("of total", "share(actual)"), ("of dept", "share(actual,parent)")):
            shares = figures(reference, **nested)
            assert {item: shares[dept, item] for dept, item in (each for each in shares if len(each) > 1)} == {
                item: Decimal(text) for item, text in expected[name].items()
            }
        running = figures("running(share(actual))", dimensions=["item"], order_by="sales")
    assert list(running.items())[:-1] == list(by_member(expected["running"]).items())


def check_threshold(folder: Path, expected: dict[str, Any]) -> None:
    """Members above a limit, the largest first, and one row of the others with how many they are."""
    limit: dict[str, Any] = {"having": [{"column": "sales", "min": 1000.01}], "order_by": "sales"}
    with served_books(folder) as books:
        asked = asked_of("sales", "2026-01..2026-12", dimensions=["customer"], **limit)
        answer = books.ask("run_metric_data", **asked)
    *shown, others, total = answer["rows"]
    assert {members(row)[0]: number(row["values"][0]) for row in shown} == {
        key: Decimal(text) for key, text in expected["rows"].items()
    }
    assert number(others["values"][0]) == Decimal(expected["(others)"])
    assert others["holds"] == others["unmet"] == expected["others hold"]
    assert number(total["values"][0]) == Decimal(expected["total"])
    assert len(shown) == expected["customers above"]


def check_functions(folder: Path, expected: dict[str, Any]) -> None:
    """Tax on profits alone, and the absolute error of a plan, by month and for the range, each in one call."""
    error = "abs(result[actual] - result[budget]) / abs(result[actual])"
    asked: dict[str, Any] = {"formulas": {"tax": "max(result, 0) * 0.25", "error": error}, "dimensions": ["period"]}
    with served_books(folder) as books:
        for scenario in ("actual", "budget@py"):  # operands with scenarios of their own are the same in every column
            answer = books.ask("run_metric_data", **asked_of("result", "2026-01..2026-03", scenario, **asked))
            *months, total = answer["rows"]
            fractions = {month: Fraction(text) for month, text in expected["absolute error"].items()}
            assert {members(row)[0]: number(row["values"][2]) for row in months} == {
                month: rounded(figure) for month, figure in fractions.items()
            }
            assert number(total["values"][2]) == rounded(Fraction(50, 110))
        answer = books.ask("run_metric_data", **asked_of("result", "2026-01..2026-03", **asked))
    *months, total = answer["rows"]
    assert {members(row)[0]: number(row["values"][1]) for row in months} == {
        month: Decimal(text) for month, text in expected["tax"].items()
    }
    assert number(total["values"][1]) == Decimal(expected["tax of the range"])


def rounded(figure: Fraction) -> Decimal:
    """Return a fraction to the digits of an answer."""
    return Context(prec=15).divide(Decimal(figure.numerator), Decimal(figure.denominator))
