"""Books of one ledger, explanations asked of them, and what their lists say as fractions."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from engine.door import Door, bounds, requested_filters
from engine.model.exact import Exact
from engine.model.requests import ExplainRequest, Materiality
from engine.queries.explanations import explain_query
from engine.report.explain import explain
from engine.report.explanation import ExplainedList, ExplainedRow, Explanation
from tests.support.books.small import small_books

BOTH = ("actual", "budget")
LEDGER = """
time: {column: date}
dimensions: {entity: entity}
measures:
  revenue: {places: 2}
  earned: {places: 2}
  units: {places: 0, type: number}
  cogs: {places: 2}
  personnel: {places: 2}
  rent: {places: 2}
inspect_enabled: true
metrics:
  revenue: {measure: revenue, favourable: up, drivers: {volume: units, price: net_price}}
  earned: {measure: earned}
  units: {measure: units}
  net_price: {formula: revenue / units}
  margin: {formula: earned / revenue, format: percent}
  cogs: {measure: cogs, favourable: down}
  personnel: {measure: personnel}
  rent: {measure: rent}
  opex: {formula: personnel + rent}
  profit: {formula: revenue - cogs - opex, favourable: up}
  worth: {formula: revenue * units}
  rent_share: {formula: rent / cogs}
  relative: {formula: margin / rent_share}
  most_units: {measure: units, over_members: max}
"""
DIMENSIONS = """
entity: {kind: leaf, members: live.entity}
quarter: {kind: leaf, grain: quarter}
ownership: {kind: ragged, leaf_dimension: entity, nodes: live.ownership}
"""
HEAD = "date scenario entity revenue earned units cogs personnel rent\n"
TREE = "node parent weight\nGROUP - 1\nDE GROUP 1\nFR GROUP 0.9"
PROFITS = """
    2026-01-05 actual DE 120 - - 50 25 10
    2026-01-05 actual FR 80 - - 40 15 10
    2026-01-05 budget DE 110 - - 55 20 5
    2026-01-05 budget FR 70 - - 40 10 10
"""
MARGINS = """
    2026-01-05 actual N 100 40
    2026-01-05 actual S 50 10
    2026-01-05 actual W 30 9
    2026-01-05 budget N 90 30
    2026-01-05 budget S 60 12
    2026-01-05 budget W 50 8
"""


def write_books(folder: Path, rows: str, tree: str = TREE, **parts: Any) -> Door:
    """Return books of one ledger: a row says date, scenario and entity, then measures in the order of HEAD."""
    lines = [line.split() for line in rows.splitlines() if line.strip()]
    padded = [" ".join([*("0" if cell == "-" else cell for cell in line), *"0" * (9 - len(line))]) for line in lines]
    entities = {line[2] for line in lines} | {line.split()[0] for line in tree.splitlines()[1:]} - {"GROUP"}
    return small_books(
        folder,
        facts={"gl": HEAD + "\n".join(padded)},
        domains={"gl": LEDGER},
        dimensions=DIMENSIONS,
        tables={"entity": "id\n" + "\n".join(sorted(entities)), "ownership": tree},
        **parts,
    )


def explained(
    books: Door, metric: str, *by: str, period: str | tuple[str, str] = "2026-01", **asked: Any
) -> Explanation:
    """Return the explanation of a metric between two scenarios, actual and budget unless others are given."""
    start, end = bounds(period)
    given = {"scenarios": BOTH, **asked, "filters": requested_filters(asked.get("filters"))}
    request = ExplainRequest(metric=metric, by=by, period_start=start, period_end=end, **given)
    reader = books.reader
    return explain(explain_query(request, reader), reader)


def fraction(figure: Exact | None) -> Fraction | None:
    """Return a figure as a fraction."""
    return None if figure is None else Fraction(figure.numerator, figure.denominator)


def contributions(found: ExplainedList) -> list[tuple[str, Fraction]]:
    """Return the key and contribution of each row, once they add up to the variance of their list exactly."""
    rows = [(row.key, Fraction(row.contribution.numerator, row.contribution.denominator)) for row in found.rows]
    if found.rows:
        assert sum(amount for _, amount in rows) == fraction(found.variance)
    return rows


def parts(found: ExplainedList) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Return the rate or price, and the mix, of each row by key, once contributions add up."""
    contributions(found)
    return {row.key: (fraction(row.rest), fraction(row.mix)) for row in found.rows}


def sides(rows: Sequence[ExplainedRow]) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """Return the figures of both sides of each row by key."""
    return {row.key: (fraction(row.a), fraction(row.b)) for row in rows}


def notes(found: Explanation) -> list[str]:
    """Return the codes of the notes."""
    return [note.code for note in found.notes]


def materiality(**known: float) -> Materiality:
    """Return a materiality as a request has it."""
    return Materiality(**known)
