"""Builds statements from statements/*.yaml: expands includes, and resolves and types the formulas of lines."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from engine.instance.documents import Document, Location, known, words
from engine.instance.reading.metrics import NO_BASE, NO_BODY, NO_TYPE, format_of
from engine.instance.reading.operands import bases_below, made_of_metric, own_cuts_in, own_side_in
from engine.instance.schema.statements import (
    FormulaLinePart,
    HeaderPart,
    IncludePart,
    LinePart,
    MetricLinePart,
    RollupLinePart,
    StatementFile,
)
from engine.model.catalogue import (
    Base,
    Dimension,
    DimensionKind,
    Domain,
    Favourable,
    FormulaLine,
    HeaderLine,
    Line,
    Metric,
    MetricLine,
    RollupLine,
    Statement,
    Style,
)
from engine.model.formula_parser import VALID, parse
from engine.model.formulas import FigureType, FormulaFault
from engine.model.functions import LENGTH_TYPES, metrics_of, types_of
from engine.model.metric_names import metrics_named
from engine.model.scenarios import Scenario
from engine.model.scope import Cut

Written = tuple[Document, int, LinePart]  # a line, its file, and its position there


@dataclass
class StatementBuilder:
    """Builds the statements of one catalogue."""

    files: Mapping[Document, StatementFile]
    domains: Mapping[str, Domain]
    dimensions: Mapping[str, Dimension]
    metrics: Mapping[str, Metric]
    scenarios: Mapping[str, Scenario] | None  # None where they are unknown
    unread: Collection[str] = ()  # keys of statements whose files have faults that are told already
    built: dict[str, Statement] = field(default_factory=dict)
    lines: dict[str, "StatementLines"] = field(default_factory=dict)

    def build(self) -> dict[str, Statement]:
        """Return all statements by key."""
        for document, file in self.files.items():
            if file.statement in self.built:
                document.fault(["statement"], f"there is a statement '{file.statement}' already")
                continue
            if file.statement in self.domains:
                document.fault(
                    ["statement"],
                    f"'{file.statement}' is a domain too, so that {file.statement}.x could name a metric or a line",
                    "give the statement another key",
                )
            self.built[file.statement] = Statement(
                key=file.statement,
                label=file.label or words(file.statement),
                lines=self.lines_of(file.statement).build(),
                covers=tuple(self.covered(document, file)),
            )
        return self.built

    @cached_property
    def by_key(self) -> Mapping[str, tuple[Document, StatementFile]]:
        """The file of each statement, the first of several."""
        return {file.statement: (document, file) for document, file in reversed(list(self.files.items()))}

    def lines_of(self, statement: str) -> "StatementLines":
        """Return the lines of a statement, to be built when they are named."""
        if statement not in self.lines:
            written = list(self.expanded(*self.by_key[statement], (statement,)))
            self.lines[statement] = StatementLines(self, written)
        return self.lines[statement]

    def covered(self, document: Document, file: StatementFile) -> Iterator[Cut]:
        """Yield the nodes that a statement covers."""
        ragged = [dim.key for dim in self.dimensions.values() if dim.kind is DimensionKind.RAGGED]
        for dimension, node in file.covers.items():
            at: Location = ["covers", dimension]
            if dimension in ragged:
                yield Cut(dimension, (node,), location=document.place(at))
            else:
                document.fault(at, f"there is no ragged dimension '{dimension}'", known(dimension, ragged))

    def expanded(self, document: Document, file: StatementFile, above: tuple[str, ...]) -> Iterator[Written]:
        """Yield the lines of a file. Replaces each include by the lines of the included statement."""
        for place, part in enumerate(file.lines):
            if not isinstance(part, IncludePart):
                yield document, place, part
            elif part.include in above:
                circle = " → ".join((*above[above.index(part.include) :], part.include))
                document.fault(["lines", place, "include"], f"statements include each other in a circle: {circle}")
            elif part.include in self.unread:
                continue
            elif part.include not in self.by_key:
                document.fault(
                    ["lines", place, "include"],
                    f"there is no statement '{part.include}'",
                    known(part.include, self.by_key),
                )
            else:
                yield from self.expanded(*self.by_key[part.include], (*above, part.include))


def key_of(place: int, part: LinePart) -> str:
    """Return the key of a line, unique in its statement."""
    match part:
        case MetricLinePart():
            return part.metric.rpartition(".")[2]
        case RollupLinePart():
            return part.key or f"{part.rollup.dimension}.{part.rollup.node}"
        case FormulaLinePart():
            return part.formula.key
        case HeaderPart() | IncludePart():
            return f"header_{place + 1}"


Place = tuple["StatementLines | None", str]  # of a line in its statement; of a metric in none


class StatementLines:
    """Builds the lines of one statement."""

    def __init__(self, builder: StatementBuilder, written: list[Written]) -> None:
        self.builder = builder
        self.written: dict[str, Written] = {}
        self.built: dict[str, Line] = {}
        self.under_way: list[str] = []
        for place, line in enumerate(written):
            document, at, part = line
            if self.written.setdefault(key_of(place, part), line) is not line:
                document.fault(["lines", at], f"the line '{key_of(place, part)}' stands in this statement twice")

    def build(self) -> tuple[Line, ...]:
        """Return the lines in order."""
        return tuple(self.line(key) for key in self.written)

    def line(self, key: str) -> Line:
        """Return one line. Builds the operands of its formula first."""
        if key not in self.built:
            document, place, part = self.written[key]
            self.under_way.append(key)
            match part:
                case MetricLinePart():
                    self.built[key] = self.metric_line(document, place, key, part)
                case RollupLinePart():
                    self.built[key] = self.rollup_line(document, place, key, part)
                case FormulaLinePart():
                    self.built[key] = self.formula_line(document, place, key, part)
                case HeaderPart():
                    self.built[key] = HeaderLine(key=key, label=part.header)
            self.under_way.pop()
        return self.built[key]

    def metric_line(self, document: Document, place: int, key: str, part: MetricLinePart) -> MetricLine:
        """Return a metric line."""
        metric = self.named(document, ["lines", place, "metric"], part.metric)
        label = part.label or (metric.label if metric else words(key))
        return MetricLine(key=key, label=label, metric=metric.key if metric else key, style=Style(part.style))

    def named(self, document: Document, location: Location, name: str) -> Metric | None:
        """Return the metric of a name. Records a name that means none, or several."""
        found = metrics_named(name, self.builder.metrics)
        if not found:
            document.fault(location, f"there is no metric '{name}'", known(name, self.builder.metrics))
        elif len(found) > 1:
            fault = f"'{name}' is a metric of {' and of '.join(metric.domain for metric in found)}"
            document.fault(location, fault, " or ".join(metric.key for metric in found))
        return found[0] if found else None

    def rollup_line(self, document: Document, place: int, key: str, part: RollupLinePart) -> RollupLine:
        """Return a rollup line, which shows a subtree."""
        at: Location = ["lines", place, "rollup"]
        ragged = [dim.key for dim in self.builder.dimensions.values() if dim.kind is DimensionKind.RAGGED]
        if part.rollup.dimension not in ragged:
            document.fault(
                [*at, "dimension"],
                f"there is no ragged dimension '{part.rollup.dimension}'",
                known(part.rollup.dimension, ragged),
            )
        base, favourable = self.rolled_up(document, place, part)
        return RollupLine(
            key=key,
            label=part.label,
            base=base,
            dimension=part.rollup.dimension,
            node=part.rollup.node,
            location=document.place([*at, "node"]),
            depth=part.rollup.depth,
            favourable=Favourable(part.favourable) if part.favourable else favourable,
            style=Style(part.style),
            reverses=part.rollup.metric or base.measure.key if part.sign == "negate" else None,
        )

    def rolled_up(self, document: Document, place: int, part: RollupLinePart) -> tuple[Base, Favourable]:
        """Return the base of a rollup line and its favourable direction."""
        at: Location = ["lines", place, "rollup"]
        name, negated = part.rollup.metric, part.sign == "negate"
        cut = Cut(part.rollup.dimension, (part.rollup.node,))
        leaf = self.builder.dimensions[cut.dimension].leaf if cut.dimension in self.builder.dimensions else ""
        homes = [domain for domain in self.builder.domains.values() if leaf in domain.dimensions]
        if name is None:
            if len(homes) == 1 and len(homes[0].measures) == 1:
                measure = next(iter(homes[0].measures.values()))
                return Base(domain=homes[0].key, measure=measure, negated=negated), Favourable.NONE
            document.fault(at, "the rollup does not say which metric its nodes show, and more than one could be meant")
            return NO_BASE, Favourable.NONE
        metric = self.named(document, [*at, "metric"], name)
        if metric is None:
            return NO_BASE, Favourable.NONE
        if not isinstance(metric.body, Base):
            document.fault([*at, "metric"], f"'{name}' is a formula; the nodes of a rollup show a measure's metric")
            return NO_BASE, Favourable.NONE
        if negated and metric.body.over_members.counts:
            document.fault(["lines", place, "sign"], f"'{name}' counts, and a count has no sign", "leave sign out")
        if leaf not in self.builder.domains[metric.domain].dimensions:
            document.fault([*at, "metric"], f"{metric.domain}, the domain of '{name}', has no '{cut.dimension}'")
        return replace(metric.body, negated=metric.body.negated is not negated), (
            metric.favourable.turned() if negated else metric.favourable
        )

    def formula_line(self, document: Document, place: int, key: str, part: FormulaLinePart) -> FormulaLine:
        """Return a formula line."""
        at: Location = ["lines", place, "formula", "is"]
        formula, figure = NO_BODY, NO_TYPE
        try:
            own_cuts = own_cuts_in(self.builder.dimensions, self.builder.domains, self.bases_of)
            formula = parse(part.formula.is_, self.meant, own_side_in(self.builder.scenarios), own_cuts)
            types = types_of(formula, self.type_of)
            if not any(found is NO_TYPE for found in types.values()):
                figure = formula.type_of(types) or NO_TYPE
            if types.keys() <= LENGTH_TYPES.keys():
                document.fault(at, f"{key} uses no metric and no line")
        except FormulaFault as fault:
            document.fault(at, f"{key}: {fault.located}", VALID if fault.position else "")
        return FormulaLine(
            key=key,
            label=part.formula.label,
            formula=formula,
            written=part.formula.is_,
            type=figure,
            format=format_of(document, ["lines", place, "formula", "format"], part.formula.format, figure),
            favourable=Favourable(part.formula.favourable),
            style=Style(part.style),
            location=document.place(at),
        )

    def meant(self, name: str) -> str:
        """Return the line or metric that a name refers to. Raises FormulaFault for unknown names and cycles.

        A line of another statement is `statement.line`.
        """
        if name in self.under_way:
            circle = " → ".join((*self.under_way[self.under_way.index(name) :], name))
            raise FormulaFault(f"formulas go round in a circle: {circle}")
        if name in self.written and not name.startswith("header_"):
            return name
        found = metrics_named(name, self.builder.metrics)
        statement, dot, line = name.partition(".")
        if not found and dot and statement in self.builder.by_key:
            return self.meant_of(statement, line)
        if not found:
            names = {**self.builder.metrics, **self.written}
            raise FormulaFault(f"there is no line or metric '{name}'; {known(name, names)}")
        if len(found) > 1:
            raise FormulaFault(f"'{name}' can mean {' or '.join(metric.key for metric in found)}")
        return found[0].key

    def meant_of(self, statement: str, line: str) -> str:
        """Return the line of a statement that a name refers to. Raises FormulaFault for an unknown one and a cycle."""
        others = self.builder.lines_of(statement)
        if others is self:
            return self.meant(line)
        if line not in others.written or line.startswith("header_"):
            raise FormulaFault(f"{statement} has no line '{line}'; {known(line, others.written)}")
        others.meant(line)
        return f"{statement}.{line}"

    def home_of(self, name: str) -> "tuple[StatementLines, str] | None":
        """Return the statement whose line a name means, with the key of the line; None if it means a metric."""
        if name in self.written:
            return self, name
        statement, _, line = name.partition(".")
        if name in self.builder.metrics or statement not in self.builder.by_key:
            return None
        return self.builder.lines_of(statement), line

    def line_named(self, name: str) -> Line | None:
        """Return the line that a name means, None if it means a metric."""
        home = self.home_of(name)
        return home and home[0].line(home[1])

    def type_of(self, name: str) -> FigureType:
        """Return the type of a line or metric."""
        match self.line_named(name):
            case FormulaLine(type=figure):
                return figure
            case RollupLine(base=base):
                return NO_TYPE if base is NO_BASE else base.type
            case MetricLine(metric=key):
                metric = self.builder.metrics.get(key)
            case _:
                metric = self.builder.metrics.get(name)
        return metric.type if metric else NO_TYPE

    def bases_of(self, name: str) -> Iterator[Base]:
        """Yield the measured figures that a line or metric is made of."""
        place: Place = (self, name)
        return bases_below(place, lambda place: made_of(place, self.builder.metrics))


def made_of(place: Place, metrics: Mapping[str, Metric]) -> Base | list[Place]:
    """Return the base of a line of a statement or of a metric, else the places of what its formula names."""
    lines, key = place
    home = lines and lines.home_of(key)
    match home and home[0].line(home[1]):
        case FormulaLine(formula=formula):
            return [(home[0], operand) for operand in metrics_of(formula)] if home else []
        case RollupLine(base=base):
            return base
        case MetricLine(metric=metric):
            key = metric
    part = made_of_metric(metrics.get(key))
    return part if isinstance(part, Base) else [(None, operand) for operand in part]
