"""The law of frames: rankings and explanations are the same whether the sums of members stay in frames or not."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Any

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import Refusal
from engine.plans.framed_figures import FramedFigures
from engine.queries.explanations import explain_query
from engine.report import ranking
from engine.report.explain import explain
from server.caller.caller import Caller
from tests.laws.oracle.asking import ask, told
from tests.laws.oracle.books import GL, LEAF_OF, OracleBooks, OracleFormula
from tests.laws.oracle.calendar import YEAR, Range, period_of
from tests.laws.oracle.expressions import Binary, Expression, Name
from tests.laws.oracle.formulas import MONEY, NUMBER, kinds_of
from tests.laws.oracle.references import OracleVariance
from tests.laws.oracle.requests import OF_METRICS, OracleRequest, references, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.laws.scoped.calls import LARGE, variance
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.writing import ScopedTools
from tests.laws.test_ranking import RANKABLE
from tests.laws.test_variances import Known, asked_of
from tests.support.engines.memory import folder_in_memory

ENDLESS = 10**9
CROSSED = (
    ("product", "region"),
    ("tree", "region"),
    ("band", "product"),
    ("tree", "band"),
    ("tree", "region", "band"),
    ("region", "product", "journal"),
    ("product", "region", "period"),
)
WHOLE = {"product": "P2", "region": "US", "journal": "J1"}  # in place of no member
FLAT = (("product",), ("product",), ("band",), ("region",))
DRAWN = 12  # books whose rankings are counted


@contextmanager
def members_in_lists(most: int) -> Iterator[Counter[str]]:
    """Compute the figures of up to so many members one by one; count the plans that stay in frames and are ranked."""
    before, ranked = ranking.MAX_SMALL, FramedFigures.only
    counts: Counter[str] = Counter()

    def counted(self: FramedFigures, members: Any) -> Any:
        counts["ranked"] += 1
        return ranked(self, members)

    ranking.MAX_SMALL, FramedFigures.only = most, counted  # type: ignore[method-assign]  # to count its calls
    try:
        yield counts
    finally:
        ranking.MAX_SMALL, FramedFigures.only = before, ranked  # type: ignore[method-assign]  # as it was


def made(door: Door, books: OracleBooks, request: OracleRequest, ranked: dict[str, Any]) -> object:
    """Return all that is told of a ranking: its answer, places and fractions, or its refusal."""
    try:
        report = ask(door, books, request, **ranked)
    except Refusal as refused:
        return refused.as_data()
    return told(report), report.places, report.lines, [list(map(list, by_column)) for by_column in report.figures]


Asked = tuple[OracleRequest, str, str]  # the metric that orders the members, and its column


@st.composite
def rankings(draw: st.DrawFn, books: OracleBooks) -> Asked:
    """Draw a ranking of the members of one dimension, perhaps with periods below."""
    request = replace(draw(requests(books, RANKABLE, OF_METRICS)), subtotals=False)
    return request, draw(st.sampled_from(request.metrics)), draw(st.sampled_from(request.columns)).text


@st.composite
def crossed(draw: st.DrawFn, books: OracleBooks) -> Asked:
    """Draw a ranking of the members of two dimensions or more, perhaps nested, whose inner ones do not weigh."""
    request = draw(requests(books, CROSSED, (GL,)))
    inner = {key for key in request.dimensions[1:] if key in LEAF_OF}
    cuts = [{key: ids for key, ids in each.items() if key not in inner} for each in (request.filters, request.excluded)]
    request = replace(request, filters=cuts[0], excluded=cuts[1], subtotals=draw(st.booleans()))
    return request, draw(st.sampled_from(request.metrics)), draw(st.sampled_from(request.columns)).text


@st.composite
def unsummed(draw: st.DrawFn, books: OracleBooks) -> Asked:
    """Draw a ranking by what is no sum, or by its variance."""
    request = draw(requests(books, FLAT, (GL,)))
    metrics = ("tally", *(metric for metric in request.metrics if metric != "tally"))
    return replace(request, metrics=metrics), "tally", draw(st.sampled_from(request.columns)).text


@st.composite
def variances_of_ratios(draw: st.DrawFn, books: OracleBooks) -> Asked:
    """Draw a ranking by the variance of a ratio."""
    request = draw(requests(books, FLAT, (GL,)))
    variance = draw(references(books).filter(lambda column: isinstance(column, OracleVariance)))
    days = sorted(row.day for row in books.rows if row.day) or [date(2020, 2, 29)]
    whole = Range(*(period_of(day, YEAR, books.fiscal) for day in (days[0], days[-1])))
    metrics = ("price", *draw(st.lists(st.sampled_from([*books.bases][:2]), max_size=1)))
    asked = draw(st.sampled_from((request.asked, whole, whole)))
    return replace(request, metrics=metrics, columns=(variance,), asked=asked), "price", variance.text


@st.composite
def plain_ratios(draw: st.DrawFn, books: OracleBooks) -> OracleBooks:
    """Draw books whose price is money over a number, or over the sum of two; each row has all its members."""
    kinds = kinds_of({key: base for key, base in books.bases.items() if base.over_members in ("sum", "count")})
    money, numbers = ([key for key, known in kinds.items() if known == (kind, GL)] for kind in (MONEY, NUMBER))
    over, under, more = (Name(key, key) for key in (draw(st.sampled_from(of)) for of in (money, numbers, numbers)))
    divisors: tuple[Expression, ...] = (under, Binary("+", under, more), Binary("-", under, more))
    price = OracleFormula(key="price", domain=GL, expression=Binary("/", over, draw(st.sampled_from(divisors))))
    rows = tuple(
        replace(row, members={key: member or WHOLE[key] for key, member in row.members.items()}) for row in books.rows
    )
    return replace(books, rows=rows, formulas={**books.formulas, "price": price})


def hold(
    data: st.DataObject, books: OracleBooks, drawn: Callable[[OracleBooks], st.SearchStrategy[Asked]] = rankings
) -> Counter[str]:
    """Hold some rankings in frames to those of lists, and return how many stayed in frames."""
    counts: Counter[str] = Counter()
    with opened(books) as listed, opened(books) as framed:
        for _ in range(3):
            request, metric, column = data.draw(drawn(books))
            asked: dict[str, Any] = {"asc": data.draw(st.booleans()), "top": data.draw(st.integers(1, 3))}
            asked["order_by"] = f"{metric}@{column}"
            with members_in_lists(ENDLESS):
                expected = made(listed, books, request, asked)
            with members_in_lists(0) as seen:
                got = made(framed, books, request, asked)
                assert got == expected, (request, asked, got, expected)
                assert made(framed, books, request, asked) == expected, (request, asked, "from kept frames")
            counts += seen
    return counts


@given(data=st.data(), books=random_books())
def test_a_ranking_in_frames_has_the_bytes_of_one_in_lists(data: st.DataObject, books: OracleBooks) -> None:
    hold(data, books)


@given(data=st.data(), books=random_books())
def test_a_ranking_of_two_dimensions_in_frames_is_that_of_lists(data: st.DataObject, books: OracleBooks) -> None:
    hold(data, books, crossed)


@given(data=st.data(), books=random_books())
def test_a_ranking_by_a_mean_or_an_extreme_is_that_of_lists(data: st.DataObject, books: OracleBooks) -> None:
    hold(data, books, unsummed)


@given(data=st.data(), books=random_books())
def test_a_ranking_by_the_variance_of_a_ratio_is_that_of_lists(data: st.DataObject, books: OracleBooks) -> None:
    hold(data, data.draw(plain_ratios(books)), variances_of_ratios)


@given(known=seen_books(), drawn=st.lists(variance(), min_size=10, max_size=20))
def test_an_explanation_in_frames_is_that_of_lists(known: Known, drawn: list[dict[str, Any]]) -> None:
    hold_explained(known, drawn)


def hold_explained(known: Known, drawn: list[dict[str, Any]]) -> Counter[str]:
    """Hold some explanations in frames to those of lists, and return how many stayed in frames."""
    counts: Counter[str] = Counter()
    with folder_in_memory() as folder, folder_in_memory() as other:
        listed, framed = (ScopedTools(*known, each).caller(LARGE) for each in (folder, other))
        for arguments in ({**named, "top": 1 + at % 2} for at, named in enumerate(drawn)):
            with members_in_lists(ENDLESS):
                expected = explained(listed, arguments)
            with members_in_lists(0) as seen:
                found = explained(framed, arguments)
            assert found == expected, arguments
            counts += seen
    return counts


def explained(caller: Caller, arguments: dict[str, Any]) -> object:
    """Return all that an explanation tells, or its refusal."""
    try:
        found = explain(explain_query(asked_of(arguments), caller.reader), caller.reader)
    except Refusal as refused:
        return refused.as_data()
    return found.a, found.b, found.lists, found.notes


def test_many_explanations_of_the_law_stay_in_frames() -> None:
    counts: Counter[str] = Counter()

    @seed(20261129)
    @settings(max_examples=10, database=None)
    @given(known=seen_books(), drawn=st.lists(variance(), min_size=10, max_size=20))
    def drawn(known: Known, drawn: list[dict[str, Any]]) -> None:
        counts.update(hold_explained(known, drawn))

    drawn()
    assert counts["ranked"] > 5


def test_most_rankings_of_the_law_stay_in_frames() -> None:
    counts: Counter[str] = Counter()

    @seed(20261129)
    @settings(max_examples=DRAWN, database=None)
    @given(data=st.data(), books=random_books())
    def drawn(data: st.DataObject, books: OracleBooks) -> None:
        counts.update(hold(data, books))

    drawn()
    assert counts["ranked"] > DRAWN // 2
