"""Builds scenarios, variants and comparisons from scenarios.yaml, and the default report from instance.yaml."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date

from engine.instance.documents import Document, Location, known
from engine.instance.schema.books import InstanceFile
from engine.instance.schema.registry import AdjustPart, ScenarioPart, ScenariosFile, VariantPart
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import DAY
from engine.model.catalogue import Dimension, Domain, ReportDefault
from engine.model.errors import BadPeriod
from engine.model.exact import ONE, Exact
from engine.model.scenarios import FROZEN, Adjustment, Scenario, Variant, resolve
from engine.model.scope import Cut

# Scenarios, variants and comparisons from scenarios.yaml.


def build_scenarios(
    document: Document,
    file: ScenariosFile,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
    calendar: Calendar,
) -> dict[str, Scenario]:
    """Return the base scenarios by id."""
    parts: Mapping[str, ScenarioPart] = file.model_extra or {}
    for key in parts:
        if FROZEN in key:
            document.fault([key], f"'{key}' holds {FROZEN}, which stands before the name of a freeze", "leave it out")
    closed = {key: closed_through(document, key, part, domains, calendar) for key, part in parts.items()}
    return {
        key: Scenario(
            id=key,
            alias=part.alias,
            name=part.name or part.alias,
            kind=part.kind,
            status=part.status,
            closed_through=closed[key],
            cut_at=dict(cut_periods(closed[key], domains, calendar)),
            variants=tuple(
                build_variant(document, [key, "variants", name], name, variant, domains, dimensions)
                for name, variant in part.variants.items()
            ),
        )
        for key, part in parts.items()
    }


def build_variant(
    document: Document,
    at: Location,
    key: str,
    part: VariantPart,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> Variant:
    """Return one what-if variant of a scenario."""
    adjustments = (
        build_adjustment(document, [*at, "adjust", place], adjust, domains, dimensions)
        for place, adjust in enumerate(part.adjust)
    )
    return Variant(key=key, label=part.label, adjustments=tuple(adjustments))


def build_adjustment(
    document: Document,
    at: Location,
    part: AdjustPart,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
) -> Adjustment:
    """Return one adjustment. It applies to every domain with all its dimensions."""
    leaves = {key: dimensions[key].leaf for key in part.where if key in dimensions}
    usable = [key for key, named in dimensions.items() if any(named.leaf in of.dimensions for of in domains.values())]
    for key in part.where:
        if key not in usable:
            document.fault([*at, "where", key], f"no domain can be restricted by '{key}'", known(key, usable))
    touched = [domain for domain in domains.values() if set(leaves.values()) <= domain.dimensions.keys()]
    measures = {measure for domain in touched for measure in domain.measures}
    for measure in part.measures:
        if measure not in measures:
            document.fault([*at, "measures"], f"there is no measure '{measure}'", known(measure, measures))
    if not part.measures and any(len(domain.measures) > 1 for domain in touched):
        document.fault(at, "the adjustment names no measure, and a domain it touches has several", known("", measures))
    try:
        factor = Exact.of(part.factor)
    except ValueError as fault:
        document.fault([*at, "factor"], str(fault))
        factor = ONE
    cuts = tuple(Cut(key, tuple(ids), location=document.place([*at, "where", key])) for key, ids in part.where.items())
    return Adjustment(where=cuts, factor=factor, measures=tuple(part.measures))


def closed_through(
    document: Document, key: str, part: ScenarioPart, domains: Mapping[str, Domain], calendar: Calendar
) -> dict[str, date]:
    """Return the last closed day by domain. The key "" holds the day of all other domains."""
    written = part.closed_through
    by_domain = {"": written} if isinstance(written, str) else written or {}
    days = {}
    for domain, code in by_domain.items():
        at = [key, "closed_through"]
        if domain and domain not in domains:
            document.fault([*at, domain], f"there is no domain '{domain}'", known(domain, domains))
        try:
            days[domain] = calendar.parse(code, "closed_through").last
        except BadPeriod as refusal:
            document.fault(at, refusal.error)
    return days


def cut_periods(
    closed: Mapping[str, date], domains: Mapping[str, Domain], calendar: Calendar
) -> Iterator[tuple[str, date]]:
    """Yield the domains whose period the last closed day cuts, with the day before that period."""
    for key, domain in domains.items():
        day = closed.get(key, closed.get(""))
        period = calendar.at(day, domain.grain) if day else None
        if period and day != period.last:
            yield key, period.first - DAY


def build_comparisons(
    document: Document, file: ScenariosFile, scenarios: Mapping[str, Scenario]
) -> tuple[tuple[str, str], ...]:
    """Return the predefined comparisons as pairs of scenario references."""
    pairs = []
    for place, (a, b) in enumerate(file.comparisons):
        for reference in (a, b):
            check_reference(document, ["comparisons", place], reference, scenarios)
        pairs.append((a, b))
    return tuple(pairs)


def check_reference(document: Document, location: Location, reference: str, scenarios: Mapping[str, Scenario]) -> None:
    """Record a scenario reference that does not resolve."""
    if resolve(reference, scenarios) is None:
        document.fault(location, f"'{reference}' is no scenario reference", known(reference, scenarios))


# The default report, from instance.yaml.


def build_default(
    document: Document,
    file: InstanceFile,
    statements: Collection[str],
    scenarios: Mapping[str, Scenario],
    calendar: Calendar,
) -> ReportDefault:
    """Return the default report, for calls that leave arguments out."""
    part = file.default
    if part.statement and part.statement not in statements:
        document.fault(
            ["default", "statement"],
            f"there is no statement '{part.statement}'",
            known(part.statement, statements),
        )
    headings = [column.alias or column.scenario for column in part.scenarios]
    for place, column in enumerate(part.scenarios):
        check_reference(document, ["default", "scenarios", place], column.scenario, scenarios)
        if headings[place] in headings[:place]:
            document.fault(
                ["default", "scenarios", place],
                f"there is a column '{headings[place]}' already",
                "give each column an alias of its own",
            )
    start, end = part.period_start or part.period_end, part.period_end or part.period_start
    if start and end:
        try:
            calendar.range(start, end)
        except BadPeriod as refusal:
            document.fault(["default", refusal.field or "period_start"], refusal.error)
    return ReportDefault(
        statement=part.statement,
        scenarios=tuple((column.scenario, column.alias) for column in part.scenarios),
        period_start=start,
        period_end=end,
    )
