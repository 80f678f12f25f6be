"""What is asked beside reports: explained variances, and the texts of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from random import Random

from engine.door import Door
from engine.model.errors import Refusal, UnknownName
from engine.model.requests import ExplainRequest
from engine.present.blocks import table
from engine.queries.explanations import explain_query
from engine.report.explain import explain
from tests.differential.books import FileBooks
from tests.differential.calendars import Window
from tests.differential.explanations import ExplainedRows, driven, explained
from tests.differential.figures import AskedCell, CannotBeAsked, Oracle
from tests.differential.questions import draw_range
from tests.differential.references import Reference, side_of

QUOTIENT, ALL = Context(prec=15, rounding=ROUND_HALF_EVEN), Context(prec=60)
QUOTIENTS = ("mean", "third", "price")  # a third that ends has all its digits


@dataclass(frozen=True)
class MoreAsked:
    """A question beside reports, the cells of its answer, and what differs."""

    call: str
    cells: int
    differing: tuple[tuple[str, str, str], ...] = ()


def explanations(rng: Random, door: Door, books: FileBooks) -> Iterator[MoreAsked]:
    """Yield a variance that is explained, by members and by drivers."""
    oracle = Oracle(books)
    for drivers in (False, True):
        start, end = draw_range(rng, books, "gl")
        a, b = rng.sample(("actual", "budget", "forecast"), 2)
        by = rng.choice(("product", "entity"))
        asked = ExplainRequest(
            metric="m", scenarios=(a, b), by=(by,), drivers=drivers, period_start=start.code, period_end=end.code
        )
        call = f"explain m of {a} against {b} in {start.code}..{end.code} by {by}{' with drivers' if drivers else ''}"
        try:
            answer = explain(explain_query(asked, door.reader), door.reader)
        except Refusal:
            continue
        rows = {
            row.key: tuple(
                Fraction(0) if x is None else Fraction(x.numerator, x.denominator)
                for x in (row.a, row.b, row.contribution)
            )
            for found in answer.lists
            for row in found.rows
        }
        if not rows or "(others)" in rows:
            continue
        cell = AskedCell(Window(start, end), {}, ())
        sides = (side_of(a), side_of(b))
        try:
            expected: ExplainedRows = (
                driven(oracle, sides, by, cell) if drivers else explained(oracle, "m", sides, by, cell)
            )
        except (CannotBeAsked, ZeroDivisionError):
            continue
        differing = tuple(
            (key, told(rows.get(key)), told(expected.get(key)))
            for key in dict.fromkeys((*rows, *expected))
            if rows.get(key, NOTHING) != expected.get(key, NOTHING)
        )
        yield MoreAsked(call, 3 * len(rows), differing)


NOTHING = (Fraction(0),) * 3


def told(row: tuple[Fraction, ...] | None) -> str:
    """Return a row in words."""
    return "no row" if row is None else " ".join(map(str, row))


def tables(door: Door, books: FileBooks) -> Iterator[MoreAsked]:
    """Yield quotients as a table shows them: the digits of the figure, rounded half away from zero."""
    oracle = Oracle(books)
    for period in {row.period.code for row in books.rows["gl"]}:
        for metric in QUOTIENTS:
            try:
                report = door.metric(metric, scenarios={"c0": "actual"}, period=period, decimals=2)
            except UnknownName:  # of who sees no row of the domain
                if any(books.grants.sees("gl", row.scenario, row) for row in books.rows["gl"]):
                    raise
                return
            ((cell,),) = (row["cells"] for row in table(report)["rows"])
            found = books.calendar.by_code[period]
            figure = oracle.figure(metric, Reference.of("actual"), AskedCell(Window(found, found), {}, ()))
            expected = "" if figure is None else text_of(figure, exact=metric == "third")
            given = cell[0] if isinstance(cell, list) else cell or ""
            differing = ((metric, given, expected),) if given != expected else ()
            yield MoreAsked(f"the table of {metric} of actual in {period}", 1, differing)


def text_of(figure: Fraction, *, exact: bool) -> str:
    """Return a quotient as a table shows it with 2 decimals: of 15 digits, of all if it is exact and ends."""
    context = ALL if exact and ends(figure) else QUOTIENT
    digits = context.divide(Decimal(figure.numerator), Decimal(figure.denominator))
    rounded = digits.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    if not rounded:
        return "–"
    return f"{rounded:,}" if rounded > 0 else f"({-rounded:,})"


def ends(figure: Fraction) -> bool:
    """Tell whether the digits of a figure end."""
    rest = figure.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
