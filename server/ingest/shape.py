"""From an extract to the columns of a live table: facts, members or nodes, and the rows that are none."""

from decimal import Decimal

import polars as pl

from engine.catalogue import Catalogue, Dimension, Domain
from engine.exact import Exact
from engine.instance.build.feeds import MEMBER_COLUMNS, NODE_COLUMNS, attributes_of
from engine.slices import DATE
from engine.store.landing import SCENARIO
from server.ingest.columns import amounts, days, text
from server.ingest.rates import convert, covered
from server.ingest.rejects import VALIDATE, LoadFailed
from server.ingest.shaping import Shaping
from server.ingest.tables import Tables


def shape_facts(shaping: Shaping, domain: Domain, catalogue: Catalogue, tables: Tables) -> pl.DataFrame:
    """Return the facts of an extract as the store takes them."""
    rejects, binding = shaping.rejects, shaping.binding
    columns: dict[str, pl.Series] = {}
    if binding.scenario:
        columns[SCENARIO] = pl.Series(SCENARIO, [binding.scenario]).new_from_index(0, shaping.extract.height)
    else:
        columns[SCENARIO] = scenarios = shaping.required(domain.scenario_column)
        unknown = ~scenarios.is_in(list(catalogue.scenarios)) & scenarios.is_not_null()
        rejects.where(unknown, domain.scenario_column, scenarios, "is no scenario of scenarios.yaml")
    written = shaping.column(domain.time_column)
    parsed = days(written, shaping.format(domain.time_column), domain.grain, catalogue.calendar)
    missing_is_fine = domain.keeps_undated & text(written).is_null()
    rejects.where(parsed.reasons.is_not_null() & ~missing_is_fine, domain.time_column, written, parsed.reasons)
    columns[DATE] = parsed.values
    refuse_outside(shaping, domain, catalogue, parsed.values)
    for key, column in domain.dimensions.items():
        columns[key] = shaping.ids(column)
        reject_unknown(shaping, catalogue.dimensions[key], column, columns[key], tables)
    for key, measure in domain.measures.items():
        if binding.conversion and key == binding.conversion.into:
            continue
        amount = shaping.column(measure.column)
        read = amounts(amount, measure.places)
        rejects.where(read.reasons.is_not_null(), measure.column, amount, read.reasons)
        columns[key] = read.values
    if conversion := binding.conversion:
        units = columns[conversion.measure]
        columns[conversion.into] = convert(shaping, conversion, domain, catalogue, tables, units)
    for column in domain.texts:
        columns[column] = shaping.ids(column)
    return shaping.finish(columns)


def refuse_outside(shaping: Shaping, domain: Domain, catalogue: Catalogue, days: pl.Series) -> None:
    """Reject rows that do not lie in the periods asked for."""
    if shaping.periods is None:
        return
    span, column = shaping.periods.span, shaping.binding.period_column
    reason = f"is outside the periods asked for, {shaping.periods.label}"
    undated = days.is_null() & text(shaping.column(domain.time_column)).is_null()
    outside = ~days.is_between(span.first, span.last).fill_null(value=True) | undated
    shaping.rejects.where(outside, domain.time_column, shaping.column(domain.time_column), reason)
    if column is not None:
        written = shaping.extracted(column)
        held = covered(written, None, catalogue.calendar)
        lies = (held.first >= span.first) & (held.last <= span.last)
        shaping.rejects.where(~lies.fill_null(value=False), column, written, reason)


def reject_unknown(shaping: Shaping, dimension: Dimension, column: str, ids: pl.Series, tables: Tables) -> None:
    """Reject rows whose id is no member, unless the binding lets new ids extend the dimension."""
    if dimension.members is None or shaping.binding.extends_members:
        return
    members = tables.known(dimension.members, "id")
    if members is None:
        raise LoadFailed(VALIDATE, f"{dimension.members} is not loaded yet, and {dimension.key} names its members")
    unknown = ~ids.is_in(members.implode()) & ids.is_not_null()
    shaping.rejects.where(unknown, column, ids, f"is no member of {dimension.key}")


def shape_members(shaping: Shaping, dimension: Dimension, catalogue: Catalogue) -> pl.DataFrame:
    """Return the members of an extract: id, code, name and the attributes that derived dimensions read."""
    columns = {"id": shaping.required("id")}
    shaping.once("id", columns["id"])
    for name in (*MEMBER_COLUMNS[1:], *attributes_of(dimension.key, catalogue.dimensions)):
        columns[name] = shaping.ids(name, optional=name in MEMBER_COLUMNS)
    return shaping.finish(columns)


def shape_nodes(shaping: Shaping, members: pl.Series | None) -> pl.DataFrame:
    """Return the nodes of an extract; what makes no tree is found when the tree is grown."""
    columns = {name: shaping.ids(name, optional=name != "node") for name in NODE_COLUMNS}
    rejects = shaping.rejects
    rejects.where(columns["node"].is_null(), "node", columns["node"], "is missing")
    shaping.once("node", columns["node"] + pl.Series(["/"]) + columns["parent"].fill_null(""))
    for name in ("weight", "sort"):
        lost = pl.Series([value is not None and not is_decimal(value) for value in columns[name]], dtype=pl.Boolean)
        rejects.where(lost, name, columns[name], "is no number")
        columns[name] = plain_decimals(columns[name].set(lost, None))
    if members is not None:
        strange = columns["leaf"].is_not_null() & ~columns["leaf"].is_in(members.implode())
        rejects.where(strange, "leaf", columns["leaf"], "is no member")
    return shaping.finish(columns)


def plain_decimals(column: pl.Series) -> pl.Series:
    """Return decimal numbers in the one way they are kept: .50 and 0.5 are the same weight."""
    written = column.drop_nulls().unique().to_list()
    return column.replace({text: format(Decimal(text).normalize(), "f") for text in written})


def is_decimal(value: str) -> bool:
    """Tell whether a text is a decimal number."""
    try:
        Exact.of(value)
    except ValueError:
        return False
    return True
