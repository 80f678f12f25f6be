"""Builds metrics from domains/*.yaml: aggregations, and formulas with resolved names, types and no cycles."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from engine.instance.documents import Document, Location, known, words
from engine.instance.reading.conditions import VALID, ConditionFault, parse_condition
from engine.instance.reading.domains import cuts_of, grain_of, of_members
from engine.instance.reading.operands import bases_of_metric, own_cuts_in, own_side_in
from engine.instance.schema.books import DomainFile, MetricPart
from engine.instance.schema.common import BackPart, ExclusionPart, OverTimePart
from engine.model.aggregation import LookBack, MemberAggregation, TimeAggregation, TimeRule
from engine.model.calendar.families import TRADING
from engine.model.catalogue import ROW_COUNT, Base, Dimension, Domain, Drivers, Favourable, Format, Measure, Metric
from engine.model.exact import Exact
from engine.model.formula_parser import VALID as GRAMMAR
from engine.model.formula_parser import parse
from engine.model.formulas import FigureKind, FigureType, Formula, FormulaFault, Operand, Quotient
from engine.model.functions import LENGTH_TYPES, types_of
from engine.model.metric_names import keys_named
from engine.model.scenarios import Scenario
from engine.model.scope import AmountRange

# Aggregation over members and over time.


SINCE = {
    "always": LookBack.ALWAYS,
    "books": LookBack.ALWAYS,
    "fiscal_year": LookBack.FISCAL_YEAR,
    "range": LookBack.RANGE,
}


def over_members_of(part: MetricPart) -> MemberAggregation:
    """Return the aggregation of a metric over members."""
    if part.over_members.how is not None:
        return MemberAggregation(part.over_members.how)
    is_count = part.over_members.count_distinct is not None
    return MemberAggregation.COUNT_DISTINCT if is_count else MemberAggregation.PERCENTILE


def share_of(part: MetricPart) -> Exact | None:
    """Return how many of the amounts lie below the median or percentile that a metric is; None if it is neither."""
    if over_members_of(part) is MemberAggregation.MEDIAN:
        return Exact(1, 2)
    if part.over_members.percentile is None:
        return None
    return Exact(*(Exact.of(str(part.over_members.percentile)) / Exact(100)).reduced())


def over_time_of(part: OverTimePart) -> TimeAggregation:
    """Return the aggregation of a metric over time."""
    if part.average is not None:
        return TimeAggregation(rule=TimeRule.AVERAGE, grain=grain_of(part.average.of))
    if part.opening is not None:
        return looking_back(part.opening, opening=True)
    match part.rule:
        case None:
            return looking_back(part, opening=False)
        case "opening":
            return TimeAggregation(rule=TimeRule.CLOSING, opening=True)
        case rule:
            return TimeAggregation(rule=TimeRule(rule))


def looking_back(part: BackPart, *, opening: bool) -> TimeAggregation:
    """Return an aggregation that looks back from the end of a range or, if `opening`, from before its start."""
    if part.last_known is not None:
        return TimeAggregation(rule=TimeRule.LAST_KNOWN, since=SINCE[part.last_known], opening=opening)
    return TimeAggregation(rule=TimeRule.TO_DATE, since=SINCE[part.to_date or "books"], opening=opening)


def check_adding(document: Document, location: Location, key: str, part: MetricPart, domain: Domain) -> None:
    """Record inconsistent aggregation settings of a metric."""
    over_members, over_time = over_members_of(part), over_time_of(part.over_time)
    words = over_members.value.replace("_", " ")
    if over_members.counts and part.sign == "negate":
        document.fault([*location, "sign"], f"{key} is a {words}, which has no sign", "leave sign out")
    if over_members.counts and part.measure is not None:
        document.fault([*location, "measure"], f"{key} is a {words}, which has no measure", "leave measure out")
    if not over_members.is_additive and over_time.rule not in (TimeRule.SUM, TimeRule.CLOSING):
        fault = f"{key}: a {words} cannot be made {over_time.written}"
        document.fault([*location, "over_time"], fault, "sum, closing or opening")
    counted = part.over_members.count_distinct
    if counted is not None and counted not in domain.dimensions:
        fault = f"{domain.key} has no leaf dimension or axis '{counted}' to count"
        document.fault([*location, "over_members", "count_distinct"], fault, known(counted, domain.dimensions))
    for at, fault in grain_faults(over_time, domain, part):
        document.fault([*location, *at], f"{key}: {fault}")


def grain_faults(over_time: TimeAggregation, domain: Domain, part: MetricPart) -> Iterator[tuple[Location, str]]:
    """Yield the reasons why closings of a grain cannot be averaged, with locations."""
    group = domain.stock_groups.get(part.balance or next(iter(domain.stock_groups), ""))
    if over_time.grain is None or group is None:
        return
    if over_time.grain.fineness < group.grain.fineness:
        yield (
            ["over_time", "average", "of"],
            f"balances that close by {group.grain.value} cannot be averaged by {over_time.grain.value}",
        )
    elif not domain.carries(over_time.grain):
        yield ["over_time", "average", "of"], f"{domain.key} cannot be asked by {over_time.grain.value}"
    elif over_time.grain in TRADING.grains and domain.grain not in TRADING.grains:
        fault = f"closings cannot be averaged by {over_time.grain.value}: days outside the trading calendar have none"
        yield ["over_time", "average", "of"], fault


# Metrics: bases and formulas.


MEASURED_KEYS = {"measure", "where", "sign", "over_members", "over_time", "balance", "repeats"}  # not of a formula

FORMATS: dict[FigureKind, tuple[Format, ...]] = {  # the first is the default
    FigureKind.MONEY: (Format.CURRENCY, Format.NUMBER),
    FigureKind.PRICE: (Format.CURRENCY, Format.NUMBER),
    FigureKind.NUMBER: (Format.NUMBER, Format.PERCENT),
    FigureKind.RATIO: (Format.NUMBER, Format.PERCENT),
    FigureKind.DAYS: (Format.NUMBER,),
    FigureKind.RATE: (Format.CURRENCY, Format.NUMBER),
}
# Placeholders for faulty parts, so that the parts that use them are still checked.
NO_TYPE = FigureType(kind=FigureKind.NUMBER, additive=False)
NO_BODY = parse("0")
NO_BASE = Base(
    domain="",
    measure=Measure(key="", column="", kind=FigureKind.NUMBER, places=0),
)


def format_of(document: Document, location: Location, asked: str | None, figure: FigureType) -> Format:
    """Return the requested format, else the default of the type. Records a format that does not fit the type."""
    fitting = FORMATS[figure.kind]
    if asked is None:
        return fitting[0]
    if Format(asked) not in fitting:
        valid = " or ".join(choice.value for choice in fitting)
        document.fault(location, f"format {asked} does not suit a figure that is {figure.kind.value}", valid)
        return fitting[0]
    return Format(asked)


@dataclass
class MetricBuilder:
    """Builds metrics in dependency order."""

    files: Mapping[Document, DomainFile]
    domains: Mapping[str, Domain]
    dimensions: Mapping[str, Dimension]
    scenarios: Mapping[str, Scenario] | None  # None where they are unknown
    built: dict[str, Metric] = field(default_factory=dict)
    under_way: list[str] = field(default_factory=list)

    def build(self) -> dict[str, Metric]:
        """Return all metrics by key."""
        for name in self._parts:
            self.metric(name)
        return {name: self.driven(name, *part) for name, part in self._parts.items()}

    @cached_property
    def shared_keys(self) -> frozenset[str]:
        """The keys of metrics of several domains."""
        counts = Counter(key for _, _, key, _ in self.parts())
        return frozenset(key for key, count in counts.items() if count > 1)

    def name_of(self, domain: str, key: str) -> str:
        """Return the key of a metric in the instance: domain.key if several domains have the key."""
        return f"{domain}.{key}" if key in self.shared_keys else key

    def driven(self, name: str, document: Document, file: DomainFile, key: str, part: MetricPart) -> Metric:
        """Return a metric with its drivers. Records a volume that does not add up, and a price that is another."""
        metric, asked = self.built[name], part.drivers
        if asked is None or metric.type is NO_TYPE:
            return metric
        at = ["metrics", key, "drivers"]
        factors: dict[str, Metric] = {}
        for factor, text in (("volume", asked.volume), ("price", asked.price)):
            try:
                factors[factor] = self.metric(self.meant(text, file))
            except FormulaFault as fault:
                document.fault([*at, factor], f"{key}: {fault}")
        if len(factors) < len(("volume", "price")):
            return metric
        volume, price = factors["volume"], factors["price"]
        adding = [known.key for known in (metric, volume) if not known.type.additive and known.type is not NO_TYPE]
        for other in adding:
            document.fault(at if other == metric.key else [*at, "volume"], f"{other} does not add up over its members")
        if not adding and price.body != Quotient(Operand(metric.key), Operand(volume.key)):
            said = f"{price.key} is not the price of {key}"
            document.fault([*at, "price"], said, f"name a metric whose formula is {key} / {volume.key}")
        return replace(metric, drivers=Drivers(volume=volume.key, price=price.key))

    def parts(self) -> Iterator[tuple[Document, DomainFile, str, MetricPart]]:
        """Yield the document, file, key and model of every metric."""
        for document, file in self.files.items():
            for key, part in file.metrics.items():
                yield document, file, key, part

    @cached_property
    def _parts(self) -> Mapping[str, tuple[Document, DomainFile, str, MetricPart]]:
        return {self.name_of(known[1].domain, known[2]): known for known in self.parts()}

    @cached_property
    def _homes(self) -> Mapping[str, str]:
        """The domain of each metric."""
        return {key: part[1].domain for key, part in self._parts.items()}

    def metric(self, name: str) -> Metric:
        """Return one metric by its key in the instance. Builds the operands of its formula first."""
        if name not in self.built:
            self.under_way.append(name)
            self.built[name] = self.build_metric(name, *self._parts[name])
            self.under_way.pop()
        return self.built[name]

    def build_metric(self, name: str, document: Document, file: DomainFile, key: str, part: MetricPart) -> Metric:
        """Build a metric from its part of a file."""
        if part.formula is None:
            base = self.base(document, file, key, part)
            body: Base | Formula = base
            figure = NO_TYPE if base is NO_BASE else base.type
        else:
            body, figure = self.formula(document, file, key, part.formula, part)
        at = ["metrics", key]
        return Metric(
            key=name,
            label=part.label or words(key),
            description=part.description,
            domain=file.domain,
            format=format_of(document, [*at, "format"], part.format, figure)
            if figure is not NO_TYPE
            else Format.NUMBER,
            favourable=Favourable(part.favourable),
            type=figure,
            body=body,
            written=part.formula,
            location=document.place([*at, "formula"]) if part.formula else "",
        )

    def formula(
        self, document: Document, file: DomainFile, key: str, text: str, part: MetricPart
    ) -> tuple[Formula, FigureType]:
        """Return a metric's formula and its type."""
        at = ["metrics", key]
        for name in part.model_fields_set & MEASURED_KEYS:
            document.fault([*at, name], f"{key} is a formula; {name} is for measures")
        try:
            own_cuts = own_cuts_in(self.dimensions, self.domains, lambda name: bases_of_metric(name, self.metric))
            formula = parse(text, lambda name: self.meant(name, file), own_side_in(self.scenarios), own_cuts)
            types = types_of(formula, lambda name: self.metric(name).type)
            figure = None if any(found is NO_TYPE for found in types.values()) else formula.type_of(types)
            if types.keys() <= LENGTH_TYPES.keys():
                document.fault([*at, "formula"], f"{key} uses no metric")
        except FormulaFault as fault:
            document.fault([*at, "formula"], f"{key}: {fault.located}", GRAMMAR if fault.position else "")
            return NO_BODY, NO_TYPE
        return formula, figure or NO_TYPE

    def meant(self, name: str, file: DomainFile) -> str:
        """Return the metric that a name in a formula refers to. Raises FormulaFault for unknown names and cycles."""
        own, homes = self.name_of(file.domain, name), self._homes
        found = [own] if own in homes else keys_named(name, homes)
        if not found and "." in name and name.partition(".")[0] not in self.domains:
            raise FormulaFault(f"'{name}' is of no domain; formulas of statements alone name lines of other statements")
        if not found:
            raise FormulaFault(f"there is no metric '{name}'; {known(name, self._parts)}")
        others = [homes[key] for key in found if homes[key] != file.domain]
        if "." not in name and others:
            written = " or ".join(f"{home}.{name}" for home in others)
            raise FormulaFault(f"'{name}' is a metric of {' and of '.join(others)}; write {written}")
        if found[0] in self.under_way:
            circle = " → ".join((*self.under_way[self.under_way.index(found[0]) :], found[0]))
            raise FormulaFault(f"formulas go round in a circle: {circle}")
        return found[0]

    def base(self, document: Document, file: DomainFile, key: str, part: MetricPart) -> Base:
        """Return the base of a metric without a formula."""
        at = ["metrics", key]
        domain = self.domains[file.domain]
        cuts = cuts_of(document, file, self.dimensions, of_members(file, part.where), [*at, "where"])
        check_adding(document, at, key, part, domain)
        measure = self.measure(document, domain, key, part)
        if measure is None:
            return NO_BASE
        return Base(
            domain=file.domain,
            measure=measure,
            where=cuts,
            amounts=tuple(self.conditions(document, file, key, part)),
            negated=part.sign == "negate",
            over_members=over_members_of(part),
            counted=part.over_members.count_distinct,
            share=share_of(part),
            over_time=over_time_of(part.over_time),
            stock_group=self.stock_group(document, domain, key, part),
            repeats=part.repeats,
        )

    def conditions(self, document: Document, file: DomainFile, key: str, part: MetricPart) -> Iterator[AmountRange]:
        """Yield the ranges of amounts that the rows of a metric lie in. Records conditions that cannot be met."""
        for name in part.where.keys() - of_members(file, part.where).keys():
            at: Location = ["metrics", key, "where", name]
            if over_time_of(part.over_time).rule is TimeRule.LAST_KNOWN:
                fault = f"{key} reads the last known value of each member, whatever its amount"
                document.fault(at, fault, "leave the condition out, or say over_time: closing")
            texts = part.where[name]
            if isinstance(texts, ExclusionPart):
                document.fault(at, f"{key}: {name} has amounts, not members to exclude", VALID)
                continue
            try:
                yield from parse_condition(texts, self.domains[file.domain].measures[name])
            except ConditionFault as fault:
                document.fault(at, f"{key}: {name} {fault}", VALID)

    def measure(self, document: Document, domain: Domain, key: str, part: MetricPart) -> Measure | None:
        """Return the measure of a metric, None if the file does not name one."""
        if over_members_of(part).counts:
            return ROW_COUNT
        if part.measure is None and len(domain.measures) > 1:
            document.fault(["metrics", key], f"{key} has neither measure nor formula", known("", domain.measures))
            return None
        measure = domain.measures.get(part.measure or next(iter(domain.measures), ""))
        if measure is None:
            valid = known("", domain.measures)
            document.fault(["metrics", key, "measure"], f"there is no measure '{part.measure}'", valid)
        return measure

    def stock_group(self, document: Document, domain: Domain, key: str, part: MetricPart) -> str | None:
        """Return the stock group of a closing metric."""
        groups = domain.stock_groups
        if over_time_of(part.over_time).is_flow:
            if part.balance:
                document.fault(["metrics", key, "balance"], f"{key} is a flow; balance is for those that are none")
            return None
        if part.balance is None and len(groups) > 1:
            document.fault(["metrics", key], f"{key} does not say which balances it closes with", known("", groups))
        if part.balance is not None and part.balance not in groups:
            document.fault(["metrics", key, "balance"], f"there is no stock group '{part.balance}'", known("", groups))
        return part.balance or next(iter(groups))
