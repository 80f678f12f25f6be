"""Shapes: the columns of an extract judged and mapped to those of facts, members or nodes."""

import re
from collections.abc import Mapping
from decimal import Decimal

import polars as pl

from engine.facts.landing import SCENARIO
from engine.model.catalogue import Catalogue, Dimension, Domain, Measure
from engine.model.errors import quoted
from engine.model.exact import Exact
from engine.model.fact_store import DATE
from engine.model.members.trees import HierarchyFault, leaf_members, ragged_nodes
from server.feeds.bindings import MEMBER_COLUMNS, NODE_COLUMNS, attributes_of
from server.feeds.feeds import Binding
from server.files.amounts import plain_texts
from server.files.columns import parse_days, to_text
from server.files.dates import hint_days, iso_texts
from server.files.rejects import VALIDATE, LoadFailed
from server.files.reshape import columns_of_file
from server.ingest.controls import LoadControl
from server.ingest.mapper import ExtractMapper
from server.ingest.rates import LiveTables, convert, parse_day_ranges
from server.ingest.rounding import RoundingDifference

VALIDITY = re.compile(r"(valid|effective)[ _-]?(from|to|until|through)", re.IGNORECASE)  # columns of a node table


def shape_facts(
    shaping: ExtractMapper,
    domain: Domain,
    catalogue: Catalogue,
    tables: LiveTables,
    difference: RoundingDifference,
    control: LoadControl,
) -> pl.DataFrame:
    """Return the facts of an extract as the store takes them.

    `difference` learns what rounding does, and `control` which amounts are read, blank and rejected.
    """
    rejects, binding = shaping.rejects, shaping.binding
    columns: dict[str, pl.Series] = {}
    if binding.scenario:
        columns[SCENARIO] = pl.Series(SCENARIO, [binding.scenario]).new_from_index(0, shaping.extract.height)
    else:
        columns[SCENARIO] = scenarios = shaping.required(domain.scenario_column)
        unknown = ~scenarios.is_in(list(catalogue.scenarios)) & scenarios.is_not_null()
        rejects.where(unknown, domain.scenario_column, scenarios, "is no scenario of scenarios.yaml")
    texts = shaping.days(domain.time_column)
    written, dates = shaping.column(domain.time_column), shaping.dates_of(domain.time_column)
    parsed = parse_days(texts, domain.grain, catalogue.calendar)
    missing_is_fine = domain.keeps_undated & to_text(written).is_null()
    reasons = hint_days(written, parsed.reasons, dates, domain.grain)
    rejects.where(reasons.is_not_null() & ~missing_is_fine, domain.time_column, written, reasons)
    columns[DATE] = parsed.values
    refuse_outside(shaping, domain, catalogue, parsed.values)
    for key, column in domain.dimensions.items():
        columns[key] = shaping.ids(column)
        shaping.reject_faults(column, columns[key])
        reject_unknown(shaping, catalogue.dimensions[key], column, columns[key], tables)
    for key, measure in measures_read(binding, domain).items():
        amount = shaping.amounts(measure)
        rejects.where(amount.read.reasons.is_not_null(), measure.column, amount.written, amount.read.reasons)
        columns[key] = amount.read.values
        shaping.residues += amount.read.residues
    if conversion := binding.conversion:
        units = columns[conversion.measure]
        columns[conversion.into] = convert(shaping, conversion, domain, catalogue, tables, units, difference)
    for column in domain.texts:
        columns[column] = shaping.ids(column)
    if rejects.batch:
        rejects.weigh({key: shaping.exact(domain.measures[key]) for key in shaping.amounts_read})
    control.judged(shaping, rejects)
    return shaping.finish(columns)


def measures_read(binding: Binding, domain: Domain) -> Mapping[str, Measure]:
    """Return the measures of a domain that a feed reads: all but the one that it converts into."""
    into = binding.conversion.into if binding.conversion else None
    return {key: measure for key, measure in domain.measures.items() if key != into}


def refuse_outside(shaping: ExtractMapper, domain: Domain, catalogue: Catalogue, days: pl.Series) -> None:
    """Reject rows that do not lie in the periods asked for."""
    if shaping.periods is None:
        return
    span, column = shaping.periods.span, shaping.binding.period_column
    reason = f"is outside the periods asked for, {shaping.periods.label}"
    undated = days.is_null() & to_text(shaping.column(domain.time_column)).is_null()
    outside = ~days.is_between(span.first, span.last).fill_null(value=True) | undated
    shaping.rejects.where(outside, domain.time_column, shaping.column(domain.time_column), reason)
    if column is not None:
        written = shaping.extracted(column)
        held = parse_day_ranges(iso_texts(written, shaping.binding.format.dates), catalogue.calendar)
        lies = (held.first >= span.first) & (held.last <= span.last)
        shaping.rejects.where(~lies.fill_null(value=False), column, written, reason)


def reject_unknown(
    shaping: ExtractMapper, dimension: Dimension, column: str, ids: pl.Series, tables: LiveTables
) -> None:
    """Reject rows whose id is no member, unless the binding lets new ids extend the dimension."""
    if dimension.members is None or shaping.binding.extends_members:
        return
    members = tables.known(dimension.members, "id")
    if members is None:
        raise LoadFailed(VALIDATE, f"{dimension.members} is not loaded yet, and {dimension.key} names its members")
    found = ids.drop_nulls().unique()
    strange = found.filter(~found.is_in(members.implode()))
    if not strange.is_empty():
        unknown = ids.is_in(strange.implode()).fill_null(value=False)
        shaping.rejects.where(unknown, column, ids, f"is no member of {dimension.key}")


def shape_members(shaping: ExtractMapper, dimension: Dimension, catalogue: Catalogue) -> pl.DataFrame:
    """Return the members of an extract: id, code, name and the attributes that derived dimensions read."""
    columns = {"id": shaping.required("id")}
    shaping.once("id", columns["id"])
    for name in (*MEMBER_COLUMNS[1:], *attributes_of(dimension.key, catalogue.dimensions)):
        columns[name] = shaping.ids(name, optional=name in MEMBER_COLUMNS)
    return shaping.finish(columns)


def shape_nodes(shaping: ExtractMapper, members: pl.Series | None) -> pl.DataFrame:
    """Return the nodes of an extract; what makes no tree is found when the tree is grown."""
    refuse_validity(shaping)
    columns = {name: shaping.ids(name, optional=name != "node") for name in NODE_COLUMNS}
    rejects = shaping.rejects
    rejects.where(columns["node"].is_null(), "node", columns["node"], "is missing")
    shaping.reject_faults("node", columns["node"])
    shaping.once("node", columns["node"] + pl.Series(["/"]) + columns["parent"].fill_null(""))
    for name in ("weight", "sort"):
        plain = plain_texts(columns[name], shaping.binding.format.numbers)
        lost = pl.Series([value is not None and not is_decimal(value) for value in plain], dtype=pl.Boolean)
        rejects.where(lost, name, columns[name], "is no number")
        columns[name] = plain_decimals(plain.set(lost, None))
    if members is not None:
        strange = columns["leaf"].is_not_null() & ~columns["leaf"].is_in(members.implode())
        rejects.where(strange, "leaf", columns["leaf"], "is no member")
    return shaping.finish(columns)


def refuse_validity(shaping: ExtractMapper) -> None:
    """Refuse columns of validity of a table of nodes: they are not read, so each row would count at all times."""
    names = [name for name in columns_of_file(shaping.extract) if VALIDITY.fullmatch(name)]
    if names:
        raise LoadFailed(
            VALIDATE,
            f"{shaping.binding.key} has {quoted(names)}, and validity is not read: each row would count at all times. "
            "Load the nodes of one time, without these columns",
        )


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


def with_nodes(ids: pl.Series, nodes: pl.DataFrame) -> pl.Series:
    """Return the ids of a leaf dimension without a table, and those that rows of facts may bring: of every node."""
    return pl.concat([ids, *(nodes[name].drop_nulls() for name in ("node", "leaf") if name in nodes)]).unique(
        maintain_order=True
    )


def check_tree(dimension: Dimension, nodes: pl.DataFrame, ids: pl.Series) -> None:
    """Refuse nodes that make no tree."""
    try:
        leaves = leaf_members(dimension.leaf, ids, None)
        ragged_nodes(dimension.key, leaves, nodes, adds_paths=dimension.adds_paths).refuse_splits()
    except HierarchyFault as fault:
        raise LoadFailed(VALIDATE, str(fault)) from fault
