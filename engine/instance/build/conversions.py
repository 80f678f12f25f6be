"""Conversions of amounts, as the bindings of integrations.yaml ask for them, and the tables of rates they name."""

from collections.abc import Collection, Mapping, Sequence

from engine.catalogue import Domain, Measure
from engine.feeds import Conversion
from engine.formulas.figures import Kind
from engine.instance.build.names import known
from engine.instance.documents import Document, Location
from engine.instance.files.registry import BindingPart, ConvertPart, IntegrationsFile

RATE_COLUMNS = ("currency", "date", "kind", "rate")


def rate_tables(document: Document, file: IntegrationsFile, tables: Collection[str]) -> frozenset[str]:
    """Return the live tables of rates; note those that no feed fills, and those of the catalogue."""
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
    """Return the columns that a binding may map: those of its table, and those that only a conversion reads."""
    if part.convert is None:
        return tuple(columns)
    return tuple(dict.fromkeys((*columns, part.convert.from_, *filter(None, (part.convert.on,)))))


def build_conversion(
    document: Document, key: str, part: BindingPart, domains: Mapping[str, Domain]
) -> Conversion | None:
    """Return how a binding converts; None where it does not, or where what it says cannot hold."""
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
    )


def converted(document: Document, domain: Domain, part: ConvertPart, at: Location) -> Measure | None:
    """Return the measure that is converted: the one that is named, else the only other one of money."""
    if part.measure is not None:
        return measure_of(document, domain, part.measure, [*at, "measure"])
    others = [one for one in domain.measures.values() if one.key != part.into and one.kind is Kind.MONEY]
    if len(others) != 1:
        listed = ", ".join(other.key for other in others) or "none"
        document.fault(at, f"{domain.key} has not one other measure of money", f"say measure: one of {listed}")
        return None
    return others[0]


def measure_of(document: Document, domain: Domain, key: str, at: Location) -> Measure | None:
    """Return a measure of money by its key."""
    measure = domain.measures.get(key)
    money = [one.key for one in domain.measures.values() if one.kind is Kind.MONEY]
    if measure is None:
        document.fault(at, f"{domain.key} has no measure '{key}'", known(key, money))
    elif measure.kind is not Kind.MONEY:
        document.fault(at, f"'{key}' is a number, not money", known(key, money))
        return None
    return measure


def check_measures(document: Document, at: Location, measure: Measure, into: Measure) -> None:
    """Note a measure that would be converted into itself, or into one that cannot hold it."""
    if measure.key == into.key:
        document.fault(
            [*at, "measure"], f"'{into.key}' would be converted into itself", "give the domain another measure"
        )
    elif into.places < measure.places:
        says = f"'{into.key}' holds {into.places} decimal places and '{measure.key}' {measure.places}"
        document.fault([*at, "into"], says, "a converted measure holds those of the amount and of the rate")
