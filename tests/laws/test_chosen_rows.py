"""The law of chosen rows: what a call orders, keeps, counts and adds up is that of the rows of a call without choices.

Plain Python orders, keeps, counts and adds up the rows of random books with weights, balances, blends and profiles.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.books.reader import Reader
from engine.door import requested_filters
from engine.model.errors import Refusal
from engine.model.exact import Exact
from engine.model.requests import Bounds, RowsRequest
from engine.queries.rows import row_query
from engine.report.inspection import Inspection, RowValue, inspect
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import LARGE, inspected
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import ScopedTools
from tests.support.engines.memory import folder_in_memory

CHOICES = ("order_by", "asc", "amount", "text", "count_by", "summary", "limit", "columns")
Values = list[Any]  # of a row: fractions, texts, and None


def exact(value: RowValue) -> Any:
    """Return a value of a row, of an amount the fraction."""
    return Fraction(value.numerator, value.denominator) if isinstance(value, Exact) else value


def values(inspection: Inspection) -> list[Values]:
    """Return the rows of an inspection."""
    return [[exact(value) for value in row] for row in inspection.rows]


def answered(reader: Reader, asked: Mapping[str, Any], **choices: Any) -> Inspection | None:
    """Return the rows of a call with some choices, None where it is refused."""
    filters = requested_filters(asked["filters"])
    try:
        return inspect(row_query(RowsRequest(**{**asked, "filters": filters, **choices}), reader, 10_000), reader)
    except Refusal:
        return None


def in_order(rows: Sequence[Values], at: int, *, ascending: bool) -> list[Values]:
    """Return rows in the order of one of their values, those without it last."""
    known = sorted((row for row in rows if row[at] is not None), key=lambda row: row[at], reverse=not ascending)
    return [*known, *(row for row in rows if row[at] is None)]


def sums_told(inspection: Inspection, name: str) -> list[Fraction]:
    """Return the sum, the positive and the negative sum that an inspection tells of a column."""
    assert inspection.totals is not None
    sums = inspection.totals.sums[name]
    return [exact(sums.sum), exact(sums.positive), exact(sums.negative)]


def sums_made(amounts: Sequence[Fraction]) -> list[Fraction]:
    """Return the sum, the positive and the negative sum of amounts."""
    parts = (amounts, [each for each in amounts if each > 0], [each for each in amounts if each < 0])
    return [sum(part, Fraction(0)) for part in parts]


@given(data=st.data(), known=seen_books())
def test_chosen_rows_are_those_of_the_rows_without_choices(
    data: st.DataObject, known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]
) -> None:
    with folder_in_memory() as folder:
        reader = ScopedTools(*known, folder).caller(LARGE).reader
        for drawn in data.draw(st.lists(inspected(), min_size=8, max_size=12)):
            asked = {key: part for key, part in drawn.items() if key not in CHOICES}
            whole = answered(reader, asked)
            if whole is not None and whole.totals is not None and whole.totals.sums:
                hold(data, reader, asked, whole)


def hold(data: st.DataObject, reader: Reader, asked: Mapping[str, Any], whole: Inspection) -> None:
    """Hold random choices to the rows of a call without them."""
    names = [column.name for column in whole.columns]
    by = data.draw(st.sampled_from([column.name for column in whole.columns if column.kind != "amount"]))
    assert whole.totals is not None
    at = {name: names.index(name) for name in whole.totals.sums}
    first, column = next(iter(at)), data.draw(st.sampled_from(names))
    least, most = data.draw(
        st.sampled_from(((None, None), (None, None), (0, None), (None, 7), (-4, 100.25), (2.5, 60)))
    )
    word = data.draw(st.sampled_from((None, "note", "x"))) if "memo" in names else None
    given = {"amount": Bounds(min=least, max=most)} if least is not None or most is not None else {}
    kept = [
        row
        for row in values(whole)
        if (not given or row[at[first]] is not None)
        and (least is None or row[at[first]] >= Fraction(str(least)))
        and (most is None or row[at[first]] <= Fraction(str(most)))
        and (word is None or word in row[names.index("memo")].lower())
    ]
    choices = {**given, **({"text": word} if word else {})}
    limit, ascending = data.draw(st.sampled_from((1, 2, 1000))), data.draw(st.booleans())
    shown = answered(reader, asked, **choices, order_by=column, asc=ascending, limit=limit)
    usual = answered(reader, asked, **choices, limit=limit)
    counted = answered(reader, asked, **choices, count_by=(by,), limit=1000)
    if shown is None or usual is None or counted is None:  # of several measures none is the amount
        assert given
        assert len(at) > 1
        return
    assert values(shown) == in_order(kept, names.index(column), ascending=ascending)[:limit]
    assert values(usual) == kept[:limit]
    groups = defaultdict(list)
    for row in kept:
        groups[row[names.index(by)]].append(row)
    amounts = {name: [row[place] for row in kept if row[place] is not None] for name, place in at.items()}
    for found in (shown, usual, counted):
        assert found.totals is not None
        assert found.totals.rows == len(kept)
        assert {name: sums_told(found, name) for name in at} == {
            name: sums_made(each) for name, each in amounts.items()
        }
    assert {row[0]: row[1:] for row in values(counted)} == {
        key: [len(rows), *(sum((row[place] or 0 for row in rows), Fraction(0)) for place in at.values())]
        for key, rows in groups.items()
    }
