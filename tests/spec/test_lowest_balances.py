"""The lowest and the highest close of a balance: chosen after members are added up, of each figure by itself.

Rules: Over time.
"""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.model.errors import BadArguments
from engine.plans import window_size
from engine.report import ranking
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.explained import explained
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figure, figures, small_books

FIRST, DAYS, ACCOUNTS = date(2026, 1, 1), 120, ("A", "B", "C", "D")
DRAWN = Random(20)
ROWS = [
    (FIRST + timedelta(day), account, DRAWN.randrange(-900, 900))
    for day in range(DAYS)
    for account in ACCOUNTS
    if DRAWN.random() < 0.4
]
METRICS = """
  lowest: {measure: amount, over_time: lowest}
  highest: {measure: amount, over_time: highest}
  owed: {measure: amount, over_time: highest, sign: negate, where: {account: {exclude: [A]}}}
  busiest: {over_members: count, over_time: highest}
  swing: {formula: highest - lowest}
"""
MONTHS = ("2026-01", "2026-02", "2026-03", "2026-04")
A = {"A": "actual"}


def bank(folder: Path, metrics: str = METRICS, balances: str = "{}") -> Door:
    """Return books of bank accounts with balances on some days."""
    rows = [f"{day} actual {account} {amount}" for day, account, amount in ROWS]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario account amount", *rows])},
        domains={
            "gl": f"""
time: {{column: date}}
dimensions: {{account: account}}
measures: {{amount: {{places: 2}}}}
balances: {balances}
inspect_enabled: true
metrics:{metrics}"""
        },
        dimensions="account: {kind: leaf}\nmonth: {kind: leaf, grain: month}\ndate: {kind: leaf, grain: date}",
    )


def closes(*accounts: str, months: tuple[str, ...] = MONTHS) -> list[int]:
    """Return the balance of some accounts together on each day of some months on which one of them has a row."""
    by_day: dict[date, int] = {}
    for day, account, amount in ROWS:
        if account in accounts and day.isoformat()[:7] in months:
            by_day[day] = by_day.get(day, 0) + amount
    return list(by_day.values())


def test_a_figure_of_a_range_is_the_lowest_of_its_days(tmp_path: Path) -> None:
    books = bank(tmp_path)
    keys = ("lowest", "highest", "owed", "swing")
    found = figures(books.metric(*keys, scenarios=A, period=(MONTHS[0], MONTHS[-1])), "metric")
    every = closes(*ACCOUNTS)
    assert found == {
        "lowest": min(every),
        "highest": max(every),
        "owed": max(-amount for amount in closes("B", "C", "D")),
        "swing": max(every) - min(every),
    }
    by_month = books.metric("lowest", "swing", scenarios=A, period=(MONTHS[0], MONTHS[-1]), dimensions=["month"])
    for month in MONTHS:
        own = closes(*ACCOUNTS, months=(month,))
        assert figures(by_month, "metric", "month")["lowest", month] == min(own)
        assert figures(by_month, "metric", "month")["swing", month] == max(own) - min(own)
    assert figures(by_month, "metric", "month")["lowest", None] == min(every)


@pytest.mark.parametrize("small", [0, 1_000])
def test_each_member_has_its_own_and_the_others_theirs(
    tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    books = bank(tmp_path)
    report = books.metric("lowest", scenarios=A, period="2026-02", dimensions=["account"], top=2, asc=True)
    each = sorted((min(closes(account, months=("2026-02",))), account) for account in ACCOUNTS)
    (_, first), (_, second), *others = each
    assert figures(report, "account") == {
        first: min(closes(first, months=("2026-02",))),
        second: min(closes(second, months=("2026-02",))),
        "(others)": min(closes(*(account for _, account in others), months=("2026-02",))),
        None: min(closes(*ACCOUNTS, months=("2026-02",))),
    }


def test_the_rows_behind_it_are_those_of_one_day(tmp_path: Path) -> None:
    books = bank(tmp_path)
    for metric in ("lowest", "owed", "busiest"):
        report = books.metric(metric, scenarios=A, period="2026-03", dimensions=["account"])
        result = answer(report, 10**9)
        for row, at in zip(result["rows"], report.places, strict=True):
            for _, _, call in calls(row, result["columns"][0]):
                rows = rows_of(books, **call)
                assert len({row[0] for row in rows["rows"]}) == 1, at
                assert figure_behind(call, lambda asked: rows_of(books, **asked)) is not None
    total = books.metric("lowest", scenarios=A, period="2026-03")
    ((_, _, call),) = calls(answer(total, 10**9)["rows"][0], answer(total, 10**9)["columns"][0])
    assert figure_behind(call, lambda asked: rows_of(books, **asked)) == figure(total)


def test_a_declared_group_closes_by_its_grain(tmp_path: Path) -> None:
    books = bank(tmp_path, "\n  lowest: {measure: amount, over_time: lowest}\n", "{all: {where: {}, grain: month}}")
    of_months = [sum(closes(*ACCOUNTS, months=(month,))) for month in MONTHS]
    assert figure(books.metric("lowest", scenarios=A, period=(MONTHS[0], MONTHS[-1]))) == Decimal(min(of_months))


def test_no_row_in_the_range_is_no_figure(tmp_path: Path) -> None:
    report = bank(tmp_path).metric("lowest", scenarios=A, period="2026-06")
    assert figure(report) is None
    assert "outside_books" in codes(report)


def test_its_variance_is_not_explained(tmp_path: Path) -> None:
    with pytest.raises(BadArguments) as refused:
        explained(bank(tmp_path), "lowest", "account", period="2026-02", scenarios=("actual", "actual@pp"))
    assert "lowest is neither a sum over its members" in refused.value.error


def test_windows_that_choose_among_too_many_closes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_size, "MOST_COMBINED", 100)
    asked: dict[str, Any] = {"scenarios": {"Y": "actual@ytd"}, "period": ("2026-04-01", "2026-04-20")}
    with pytest.raises(BadArguments) as refused:
        bank(tmp_path).metric("lowest", **asked, dimensions=["date"])
    assert "would read" in refused.value.error


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("{measure: amount, over_members: max, over_time: lowest}", "x: a max cannot be made lowest"),
        ("{measure: amount, over_time: least}", "least"),
    ],
)
def test_what_has_no_lowest_close_is_a_fault(tmp_path: Path, part: str, fault: str) -> None:
    with pytest.raises(InstanceFaults) as found:
        bank(tmp_path, f"\n  x: {part}\n")
    assert fault in str(found.value)
