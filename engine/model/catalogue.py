"""The catalogue: domains, measures, metrics, dimensions and statements as values."""

from collections.abc import Hashable, Iterator, Mapping
from enum import Enum

from msgspec import Struct
from msgspec.structs import astuple, replace

from engine.model.aggregation import FLOW, MemberAggregation, TimeAggregation, TimeRule
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain
from engine.model.exact import Exact
from engine.model.formulas import FigureKind, FigureType, Formula
from engine.model.scenarios import Scenario, live
from engine.model.scope import AmountRange, Cut, Cuts, OwnCut
from engine.model.vocabulary import InstanceTerms

FIGURE_COLUMNS = (
    *("line", "metric", "label", "line_order", "level", "kind"),
    *("scenario", "alias", "value", "exact", "unit"),
)
INSPECTION_KEYS = ("metric", "scenario", "compared_with")  # filters of an inspection that are not dimensions
CONTRIBUTION = "contribution"  # column of inspected rows: what each row adds to the figure
LABEL = "_label"  # suffix of the label column that stands beside an id column
PERIOD = "period"  # the time dimension that takes the grain of the request


class Format(Enum):
    """How a figure is formatted."""

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
    """What the members of a dimension are: leaf members, values of an attribute, or nodes of a hierarchy."""

    LEAF = "leaf"
    DERIVED = "derived"
    RAGGED = "ragged"


class Dimension(Struct, frozen=True, kw_only=True):
    """A way to filter and break down facts."""

    key: str
    label: str
    kind: DimensionKind
    leaf: str  # the leaf dimension whose codes the facts hold; a time dimension names itself
    members: str | None = None  # live table of members; None if the facts alone define the members
    attribute: str | None = None  # for a derived dimension
    nodes: str | None = None  # live table of nodes, for a ragged dimension
    adds_paths: bool = False
    grain: Grain | None = None  # for a time dimension
    of_year: bool = False  # its members are the numbers of periods in their years
    axis_only: bool = False  # valid for breakdowns, not for filters
    location: str = ""  # in the files of an instance


class Measure(Struct, frozen=True, kw_only=True):
    """A column of amounts, held as integers of its last decimal place."""

    key: str
    column: str
    kind: FigureKind
    places: int
    currency: str | None = None  # leaf dimension or axis with the currency of a row; None: the currency of the books
    unit_from: str | None = None  # derived dimension with the unit of a row; None: one unit

    def amount(self, units: int) -> Exact:
        """Return an amount that the facts hold."""
        return Exact(units, 10**self.places)


ROW_COUNT = Measure(key="rows", column="", kind=FigureKind.NUMBER, places=0)  # the measure of metrics that count rows


class StockGroup(Struct, frozen=True, kw_only=True):
    """Balances that close at one anchor: the rows that match any of its restrictions."""

    key: str
    where: tuple[Cuts, ...]  # joined by OR
    grain: Grain
    declared: bool = True  # False for the default group of a domain that declares none


class Domain(Struct, frozen=True, kw_only=True):
    """One table of facts and how to read it."""

    key: str
    label: str
    table: str
    scenario_column: str
    time_column: str
    grain: Grain
    grains: frozenset[Grain]  # its own grain and those that its periods add up to
    keeps_undated: bool
    sort: tuple[str, ...]
    dimensions: Mapping[str, str]  # leaf dimension or axis -> column
    measures: Mapping[str, Measure]
    stock_groups: Mapping[str, StockGroup]
    inspect_enabled: bool
    inspect_columns: tuple[str, ...]
    rollups: tuple[tuple[str, ...], ...] | None = None  # sorted dimensions of each; None: the store chooses them
    restricted: frozenset[str] = frozenset()  # leaf dimensions that profiles restrict: rollups with them are worth more
    location: str = ""  # of its table, in the files of an instance
    locations: Mapping[str, str] = {}  # of dimensions, measures and inspected columns

    def carries(self, grain: Grain) -> bool:
        """Tell whether the domain can answer at a grain."""
        return grain in self.grains

    @property
    def first_amount(self) -> Measure:
        """The first measure of money, else the first: the amount by which the size of some rows is told."""
        measures = self.measures.values()
        return next((one for one in measures if one.kind is FigureKind.MONEY), next(iter(measures)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The text columns that it stores for inspection only."""
        known = {self.time_column, self.scenario_column, *self.dimensions, *self.measures}
        return tuple(column for column in self.inspect_columns if column not in known)


DayKey = tuple[str, TimeAggregation, str | None]  # a domain, a time rule, a stock group


class Base(Struct, frozen=True, eq=False, kw_only=True):
    """A measured figure: a measure, a restriction, a sign, and how it combines members and time.

    Bases compare by identity. A catalogue holds each base once, and plans use bases as keys.
    """

    domain: str
    measure: Measure
    where: Cuts = ()
    amounts: tuple[AmountRange, ...] = ()  # that its rows must lie in, as stored
    negated: bool = False
    over_members: MemberAggregation = MemberAggregation.SUM
    counted: str | None = None  # for COUNT_DISTINCT: the leaf dimension whose members are counted
    share: Exact | None = None  # for MEDIAN and PERCENTILE: of the amounts, how many lie below
    over_time: TimeAggregation = FLOW
    stock_group: str | None = None  # for a balance
    repeats: bool = False  # is the same for all members of a dimension that its domain lacks
    own: tuple[OwnCut, ...] = ()  # of an operand: the members that replace those of filters and rows

    @property
    def type(self) -> FigureType:
        """The type of its figures."""
        return FigureType(
            kind=self.measure.kind,
            additive=self.over_members.is_additive and self.over_time.choose is None and not self.repeats,
            quotient=self.over_members.is_quotient or self.over_time.rule is TimeRule.AVERAGE,
        )

    @property
    def day_key(self) -> DayKey:
        """What decides on the days of its figures: its domain, time rule and stock group."""
        return self.domain, self.over_time, self.stock_group

    @property
    def value(self) -> Hashable:
        """A key that is equal for bases of the same figure."""
        return astuple(self)

    @property
    def ranked(self) -> str | None:
        """The measure whose amounts it ranks, None if it ranks none."""
        return None if self.share is None else self.measure.key

    @property
    def is_aggregate(self) -> bool:
        """Whether aggregates of rows make its figures: it neither counts members, nor ranks, nor chooses a close."""
        return self.counted is None and self.share is None and self.over_time.choose is None

    @property
    def kept(self) -> Cuts:
        """The restrictions that keep members and weigh them; the others exclude some."""
        return tuple(cut for cut in self.where if not cut.deny)

    def over(self, cut: Cut) -> "Base":
        """Return this base with one more restriction. The last cut of a dimension supplies the weights."""
        return replace(self, where=(*self.where, cut))


class Drivers(Struct, frozen=True, kw_only=True):
    """What drives an amount: the metrics of its volume and of its price, which is the amount over the volume."""

    volume: str
    price: str


class Metric(Struct, frozen=True, kw_only=True):
    """A named figure: a base, or a formula of other metrics."""

    key: str
    label: str
    description: str
    domain: str
    format: Format
    favourable: Favourable
    type: FigureType
    body: Base | Formula
    written: str | None  # the formula as the file writes it
    drivers: Drivers | None = None
    location: str = ""  # of its formula, in the files of an instance

    @property
    def bare(self) -> str:
        """The key within the domain."""
        return self.key.rpartition(".")[2]


class Style(Enum):
    """How a line is typeset."""

    PLAIN = "plain"
    SUBTOTAL = "subtotal"
    TOTAL = "total"
    RATIO = "ratio"


class HeaderLine(Struct, frozen=True, kw_only=True):
    """A line of text without figures."""

    key: str
    label: str


class MetricLine(Struct, frozen=True, kw_only=True):
    """A line that shows a metric."""

    key: str
    label: str
    metric: str
    style: Style


class FormulaLine(Struct, frozen=True, kw_only=True):
    """A line computed from metrics, other lines of its statement, and lines of others as `statement.line`."""

    key: str
    label: str
    formula: Formula
    written: str
    type: FigureType
    format: Format
    favourable: Favourable
    style: Style
    location: str = ""  # of the formula, in the files of an instance


class RollupLine(Struct, frozen=True, kw_only=True):
    """A node of a hierarchy, expanded into lines that add up to it."""

    key: str
    label: str | None
    base: Base
    dimension: str
    node: str
    location: str  # of the node, in the files of an instance
    depth: int
    favourable: Favourable
    style: Style
    reverses: str | None = None  # the metric or measure that it shows with the other sign

    def base_of(self, node: str) -> Base:
        """Return the base of one of its nodes."""
        return self.base.over(Cut(self.dimension, (node,)))


Line = HeaderLine | MetricLine | FormulaLine | RollupLine


class Statement(Struct, frozen=True, kw_only=True):
    """A statement: an ordered list of lines."""

    key: str
    label: str
    lines: tuple[Line, ...]
    covers: Cuts = ()  # nodes whose leaves the lines should all reach


class ReportDefault(Struct, frozen=True, kw_only=True):
    """Defaults for what a call leaves out."""

    statement: str | None = None
    scenarios: tuple[tuple[str, str | None], ...] = ()  # (reference, alias)
    period_start: str | None = None
    period_end: str | None = None


class Catalogue(Struct, frozen=True, kw_only=True):
    """The parsed and checked description of an instance."""

    name: str
    currency: str
    calendar: Calendar
    dimensions: Mapping[str, Dimension]
    domains: Mapping[str, Domain]
    metrics: Mapping[str, Metric]
    statements: Mapping[str, Statement]
    scenarios: Mapping[str, Scenario]
    comparisons: tuple[tuple[str, str], ...]  # pairs of references that list_scenarios offers
    default: ReportDefault
    orientation: str
    version: str
    shared_keys: frozenset[str] = frozenset()  # of metrics of several domains: each of them is domain.key in `metrics`
    names: frozenset[tuple[str, str]] = frozenset()  # (domain.key, key) of metrics that only one visible domain has
    vocabulary: InstanceTerms = InstanceTerms()

    @property
    def live_scenarios(self) -> Mapping[str, Scenario]:
        """The scenarios that are no freezes."""
        return live(self.scenarios)

    def leaves_of(self, domain: str) -> tuple[str, ...]:
        """Return the leaf dimensions of a domain, without axes."""
        return tuple(leaf for leaf in self.domains[domain].dimensions if not self.dimensions[leaf].axis_only)

    def summed_balances(self, base: Base) -> Iterator[StockGroup]:
        """Yield the declared stock groups whose balances a base can add up over time.

        Movements add up: a group that a metric reads to date holds movements of that metric's measure.
        """
        if not base.over_time.is_flow or base.over_members is not MemberAggregation.SUM:
            return
        for group in self.domains[base.domain].stock_groups.values():
            balances = [
                metric.body
                for metric in self.metrics.values()
                if isinstance(metric.body, Base)
                and (metric.body.domain, metric.body.stock_group) == (base.domain, group.key)
                and not metric.body.over_time.is_flow
            ]
            alike = [balance for balance in balances if balance.measure == base.measure]
            moves = any(balance.over_time.rule is TimeRule.TO_DATE for balance in alike)
            if group.declared and not moves and bool(alike) is bool(balances):
                yield group

    def line_named(self, name: str) -> tuple[Line, Statement]:
        """Return the line that `statement.line` names, with its statement."""
        key, _, line_key = name.partition(".")
        statement = self.statements[key]
        return next(line for line in statement.lines if line.key == line_key), statement

    def dimensions_of(self, domain: Domain) -> Iterator[Dimension]:
        """Yield the dimensions that a domain can be filtered or broken down by, in catalogue order."""
        for dimension in self.dimensions.values():
            if dimension.grain is None:
                usable = dimension.leaf in domain.dimensions
            else:
                usable = dimension.key == PERIOD or domain.carries(dimension.grain)
            if usable:
                yield dimension
