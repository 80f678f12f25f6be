"""Builds dimensions from dimensions.yaml, and domains and their axes from domains/*.yaml."""

from collections.abc import Iterator, Mapping

from engine.instance.documents import Document, Location, known, words
from engine.instance.schema.books import DimensionPart, DimensionsFile, DomainFile
from engine.instance.schema.common import DAY, FLOW, ExclusionPart, WhereIds
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import BESIDE, CALENDAR, TRADING
from engine.model.calendar.periods import Grain
from engine.model.catalogue import (
    CONTRIBUTION,
    FIGURE_COLUMNS,
    INSPECTION_KEYS,
    LABEL,
    Dimension,
    DimensionKind,
    Domain,
    Measure,
    StockGroup,
)
from engine.model.formulas import FigureKind
from engine.model.scope import Cut, Cuts

# Dimensions from dimensions.yaml.


PERIOD = Dimension(key="period", label="Period", kind=DimensionKind.LEAF, leaf="period", grain=Grain.MONTH)
NEEDS = {"leaf": (), "derived": ("from_", "attribute"), "ragged": ("leaf_dimension", "nodes")}
GOES_WITH = {
    "members": "leaf",
    "grain": "leaf",
    "from_": "derived",
    "attribute": "derived",
    "leaf_dimension": "ragged",
    "nodes": "ragged",
}


def build_dimensions(document: Document, file: DimensionsFile, calendar: Calendar) -> dict[str, Dimension]:
    """Return the dimensions of a file by key, always with those of time that need no file."""
    parts: Mapping[str, DimensionPart] = file.model_extra or {}
    built: dict[str, Dimension] = {PERIOD.key: PERIOD}
    for key, part in parts.items():
        check_parts(document, key, part)
        if part.grain:
            check_grain(document, [key, "grain"], Grain(part.grain), calendar)
        leaf = leaf_of(document, parts, key, part)
        built[key] = Dimension(
            key=key,
            label=part.label or words(key),
            kind=DimensionKind(part.kind),
            leaf=leaf,
            members=part.members,
            attribute=part.attribute,
            nodes=part.nodes,
            adds_paths=part.paths == "add",
            grain=Grain(part.grain) if part.grain else None,
            of_year=part.of_year,
            axis_only=part.of_year,
            location=document.place([key]),
        )
    named = (Grain.MONTH, *(grain for family in BESIDE for grain in family.grains if grain in calendar.grains))
    known = [time_dimension(grain) for grain in named]
    return {**built, **{dimension.key: built.get(dimension.key, dimension) for dimension in known}}


def time_dimension(grain: Grain) -> Dimension:
    """Return the time dimension that has the name of its grain."""
    return Dimension(key=grain.value, label=words(grain.value), kind=DimensionKind.LEAF, leaf=grain.value, grain=grain)


def check_grain(document: Document, location: Location, grain: Grain, calendar: Calendar) -> None:
    """Record a grain that the calendar does not have."""
    if grain not in calendar.grains:
        found, same = f"the calendar has no {grain.value}s", grain.value.removeprefix("calendar_")
        valid = (
            "instance.yaml names no trading_calendar"
            if grain in TRADING.grains and TRADING.year not in calendar.grains
            else f"number them in the column {same.removeprefix('trading_')} of its table, or choose another grain"
            if same == grain.value
            else f"months are those of the calendar: {same}"
            if grain is CALENDAR.month
            else f"fiscal years are calendar years: {'quarter' if same == 'half' else same}"
        )
        document.fault(location, found, valid)


def check_name(document: Document, location: Location, key: str) -> None:
    """Record a key that is a column name of report frames."""
    reserved = dict.fromkeys((*FIGURE_COLUMNS, *INSPECTION_KEYS))
    if key in reserved or key.endswith(LABEL):
        taken = ", ".join(reserved)
        document.fault(location, f"'{key}' is taken: reports have a column of that name", f"none of {taken}, *{LABEL}")


def check_parts(document: Document, key: str, part: DimensionPart) -> None:
    """Record keys that a dimension of this kind requires but lacks, and keys that it does not support."""
    check_name(document, [key], key)
    for name in NEEDS[part.kind]:
        if getattr(part, name) is None:
            document.fault([key], f"{key} is {part.kind} and has no {name.rstrip('_')}")
    for name, kind in GOES_WITH.items():
        if kind != part.kind and getattr(part, name) is not None:
            document.fault([key, name.rstrip("_")], f"{key} is {part.kind}; {name.rstrip('_')} is for {kind} ones")
    if part.of_year and part.grain in (None, Grain.DATE.value, Grain.YEAR.value):
        document.fault([key, "of_year"], f"{key} has no grain whose periods years number", "grain: month, for example")
    if part.grain and part.members:
        document.fault([key, "members"], f"{key} is a time dimension; its members are the periods")


def leaf_of(document: Document, parts: Mapping[str, DimensionPart], key: str, part: DimensionPart) -> str:
    """Return the leaf dimension below a dimension."""
    leaf = part.from_ or part.leaf_dimension
    if leaf is None:
        return key
    leaves = [name for name, other in parts.items() if other.kind == "leaf" and not other.grain]
    if leaf not in leaves:
        where = "from" if part.from_ else "leaf_dimension"
        document.fault([key, where], f"{key}.{where}: there is no leaf dimension '{leaf}'", known(leaf, leaves))
    return leaf


# Domains and their axes from domains/*.yaml.


SUMMED = "balances"  # default stock group
TAKEN = ("date", "scenario", "rows", "span", "bucket")  # reserved columns of facts and sums


def grain_of(name: str) -> Grain:
    """Return the grain that a domain file names. Domain files call the date grain `day`."""
    return Grain.DATE if name == DAY else Grain(name)


def build_domains(
    files: Mapping[Document, DomainFile], dimensions: dict[str, Dimension], calendar: Calendar
) -> dict[str, Domain]:
    """Return the domains by key. Adds their axes to `dimensions`."""
    built: dict[str, Domain] = {}
    tables: dict[str, str] = {}
    for document, file in files.items():
        if file.domain in built:
            document.fault(["domain"], f"there is a domain '{file.domain}' already")
            continue
        if file.table in tables:
            document.fault(["table"], f"{file.table} is the table of domain '{tables[file.table]}' already")
        tables[file.table] = file.domain
        check_names(document, file)
        check_dimensions(document, file, dimensions)
        check_measures(document, file, dimensions)
        check_rollups(document, file, dimensions)
        add_axes(document, file, dimensions)
        built[file.domain] = build_domain(document, file, dimensions, calendar)
    return built


def check_names(document: Document, file: DomainFile) -> None:
    """Record dimensions, axes, measures and texts whose name is a reserved column."""
    for part, keys in (("dimensions", file.dimensions), ("axes", file.axes), ("measures", file.measures)):
        for key in set(keys).intersection(TAKEN):
            valid = f"none of {', '.join(TAKEN)}; the column may keep its name: {part} say key and column"
            document.fault([part, key], f"'{key}' is taken: all facts have a column of that name", valid)
    own = {file.time.column, file.scenario, *file.dimensions, *file.axes, *file.measures}
    for place, key in enumerate(file.inspect_columns):
        if key in TAKEN and key not in own:
            valid = f"another name, which the map of its feed fills: map: {{{key}_text: {key}}}"
            document.fault(["inspect_columns", place], f"'{key}' is taken: all facts have a column of that name", valid)


def check_dimensions(document: Document, file: DomainFile, dimensions: Mapping[str, Dimension]) -> None:
    """Record dimensions that are not leaf dimensions, and names of more than one column."""
    leaves = [dim.key for dim in dimensions.values() if dim.kind is DimensionKind.LEAF and not dim.grain]
    for key in file.dimensions:
        if key not in leaves:
            document.fault(["dimensions", key], f"'{key}' is no leaf dimension of dimensions.yaml", known(key, leaves))
    for key in file.sort:
        if key not in file.dimensions and key not in file.axes:
            document.fault(["sort"], f"sort names '{key}'", known(key, [*file.dimensions, *file.axes]))


def check_rollups(document: Document, file: DomainFile, dimensions: Mapping[str, Dimension]) -> None:
    """Record rollups by anything but a leaf dimension or axis of the domain, and duplicate rollups."""
    declared = file.rollups or []
    for at, keys in enumerate(declared):
        here: Location = ["rollups", at]
        for key in keys:
            if key not in file.dimensions and key not in file.axes:
                document.fault(here, *no_rollup_by(key, file, dimensions))
        if len(set(keys)) < len(keys):
            document.fault(here, "this rollup names a dimension twice", "name each once")
        if set(keys) in map(set, declared[:at]):
            document.fault(here, f"there is a rollup by {', '.join(keys)} already", "say each once")


def no_rollup_by(key: str, file: DomainFile, dimensions: Mapping[str, Dimension]) -> tuple[str, str]:
    """Return why a domain cannot have a rollup by a key, and what would be valid."""
    dimension = dimensions.get(key)
    if dimension is not None and dimension.grain is not None:
        return f"'{key}' is time, and a rollup holds whole calendar months", "leave it out"
    if dimension is not None and dimension.leaf in file.dimensions:
        return f"'{key}' is no leaf dimension", f"name the one it stands on, {dimension.leaf}"
    return f"{file.domain} has no dimension or axis '{key}'", known(key, [*file.dimensions, *file.axes])


def check_measures(document: Document, file: DomainFile, dimensions: Mapping[str, Dimension]) -> None:
    """Record missing measures, names already in use, and invalid currencies and units."""
    if not file.measures:
        document.fault(["measures"], f"{file.domain} has no measure")
    own = [*file.dimensions, *file.axes]
    if CONTRIBUTION in (*own, *file.measures, *file.inspect_columns):
        fault = f"'{CONTRIBUTION}' is taken: inspected rows have a column of that name"
        document.fault(["inspect_columns"], fault, "use another name")
    for key, part in file.measures.items():
        at = ["measures", key, "currency"]
        if key in own:
            document.fault(["measures", key], f"'{key}' is a dimension of this domain already")
        if part.currency is not None and part.currency not in own:
            document.fault(at, f"{file.domain} has no dimension or axis '{part.currency}'", known(part.currency, own))
        if part.currency is not None and part.type != "money":
            document.fault(at, f"'{key}' is a number, and numbers have no currency", "say type: money")
        if part.unit_from is not None:
            check_unit(document, file, key, part.unit_from, dimensions)


def check_unit(
    document: Document, file: DomainFile, measure: str, unit: str, dimensions: Mapping[str, Dimension]
) -> None:
    """Record a unit that is no attribute of a dimension of the domain."""
    derived = [
        key
        for key, dimension in dimensions.items()
        if dimension.kind is DimensionKind.DERIVED and dimension.leaf in file.dimensions
    ]
    if unit not in derived:
        at = ["measures", measure, "unit_from"]
        document.fault(at, f"{file.domain} has no derived dimension '{unit}'", known(unit, derived))


def add_axes(document: Document, file: DomainFile, dimensions: dict[str, Dimension]) -> None:
    """Add the axes of a domain as dimensions for breakdowns only."""
    for key in file.axes:
        check_name(document, ["axes", key], key)
        other = dimensions.get(key)
        if other is not None and not other.axis_only:
            document.fault(["axes", key], f"'{key}' is a dimension of dimensions.yaml already")
            continue
        dimensions[key] = Dimension(key=key, label=words(key), kind=DimensionKind.LEAF, leaf=key, axis_only=True)


def build_domain(
    document: Document, file: DomainFile, dimensions: Mapping[str, Dimension], calendar: Calendar
) -> Domain:
    """Return one domain."""
    grain = grain_of(file.time.grain)
    check_grain(document, ["time", "grain"], grain, calendar)
    return Domain(
        key=file.domain,
        label=file.label or words(file.domain),
        table=file.table,
        scenario_column=file.scenario,
        time_column=file.time.column,
        grain=grain,
        grains=frozenset(outer for outer in Grain if calendar.nests(grain, outer)),
        keeps_undated=file.time.missing == "keep",
        sort=tuple(file.sort),
        dimensions={**file.dimensions, **file.axes},
        measures={
            key: Measure(
                key=key,
                column=part.column or key,
                kind=FigureKind.MONEY if part.type == "money" else FigureKind.NUMBER,
                places=part.places,
                currency=part.currency,
                unit_from=part.unit_from,
            )
            for key, part in file.measures.items()
        },
        stock_groups=build_stock_groups(document, file, dimensions),
        inspect_enabled=file.inspect_enabled,
        inspect_columns=tuple(file.inspect_columns),
        rollups=None if file.rollups is None else tuple(tuple(sorted(keys)) for keys in file.rollups),
        location=document.place(["table"]),
        locations={key: document.place(at) for key, at in columns(file)},
    )


def columns(file: DomainFile) -> Iterator[tuple[str, Location]]:
    """Yield every dimension, axis, measure and inspected column of a domain with its location in the file."""
    for place, key in enumerate(file.inspect_columns):
        yield key, ["inspect_columns", place]
    for part, keys in (("dimensions", file.dimensions), ("axes", file.axes), ("measures", file.measures)):
        for key in keys:
            yield key, [part, key]


def build_stock_groups(
    document: Document, file: DomainFile, dimensions: Mapping[str, Dimension]
) -> dict[str, StockGroup]:
    """Return the declared stock groups, or a default group for all closing metrics."""
    grain = grain_of(file.time.grain)
    own = Grain.MONTH if grain is Grain.DATE else grain
    if not file.balances:
        balances = {
            key: of_members(file, metric.where) for key, metric in file.metrics.items() if metric.over_time != FLOW
        }
        where = tuple(
            cuts_of(document, file, dimensions, part, ["metrics", key, "where"]) for key, part in balances.items()
        )
        return {SUMMED: StockGroup(key=SUMMED, where=where, grain=own, declared=False)} if balances else {}
    groups = {}
    for key, part in file.balances.items():
        closes = grain_of(part.grain) if part.grain else own
        if closes.fineness < grain.fineness:
            document.fault(["balances", key], f"balances cannot close by {part.grain}: the data is by {grain.value}")
        cuts = cuts_of(document, file, dimensions, part.where, ["balances", key, "where"])
        groups[key] = StockGroup(key=key, where=(cuts,), grain=closes if grain is Grain.DATE else own)
    return groups


def of_members(file: DomainFile, where: Mapping[str, WhereIds]) -> Mapping[str, WhereIds]:
    """Return a restriction without its conditions on amounts of measures."""
    return {key: ids for key, ids in where.items() if key not in file.measures}


def cuts_of(
    document: Document,
    file: DomainFile,
    dimensions: Mapping[str, Dimension],
    where: Mapping[str, WhereIds],
    location: Location,
) -> Cuts:
    """Return a restriction as cuts. Records dimensions that cannot cut the domain."""
    usable = [key for key, dim in dimensions.items() if dim.leaf in file.dimensions]
    for key in where:
        if key not in usable:
            document.fault([*location, key], f"{file.domain} cannot be restricted by '{key}'", known(key, usable))
    return tuple(cut_of(key, members, document.place([*location, key])) for key, members in where.items())


def cut_of(dimension: str, members: WhereIds, location: str) -> Cut:
    """Return a restriction of one dimension as a cut."""
    if isinstance(members, ExclusionPart):
        return Cut(dimension, tuple(members.exclude), deny=True, location=location)
    return Cut(dimension, tuple(members), location=location)
