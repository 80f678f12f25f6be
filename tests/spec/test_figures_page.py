"""docs/figures.md computes what it says: what its tables post is loaded, and every bold figure asked of the engine."""

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import Refusal
from engine.present.blocks import table as render_block
from engine.report.report import Report
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.calendars import four_four_five
from tests.support.books.calendars import table as weeks_table
from tests.support.books.dated_loads import DatedLedger
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figure, figures, small_books
from tests.support.books.worked import PAGE, PageCell, PageTable, Place, day_of, tables

DOMAINS, FRESHNESS, EXPLAINED = "Several domains", "Freshness", "Explained variances"
CHOSEN = "Chosen rows"  # which test_chosen_rows asks
CHANGE = "`var(share(actual),share(budget))`"
VIEWS = [table for table in tables() if {"`share(actual)`", CHANGE, "reference"}.intersection(table.head)]
MATERIAL = "`absolute: 20`"  # a heading of the table of material lines, which test_materiality asks
TABLES = [
    table
    for table in tables()
    if table.section not in (DOMAINS, FRESHNESS, EXPLAINED, CHOSEN)
    and table not in VIEWS
    and MATERIAL not in table.head
]
UNCUT = 10**9
TRADING = weeks_table(date(2025, 1, 26), {2025: four_four_five(53), 2026: four_four_five()}, by_week=True)
OVER_MEMBERS = ("sum", "count", "min", "max", "average", "median")
OVER_TIME = ("closing", "opening", "lowest", "highest")
MONEY = ("gross_profit", "revenue")
NOTHING = "-"
BLANK = "blank"
NONE = "none"


def metric_of(words: str) -> str:
    """Return how a metric is declared that a table asks for by its rule, its formula or the name of what was posted."""
    formula, _, percent = words.partition(" as ")
    if formula in OVER_MEMBERS or formula.startswith(("{count_distinct", "{percentile")):
        return f"{{over_members: {formula}{'' if 'count' in formula else ', measure: amount'}}}"
    if formula in OVER_TIME or formula.startswith("{"):
        return f"{{measure: amount, over_time: {formula}}}"
    if formula.startswith("where: "):
        return f"{{measure: amount, {formula}}}"
    if formula.isidentifier():
        return f"{{measure: {'amount' if formula in MONEY else 'units'}, where: {{nature: {formula}}}}}"
    return f"{{formula: '{formula}'{', format: percent' if percent else ''}}}"


def keys_of(table: PageTable) -> dict[str, str]:
    """Return the key of every metric of a table, those inside its formulas too."""
    asked = table.metrics() | {"sum"}
    formulas = [words.partition(" as ")[0] for words in asked if not words.startswith(("{", "where"))]
    formulas = [re.sub(r"\[[^]]*]", "", formula) for formula in formulas]  # brackets hold scenarios
    names = {name for formula in formulas for name in re.findall(r"[a-z_]+\b(?!\()", formula.replace("(period)", "()"))}
    return {name: name for name in names} | {words: f"metric_{at}" for at, words in enumerate(sorted(asked - names), 1)}


def counts(table: PageTable) -> bool:
    """Tell whether a table has plain numbers beside money."""
    return any("measure: units" in metric_of(words) for words in keys_of(table))


def facts_of(table: PageTable) -> str:
    """Return the rows that a table posts."""
    rows = ["date scenario product entity node nature amount units"]
    for cell in table.cells():
        if cell.asked or not cell.words:
            continue
        place = cell.place
        assert place.period is not None
        members = [place.members.get(axis, (NOTHING,))[0] for axis in ("product", "entity", "node")]
        nature = place.metric if place.metric.isidentifier() and place.metric != "sum" else NOTHING
        for amount in cell.amounts:
            both = (0, amount) if nature not in (NOTHING, *MONEY) else (amount, 0)
            day = place.period[0] if "grain" in table.settings else day_of(place.period[0])
            rows.append(" ".join(map(str, [day, place.scenario, *members, nature, *both])))
    return "\n".join(rows)


def places_of(table: PageTable) -> int:
    """Return the most decimal places of what a table posts."""
    amounts = [amount for cell in table.cells() if not cell.asked for amount in cell.amounts]
    return max((-int(amount.as_tuple().exponent) for amount in amounts), default=0)


def books_of(folder: Path, table: PageTable) -> Door:
    """Return books that hold what a table posts, declared as it says."""
    closed = table.settings.get("closed_through")
    variants = f"variants: {{downside: {{label: Low, adjust: {table.settings.get('adjust', '[]')}}}}}"
    scope = table.settings.get("scenarios")
    nodes = table.nodes()
    places = places_of(table)
    units = f", units: {{type: number, places: {places}}}" if counts(table) else ""
    return small_books(
        folder,
        facts={"gl": facts_of(table)},
        domains={
            "gl": f"""
            time: {{column: date, missing: keep, grain: {table.settings.get("grain", "day")}}}
            dimensions: {{product: product, entity: entity, branch: node, nature: nature}}
            measures: {{amount: {{places: {places}}}{units}}}
            inspect_enabled: true
            metrics: {{{", ".join(f"{key}: {metric_of(words)}" for words, key in keys_of(table).items())}}}
            """
        },
        dimensions="""
            product: {kind: leaf}
            entity: {kind: leaf}
            branch: {kind: leaf}
            nature: {kind: leaf}
            node: {kind: ragged, leaf_dimension: branch, nodes: live.node}
        """,
        tables={"node": "\n".join(["node parent weight", *(" ".join(part or NOTHING for part in n) for n in nodes)])},
        statements={"page": f"- {{rollup: {{metric: sum, dimension: node, node: {nodes[0][0]}}}}}\n"} if nodes else {},
        scenarios=f"""
            actual: {{alias: Actuals, kind: actual{f", closed_through: {closed}" if closed else ""}}}
            budget: {{alias: Budget, kind: budget{f", {variants}" if "adjust" in table.settings else ""}}}
            forecast: {{alias: Forecast, kind: forecast}}
        """,
        fiscal_year=table.settings.get("fiscal_year", "{starts: 1}"),
        trading=TRADING if "trading_calendar" in table.settings else "",
        profiles=f"seen: {{scenarios: {scope}}}" if scope else "",
        profile="seen" if scope else None,
    )


def plain(value: Decimal) -> str:
    """Return a figure as the page writes it."""
    return f"{value.normalize():f}"


class TableBooks:
    """A table and its books; each way to ask returns what a cell of the table would say."""

    def __init__(self, table: PageTable, books: Door) -> None:
        self.table = table
        self.books = books
        self.keys = keys_of(table)

    def report(self, place: Place) -> Report:
        """Return the report of one figure."""
        return self.books.metric(
            self.keys[place.metric],
            scenarios={"X": place.scenario},
            period=place.period,
            filters=dict(place.members),
            **place.options,
        )

    def figure(self, cell: PageCell) -> str:
        """Return the figure of a place, percents and points times 100, or what refuses it."""
        try:
            report = self.report(cell.place)
        except Refusal as refused:
            return refused.error_type
        value = figure(report)
        (unit,) = report.frame["unit"]
        percent = {"fraction": " %", "pp": " pp"}.get(unit, "") if cell.words.endswith((" %", " pp")) else ""
        return BLANK if value is None else plain(value * 100 if percent else value) + percent

    def json(self, cell: PageCell) -> str:
        """Return a figure as JSON has it."""
        result = answer(self.report(cell.place), UNCUT)
        (row,) = result["rows"]
        return json.dumps(row["values"][0])

    def shown(self, cell: PageCell) -> str:
        """Return a figure as it is shown."""
        (row,) = render_block(self.report(cell.place))["rows"]
        return str(row["cells"][0][0])

    def floats(self, cell: PageCell) -> str:
        """Return what floats would make of the amounts that the row of a cell posts."""
        (posted,) = (other for other in self.table.cells() if other.line == cell.line and not other.asked)
        return repr(reduce(add, map(float, posted.amounts))).removesuffix(".0")

    def note(self, cell: PageCell) -> str:
        """Return which of the notes that its column names the other figures of its row carry."""
        beside = [other for other in self.table.cells() if other.line == cell.line and other.asked]
        said = {code for other in beside if other.place.wants == "figure" for code in codes(self.report(other.place))}
        named = {other.words for other in self.table.cells() if other.place.wants == "note"}
        return ", ".join(sorted(said & named)) or NONE

    def line(self, cell: PageCell) -> tuple[str, str]:
        """Return the figure of a node's line in a rollup, and its weight into the line above."""
        report = self.books.statement("page", scenarios={"X": "actual"}, period=cell.place.period)
        key = f"node.{cell.place.members['node'][0]}"
        (line,) = (line for line in report.lines if line.key == key)
        weight = "" if line.into_parent is None else line.into_parent.digits()
        value = figures(report, "line")[key]
        assert value is not None
        return plain(value), weight

    def total_by_node(self, cell: PageCell) -> str:
        """Return the total of a breakdown by the tree."""
        metric, period = self.keys[cell.place.metric], cell.place.period
        report = self.books.metric(metric, scenarios={"X": "actual"}, period=period, dimensions=["node"])
        value = figures(report, "node")[None]
        return BLANK if value is None else plain(value)

    def in_subtotals(self, cell: PageCell) -> str:
        """Return the figure of a place of a breakdown with sub-totals."""
        metric, period = self.keys[cell.place.metric], cell.place.period
        dimensions = ("entity", "product")
        report = self.books.metric(
            metric, scenarios={"X": "actual"}, period=period, dimensions=dimensions, subtotals=True
        )
        path = tuple(next(iter(cell.place.members.get(axis, ())), None) for axis in dimensions)
        value = figures(report, *dimensions)[path]
        return BLANK if value is None else plain(value)

    def rows(self, cell: PageCell) -> str:
        """Return what the rows behind a cell contribute, after holding them against it."""
        result = answer(self.report(cell.place), UNCUT)
        ((_, _, call),) = calls(result["rows"][0], result["columns"][0])
        assert figure_behind(call, lambda asked: rows_of(self.books, **asked)) == figure(self.report(cell.place))
        return ", ".join(str(row[-1]) for row in rows_of(self.books, **call)["rows"])


WAYS: dict[str, Callable[[TableBooks, PageCell], str]] = {
    "figure": TableBooks.figure,
    "JSON": TableBooks.json,
    "shown": TableBooks.shown,
    "as floats": TableBooks.floats,
    "note": TableBooks.note,
    "rollup": lambda asking, cell: asking.line(cell)[0],
    "into_parent": lambda asking, cell: asking.line(cell)[1],
    "rows": TableBooks.rows,
    "total by node": TableBooks.total_by_node,
    "sub-totals": TableBooks.in_subtotals,
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.section}, line {table.line}")
def test_every_bold_figure_is_what_the_engine_answers(table: PageTable, tmp_path: Path) -> None:
    asking = TableBooks(table, books_of(tmp_path, table))
    asked = [cell for cell in table.cells() if cell.asked]
    assert asked
    answered = {cell.where: WAYS[cell.place.wants](asking, cell) for cell in asked}
    assert answered == {cell.where: cell.words for cell in asked}


def test_a_line_of_another_domain_repeats_its_aggregate_or_is_unavailable(tmp_path: Path) -> None:
    posted, answered = (table for table in tables() if table.section == DOMAINS)
    rows = [dict(zip(posted.head, row, strict=True)) for row in posted.body]
    domain = "time: {{column: date}}\ndimensions: {}\nmeasures: {{amount: {{type: {}, places: 0}}}}\nmetrics: {}\n"
    books = small_books(
        tmp_path,
        facts={
            name: "date scenario entity product amount\n"
            + "\n".join(f"2026-01-15 actual {row['entity']} {row['product']} {row[metric]}" for row in rows)
            for name, metric in (("sales", "`revenue`"), ("people", "`headcount`"))
        },
        domains={
            "sales": domain.format("{entity: entity, product: product}", "money", "{revenue: {measure: amount}}"),
            "people": domain.format("{entity: entity}", "number", "{headcount: {measure: amount}}"),
        },
        dimensions="entity: {kind: leaf}\nproduct: {kind: leaf}",
        statements={
            "page": "- {metric: revenue}\n- {metric: headcount}\n"
            "- {formula: {key: ratio, label: Revenue per head, is: revenue / headcount}}\n"
        },
    )
    asked: dict[str, Any] = {"scenarios": {"X": "actual"}, "period": "2026-01"}
    by_product = figures(books.statement("page", dimensions=["product"], **asked), "line", "product")
    filtered = figures(books.statement("page", filters={"product": "Core"}, **asked), "line")
    for line, row in zip(("revenue", "headcount", "ratio"), answered.body, strict=True):
        found = [*(by_product[line, product] for product in ("Core", "Pro", None)), filtered[line]]
        assert [f"**{BLANK if value is None else plain(value)}**" for value in found] == list(row[1:]), row[0]


@pytest.mark.parametrize("table", VIEWS[:-1])  # the last is walked over HTTP
def test_views_are_those_of_the_rows(tmp_path: Path, table: PageTable) -> None:
    *rows, total = table.body
    domain = "time: {column: date}\ndimensions: {product: product}\nmeasures: {amount: {places: 0}}\n"
    plainly = [(at, head.strip("`")) for at, head in enumerate(table.head) if head in ("`actual`", "`budget`")]
    posted = "\n".join(
        f"2026-01-15 {scenario} {row[0]} {row[at]}" for row in rows for at, scenario in plainly if row[at]
    )
    books = small_books(
        tmp_path,
        facts={"sales": f"date scenario product amount\n{posted}"},
        domains={"sales": f"{domain}metrics: {{sum: {{measure: amount}}}}\n"},
        dimensions="product: {kind: leaf}",
    )
    columns = [head.strip("`") for head in table.head[1:]]
    asked = {column: column for column in columns}
    report = books.metric("sum", scenarios=asked, period="2026-01", dimensions=["product"])
    found = figures(report, "scenario", "product")
    for product, *told in (*rows, total):
        for column, words in zip(columns, told, strict=True):
            value, unit = found[column, None if product == "Total" else product], words.strip("*")[-3:]
            unit = f" {unit.split()[-1]}" if unit.endswith((" pp", " %")) else ""
            told_value = BLANK if value is None else plain(value * 100 if unit else value) + unit
            expected = words.replace("*", "").replace("\N{MINUS SIGN}", "-") or BLANK
            assert told_value == expected, (product, column)


def test_a_figure_is_as_fresh_as_the_loads_of_its_days(tmp_path: Path) -> None:
    brought, answered = (table for table in tables() if table.section == FRESHNESS)
    feeds = DatedLedger(tmp_path, "")
    for day, *amounts in brought.body:
        rows = {month: amount for month, amount in zip(brought.head[1:], amounts, strict=True) if amount}
        facts = "\n".join(f"{month}-15 actual P {amount}" for month, amount in rows.items())
        books = feeds.load(f"{min(rows)}..{max(rows)}", facts, at=day)
    for period, *said in answered.body:
        report = books.metric("revenue", scenarios={"X": "actual"}, period=period)
        known = report.freshness["gl"]["actual"]
        found = (figure(report), *((at or "")[:10] for at in (known.loaded_at, known.earliest_loaded_at)))
        assert [f"**{value}**" if value else "" for value in found] == said, period


def test_every_rule_has_its_example() -> None:
    rules = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rules) == {table.section for table in tables()}
