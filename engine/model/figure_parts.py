"""What figures are made of: the measures below a metric, a line of a statement or a formula of a request."""

from collections.abc import Iterable

from msgspec import Struct

from engine.model.catalogue import Base, Catalogue, FormulaLine, Line, Metric, MetricLine, RollupLine, Statement
from engine.model.formulas import Formula
from engine.model.functions import OwnOperand, metrics_of, own_operands_in

Figure = Metric | Line | Formula


class FigureParts(Struct, frozen=True):
    """What a figure is made of: measured figures, and the operands with a scenario or members of their own."""

    bases: frozenset[Base] = frozenset()
    own_operands: frozenset[OwnOperand] = frozenset()

    @property
    def domains(self) -> frozenset[str]:
        """The domains whose facts it uses."""
        return frozenset(base.domain for base in self.bases)

    @staticmethod
    def of(catalogue: Catalogue, *figures: Figure, home: Statement | None = None) -> "FigureParts":
        """Return the parts of some figures together; `home` is the statement of lines."""
        finder = PartsFinder(catalogue)
        return FigureParts.joined(finder.parts_of(figure, home) for figure in figures)

    @staticmethod
    def joined(parts: Iterable["FigureParts"]) -> "FigureParts":
        """Return some parts together."""
        bases, own_operands = set[Base](), set[OwnOperand]()
        for part in parts:
            bases |= part.bases
            own_operands |= part.own_operands
        return FigureParts(frozenset(bases), frozenset(own_operands))


class PartsFinder:
    """Finds what the figures of a catalogue are made of, each figure once however many formulas name it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._parts: dict[tuple[str, str], FigureParts] = {}
        self._lines: dict[str, dict[str, Line]] = {}

    def parts_of(self, figure: Figure, home: Statement | None = None) -> FigureParts:
        """Return the parts of a figure. The formula of a line names other lines of its statement by their keys."""
        body = body_of(figure, self.catalogue)
        if body is None:
            return FigureParts()
        if isinstance(body, Base):
            return FigureParts(frozenset({body}))
        lines_of = home if isinstance(figure, FormulaLine) else None
        below = [self._parts_named(name, lines_of) for name in metrics_of(body)]
        return FigureParts.joined([FigureParts(own_operands=own_operands_in(body)), *below])

    def _parts_named(self, name: str, home: Statement | None) -> FigureParts:
        lines = self._lines_of(home) if home else {}
        figure, at = (lines[name], home) if name in lines else figure_named(name, self.catalogue)
        key = (at.key if at else "", figure.key)
        if key not in self._parts:
            self._parts[key] = self.parts_of(figure, at)
        return self._parts[key]

    def _lines_of(self, statement: Statement) -> dict[str, Line]:
        if statement.key not in self._lines:
            self._lines[statement.key] = {line.key: line for line in statement.lines}
        return self._lines[statement.key]


def body_of(figure: Figure, catalogue: Catalogue) -> Base | Formula | None:
    """Return what makes a figure: a measure or a formula; a header has neither."""
    match figure:
        case MetricLine(metric=metric):
            return catalogue.metrics[metric].body
        case RollupLine(base=base):
            return base
        case FormulaLine(formula=formula):
            return formula
        case Metric(body=body):
            return body
        case Formula():
            return figure
    return None


def figure_named(name: str, catalogue: Catalogue) -> tuple[Metric | Line, Statement | None]:
    """Return the metric of a name, or the line that `statement.line` names with its statement."""
    return (catalogue.metrics[name], None) if name in catalogue.metrics else catalogue.line_named(name)
