"""Random results and charts of them: reports with and without blanks, explanations of few and of many members, rows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.json import encode

from engine.door import Door
from engine.model.errors import Refusal
from engine.model.requests import ChartSpec
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT
from engine.present.answers.charts import ChartPictures, chart_answer, spec_json
from engine.present.charts.charts import CHARTS, chart
from engine.present.charts.results import drawn_as_it_is
from engine.report.inspection import Inspection
from engine.report.snapshots import Kept, given, keep
from engine.report.transform import ScriptOutput, transformed
from tests.support.books.explained import explained, write_books

SCENARIOS = ("actual", "budget", "var(actual,budget)", "var_pct(actual,budget)", "actual@py", "actual@ytd", "forecast")
METRICS = ("revenue", "earned", "units", "margin", "net_price", "rent_share", "cogs", "most_units")
DIMENSIONS = ("entity", "quarter", "period", "ownership", "date")
PERIODS = ("2026-01", ("2026-01", "2026-06"), ("2025-11", "2026-02"), ("2026-01-03", "2026-01-09"))
EQUAL_PRODUCTS = 500
SELDOM, HALF = 0.1, 0.5
BUDGET = 6000  # tokens of an answer
OTHER_WORDS = ("", "ghost", "EUR", "value", "fraction", "%", "2026-01", "N", "Actuals")


class ResultBooks(Struct, frozen=True):
    """Books of few rows, in which many figures are blank, and books of many products of equal volumes."""

    few: Door
    many: Door


class KeptResult(Struct, frozen=True):
    """A result as it is kept, and the books that it is of."""

    door: Door
    data: bytes


def write_result_books(folder: Path) -> ResultBooks:
    """Write and load the books that results are drawn from."""
    few = [
        f"2026-{month:02}-0{1 + month} {scenario} {entity} {100 * month} {month * len(entity)} {units} {cogs} 7 0"
        for month in range(1, 7)
        for scenario in ("actual", "budget")
        for entity, units, cogs in (("N", 0, 5), ("SOUTH", month, -3 * month), ("W", 4, 0))
        if not (entity == "W" and scenario == "budget") and not (entity == "N" and month % 2)
    ]
    few += ["2025-01-04 actual N 80 8 2 0 0 0", "2026-01-07 actual ONCE 1 0 0 0 0 0"]
    many = [
        f"2026-01-05 {scenario} P{at} {1000 + at * factor} 1 {10 + at}"
        for scenario, factor in (("actual", 7), ("budget", 5))
        for at in range(EQUAL_PRODUCTS)
    ]
    return ResultBooks(
        write_books(folder / "few", "\n".join(few), tree=tree_of("N", "SOUTH", "W", "ONCE")),
        write_books(folder / "many", "\n".join(many), tree=tree_of(*(f"P{at}" for at in range(EQUAL_PRODUCTS)))),
    )


def tree_of(*entities: str) -> str:
    """Return a tree of one node above all entities."""
    return "\n".join(["node parent weight", "GROUP - 1", *(f"{entity} GROUP 1" for entity in entities)])


def report(few: Door, random: Random) -> Kept:
    """Draw a report: up to three dimensions, two of them of time at most, perhaps with a row for each group."""
    scenarios = random.sample(SCENARIOS, random.randint(1, 3))
    dimensions = random.sample(DIMENSIONS, random.choice((0, 1, 2, 2, 3)))
    return few.metric(
        *random.sample(METRICS, random.randint(1, 3)),
        scenarios={f"S{at}" if random.random() < SELDOM else name: name for at, name in enumerate(scenarios)},
        period=random.choice(PERIODS),
        dimensions=dimensions,
        subtotals=len(dimensions) > 1 and random.random() < HALF,
    )


def explanation(few: Door, random: Random) -> Kept:
    """Draw an explanation of a sum or a ratio by one list or two."""
    metric = random.choice((*METRICS, "profit"))
    by = random.sample(("entity", "quarter", "ownership", "lines"), random.randint(1, 2))
    top = random.choice((1, 5, 50))
    return explained(few, metric, *by, period=random.choice(PERIODS), drivers=metric == "revenue", top=top)


def long_explanation(many: Door, random: Random) -> Kept:
    """Draw an explanation by products: of a price, of a ratio, or of an amount with its drivers or without."""
    metric = random.choice(("revenue", "net_price", "margin"))
    drivers = metric == "revenue" and random.random() < HALF
    return explained(many, metric, "entity", drivers=drivers, top=random.choice((1, 10, 50)))


def inspection(few: Door, random: Random) -> Kept:
    """Draw rows of a source."""
    columns = random.choice((None, ("entity", "revenue"), ("date", "units", "entity")))
    return few.rows("gl", scenario=random.choice(("actual", "budget")), period="2026-01", columns=columns)


def random_result(books: ResultBooks, random: Random) -> KeptResult | None:
    """Draw a result and keep it; None where the request is refused."""
    door: Door
    draw: Callable[[Door, Random], Kept]
    if random.random() < SELDOM:
        door, draw = books.many, long_explanation
    else:
        door, draw = books.few, random.choice((report, report, report, explanation, inspection))
    try:
        return KeptResult(door, keep(draw(door, random)))
    except Refusal:
        return None


def random_spec(frame: pl.DataFrame, random: Random) -> ChartSpec:
    """Draw a specification, most often of columns that the table has."""
    columns: list[Any] = [*frame.columns, random.choice(OTHER_WORDS)]

    def perhaps(share: float, value: Callable[[], Any]) -> Any:
        return value() if random.random() < share else None

    some = [*(str(value) for value in frame.to_series(random.randrange(frame.width)).to_list()[:3]), "ghost"]
    fields: Mapping[str, Any] = {
        "x": perhaps(0.4, lambda: random.choice(columns)),
        "y": perhaps(0.4, lambda: random.choice(("value", tuple(random.sample(columns, 2)), random.choice(columns)))),
        "series": perhaps(0.5, lambda: random.choice(columns)),
        "kind": perhaps(0.1, lambda: random.choice(columns)),
        "label": perhaps(0.3, lambda: random.choice(columns)),
        "forecast_from": perhaps(0.2, lambda: random.choice(some)),
        "favourable": perhaps(0.3, lambda: random.choice(("up", "down"))),
        "unit": perhaps(0.2, lambda: random.choice(OTHER_WORDS)),
    }
    return ChartSpec(
        chart_type=random.choice(tuple(CHARTS)),
        title=random.choice(("A title", "", "x" * 300)),
        stack=random.random() < 0.2,
        sort=random.choice(("given", "ascending", "descending")),
        styles={random.choice(some): "plan"} if random.random() < 0.1 else {},
        **fields,
    )


def scripted(frame: pl.DataFrame, random: Random) -> pl.DataFrame:
    """Return what a script might leave of a table: some rows, some of its columns, figures without a value."""
    kept = frame.sample(fraction=random.choice((0.2, 0.6, 1.0)), seed=random.randrange(2**32))
    names = random.sample(kept.columns, random.randint(max(1, kept.width - 4), kept.width))
    blank = pl.when(pl.int_range(pl.len()) % random.randint(1, 4) > 0).then(pl.selectors.float())
    return kept.with_columns(blank).select(names)


def draw_random_chart(result: KeptResult, random: Random) -> None:
    """Draw a chart of a kept result as the tool does, with or without a script, or refuse it."""
    one = given(result.data, result.door.reader)
    spec = random_spec(one.frame, random)
    try:
        if random.random() < HALF:
            code = "result = df"
            output = ScriptOutput(spec.title, code, spec_json(spec), scripted(one.frame, random))
        else:
            whole = drawn_as_it_is(spec, one)
            units = {"value": whole.unit} if whole.unit else {}
            spec, code = whole.spec, whole.code
            output = ScriptOutput(spec.title, "", spec_json(spec), whole.frame, units, whole.notes)
        table = transformed(output, [one])
        drawn = chart(spec, table.frame, table.units, code=code, adds_up=isinstance(one, Inspection))
        answer = chart_answer(drawn, table, NOT_KEPT, "", ChartPictures(), BUDGET, never)
    except Refusal as refusal:
        answer = refusal.as_data()
    encode(answer)
