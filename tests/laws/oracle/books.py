"""Books as plain values: rows, trees, scenarios, metrics, lines, profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from tests.laws.oracle.calendar import Fiscal
from tests.laws.oracle.expressions import Expression

GL, PEOPLE = "gl", "people"
UNASSIGNED = "(unassigned)"
OWN = "/(own)"
LEAF_OF = {
    "product": "product",
    "band": "product",
    "tree": "product",
    "alt": "product",
    "region": "region",
    "journal": "journal",
}
LEAVES = {GL: ("product", "region", "journal"), PEOPLE: ("region",)}
MEASURES = {GL: ("amount", "qty"), PEOPLE: ("fte",)}
PLACES = {"amount": 2, "qty": 0, "fte": 1}
TREES = ("tree", "alt")
AXIS = "journal"
Cuts = Mapping[str, tuple[str, ...]]  # dimension to ids


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRow:
    """A fact; the null member is the empty id."""

    domain: str
    scenario: str
    day: date | None
    members: Mapping[str, str]
    amounts: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class OracleEdge:
    """A node under a parent (none: a root) with the weight between them."""

    node: str
    parent: str
    weight: str


@dataclass(frozen=True, slots=True)
class OracleAdjustment:
    """A factor on the rows of some members, for some measures."""

    where: Cuts
    factor: str
    measures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OracleScenario:
    """A base scenario; `closed` is domain ("" for the others) to the last closed month."""

    id: str
    closed: Mapping[str, str]
    downside: tuple[OracleAdjustment, ...] = ()


@dataclass(frozen=True, slots=True)
class OracleGroup:
    """Balances that close together: the rows of any of some cuts."""

    where: tuple[Cuts, ...]
    grain: str
    without: tuple[Cuts, ...] = ()  # what each of them excludes


@dataclass(frozen=True, slots=True)
class OverTime:
    """How a metric adds up over time; an opening is the same rule before the range."""

    rule: str = "sum"  # sum, closing, last_known, to_date, average, lowest, highest
    since: str = "range"  # of last_known and to_date: always, books, fiscal_year, range
    of: str = ""  # grain of an average
    opening: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleBase:
    """A metric that counts rows, or what a measure of them amounts to."""

    key: str
    domain: str
    measure: str
    where: Cuts = field(default_factory=dict)
    without: Cuts = field(default_factory=dict)  # members that it excludes
    negated: bool = False
    over_members: str = "sum"  # sum, count, count_distinct, min, max, average, median, percentile
    percent: int = 50  # of a median or percentile
    distinct: str = ""  # what a count_distinct counts
    over_time: OverTime = OverTime()
    group: str = ""
    condition: tuple[str, str, Fraction] | None = None  # measure, comparison and limit of the amounts that it counts
    repeats: bool = False  # is the same for all members of a dimension that its domain lacks

    @property
    def counts(self) -> bool:
        """Tell whether it has neither measure nor sign."""
        return self.over_members in ("count", "count_distinct")

    @property
    def weighs(self) -> bool:
        """Tell whether its rows can be weighed."""
        return self.over_members in ("sum", "count")

    @property
    def is_additive(self) -> bool:
        """Tell whether the figures of parts add up to that of the whole."""
        return self.weighs and self.over_time.rule not in ("lowest", "highest") and not self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleFormula:
    """A metric or line computed from others."""

    key: str
    domain: str
    expression: Expression
    percent: bool = False


@dataclass(frozen=True, slots=True)
class OracleRollup:
    """A node of `tree` and what is below it, as lines of a base metric."""

    base: str
    node: str
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OracleBooks:
    """An instance and its rows."""

    fiscal: Fiscal
    rows: tuple[OracleRow, ...]
    bands: Mapping[str, str]  # product of the member table -> band, or nothing
    trees: Mapping[str, tuple[OracleEdge, ...]]
    scenarios: Mapping[str, OracleScenario]
    groups: Mapping[str, Mapping[str, OracleGroup]]  # by domain; none declared: the default of its balances
    bases: Mapping[str, OracleBase]
    formulas: Mapping[str, OracleFormula]  # metrics of domains
    lines: Mapping[str, OracleFormula]  # of the statement
    rollup: OracleRollup  # its last line
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # scenario -> regions that a profile shows
    # By domain; None: the store chooses them. They change no figure.
    rollups: Mapping[str, tuple[tuple[str, ...], ...] | None] = field(default_factory=dict)

    def group_of(self, of: OracleBase) -> OracleGroup:
        """Return the balances that a metric closes with."""
        declared = self.groups[of.domain]
        if declared:
            return declared[of.group]
        bases = self.bases.values()
        balances = [base for base in bases if base.domain == of.domain and base.over_time.rule != "sum"]
        wheres, exclusions = tuple(base.where for base in balances), tuple(base.without for base in balances)
        return OracleGroup(wheres, "month", exclusions)

    def visible(self, row: OracleRow, scenarios: frozenset[str]) -> bool:
        """Tell whether a row lies inside what may be seen of each of some scenarios."""
        return all(row.members["region"] in self.allowed.get(name, (row.members["region"],)) for name in scenarios)
