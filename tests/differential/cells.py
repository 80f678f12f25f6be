"""The cells that a question may be answered by, as the oracle expects them."""

from collections.abc import Iterator
from datetime import date
from itertools import product

from tests.differential.books import FileBooks
from tests.differential.calendars import FilePeriod, Window
from tests.differential.figures import AskedCell, Oracle
from tests.differential.questions import DrawnQuestion
from tests.differential.rankings import OracleRanking, RankedRow
from tests.differential.references import Reference

Place = tuple[str, ...]  # the members of a row; none: the total


def whole_cell(books: FileBooks, question: DrawnQuestion) -> AskedCell:
    """Return the cell of the total of a question; a filter by a month narrows its range."""
    start, end = (books.calendar.by_code[code] for code in question.period)
    for code in question.filters.get("mth", ()):
        inside = books.calendar.between(end.grain, *shared(start, end, books.calendar.by_code[code]))
        start, end = inside[0], inside[-1]
    return AskedCell(
        asked=Window(start, end),
        filters={key: ids for key, ids in question.filters.items() if key != "mth"},
        breakdown=tuple(key for key in question.dimensions if key != "period"),
        time=end.grain if "period" in question.dimensions else "",
    )


def shared(start: FilePeriod, end: FilePeriod, month: FilePeriod) -> tuple[date, date]:
    """Return the first and last day that a range and a month share."""
    return max(start.first, month.first), min(end.last, month.last)


def expected_cells(
    books: FileBooks, oracle: Oracle, question: DrawnQuestion
) -> Iterator[tuple[tuple[str, ...], AskedCell]]:
    """Yield the cells that an answer may have, by their members."""
    whole = whole_cell(books, question)
    for key, ids in whole.filters.items():
        oracle.filtered(key, ids)
    yield (), whole
    if question.order_by:
        for row in OracleRanking(oracle, question, whole).rows():
            yield row.members, row.cell
        return
    for depth in range(1 if question.subtotals else len(question.dimensions), len(question.dimensions) + 1):
        keys = question.dimensions[:depth]
        periods = {
            p.code: p for p in books.calendar.between(whole.asked.end.grain, whole.asked.first, whole.asked.last)
        }
        each = [list(periods) if key == "period" else named(books, question, key) for key in keys]
        for members in product(*each) if depth else ():
            by_key = dict(zip(keys, members, strict=True))
            period = periods[by_key.pop("period")] if "period" in by_key else None
            yield (
                members,
                AskedCell(whole.asked, whole.filters, whole.breakdown, by_key, period, whole.time),
            )


def named(books: FileBooks, question: DrawnQuestion, key: str) -> list[str]:
    """Return the members that a breakdown may show."""
    filtered = question.filters.get(key, ())
    return books.shown(key, () if isinstance(filtered, dict) else filtered)


def repeats(books: FileBooks, oracle: Oracle, key: str, cell: AskedCell) -> bool:
    """Tell whether a line repeats its aggregate over a dimension of a cell."""
    return any(not books.has(books.metrics[base][0], dim) for base in oracle.bases(key) for dim in cell.members)


def ranked_rows(books: FileBooks, oracle: Oracle, question: DrawnQuestion) -> list[RankedRow]:
    """Return the rows of a ranked answer."""
    return list(OracleRanking(oracle, question, whole_cell(books, question)).rows())


def has_figure(oracle: Oracle, question: DrawnQuestion, cell: AskedCell) -> bool:
    """Tell whether any line has a figure in a cell."""
    lines = (*question.metrics, *question.formulas)
    return any(
        oracle.figure(line, Reference.of(text), cell) is not None for line, text in product(lines, question.scenarios)
    )
