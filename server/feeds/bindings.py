"""Builds sources, bindings, schedules and currency conversions from integrations.yaml."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Literal
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from msgspec.structs import replace

from engine.facts.load_modes import LoadMode
from engine.instance.documents import Document, Location, known
from engine.model.catalogue import Dimension, DimensionKind, Domain, Measure
from engine.model.errors import closest, quoted
from engine.model.formulas import FigureKind
from engine.model.scenarios import Scenario
from server.feeds.attachments import attachment_faults, build_attachment
from server.feeds.feeds import (
    RECENT_PERIODS,
    Binding,
    ColumnMapping,
    Conversion,
    FeedSource,
    RejectAllowance,
    RejectReason,
    Rounding,
    RoundingRule,
    Schedule,
    SourceKind,
)
from server.feeds.formats import build_format, refuse_constants, refuse_products
from server.feeds.integrations import BindingPart, ColumnPart, ConvertPart, IntegrationsFile, RejectsPart, SourcePart
from server.feeds.query_parameters import ParamStyle
from server.feeds.sources import EXTRACTS, LOCATED_BY, REPLACES, SOURCES

# Currency conversions and their tables of rates.


RATE_COLUMNS = ("currency", "date", "kind", "rate")


def rate_tables(document: Document, file: IntegrationsFile, tables: Collection[str]) -> frozenset[str]:
    """Return the live tables of rates. Records those that no feed fills and those that the catalogue also uses."""
    feeds = {part.target for part in file.bindings.values()}
    found = set()
    for key, part in file.bindings.items():
        if part.convert is None:
            continue
        table, at = part.convert.rates, ["bindings", key, "convert", "rates"]
        if table in tables:
            document.fault(at, f"{table} is a table of the catalogue", "rates stand in a live table of their own")
        elif table not in feeds:
            free = sorted(feeds - set(tables))
            document.fault(at, f"no feed fills {table}", known(table, free))
        else:
            found.add(table)
    return frozenset(found)


def filled_columns(columns: Sequence[str], part: BindingPart) -> tuple[str, ...]:
    """Return the columns that a binding may map: the columns of its table and the inputs of its conversion."""
    if part.convert is None:
        return tuple(columns)
    return tuple(dict.fromkeys((*columns, part.convert.from_, *filter(None, (part.convert.on,)))))


def build_conversion(
    document: Document, key: str, part: BindingPart, domains: Mapping[str, Domain]
) -> Conversion | None:
    """Return the conversion of a binding, None if it has none or an invalid one."""
    if part.convert is None:
        return None
    at = ["bindings", key, "convert"]
    domain = next((domain for domain in domains.values() if domain.table == part.target), None)
    if domain is None:
        tables = known(part.target, [domain.table for domain in domains.values()])
        document.fault(at, f"{part.target} holds no facts, so there is nothing to convert", tables)
        return None
    into = measure_of(document, domain, part.convert.into, [*at, "into"])
    measure = converted(document, domain, part.convert, at) if into else None
    if into is None or measure is None:
        return None
    check_measures(document, at, measure, into)
    rounding = part.convert.round
    if rounding is not None and not measure.places <= rounding.places <= into.places:
        says = f"'{measure.key}' holds {measure.places} decimal places and '{into.key}' {into.places}"
        document.fault([*at, "round", "places"], says, f"round to {measure.places} up to {into.places} places")
    for column in part.map:
        if column == into.column != measure.column:
            document.fault(
                ["bindings", key, "map", column], f"'{column}' is what is converted into, so nothing fills it"
            )
    return Conversion(
        rates=part.convert.rates,
        kind=part.convert.kind,
        currency=part.convert.from_,
        on=part.convert.on or domain.time_column,
        measure=measure.key,
        into=into.key,
        rounding=None if rounding is None else Rounding(places=rounding.places, rule=RoundingRule(rounding.rule)),
    )


def converted(document: Document, domain: Domain, part: ConvertPart, at: Location) -> Measure | None:
    """Return the measure to convert: the named one, else the only other money measure."""
    if part.measure is not None:
        return measure_of(document, domain, part.measure, [*at, "measure"])
    others = [one for one in domain.measures.values() if one.key != part.into and one.kind is FigureKind.MONEY]
    if len(others) != 1:
        listed = ", ".join(other.key for other in others) or "none"
        document.fault(at, f"{domain.key} has not one other measure of money", f"say measure: one of {listed}")
        return None
    return others[0]


def measure_of(document: Document, domain: Domain, key: str, at: Location) -> Measure | None:
    """Return a money measure by its key. If there is none, record a fault and return None."""
    measure = domain.measures.get(key)
    money = [one.key for one in domain.measures.values() if one.kind is FigureKind.MONEY]
    if measure is None:
        document.fault(at, f"{domain.key} has no measure '{key}'", known(key, money))
    elif measure.kind is not FigureKind.MONEY:
        document.fault(at, f"'{key}' is a number, not money", known(key, money))
        return None
    return measure


def check_measures(document: Document, at: Location, measure: Measure, into: Measure) -> None:
    """Record a conversion of a measure into itself, or into a measure that cannot hold its amounts."""
    if measure.key == into.key:
        document.fault(
            [*at, "measure"], f"'{into.key}' would be converted into itself", "give the domain another measure"
        )
    elif into.places < measure.places:
        says = f"'{into.key}' holds {into.places} decimal places and '{measure.key}' {measure.places}"
        document.fault([*at, "into"], says, "a converted measure holds those of the amount and of the rate")


# Schedules, periods and query parameters of feeds.


OF_FACTS = ("scenario", "unknown_members")
OF_PERIODS = ("period_column", "recent_periods")
CRON = "minute hour day month weekday, such as '15 5 * * *' for 05:15 every day"
ZONE = "a name of the tz database, such as Europe/Paris"


def build_schedule(document: Document, at: Location, part: BindingPart) -> Schedule | None:
    """Return the schedule of a feed, None if the daemon does not load it."""
    if part.schedule is None:
        if part.timezone is not None:
            document.fault([*at, "timezone"], "there is no schedule whose time zone this could be", "give schedule")
        return None
    zone = part.timezone or "UTC"
    if zone not in zones():
        near = near_zones(zone)
        guess = f"did you mean {quoted(near)}? " if near else ""
        document.fault([*at, "timezone"], f"there is no time zone '{zone}'", f"{guess}{ZONE}")
    wrong = cron_fault(part.schedule)
    if wrong:
        document.fault([*at, "schedule"], f"'{part.schedule}' is no cron expression: {wrong}", CRON)
    return Schedule(cron=part.schedule, timezone=zone)


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(available_timezones())


def near_zones(name: str) -> list[str]:
    """Suggest time zones for an unknown name: by its city, else by similar spelling."""
    city = name.rpartition("/")[2].replace(" ", "_").casefold()
    of_city = sorted(zone for zone in zones() if zone.rpartition("/")[2].casefold() == city)
    return of_city or closest(name, sorted(zones()))


def cron_fault(expression: str) -> str | None:
    """Return what is wrong with a cron expression, None if it is valid."""
    fields = len(expression.split())
    if fields != 5:
        return f"it has {fields} parts, not 5"
    try:
        next(CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC)))
    except CronSimError as fault:
        return str(fault).lower()
    except StopIteration:
        return "no such day ever comes"
    return None


def refuse_of_facts(document: Document, at: Location, part: BindingPart) -> None:
    """Record keys of a feed of members, nodes or rates that only a feed of facts can have."""
    for key in sorted(part.model_fields_set.intersection(OF_FACTS)):
        document.fault([*at, key], f"{part.target} holds no facts, so {key} says nothing", f"leave {key} out")
    if part.load != LoadMode.FULL.value:
        fault = f"{part.target} holds no facts, and tables of members, nodes and rates are loaded whole"
        document.fault([*at, "load"], fault, "leave load out")


def hold_delivery(document: Document, at: Location, part: BindingPart, kind: SourceKind) -> None:
    """Record keys that do not fit the load mode of a feed or the kind of its source."""
    if part.load != REPLACES:
        for key in sorted(part.model_fields_set.intersection(OF_PERIODS)):
            fault = f"load: {part.load} asks for no periods, so {key} says nothing"
            document.fault([*at, key], fault, f"load: {REPLACES} asks for periods")
    for place, fault, valid in SOURCES[kind].faults(part):
        document.fault([*at, *place], fault, valid)


# Sources and bindings from integrations.yaml.


NODE_COLUMNS = ("node", "parent", "name", "sort", "weight", "leaf")
MEMBER_COLUMNS = ("id", "code", "name")


def columns_of(
    table: str, domains: Mapping[str, Domain], dimensions: Mapping[str, Dimension]
) -> tuple[str, ...] | None:
    """Return the columns of a live table, None if the catalogue has no such table."""
    for domain in domains.values():
        if domain.table == table:
            named = (domain.scenario_column, domain.time_column, *domain.dimensions.values())
            amounts = (measure.column for measure in domain.measures.values())
            return tuple(dict.fromkeys((*named, *amounts, *domain.texts)))
    if any(dimension.nodes == table for dimension in dimensions.values()):
        return NODE_COLUMNS
    leaf = next((dim.key for dim in dimensions.values() if dim.members == table), None)
    return None if leaf is None else (*MEMBER_COLUMNS, *attributes_of(leaf, dimensions))


def attributes_of(leaf: str, dimensions: Mapping[str, Dimension]) -> tuple[str, ...]:
    """Return the attributes of a leaf dimension that derived dimensions use."""
    derived = (dim for dim in dimensions.values() if dim.kind is DimensionKind.DERIVED and dim.leaf == leaf)
    return tuple(dict.fromkeys(dim.attribute for dim in derived if dim.attribute))


def build_bindings(
    document: Document,
    file: IntegrationsFile,
    domains: Mapping[str, Domain],
    dimensions: Mapping[str, Dimension],
    scenarios: Mapping[str, Scenario],
) -> dict[str, Binding]:
    """Return the bindings by key."""
    sources = {key: build_source(document, key, part) for key, part in file.sources.items()}
    live = {table for dim in dimensions.values() for table in (dim.members, dim.nodes) if table}
    tables = sorted({*(domain.table for domain in domains.values()), *live})
    rates = rate_tables(document, file, tables)
    refuse_twice(document, file, sorted(live | rates))
    bindings = {}
    for key, part in file.bindings.items():
        at = ["bindings", key]
        conversion = build_conversion(document, key, part, domains)
        domain = next((domain for domain in domains.values() if domain.table == part.target), None)
        columns = RATE_COLUMNS if part.target in rates else columns_of(part.target, domains, dimensions)
        if columns is None:
            listed = known(part.target, [*tables, *rates])
            document.fault([*at, "target"], f"the catalogue has no table '{part.target}'", listed)
        else:
            fillable = filled_columns(columns, part)
            for column in part.map:
                if column not in fillable:
                    document.fault([*at, "map", column], f"{part.target} has no '{column}'", known(column, fillable))
            refuse_products(document, at, part, domain)
            refuse_constants(document, at, part, fillable, scenarios, domain)
        if part.scenario and part.scenario not in scenarios:
            document.fault(
                [*at, "scenario"], f"there is no scenario '{part.scenario}'", known(part.scenario, scenarios)
            )
        if part.source not in sources:
            document.fault([*at, "source"], f"there is no source '{part.source}'", known(part.source, sources))
            continue
        if columns is not None and part.target in live | rates:
            refuse_of_facts(document, at, part)
        binding = build_binding(document, at, key, part, sources[part.source])
        format_ = build_format(document, at, part, file.sources[part.source], domain)
        for place, fault, valid in attachment_faults(part, binding.source.kind, domain, format_):
            document.fault([*at, *place], fault, valid)
        constants = dict(part.constant)
        scenario = constants.pop(domain.scenario_column, part.scenario) if domain else part.scenario
        filled = {column: ColumnMapping(constant=text) for column, text in constants.items()}
        bindings[key] = replace(
            binding,
            scenario=scenario,
            fillings={**filled, **binding.fillings},
            fills_rates=part.target in rates,
            conversion=conversion,
            format=format_,
        )
    return bindings


def refuse_twice(document: Document, file: IntegrationsFile, tables: Sequence[str]) -> None:
    """Record tables of members, nodes or rates that several feeds fill: each would replace the other's rows."""
    for table in tables:
        feeds = [key for key, part in file.bindings.items() if part.target == table]
        for key in feeds[1:]:
            fault = f"{table} is filled by '{feeds[0]}' already"
            document.fault(["bindings", key, "target"], fault, "one feed fills a table that is no facts, whole")


DRIVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # never the path of a library


def build_source(document: Document, key: str, part: SourcePart) -> FeedSource:
    """Return one source."""
    kind = SourceKind(part.kind)
    rules = SOURCES[kind]
    given = [name for name in LOCATED_BY if getattr(part, name) is not None]
    if len(given) != 1 or given[0] not in rules.located_by:
        document.fault(["sources", key], f"{key} is a {rules.noun}", rules.valid)
    if rules.drivers is (part.driver is None):
        valid = "give driver, the Python module of the driver" if rules.drivers else "driver is a key of kind: adbc"
        document.fault(["sources", key], f"{key} is a {rules.noun}", valid)
    if part.driver is not None and not DRIVER_NAME.fullmatch(part.driver):
        valid = "a name of letters, digits, - and _, such as adbc_driver_mysql"
        document.fault(["sources", key, "driver"], f"'{part.driver}' is not the name of a driver", valid)
    if part.paramstyle is not None and not rules.drivers:
        document.fault(["sources", key, "paramstyle"], f"{key} is a {rules.noun}", "paramstyle is a key of kind: adbc")
    return FeedSource(
        key=key,
        kind=kind,
        path=part.path,
        environment=part.path_env or part.uri_env or part.options_env,
        has_options=part.options_env is not None,
        driver=part.driver,
        paramstyle=rules.paramstyle if part.paramstyle is None else ParamStyle(part.paramstyle),
    )


def build_binding(document: Document, at: Location, key: str, part: BindingPart, source: FeedSource) -> Binding:
    """Return one binding."""
    needed = SOURCES[source.kind].extract
    others = [name for name in EXTRACTS if name != needed]
    if part.attach is None:
        if getattr(part, needed) is None or any(getattr(part, other) is not None for other in others):
            document.fault(at, f"{key} reads a {source.kind.value}", f"give {needed} and no {' or '.join(others)}")
        hold_delivery(document, at, part, source.kind)
    return Binding(
        key=key,
        source=source,
        target=part.target,
        extract=part.attach or (", ".join(part.files.values()) if needed == "file" else getattr(part, needed) or ""),
        sheet=part.sheet,
        scenario=part.scenario,
        fillings={column: filling_of(document, at, column, mapped) for column, mapped in part.map.items()},
        rejects=allowance_of(part.rejects),
        extends_members=part.unknown_members == "extend",
        allows_empty=part.allow_empty,
        mode=LoadMode(part.load),
        schedule=build_schedule(document, at, part),
        period_column=part.period_column,
        recent_periods=part.recent_periods or RECENT_PERIODS,
        parameters=part.parameters,
        attach=build_attachment(part, source.kind),
    )


def allowance_of(part: Literal["fail"] | RejectsPart) -> RejectAllowance:
    """Return how many rejected rows a feed allows."""
    if isinstance(part, str):
        return RejectAllowance()
    if isinstance(part.allow, int):
        return RejectAllowance(rows=part.allow)
    return RejectAllowance(by_reason={RejectReason(reason): rows for reason, rows in part.allow.items()})


def filling_of(document: Document, at: Location, column: str, part: str | ColumnPart) -> ColumnMapping:
    """Return the mapping of one column."""
    if isinstance(part, str):
        return ColumnMapping(column=part)
    if sum(way is not None for way in (part.column, part.constant, part.product)) != 1:
        says = f"{column} is filled from a column, with a constant or with a product, one of them"
        document.fault([*at, "map", column], says)
    return ColumnMapping(
        column=part.column,
        values=part.values or None,
        format=part.format,
        constant=part.constant,
        product=tuple(part.product or ()),
    )
