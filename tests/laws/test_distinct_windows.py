"""The law of distinct windows: members counted over windows of days that overlap are those that the oracle counts.

Books have rows on each of many days in a row, so that a member comes back inside and outside of each window.
"""

from dataclasses import replace
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.oracle.asking import ask
from tests.laws.oracle.books import GL, LEAVES, OracleBase, OracleBooks, OverTime
from tests.laws.oracle.calendar import DATE, MONTH, TPERIOD, TWEEK, WEEK
from tests.laws.oracle.formulas import formulas_of, lines_of
from tests.laws.oracle.requests import requests
from tests.laws.oracle.strategies import random_books, rollup_of, rows_of
from tests.laws.oracle.writing import opened
from tests.laws.test_figures import ACTUAL, REQUESTS, by_cell, compare

BY_TIME = (
    (DATE,),
    (WEEK,),
    (MONTH,),
    (TWEEK,),
    (TPERIOD,),
    ("period",),
    ("region", "period"),
    ("region", MONTH),
    ("product", "period"),
    ("tree", TPERIOD),
    (MONTH, TPERIOD, "tree"),
    ("journal", "period", "alt"),
    ("alt", "tree"),
)
RULES = (OverTime(), OverTime(), OverTime("closing"))


@st.composite
def counting_books(draw: st.DrawFn) -> OracleBooks:
    """Draw books whose ledger has rows on many days, and that count its members."""
    books = draw(random_books())
    first = draw(st.sampled_from((date(2019, 12, 20), date(2020, 2, 20), date(2020, 12, 25))))
    days = [first + timedelta(at) for at in range(draw(st.sampled_from((12, 40))))]
    others = [row for row in books.rows if row.domain != GL]
    rows = [row for _ in range(3) for row in draw(rows_of(GL, days, 28))]
    tally = replace(
        books.bases["tally"],
        over_members="count_distinct",
        distinct=draw(st.sampled_from(LEAVES[GL])),
        negated=False,
        where={key: ids for key, ids in books.bases["tally"].where.items() if key != "tree"},
        over_time=draw(st.sampled_from(RULES)),
    )
    books = replace(books, rows=(*rows, *others), bases={**books.bases, "tally": with_group(tally, books)})
    books = replace(books, formulas=draw(formulas_of(books.bases)))
    return replace(books, lines=draw(lines_of(books.bases)), rollup=draw(rollup_of(books)))


def with_group(base: OracleBase, books: OracleBooks) -> OracleBase:
    """Return a base with a group of balances where the books declare some and it is none of a flow."""
    first = next(iter(books.groups[GL]), "")
    return replace(base, group="" if base.over_time == OverTime() else base.group or first)


@given(data=st.data(), books=counting_books())
def test_members_of_windows_that_overlap_are_those_that_the_oracle_counts(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        for _ in range(REQUESTS[1]):
            drawn = data.draw(requests(books, BY_TIME, (GL,)))
            refused = ("@avg", "@opening")  # a count has no mean, and as a flow no opening
            columns = tuple(column for column in drawn.columns if not any(step in column.text for step in refused))
            request = replace(drawn, metrics=("tally",), columns=columns or (ACTUAL,))
            compare(books, request, by_cell(ask(door, books, request)))
