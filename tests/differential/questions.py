"""Draws questions of an instance, as plain values: what a caller writes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.differential.books import FileBooks
from tests.differential.calendars import SIZES, FilePeriod

QUESTIONS = 25  # of an instance
MOVES = ("", "", "", "@py", "@pp", "@py2")
WINDOWS = ("@ytd", "@qtd", "@ltm", "@fy")
CALENDAR_WINDOWS = ("@cytd", "@cqtd", "@cy")
BREAKDOWNS = (
    (),
    (),
    ("product",),
    ("ptree",),
    ("entity",),
    ("etree",),
    ("period",),
    ("product", "entity"),
    ("ptree", "entity"),
    ("entity", "ptree"),
    ("etree", "product"),
    ("entity", "period"),
    ("ptree", "etree"),
)
LEDGER = (
    "m",
    "units",
    "neg",
    "part",
    "cond",
    "rows_",
    "kinds",
    "big",
    "small",
    "mean",
    "bal",
    "before",
    "known",
    "dated",
)
FORMULAS = ("net", "k", "plus", "twice", "ratio", "price", "flow", "profit", "third")
MORE = ("dated_before", "avg")
PEOPLE = ("cost", "heads", "largest", "companies")
LENGTHS = {"date": 5, "week": 5, "month": 4, "quarter": 3, "year": 2}


@dataclass(frozen=True)
class DrawnQuestion:
    """A call of run_metric or run_statement."""

    metrics: tuple[str, ...]  # none: the statement
    scenarios: tuple[str, ...]
    period: tuple[str, str]
    dimensions: tuple[str, ...] = ()
    filters: dict[str, Any] = field(default_factory=dict)
    subtotals: bool = False
    formulas: dict[str, str] = field(default_factory=dict)
    order_by: str | None = None
    top: int | None = None
    asc: bool = False


def draw_question(rng: Random, books: FileBooks) -> DrawnQuestion:
    """Draw a question."""
    statement = rng.random() < 0.25
    domain = rng.choice(("gl", "gl", "people"))
    metrics = (
        ()
        if statement
        else tuple(rng.sample((*LEDGER, *FORMULAS, *MORE) if domain == "gl" else PEOPLE, rng.choice((1, 2, 3, 4))))
    )
    start, end = draw_range(rng, books, domain)
    dimensions: tuple[str, ...] = rng.choice(BREAKDOWNS)
    if domain == "people" and not statement:
        dimensions = tuple(key for key in dimensions if key not in ("product", "ptree"))
    scenarios = tuple(dict.fromkeys(draw_reference(rng, books) for _ in range(rng.choice((1, 2, 3)))))
    filters = draw_filters(rng, domain if not statement else "gl")
    if rng.random() < 0.08 and not any("@" in name for name in scenarios):
        filters["mth"] = [draw_month(rng, books, start, end).code]
        metrics, dimensions, statement = ("m", "neg") if domain == "gl" else ("cost",), (), False
    formulas = {}
    if metrics and domain == "gl" and rng.random() < 0.3:
        formulas["f"] = rng.choice(
            ("m + k", "m + (cond + 5)", "2 * k + part", "m / bal", "(m - bal) / m", "m - before", "part - dated")
        )
    ranked = bool(metrics) and bool(dimensions) and "period" not in dimensions and rng.random() < 0.4
    return DrawnQuestion(
        metrics,
        scenarios,
        (start.code, end.code),
        dimensions,
        filters,
        subtotals=len(dimensions) > 1 and rng.random() < 0.5,
        formulas=formulas,
        order_by=f"{metrics[0]}@{scenarios[0]}" if ranked else None,
        top=rng.choice((1, 1, 2, 3)) if ranked else None,
        asc=ranked and rng.random() < 0.3,
    )


def draw_range(rng: Random, books: FileBooks, domain: str) -> tuple[FilePeriod, FilePeriod]:
    """Draw a range of periods of one grain around the days that rows have."""
    calendar = books.calendar
    usable = [grain for grain in LENGTHS if books.carries(domain, grain) and calendar.by_grain[grain]]
    if rng.random() < 0.1:
        usable = [grain for grain in ("week", "month") if calendar.by_grain[grain]]
    grain = rng.choice(usable)
    rows = books.rows[domain] or books.rows["gl"]
    day = rng.choice(rows).period.last if rows else calendar.by_code["2026-01"].first
    period = calendar.at(grain, day)
    assert period is not None
    start = calendar.later(period, -rng.randrange(LENGTHS[grain])) or period
    end = calendar.later(period, rng.randrange(LENGTHS[grain])) or period
    return start, end


def draw_month(rng: Random, books: FileBooks, start: FilePeriod, end: FilePeriod) -> FilePeriod:
    """Draw a month that a range has days of."""
    return rng.choice(books.calendar.between("month", start.first, end.last))


def draw_side(rng: Random, books: FileBooks) -> str:
    """Draw a scenario, a variant or a blend, perhaps shifted."""
    text = rng.choice(("actual", "actual", "budget", "budget/down", "forecast", "actual+forecast"))
    if text == "actual+forecast" and "closed_through" not in books.scenarios["actual"]:
        text = "actual"
    if rng.random() < 0.4:
        return text
    windows = (*WINDOWS, *(CALENDAR_WINDOWS if books.calendar.has_own_calendar else ()))
    if not books.calendar.by_grain["quarter"]:
        windows = tuple(name for name in windows if name != "@qtd")
    window = rng.choice(("", *windows, *windows))
    before = rng.choice(MOVES)
    after = rng.choice(("", "@py")) if window else ""
    return f"{text}{before}{window}{after}"


def draw_reference(rng: Random, books: FileBooks) -> str:
    """Draw a column."""
    if rng.random() < 0.6:
        return draw_side(rng, books)
    how = rng.choice(("var", "var", "var_pct"))
    return f"{how}({draw_side(rng, books)},{draw_side(rng, books)})"


def draw_filters(rng: Random, domain: str) -> dict[str, Any]:
    """Draw filters."""
    found: dict[str, Any] = {}
    choices: Sequence[tuple[str, Any]] = (
        ("product", ["P", "Q"]),
        ("product", {"exclude": ["P"]}),
        ("ptree", ["A"]),
        ("ptree", ["A", "B"]),
        ("ptree", ["B", "P"]),
        ("entity", ["DE"]),
        ("entity", {"exclude": ["FR"]}),
        ("etree", ["A"]),
    )
    if domain == "people":
        choices = [choice for choice in choices if choice[0] in ("entity", "etree")]
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        key, ids = rng.choice(choices)
        found[key] = ids
    return found


def is_cut(books: FileBooks, question: DrawnQuestion) -> bool:
    """Tell whether a filter by periods cuts those of the range or of the data, which is refused."""
    start, end = (books.calendar.by_code[code] for code in question.period)
    months = [books.calendar.by_code[code] for code in question.filters.get("mth", ())]
    if months and not all(books.carries(books.metrics[metric][0], "month") for metric in question.metrics):
        return True
    return any(
        SIZES[start.grain] > 1
        and not books.calendar.fits(start.grain, max(start.first, month.first), min(end.last, month.last))
        for month in months
        if start.first <= month.last and end.last >= month.first
    )
