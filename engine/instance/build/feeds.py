"""Sources and bindings from integrations.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.catalogue import Dimension, DimensionKind, Domain
from engine.feeds import RECENT_PERIODS, Binding, Filling, LoadMode, Source, SourceKind
from engine.instance.build.conversions import RATE_COLUMNS, build_conversion, filled_columns, rate_tables
from engine.instance.build.deliveries import build_schedule, hold_delivery, refuse_of_facts
from engine.instance.build.names import known
from engine.instance.documents import Document, Location
from engine.instance.files.registry import BindingPart, ColumnPart, IntegrationsFile, SourcePart
from engine.scenarios import Scenario

NODE_COLUMNS = ("node", "parent", "name", "sort", "weight", "leaf")
MEMBER_COLUMNS = ("id", "code", "name")


def columns_of(
    table: str, domains: Mapping[str, Domain], dimensions: Mapping[str, Dimension]
) -> tuple[str, ...] | None:
    """Return the columns of a live table, None where the catalogue has no such table."""
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
    """Return the attributes that derived dimensions read of a leaf dimension."""
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
        columns = RATE_COLUMNS if part.target in rates else columns_of(part.target, domains, dimensions)
        if columns is None:
            listed = known(part.target, [*tables, *rates])
            document.fault([*at, "target"], f"the catalogue has no table '{part.target}'", listed)
        else:
            fillable = filled_columns(columns, part)
            for column in part.map:
                if column not in fillable:
                    document.fault([*at, "map", column], f"{part.target} has no '{column}'", known(column, fillable))
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
        bindings[key] = replace(binding, fills_rates=part.target in rates, conversion=conversion)
    return bindings


def refuse_twice(document: Document, file: IntegrationsFile, tables: Sequence[str]) -> None:
    """Note tables of members, nodes and rates that several feeds fill: each would replace what the other brought."""
    for table in tables:
        feeds = [key for key, part in file.bindings.items() if part.target == table]
        for key in feeds[1:]:
            fault = f"{table} is filled by '{feeds[0]}' already"
            document.fault(["bindings", key, "target"], fault, "one feed fills a table that is no facts, whole")


def build_source(document: Document, key: str, part: SourcePart) -> Source:
    """Return one source."""
    at = ["sources", key]
    kind = SourceKind(part.kind)
    if kind is SourceKind.POSTGRESQL:
        if part.uri_env is None or part.path or part.path_env:
            document.fault(at, f"{key} is a database", "give uri_env, the environment variable with its URI")
    elif (part.path is None) == (part.path_env is None) or part.uri_env:
        document.fault(at, f"{key} is a folder", "give path or path_env, one of both")
    return Source(key=key, kind=kind, path=part.path, environment=part.path_env or part.uri_env)


def build_binding(document: Document, at: Location, key: str, part: BindingPart, source: Source) -> Binding:
    """Return one binding."""
    folder = source.kind is SourceKind.FOLDER
    needed, other = ("file", "extract") if folder else ("extract", "file")
    if getattr(part, needed) is None or getattr(part, other) is not None:
        document.fault(at, f"{key} reads a {source.kind.value}", f"give {needed} and no {other}")
    hold_delivery(document, at, part, source.kind)
    return Binding(
        key=key,
        source=source,
        target=part.target,
        extract=part.file or part.extract or "",
        sheet=part.sheet,
        scenario=part.scenario,
        fillings={column: filling_of(document, at, column, mapped) for column, mapped in part.map.items()},
        rejects_allowed=0 if part.rejects == "fail" else part.rejects.allow,
        extends_members=part.unknown_members == "extend",
        allows_empty=part.allow_empty,
        mode=LoadMode(part.load),
        schedule=build_schedule(document, at, part),
        period_column=part.period_column,
        recent_periods=part.recent_periods or RECENT_PERIODS,
        parameters=part.parameters,
    )


def filling_of(document: Document, at: Location, column: str, part: str | ColumnPart) -> Filling:
    """Return how one column is filled."""
    if isinstance(part, str):
        return Filling(column=part)
    if (part.column is None) == (part.constant is None):
        document.fault([*at, "map", column], f"{column} is filled from a column or with a constant, one of both")
    return Filling(column=part.column, values=part.values or None, format=part.format, constant=part.constant)
