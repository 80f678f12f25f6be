"""The law of nested rankings: every group stands by the oracle's figures, and the oracle computes what it folds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments
from engine.report.data import OTHERS
from engine.report.report import Report
from tests.laws.oracle.asking import Place, ask, behind
from tests.laws.oracle.books import GL, LEAF_OF, TREES, OracleBooks
from tests.laws.oracle.figures import UNAVAILABLE, figure
from tests.laws.oracle.references import OracleCell
from tests.laws.oracle.requests import OracleRequest, cell, line_of, requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened
from tests.laws.test_figures import by_cell, drill
from tests.laws.test_ranking import in_order

NESTED = (
    ("product", "region"),
    ("region", "product"),
    ("region", "band", "product"),
    ("band", "region"),
    ("region", "tree"),
    ("tree", "region", "band"),
    ("region", "period"),
)
DRILLED = 3  # folded cells of each report
MemberPath = tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """What stands below some members: the members of one dimension, and the cell of those that are folded."""

    request: OracleRequest
    path: MemberPath

    @property
    def dimension(self) -> str:
        """The dimension of its members."""
        return self.request.dimensions[len(self.path)]

    @property
    def place(self) -> dict[str, str]:
        """The members above it."""
        return dict(zip(self.request.dimensions, self.path, strict=False))

    def members(self, report: Report) -> list[str]:
        """Return its members in the order of a report."""
        paths = [tuple(member.id for member in place.members) for place in report.places]
        return list(dict.fromkeys(path[-1] for path in paths if path[:-1] == self.path and path))

    def folded(self, shown: list[str]) -> OracleCell:
        """Return the cell of what the members shown leave of it."""
        request, key = self.request, self.dimension
        above = {known: (member,) for known, member in self.place.items()}
        left = {**request.excluded, key: (*request.excluded.get(key, ()), *shown)}
        rest = tuple(known for known in request.by_member if known not in (*self.place, key))
        return replace(
            cell(request, None, None, ()), filters={**request.filters, **above}, excluded=left, breakdown=rest
        )


def groups(request: OracleRequest, report: Report) -> Iterator[Group]:
    """Yield every group of the members that are no others, down to the first dimension of time."""
    paths = {tuple(member.id for member in place.members) for place in report.places}
    for path in sorted(paths):
        group = Group(request, path)
        is_whole = OTHERS not in path and len(path) < len(request.dimensions)
        if is_whole and {*request.dimensions[: len(path) + 1]} <= set(LEAF_OF):
            yield group


def ranked(door: Door, books: OracleBooks, request: OracleRequest, order: str, *, asc: bool, top: int) -> Report | None:
    """Return a ranking, None where the members of a folded group share leaves."""
    try:
        return ask(door, books, request, order_by=order, asc=asc, top=top)
    except BadArguments:
        return None


@given(data=st.data(), books=random_books())
def test_every_group_is_ranked_by_the_oracles_figures_and_folds_what_it_says(
    data: st.DataObject, books: OracleBooks
) -> None:
    with opened(books) as door:
        for _ in range(3):
            request = replace(data.draw(requests(books, NESTED, (GL,))), subtotals=True)
            metric, column = data.draw(st.sampled_from(request.metrics)), data.draw(st.sampled_from(request.columns))
            asc, top = data.draw(st.booleans()), data.draw(st.integers(1, 2))
            whole = ask(door, books, request)
            report = ranked(door, books, request, f"{metric}@{column.text}", asc=asc, top=top)
            if report is None:
                assert not set(TREES).isdisjoint(request.dimensions)
                continue
            found = by_cell(report)
            folded: dict[Place, OracleCell] = {}
            for group in groups(request, report):
                key, members = group.dimension, group.members(whole)
                cells = {member: cell(request, {**group.place, key: member}, None, ()) for member in members}
                figures = {name: figure(books, line_of(books, metric), column, known) for name, known in cells.items()}
                ordered = in_order(figures, asc=asc)
                expected = [*ordered[:top], *([OTHERS] if len(ordered) > top else [])]
                assert group.members(report) == expected, (request, group, top)
                if len(ordered) > top:
                    place = tuple(sorted({**group.place, key: OTHERS}.items()))
                    folded[place] = group.folded(ordered[:top])
                    for line in request.metrics:
                        for known in request.columns:
                            anyone = figure(books, line_of(books, line), known, cells[ordered[0]])
                            made = figure(books, line_of(books, line), known, folded[place])
                            told = found[line, known.text, place].figure
                            assert told == (UNAVAILABLE if anyone is UNAVAILABLE else made), (request, place, line)
            cut = [at for at in behind(report) if at.figure is not UNAVAILABLE and at.where[2] in folded]
            for at in data.draw(st.randoms()).sample(cut, min(len(cut), DRILLED)):
                reference = next(column for column in request.columns if column.text == at.where[1])
                drill(books, door, at, reference, folded[at.where[2]])
