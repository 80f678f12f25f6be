"""The catalogue: domains, measures, metrics, dimensions and statements as values."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum

from engine.model.aggregation import FLOW, MemberAggregation, TimeAggregation, TimeRule
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from engine.model.formulas import FigureKind, FigureType, Formula
from engine.model.scenarios import Scenario
from engine.model.scope import Cut, Cuts

FIGURE_COLUMNS = (
    "line",
    "metric",
    "label",
    "line_order",
    "level",
    "kind",
    "scenario",
    "alias",
    "value",
    "exact",
    "unit",
)
INSPECTION_KEYS = ("metric", "scenario", "compared_with")  # filters of inspection that are no dimensions
CONTRIBUTION = "contribution"  # column of inspected rows: what each adds to a figure
LABEL = "_label"  # suffix of the column of labels beside a column of ids

PERIOD = "period"  # the time dimension that breaks down at the requested grain, whatever it is


class Format(Enum):
    """How a figure is shown."""

    CURRENCY = "currency"
    NUMBER = "number"
    PERCENT = "percent"


class Favourable(Enum):
    """Which direction of a figure is good."""

    UP = "up"
    DOWN = "down"
    NONE = "none"

    def turned(self) -> "Favourable":
        """Return the good direction of the negated figure."""
        return {Favourable.UP: Favourable.DOWN, Favourable.DOWN: Favourable.UP}.get(self, self)


class DimensionKind(Enum):
    """Whether a dimension has members of its own, values of an attribute, or nodes of a tree."""

    LEAF = "leaf"
    DERIVED = "derived"
    RAGGED = "ragged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One way to filter or break down."""

    key: str
    label: str
    kind: DimensionKind
    leaf: str  # the leaf dimension whose codes the facts carry; of a time dimension its own key
    members: str | None = None  # live table of members; None where members come from the facts alone
    attribute: str | None = None  # of a derived dimension
    nodes: str | None = None  # live table of nodes, of a ragged dimension
    adds_paths: bool = False
    grain: Grain | None = None  # of a time dimension
    axis_only: bool = False  # valid for breakdowns, not for filters
    location: str = ""  # in the files of an instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A column of amounts, held as integers of its last decimal place."""

    key: str
    column: str
    kind: FigureKind
    places: int
    currency: str | None = None  # leaf dimension or axis of its currency; None: amounts are in that of the books


ROW_COUNT = Measure(key="rows", column="", kind=FigureKind.NUMBER, places=0)  # what metrics measure that count


@dataclass(frozen=True, slots=True, kw_only=True)
class StockGroup:
    """Balances that close together: the rows of any of its restrictions, at one grain."""

    key: str
    where: tuple[Cuts, ...]  # joined by OR
    grain: Grain


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One table of facts and how to read it."""

    key: str
    label: str
    table: str
    scenario_column: str
    time_column: str
    grain: Grain
    grains: frozenset[Grain]  # those it can be asked at: its own and those that its periods make up
    keeps_undated: bool
    sort: tuple[str, ...]
    dimensions: Mapping[str, str]  # leaf dimension or axis -> column
    measures: Mapping[str, Measure]
    stock_groups: Mapping[str, StockGroup]
    inspect_enabled: bool
    inspect_columns: tuple[str, ...]
    rollups: tuple[tuple[str, ...], ...] = ()  # dimensions, sorted, that sums are kept by beside the facts
    location: str = ""  # of its table, in the files of an instance
    locations: Mapping[str, str] = field(default_factory=dict)  # of dimensions, measures and inspected columns

    def carries(self, grain: Grain) -> bool:
        """Tell whether its facts can be asked at a grain."""
        return grain in self.grains

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that it stores for inspection alone."""
        known = {self.time_column, self.scenario_column, *self.dimensions, *self.measures}
        return tuple(column for column in self.inspect_columns if column not in known)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Base:
    """What a figure is before any formula: a measure of some rows, its sign, and how it adds up over time.

    Compared by identity: a catalogue has each once, and a plan keys everything it reads by its bases.
    """

    domain: str
    measure: Measure
    where: Cuts = ()
    negated: bool = False
    over_members: MemberAggregation = MemberAggregation.SUM
    counted: str | None = None  # of count_distinct: the leaf dimension whose members are counted
    over_time: TimeAggregation = FLOW
    stock_group: str | None = None  # of a balance

    @property
    def type(self) -> FigureType:
        """What its figures are."""
        return FigureType(
            kind=self.measure.kind,
            additive=self.over_members.is_additive,
            quotient=self.over_members is MemberAggregation.AVERAGE or self.over_time.rule is TimeRule.AVERAGE,
        )

    @property
    def value(self) -> Hashable:
        """What tells it from others that are not the same figure."""
        return tuple(getattr(self, part.name) for part in fields(self))

    def over(self, cut: Cut) -> "Base":
        """Return the same of fewer rows; where several cuts name one dimension, the last one weighs."""
        return replace(self, where=(*self.where, cut))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A named figure: a base, or a formula of other metrics."""

    key: str
    label: str
    description: str
    domain: str
    format: Format
    favourable: Favourable
    type: FigureType
    body: Base | Formula
    written: str | None  # the formula as the file has it


class Style(Enum):
    """How a line is set."""

    PLAIN = "plain"
    SUBTOTAL = "subtotal"
    TOTAL = "total"
    RATIO = "ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderLine:
    """A line of words."""

    key: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """A line that shows a metric."""

    key: str
    label: str
    metric: str
    style: Style


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaLine:
    """A line computed from metrics and other lines of its statement."""

    key: str
    label: str
    formula: Formula
    type: FigureType
    format: Format
    favourable: Favourable
    style: Style


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupLine:
    """A node of a tree, expanded into lines that foot to it."""

    key: str
    label: str | None
    base: Base
    dimension: str
    node: str
    location: str  # of the node, in the files of an instance
    depth: int
    favourable: Favourable
    style: Style

    def base_of(self, node: str) -> Base:
        """Return what one of its nodes counts."""
        return self.base.over(Cut(self.dimension, (node,)))


Line = HeaderLine | MetricLine | FormulaLine | RollupLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Lines in order."""

    key: str
    label: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDefault:
    """What is shown when a call leaves it open."""

    statement: str | None = None
    scenarios: tuple[tuple[str, str | None], ...] = ()  # (reference, alias)
    period_start: str | None = None
    period_end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything that one deployment's files say, checked as a whole."""

    name: str
    currency: str
    calendar: Calendar
    dimensions: Mapping[str, Dimension]
    domains: Mapping[str, Domain]
    metrics: Mapping[str, Metric]
    statements: Mapping[str, Statement]
    scenarios: Mapping[str, Scenario]
    comparisons: tuple[tuple[str, str], ...]  # pairs of references, ready-made for list_scenarios
    default: ReportDefault
    orientation: str
    version: str

    def leaves_of(self, domain: str) -> tuple[str, ...]:
        """Return the leaf dimensions of a domain, axes left out."""
        return tuple(leaf for leaf in self.domains[domain].dimensions if not self.dimensions[leaf].axis_only)

    def dimensions_of(self, domain: Domain) -> Iterator[Dimension]:
        """Yield the dimensions that a domain can be cut or broken down by, in the catalogue's order."""
        for dimension in self.dimensions.values():
            if dimension.grain is None:
                usable = dimension.leaf in domain.dimensions
            else:
                usable = dimension.key == PERIOD or domain.carries(dimension.grain)
            if usable:
                yield dimension
