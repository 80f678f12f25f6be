"""How the feeds of integrations.yaml are loaded: when, which periods, with which parameters; and what cannot hold."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError

from engine.feeds import LoadMode, Schedule, SourceKind
from engine.instance.build.names import known
from engine.instance.documents import Document, Location
from engine.instance.files.registry import BindingPart
from engine.parameters import PERIOD_PARAMETERS, PERIOD_PLACE, numbered
from engine.quoting import closest, quoted

OF_FACTS = ("scenario", "unknown_members")
OF_PERIODS = ("period_column", "recent_periods")
REPLACES = LoadMode.REPLACE_PERIODS.value
CRON = "minute hour day month weekday, such as '15 5 * * *' for 05:15 every day"
ZONE = "a name of the tz database, such as Europe/Paris"


def build_schedule(document: Document, at: Location, part: BindingPart) -> Schedule | None:
    """Return when a feed is loaded; None where the daemon leaves it alone."""
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
    """Return the time zones there are."""
    return frozenset(available_timezones())


def near_zones(name: str) -> list[str]:
    """Return the time zones that a name may have meant: those of its city, else those of about its spelling."""
    city = name.rpartition("/")[2].replace(" ", "_").casefold()
    of_city = sorted(zone for zone in zones() if zone.rpartition("/")[2].casefold() == city)
    return of_city or closest(name, sorted(zones()))


def cron_fault(expression: str) -> str | None:
    """Return what is wrong with a cron expression, None where it holds."""
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
    """Note what only a feed of facts can say, in one of members, nodes or rates."""
    for key in sorted(part.model_fields_set.intersection(OF_FACTS)):
        document.fault([*at, key], f"{part.target} holds no facts, so {key} says nothing", f"leave {key} out")
    if part.load != LoadMode.FULL.value:
        fault = f"{part.target} holds no facts, and tables of members, nodes and rates are loaded whole"
        document.fault([*at, "load"], fault, "leave load out")


def hold_delivery(document: Document, at: Location, part: BindingPart, kind: SourceKind) -> None:
    """Note what does not go with how a feed is loaded and with where it comes from."""
    if part.load != REPLACES:
        for key in sorted(part.model_fields_set.intersection(OF_PERIODS)):
            fault = f"load: {part.load} asks for no periods, so {key} says nothing"
            document.fault([*at, key], fault, f"load: {REPLACES} asks for periods")
    if kind is SourceKind.FOLDER:
        hold_file(document, at, part)
        return
    if part.sheet is not None:
        document.fault([*at, "sheet"], "a database has no sheets", "leave sheet out")
    for place, fault, valid in query_faults(part):
        document.fault([*at, *place], fault, valid)


def hold_file(document: Document, at: Location, part: BindingPart) -> None:
    """Note what a folder cannot answer."""
    if part.parameters:
        valid = f"with load: {REPLACES}, file may hold {PERIOD_PLACE}"
        document.fault([*at, "parameters"], "parameters are those of a query, and a folder has none", valid)
    if PERIOD_PLACE in (part.file or "") and part.load != REPLACES:
        fault = f"file holds {PERIOD_PLACE}, and load: {part.load} asks for no periods"
        document.fault([*at, "file"], fault, f"load: {REPLACES}")


def query_faults(part: BindingPart) -> Iterator[tuple[Location, str, str]]:
    """Yield where a query and its parameters do not go together, the fault, and what would be valid."""
    query = numbered(part.extract or "")
    replaces = part.load == REPLACES
    there = [*part.parameters, *(PERIOD_PARAMETERS if replaces else ())]
    for number in query.numbers:
        valid = "name it, as :company, and give company under parameters"
        yield ["extract"], f"the query has {number}, a parameter without a name", valid
    for name in query.names:
        if name in PERIOD_PARAMETERS and not replaces:
            fault = f"the query asks for :{name}, and load: {part.load} asks for no periods"
            yield ["extract"], fault, f"load: {REPLACES}"
        elif name not in there:
            yield ["extract"], f"the query names :{name}, and there is no such parameter", known(name, there)
    for name in part.parameters:
        if name in PERIOD_PARAMETERS:
            fault = f"'{name}' is taken: a load of periods fills it with those it asks for"
            yield ["parameters", name], fault, "give the parameter another name"
        elif name not in query.names:
            yield ["parameters", name], f"the query does not name :{name}", known(name, query.names)
    if replaces and part.extract and not set(PERIOD_PARAMETERS).intersection(query.names):
        fault = "the query names no period, so it would read all of them and have the others rejected"
        yield ["extract"], fault, "where day >= :period_start and day < :period_end_exclusive"
