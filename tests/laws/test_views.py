"""The law of views: shares, their changes, ranks and running sums are what fractions make of the oracle's figures.

What a row counts for in the figure above it is asked for each base metric and dimension alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.requests import Condition
from engine.report.data import OTHERS
from engine.report.report import Report
from tests.laws.oracle.asking import Place, ask, exactly, place_of, places_of
from tests.laws.oracle.books import LEAF_OF, LEAVES, OracleBooks
from tests.laws.oracle.calendar import MEANS, OPENING, WINDOWS, YEAR, Range, period_of
from tests.laws.oracle.figures import Figure, bases_of, compared, figure, line_is_additive
from tests.laws.oracle.references import OracleCell, OracleSide, OracleVariance, Part, Reference
from tests.laws.oracle.requests import BREAKDOWNS, OF_METRICS, OracleRequest, cells, line_of, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened

BROKEN_DOWN = tuple(keys for keys in BREAKDOWNS if keys)
BY_MEMBERS = tuple(keys for keys in BROKEN_DOWN if set(keys) <= {*LEAF_OF})
FORMS = ("share({})", "share({},parent)", "rank({})", "running({})", "running(share({}))")
CHANGES = ("{}(share({}),share({}))", "{}(share({},parent),share({},parent))")
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ViewedBooks:
    """Books, a request with one column, and the doors to them."""

    books: OracleBooks
    door: Door
    request: OracleRequest

    def adds_up(self, line: str, over: Sequence[str]) -> bool:
        """Tell whether the figures of a line add up over some dimensions, by the words of the rules."""
        books, metric = self.books, line_of(self.books, line).metric
        if not line_is_additive(books, metric):
            return False
        bases = list(bases_of(books, metric))
        of_members = [key for key in over if key in LEAF_OF]
        if any(LEAF_OF[key] not in LEAVES[base.domain] for base in bases for key in of_members):
            return False
        if any(self.weights(line, key) is None for key in of_members):
            return False
        return len(of_members) == len(over) or all(base.over_time.rule == "sum" for base in bases)

    def weights(self, line: str, dimension: str) -> Mapping[str, Fraction] | None:
        """Return what the members of a dimension count for in the figure above; None if operands differ in that."""
        found = []
        for base in bases_of(self.books, line_of(self.books, line).metric):
            alone = replace(self.request, metrics=(base.key,), dimensions=(dimension,), subtotals=False)
            report = ask(self.door, self.books, alone)
            found.append({place.members[0].id: weight_of(place.into_parent) for place in report.places[:-1]})
        merged: dict[str, Fraction] = {}
        for known in found:
            for member, weight in known.items():
                if merged.setdefault(member, weight) != weight:
                    return None
        return merged


def weight_of(weight: Exact | None) -> Fraction:
    """Return a weight as a fraction."""
    return Fraction(1) if weight is None else Fraction(weight.numerator, weight.denominator)


@given(data=st.data(), books=random_books())
def test_views_are_made_of_the_oracles_figures(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for is_wide in (False, True):
            drawn = data.draw(requests(books, BY_MEMBERS if is_wide else BROKEN_DOWN, OF_METRICS))
            request = of_all_years(drawn, books) if is_wide else replace(drawn, columns=drawn.columns[:1])
            (column,) = request.columns
            form = data.draw(st.sampled_from(FORMS))
            hold(ViewedBooks(books, door, request), column, form)


def of_all_years(request: OracleRequest, books: OracleBooks) -> OracleRequest:
    """Return a request for the actuals of all years, of which most members have some."""
    days = sorted(row.day for row in books.rows if row.day) or [date(2020, 2, 29)]
    first, last = (period_of(day, YEAR, books.fiscal) for day in (days[0], days[-1]))
    actual = OracleSide((Part("actual"),))
    return replace(request, asked=Range(first, last), filters={}, excluded={}, columns=(actual,))


@given(data=st.data(), books=random_books())
def test_changes_of_shares_are_made_of_what_a_variance_compares(data: st.DataObject, books: OracleBooks) -> None:
    with opened(books) as door:
        for _ in range(2):
            request = data.draw(requests(books, BROKEN_DOWN, OF_METRICS))
            every = [side for column in request.columns for side in sides_of(column)]
            sides = [side for side in every if side.step not in (OPENING, *MEANS)]  # which any base can be asked for
            if sides:
                asked = OracleVariance(sides[0], sides[-1], relative=data.draw(st.booleans()))
                plain = replace(request, columns=tuple(dict.fromkeys((sides[0], sides[-1]))))
                hold_change(ViewedBooks(books, door, plain), asked, data.draw(st.sampled_from(CHANGES)))


def sides_of(column: Reference) -> list[OracleSide]:
    """Return the sides of a column."""
    return [column.a, column.b] if isinstance(column, OracleVariance) else [column]


def hold_change(asked: ViewedBooks, compares: OracleVariance, form: str) -> None:
    """Hold a change of shares against the shares of both sides as a variance compares them."""
    books, request = asked.books, asked.request
    text = form.format("var_pct" if compares.relative else "var", compares.a.text, compares.b.text)
    ask_change = partial(
        asked.door.metric,
        *request.metrics,
        scenarios={"change": text},
        period=(request.asked.start.code(books.fiscal), request.asked.end.code(books.fiscal)),
        filters=request.as_filters,
        dimensions=request.dimensions,
        subtotals=request.subtotals,
    )
    if is_refused(asked, replace(compares, relative=False), form):
        with pytest.raises(BadArguments) as refusal:
            ask_change()
        assert refusal.value.field == "scenarios", (request, text)
        return
    report = ask_change()
    by_place = {place_of(request, cell): cell for cell in cells(books, request)}
    paths = [tuple(member.id for member in place.members) for place in report.places]
    for at, line in enumerate(report.lines):
        of = line_of(books, line.key)
        pairs = [compared(books, of, compares, by_place[place]) for place in places_of(report)]
        each = [dict(zip(paths, side, strict=True)) for side in zip(*pairs, strict=True)]
        a, b = (shares(asked, line.key, side, parent="parent" in form) for side in each)
        for path, told in zip(paths, map(exactly, report.figures[at][0]), strict=True):
            expected = changed(a[path], b[path], relative=compares.relative)
            if expected is None:
                assert not isinstance(told, Fraction), (request, text, line.key, path)
            else:
                assert told == expected, (request, text, line.key, path)


def changed(a: Figure | None, b: Figure | None, *, relative: bool) -> Fraction | None:
    """Return what a share is more than another, or that over the other; None where there is none."""
    if not isinstance(a, Fraction) or not isinstance(b, Fraction):
        return None
    if relative:
        return (a - b) / abs(b) if b else None
    return a - b


def hold(asked: ViewedBooks, column: Reference, form: str) -> None:
    """Hold one view of a column against what fractions make of the oracle's figures."""
    books, request = asked.books, asked.request
    text = form.format(column.text)
    ask_views = partial(
        asked.door.metric,
        *request.metrics,
        scenarios={"plain": column.text, "view": text},
        period=(request.asked.start.code(books.fiscal), request.asked.end.code(books.fiscal)),
        filters=request.as_filters,
        dimensions=request.dimensions,
        subtotals=request.subtotals,
    )
    if is_refused(asked, column, form):
        with pytest.raises(BadArguments) as refusal:
            ask_views()
        assert refusal.value.field == "scenarios", (request, text)
        return
    report = ask_views()
    by_place = {place_of(request, cell): cell for cell in cells(books, request)}
    paths = [tuple(member.id for member in place.members) for place in report.places]
    shown: dict[str, Mapping[Path, Figure | None]] = {}
    for at, line in enumerate(report.lines):
        figures = dict(zip(paths, figures_of(asked, line.key, column, places_of(report), by_place), strict=True))
        expected = viewed(asked, line.key, form, figures)
        found = dict(zip(paths, map(exactly, report.figures[at][1]), strict=True))
        for path in paths:
            if isinstance(expected[path], Fraction):
                assert found[path] == expected[path], (request, text, line.key, path)
            else:
                assert not isinstance(found[path], Fraction), (request, text, line.key, path)
        shown[line.key] = expected
    if not asked.request.times:
        hold_under_condition(asked, ask_views, figures, shown)


def hold_under_condition(
    asked: ViewedBooks,
    ask_views: Callable[..., Report],
    figures: Mapping[Path, Figure],
    shown: Mapping[str, Mapping[Path, Figure | None]],
) -> None:
    """A condition on the figures of the last line leaves members out, and changes no view of those that stay."""
    ones = sorted(known for path, known in figures.items() if len(path) == 1 and isinstance(known, Fraction))
    if not ones or (len(asked.request.dimensions) > 1 and not asked.request.subtotals):
        return
    least = float(ones[len(ones) // 2])
    *_, line = shown
    try:
        report = ask_views(having=[Condition(column=f"{line}@plain", min=least)])
    except BadArguments as refusal:
        if refusal.field == "top":  # members share leaves: nothing is left for the others
            return
        raise
    met = [path[0] for path, known in figures.items() if len(path) == 1 and at_least(known, Fraction(repr(least)))]
    paths = [tuple(member.id for member in place.members) for place in report.places]
    assert [path[0] for path in paths if len(path) == 1 and path[0] != OTHERS] == met, asked.request
    for at, known in enumerate(report.lines):
        views = dict(zip(paths, map(exactly, report.figures[at][1]), strict=True))
        for path in paths:
            if OTHERS not in path:
                figure_of_all = shown[known.key][path]
                is_figure = isinstance(figure_of_all, Fraction)
                assert views[path] == figure_of_all if is_figure else not isinstance(views[path], Fraction), (
                    asked.request,
                    known.key,
                    path,
                )


def at_least(figure: Figure, least: Fraction) -> bool:
    """Tell whether a figure is at least some number; a missing one is not."""
    return isinstance(figure, Fraction) and figure >= least


def figures_of(
    asked: ViewedBooks, line: str, column: Reference, places: Sequence[Place], by_place: Mapping[Place, OracleCell]
) -> list[Figure]:
    """Return the oracle's figures of a line at some places."""
    return [figure(asked.books, line_of(asked.books, line), column, by_place[place]) for place in places]


def overs(request: OracleRequest, form: str) -> list[Path]:
    """Return the dimensions over which the figures of each depth have to add up."""
    keys = request.dimensions
    depths = range(1, len(keys) + 1) if request.subtotals else [len(keys)]
    whole = "share" in form and "parent" not in form
    return [keys[0 if whole else depth - 1 : depth] for depth in depths]


def is_refused(asked: ViewedBooks, column: Reference, form: str) -> bool:
    """Tell whether no line can show a view."""
    request = asked.request
    if "parent" in form and len(request.dimensions) > 1 and not request.subtotals:
        return True
    if "rank" in form:
        return False
    sides = [side for side, _ in column.sides] if isinstance(column, OracleVariance) else [column]
    if isinstance(column, OracleVariance) and column.relative:
        return True
    if request.times and any(shift in WINDOWS for side in sides for shift in side.shifts):
        return True
    return not any(asked.adds_up(line, over) for line in request.metrics for over in overs(request, form))


def viewed(asked: ViewedBooks, line: str, form: str, figures: Mapping[Path, Figure]) -> dict[Path, Figure | None]:
    """Return what a view shows at each place; None where it is blank."""
    if form == "rank({})":
        return ranks(asked.request, figures)
    if form == "share({})":
        return shares(asked, line, figures, parent=False)
    if form == "share({},parent)":
        return shares(asked, line, figures, parent=True)
    of_shares = form == "running(share({}))"
    return running(
        asked, line, shares(asked, line, figures, parent=False) if of_shares else figures, weigh=not of_shares
    )


def weighed(asked: ViewedBooks, line: str, path: Path, first: int) -> Fraction:
    """Return what the members of a path from a depth on count for in the figure above them."""
    pairs = list(zip(asked.request.dimensions, path, strict=False))[first:]
    known = [(asked.weights(line, key) or {}).get(member) for key, member in pairs if key in LEAF_OF]
    return prod((weight if weight is not None else Fraction(1) for weight in known), start=Fraction(1))


def shares(asked: ViewedBooks, line: str, figures: Mapping[Path, Figure], *, parent: bool) -> dict[Path, Figure | None]:
    """Return the shares of some figures of the total, or of the figure above."""
    found: dict[Path, Figure | None] = {}
    keys = asked.request.dimensions
    form = "share({},parent)" if parent else "share({})"
    for path, known in figures.items():
        over = [keys[len(path) - 1 if parent else 0 : len(path)]] if path else overs(asked.request, form)
        base = figures[path[:-1] if parent and path[:-1] in figures else ()]
        is_part = any(asked.adds_up(line, each) for each in over)
        found[path] = None
        if isinstance(known, Fraction) and isinstance(base, Fraction) and base != 0 and is_part:
            found[path] = known * weighed(asked, line, path, max(len(path) - 1, 0) if parent else 0) / base
    return found


def running(
    asked: ViewedBooks, line: str, figures: Mapping[Path, Figure | None], *, weigh: bool
) -> dict[Path, Figure | None]:
    """Return the running sums of some figures; those of a group end at the figure above."""
    found: dict[Path, Figure | None] = {}
    sums: dict[Path, Fraction] = {}
    for path, known in figures.items():
        if not path:
            found[path] = known
        elif not isinstance(known, Fraction) or not asked.adds_up(line, asked.request.dimensions[len(path) - 1 :][:1]):
            found[path] = None
        else:
            weight = weighed(asked, line, path, len(path) - 1) if weigh else Fraction(1)
            group = (*path[:-1], str(len(path)))
            found[path] = sums[group] = sums.get(group, Fraction(0)) + known * weight
    return found


def ranks(request: OracleRequest, figures: Mapping[Path, Figure]) -> dict[Path, Figure | None]:
    """Return the ranks of some figures among those beside them; only members of every dimension have one."""
    found: dict[Path, Figure | None] = {}
    for path, known in figures.items():
        beside = [other for of, other in figures.items() if len(of) == len(path) and of[:-1] == path[:-1]]
        is_ranked = len(path) == len(request.dimensions) and isinstance(known, Fraction)
        larger = [
            other for other in beside if isinstance(other, Fraction) and isinstance(known, Fraction) and other > known
        ]
        found[path] = Fraction(1 + len(larger)) if is_ranked else None
    return found
