"""Loads a drawn instance, asks the product and the oracle the same questions, and names every difference."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import chain, combinations, product
from random import Random
from typing import Any

from engine.door import Door, open_books
from engine.instance.read import STATE
from engine.model.errors import Refusal
from engine.report.report import Report
from tests.differential.books import UNASSIGNED, FileBooks, LeafOfTwoWeights
from tests.differential.cells import expected_cells, has_figure, ranked_rows, repeats, whole_cell
from tests.differential.drawing import draw_instance
from tests.differential.figures import AskedCell, Oracle
from tests.differential.more import explanations, tables
from tests.differential.old_readings import OLD, several
from tests.differential.questions import QUESTIONS, DrawnQuestion, draw_question, is_cut
from tests.differential.rankings import OracleRanking, RankedRow
from tests.differential.references import Reference
from tests.support.books.loads import load_feeds
from tests.support.engines.memory import folder_in_memory

QUOTIENT = Context(prec=15, rounding=ROUND_HALF_EVEN)
CHOICES = tuple(chosen for count in (1, 2) for chosen in combinations(OLD, count))


@dataclass(frozen=True)
class Difference:
    """A cell in which the product and the oracle differ."""

    seed: int
    question: DrawnQuestion | str
    cell: str
    ours: str
    oracle: str
    name: str = "unnamed"

    @property
    def call(self) -> str:
        """The instance and the question."""
        asked = self.question
        words = asked if isinstance(asked, str) else {key: value for key, value in vars(asked).items() if value}
        return f"seed {self.seed}: {words}"

    def __str__(self) -> str:
        return f"    {self.name}: {self.cell}: product {self.ours}, oracle {self.oracle}"


class OldAnswers:
    """What old readings say of a question, each combination computed once."""

    def __init__(self, books: FileBooks, question: DrawnQuestion, reopen: Callable[[], Door]) -> None:
        self.books, self.question, self.reopen = books, question, reopen
        self.of = cache(self._of)
        self.last: set[tuple[str, ...]] = set()  # what explained a difference of this question

    def _of(self, chosen: tuple[str, ...]) -> tuple[Oracle, dict[tuple[str, ...], AskedCell]]:
        """Return the oracle of some old readings and the cells that it expects."""
        oracle = several(*(OLD[name] for name in chosen))(self.books, self.question.formulas)
        return oracle, dict(expected_cells(self.books, oracle, self.question))

    def is_history(self, line: str, alias: str, place: tuple[str, ...], text: str | None) -> bool:
        """Tell whether books that were asked nothing before have another figure."""
        rows = self.fresh.frame.iter_rows(named=True)
        key = "line" if self.fresh.statement else "metric"
        return all(
            row["exact"] != text
            for row in rows
            if (row[key], row["alias"], place_of(self.question, row)) == (line, alias, place)
        )

    @cached_property
    def fresh(self) -> Report:
        """The answer of books that were asked nothing before."""
        return ask(self.reopen(), self.question)

    def name(self, explains: Callable[[Oracle, dict[tuple[str, ...], AskedCell]], bool]) -> str:
        """Return the old readings that explain what the product answers, the fewest that do."""
        for chosen in sorted(CHOICES, key=lambda names: (len(names), names not in self.last)):
            if explains(*self.of(chosen)):
                self.last.add(chosen)
                return " and ".join(chosen)
        return "unnamed"


@dataclass
class InstanceComparison:
    """What was compared, and what differed."""

    cells: int = 0
    questions: int = 0
    refusals: int = 0

    def instance(self, seed: int, questions: int = QUESTIONS, first: int = 0) -> Iterator[Difference]:
        """Yield the differences of an instance; of its questions only those from `first` on are asked."""
        rng = Random(seed)
        drawn = draw_instance(rng)
        with folder_in_memory() as folder:
            drawn.write(folder)
            load_feeds(folder, folder / STATE)
            reopen = partial(open_books, folder, profile=drawn.profile)
            door, books = reopen(), FileBooks(folder, drawn.profile)
            for question in [draw_question(rng, books) for _ in range(questions)][first:]:
                yield from self.question(seed, door, OldAnswers(books, question, reopen))
            for name, asked in chain(
                (("F14", asked) for asked in explanations(rng, door, books)),
                (("F8", asked) for asked in tables(door, books)),
            ):
                self.questions += 1
                self.cells += asked.cells
                for cell, ours, right in asked.differing:
                    yield Difference(seed, asked.call, cell, ours, right, name)

    def question(self, seed: int, door: Door, old: OldAnswers) -> Iterator[Difference]:
        """Yield the differences of a question."""
        books, question = old.books, old.question
        self.questions += 1
        oracle = Oracle(books, question.formulas)
        try:
            report = ask(door, question)
        except Refusal as refusal:
            self.refusals += 1
            if not may_be_refused(books, oracle, question):
                yield Difference(seed, question, "the question", f"refused ({refusal})", "answered")
            return
        if is_cut(books, question):
            yield Difference(seed, question, "the question", "answered", "refused: its filter cuts periods", "F11")
            return
        try:
            answer = ComparedAnswer(seed, question, report, oracle, old)
        except LeafOfTwoWeights as two:
            yield Difference(seed, question, "the question", "answered", f"refused: two weights for {two}")
            return
        yield from answer.figures()
        yield from answer.order() if question.order_by else answer.absent()
        self.cells += answer.cells


class ComparedAnswer:
    """An answer of the product beside what the oracle expects."""

    def __init__(self, seed: int, question: DrawnQuestion, report: Report, oracle: Oracle, old: OldAnswers) -> None:
        self.seed, self.question, self.report, self.oracle, self.old = seed, question, report, oracle, old
        self.cells = 0
        self.expected = dict(expected_cells(old.books, oracle, question))
        self.references = {f"c{at}": Reference.of(text) for at, text in enumerate(question.scenarios)}
        self.lines = "line" if report.statement else "metric"
        self.rows = [row for row in report.frame.iter_rows(named=True) if row["kind"] != "header"]

    def difference(self, cell: str, ours: object, oracle: object, name: str) -> Difference:
        """Return a difference of this answer."""
        return Difference(self.seed, self.question, cell, str(ours), str(oracle), name)

    def cell_name(self, line: str, alias: str, place: tuple[str, ...]) -> str:
        """Return the name of a cell."""
        return f"{line} of {self.question.scenarios[int(alias[1:])]} in {place or 'total'}"

    def figures(self) -> Iterator[Difference]:
        """Yield the differences of the figures that the product shows."""
        for row in self.rows:
            line, alias, place, text = row[self.lines], row["alias"], place_of(self.question, row), row["exact"]
            self.cells += 1
            key, reference, cell = line.rpartition(".")[2], self.references[alias], self.expected.get(place)
            figure = self.oracle.figure(key, reference, cell) if cell else None
            if not same(text, figure):
                history = self.old.is_history(line, alias, place, text)
                told = "F1" if history else self.old.name(partial(explains, place, text, key, reference))
                yield self.difference(self.cell_name(line, alias, place), text, figure if cell else "no such row", told)

    def absent(self) -> Iterator[Difference]:
        """Yield the figures that the product has no row for."""
        books, seen = self.old.books, {place_of(self.question, row) for row in self.rows}
        lines = dict.fromkeys(row[self.lines] for row in self.rows)
        for (place, cell), line in product(self.expected.items(), lines):
            key = line.rpartition(".")[2]
            if place in seen or repeats(books, self.oracle, key, cell):
                continue
            for alias, reference in self.references.items():
                self.cells += 1
                figure = self.oracle.figure(key, reference, cell)
                if figure is not None:
                    told = self.old.name(partial(explains, place, None, key, reference))
                    yield self.difference(self.cell_name(line, alias, place), "no such row", figure, told)

    def order(self) -> Iterator[Difference]:
        """Yield the differences of the order of members, and of how many (others) hold."""
        places = dict.fromkeys(place_of(self.question, row) for row in self.rows)
        figures = {place_of(self.question, row) for row in self.rows if row["exact"] is not None}
        given = [place for place in places if place in figures - {()}]
        wanted = wanted_rows(self.old.books, self.oracle, self.question, figures)
        self.cells += len(wanted)
        if given != wanted:
            told = self.old.name(partial(orders, self.old.books, self.question, given, figures))
            yield self.difference("the order of rows", given, wanted, told)
            return
        held = {tuple(member.id for member in place.members): place.holds for place in self.report.places}
        for row in ranked_rows(self.old.books, self.oracle, self.question):
            if row.holds and row.members in figures and not is_held(row, held):
                told = self.old.name(partial(holds, self.old.books, self.question, row.members, held))
                yield self.difference(f"holds of {row.members}", held.get(row.members), row.holds, told)


def orders(
    books: FileBooks,
    question: DrawnQuestion,
    given: list[tuple[str, ...]],
    figures: set[tuple[str, ...]],
    other: Oracle,
    _: object,
) -> bool:
    """Tell whether an oracle has the order of the product."""
    return given == wanted_rows(books, other, question, figures)


def wanted_rows(
    books: FileBooks, oracle: Oracle, question: DrawnQuestion, figures: set[tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Return the rows in which the oracle or the product has a figure, in the order of the oracle."""
    rows = ranked_rows(books, oracle, question)
    return [row.members for row in rows if row.members in figures or has_figure(oracle, question, row.cell)]


def holds(
    books: FileBooks,
    question: DrawnQuestion,
    members: tuple[str, ...],
    held: Mapping[tuple[str, ...], int | None],
    other: Oracle,
    _: object,
) -> bool:
    """Tell whether an oracle counts the members that the product counts."""
    return any(row.members == members and is_held(row, held) for row in ranked_rows(books, other, question))


def is_held(row: RankedRow, held: Mapping[tuple[str, ...], int | None]) -> bool:
    """Tell whether (others) hold as many members as they may."""
    return row.holds[0] <= (held.get(row.members) or 0) <= row.holds[1]


def explains(
    place: tuple[str, ...],
    text: str | None,
    key: str,
    reference: Reference,
    other: Oracle,
    expected: Mapping[tuple[str, ...], AskedCell],
) -> bool:
    """Tell whether an oracle has the figure of the product."""
    cell = expected.get(place)
    return same(text, other.figure(key, reference, cell) if cell else None)


def ask(door: Door, question: DrawnQuestion) -> Report:
    """Ask the product."""
    arguments: dict[str, Any] = {
        "scenarios": {f"c{at}": text for at, text in enumerate(question.scenarios)},
        "period": question.period,
        "dimensions": question.dimensions,
        "filters": question.filters,
        "subtotals": question.subtotals,
    }
    if not question.metrics:
        return door.statement("all", **arguments)
    if question.order_by:
        arguments |= {"order_by": f"{question.order_by.partition('@')[0]}@c0", "top": question.top, "asc": question.asc}
    return door.metric(*question.metrics, **arguments, formulas=question.formulas)


def may_be_refused(books: FileBooks, oracle: Oracle, question: DrawnQuestion) -> bool:
    """Tell whether a refusal has a reason: two weights, periods that are cut, nothing that can be told."""
    try:
        cells = list(expected_cells(books, oracle, question))
    except LeafOfTwoWeights:
        return True
    if question.order_by and OracleRanking(oracle, question, whole_cell(books, question)).shares():
        return True
    return is_cut(books, question) or not any(has_figure(oracle, question, cell) for _, cell in cells)


def place_of(question: DrawnQuestion, row: dict[str, Any]) -> tuple[str, ...]:
    """Return the members of a row of a frame; those of the total are none."""
    depth = row.get("breakdown_level", len(question.dimensions))
    members = [row[key] for key in question.dimensions]
    if "breakdown_level" not in row and all(member is None for member in members):
        return ()
    return tuple(UNASSIGNED if member is None else member for member in members[:depth])


def same(text: str | None, figure: Fraction | None) -> bool:
    """Tell whether a text is a figure: all its digits, or 15 of a quotient."""
    if text is None or figure is None:
        return text is None and figure is None
    given = Fraction(text)
    if given == figure:
        return True
    return given == Fraction(QUOTIENT.divide(Decimal(figure.numerator), Decimal(figure.denominator)))
