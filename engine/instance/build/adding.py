"""How metrics add up, from domains/*.yaml: over members and over time, and what does not go together."""

from collections.abc import Iterator

from engine.adding import OverMembers, OverTime, Rule, Since
from engine.catalogue import Domain
from engine.instance.build.domains import grain_of
from engine.instance.build.names import known
from engine.instance.documents import Document, Location
from engine.instance.files.adding import BackPart, OverTimePart
from engine.instance.files.books import MetricPart

SINCE = {"always": Since.ALWAYS, "books": Since.ALWAYS, "fiscal_year": Since.FISCAL_YEAR, "range": Since.RANGE}


def over_members_of(part: MetricPart) -> OverMembers:
    """Return what a metric makes of its rows."""
    how = part.over_members.how
    return OverMembers.COUNT_DISTINCT if how is None else OverMembers(how)


def over_time_of(part: OverTimePart) -> OverTime:
    """Return how a metric adds up over time."""
    if part.average is not None:
        return OverTime(rule=Rule.AVERAGE, grain=grain_of(part.average.of))
    if part.opening is not None:
        return looking_back(part.opening, opening=True)
    match part.rule:
        case None:
            return looking_back(part, opening=False)
        case "opening":
            return OverTime(rule=Rule.CLOSING, opening=True)
        case rule:
            return OverTime(rule=Rule(rule))


def looking_back(part: BackPart, *, opening: bool) -> OverTime:
    """Return a rule that looks back from the end of a range, or from before it."""
    if part.last_known is not None:
        return OverTime(rule=Rule.LAST_KNOWN, since=SINCE[part.last_known], opening=opening)
    return OverTime(rule=Rule.TO_DATE, since=SINCE[part.to_date or "books"], opening=opening)


def check_adding(document: Document, location: Location, key: str, part: MetricPart, domain: Domain) -> None:
    """Note what does not go together in how a metric adds up."""
    over_members, over_time = over_members_of(part), over_time_of(part.over_time)
    words = over_members.value.replace("_", " ")
    if over_members.counts and part.sign == "negate":
        document.fault([*location, "sign"], f"{key} is a {words}, which has no sign", "leave sign out")
    if over_members.counts and part.measure is not None:
        document.fault([*location, "measure"], f"{key} is a {words}, which has no measure", "leave measure out")
    if not over_members.is_additive and over_time.rule not in (Rule.SUM, Rule.CLOSING):
        fault = f"{key}: a {words} cannot be made {over_time.written}"
        document.fault([*location, "over_time"], fault, "sum, closing or opening")
    counted = part.over_members.count_distinct
    if counted is not None and counted not in domain.dimensions:
        fault = f"{domain.key} has no leaf dimension or axis '{counted}' to count"
        document.fault([*location, "over_members", "count_distinct"], fault, known(counted, domain.dimensions))
    for at, fault in grain_faults(over_time, domain, part):
        document.fault([*location, *at], f"{key}: {fault}")


def grain_faults(over_time: OverTime, domain: Domain, part: MetricPart) -> Iterator[tuple[Location, str]]:
    """Yield why the closings of a grain cannot be averaged."""
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
