"""Metrics that repeat: the whole figure at every member of a dimension that their domain lacks, never added up.

Rules: Several domains.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.model.errors import BadArguments
from engine.present.answers.catalogue import metric_json
from engine.report import ranking
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.explained import explained
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figures, small_books

SALES = {"Lyon": (4400, 4000), "Graz": (1320, 900), "Oslo": (10, 0)}
WORKDAYS, MONTHS = (22, 20), ("2026-01", "2026-02")
A = {"A": "actual"}
RANGE: dict[str, Any] = {"scenarios": A, "period": MONTHS}


def shops(folder: Path, days: str = "{measure: days, repeats: true}", more: str = "") -> Door:
    """Return books of sales by site, and of working days without one."""
    sold = [
        f"{month}-05 actual {site} {amount}"
        for site, amounts in SALES.items()
        for month, amount in zip(MONTHS, amounts, strict=True)
    ]
    worked = [f"{month}-01 actual {days}" for month, days in zip(MONTHS, WORKDAYS, strict=True)]
    return small_books(
        folder,
        facts={
            "gl": "\n".join(["date scenario site amount", *sold]),
            "cal": "\n".join(["date scenario days", *worked]),
        },
        domains={
            "gl": f"""
time: {{column: date}}
dimensions: {{site: site}}
measures: {{amount: {{places: 2}}}}
inspect_enabled: true
metrics:
  sales: {{measure: amount}}
  per_day: {{formula: sales / cal.days}}
{more}""",
            "cal": f"""
time: {{column: date}}
dimensions: {{}}
measures: {{days: {{type: number, places: 0}}}}
inspect_enabled: true
metrics: {{days: {days}}}
""",
        },
        dimensions="site: {kind: leaf}\nmonth: {kind: leaf, grain: month}",
        statements={"daily": "- {metric: sales}\n- {metric: days}\n- {metric: per_day}\n"},
    )


def per_day(*sites: str, month: int | None = None) -> Decimal:
    """Return the sales a working day of some sites, in a month or both, to 15 digits."""
    chosen = range(len(MONTHS)) if month is None else (month,)
    sold = sum(SALES[site][at] for site in sites for at in chosen)
    found = Fraction(sold, sum(WORKDAYS[at] for at in chosen))
    return round(Decimal(found.numerator) / Decimal(found.denominator), 15 - len(str(int(found))))


def test_a_formula_divides_by_the_whole_at_every_member(tmp_path: Path) -> None:
    books = shops(tmp_path)
    report = books.metric("per_day", **RANGE, dimensions=["site"])
    found = figures(report, "site")
    for sites in (*((site,) for site in SALES), tuple(SALES)):
        at = sites[0] if len(sites) == 1 else None
        assert round(found[at] or Decimal(0), 12) == round(per_day(*sites), 12)
    assert "whole" in codes(report)
    by_month = figures(books.metric("per_day", **RANGE, dimensions=["site", "month"]), "site", "month")
    assert round(by_month["Lyon", "2026-02"] or Decimal(0), 12) == round(per_day("Lyon", month=1), 12)


def test_a_filter_that_its_domain_lacks_leaves_it_whole(tmp_path: Path) -> None:
    books = shops(tmp_path)
    report = books.metric("per_day", **RANGE, filters={"site": ["Lyon", "Graz"]})
    assert round(figures(report, "metric")["per_day"] or Decimal(0), 12) == round(per_day("Lyon", "Graz"), 12)
    assert "whole" in codes(report)
    lines = figures(books.statement("daily", **RANGE, filters={"site": "Graz"}), "line")
    assert (lines["sales"], lines["days"]) == (2220, sum(WORKDAYS))


@pytest.mark.parametrize("small", [0, 1_000])
def test_the_others_divide_by_the_whole_too(tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    report = shops(tmp_path).metric("per_day", **RANGE, dimensions=["site"], top=1)
    found = figures(report, "site")
    assert round(found["(others)"] or Decimal(0), 12) == round(per_day("Graz", "Oslo"), 12)
    assert round(found[None] or Decimal(0), 12) == round(per_day(*SALES), 12)


def test_the_rows_of_both_operands_tie(tmp_path: Path) -> None:
    books = shops(tmp_path)
    for report in (
        books.metric("per_day", **RANGE, dimensions=["site"]),
        books.metric("per_day", **RANGE, filters={"site": "Graz"}),
    ):
        result = answer(report, 10**9)
        for row in result["rows"]:
            behind = {
                metric: figure_behind(call, lambda asked: rows_of(books, **asked))
                for _, metric, call in calls(row, result["columns"][0])
            }
            assert list(behind.values())[1] == sum(WORKDAYS)


def test_without_the_word_members_have_no_figure(tmp_path: Path) -> None:
    found = figures(shops(tmp_path, "{measure: days}").metric("per_day", **RANGE, dimensions=["site"]), "site")
    assert (found["Lyon"], found["Graz"]) == (None, None)


def test_it_does_not_add_up_and_is_not_explained(tmp_path: Path) -> None:
    books = shops(tmp_path)
    said = metric_json(books.reader.metrics["days"], books.reader)
    assert (said["additive"], said["repeats"]) == (False, True)
    assert "site" in metric_json(books.reader.metrics["per_day"], books.reader)["dimension_keys"]
    with pytest.raises(BadArguments) as refused:
        explained(books, "per_day", "site", period="2026-02", scenarios=("actual", "actual@pp"))
    assert "per_day is neither a sum over its members" in refused.value.error


def test_a_formula_cannot_repeat(tmp_path: Path) -> None:
    with pytest.raises(InstanceFaults) as found:
        shops(tmp_path, more="  twice: {formula: 2 * sales, repeats: true}\n")
    assert "twice is a formula; repeats is for measures" in str(found.value)
