"""Snapshots: results stored as bytes. A reader may reopen one while the reader's scope contains its permission."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import polars as pl
import pyarrow as pa
from msgspec import Raw, Struct, ValidationError, convert
from msgspec.json import Decoder
from msgspec.structs import FieldInfo, fields, replace

from engine.books.reader import Reader
from engine.model.errors import ExpiredReference
from engine.model.evaluation import FigureCube, Fractions, denominator_of, figures_of, numerator_of
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.scope import ALL_CODES, Cell, CodeSet, Conjunction, Cut, Cuts
from engine.model.stopping import watched
from engine.report.data import DrillRule, MemberTuple, cell_key
from engine.report.encoding import Header, read, write
from engine.report.explanation import Explanation
from engine.report.inspection import Inspection
from engine.report.permission import Permission, counted
from engine.report.report import Report
from engine.report.transform import Transform

# Permission checks: whether a reader may reopen a snapshot, and whether newer data is loaded.


def permission_from(data: Mapping[str, Any]) -> Permission | None:
    """Return a permission read from JSON; None if another release wrote it."""
    try:
        return convert(data, Permission)
    except ValidationError:
        return None


def still_allows(permission: Permission, reader: Reader) -> bool:
    """Tell whether a reader may see the report's whole scope and every name in it."""
    return (
        permission.books == reader.catalogue.name
        and reader.domains.keys() >= set(permission.domains)
        and reader.scenarios.keys() >= set(permission.scenarios)
        and still_contains(permission, reader)
        and all(cut.dimension in reader.dimensions and sees(cut, reader) for cut in permission.nodes)
    )


def sees(cut: Cut, reader: Reader) -> bool:
    """Tell whether a reader sees every node of a cut."""
    return all(reader.sees(cut.dimension, node) for node in watched(cut.ids))


def still_contains(permission: Permission, reader: Reader) -> bool:
    """Tell whether a reader's present scope contains the scope a report was cut to."""
    cells = [present_cell(cell, permission, reader) for cell in permission.cells]
    return all(
        reader.cell(granted.scenario, granted.domain).contains(cells[granted.cell]) for granted in permission.granted
    )


def present_cell(cell: Iterable[Cuts], permission: Permission, reader: Reader) -> Cell:
    """Return a cell of a permission in the present codes."""
    return Cell.of(
        Conjunction.of({cut.dimension: present_codes(cut, permission, reader) for cut in cuts}) for cuts in cell
    )


def present_codes(cut: Cut, permission: Permission, reader: Reader) -> CodeSet:
    """Return the present codes that a cut of a stored result covers, or more; the reader's scope must contain them.

    An allow rule covers its members. A deny rule covers the members that existed when the result was stored, except
    those it names; if the books were rebuilt since, codes no longer show which members are new, so it covers those too.
    An allow rule with an unknown member, or a cut of an unknown dimension, covers all codes: only a reader without a
    cut of the dimension contains them.
    """
    dimension = reader.catalogue.dimensions.get(cut.dimension)
    if dimension is None or dimension.leaf != dimension.key:
        return ALL_CODES
    codes, then = reader.cut_codes(Cut(cut.dimension, cut.ids)), permission.members[cut.dimension]
    if not cut.deny:
        return CodeSet(codes) if len(codes) == len(cut.ids) else ALL_CODES
    if counted(cut.dimension, then[0], reader) == then:
        return CodeSet(frozenset(range(then[0])) - codes)
    return CodeSet(codes, complement=True)


def newer_data(permission: Permission, reader: Reader) -> Iterator[Note]:
    """Yield a note for each domain that has newer data, with the scenarios."""
    for domain in permission.domains:
        newer = dict.fromkeys(
            granted.scenario
            for granted in permission.granted
            if granted.domain == domain and granted.version != reader.version(domain, granted.scenario)
        )
        if newer:
            yield Note.of("newer_data", domain=domain, scenarios=", ".join(newer))


# Storing results as bytes, and reopening them.
#
# A snapshot's table holds the numerators and denominators of its figures: Int64, or signed little-endian bytes if a
# number is longer. Older ones have decimal text. Digits are not enough: a quotient's digits are cut to 15, and a
# reopened report must round the figure, not its digits. A missing figure has no numerator. Its denominator is 0 if it
# is unavailable, and null if it is missing. Before them stand rows and the tables of scripts as they are; the tidy
# frame of a report is made when it is opened. The header holds the request, layout, notes, freshness, versions and
# permission. Lines and places stand beside the header.


FRAME = "frame"

Kept = Report | Inspection | Transform | Explanation
Values = Mapping[str, Any]  # by field


class SnapshotKind(Struct, frozen=True):
    """One kind of result: its fields, the field that the table stores, the columns of that field, and its constructor.

    `unseen` are fields that scripts do not receive. They may be long, so they stand beside the header. The frame of a
    framed kind is stored. The rows of a streamed kind are read as an export asks for them.
    """

    made: type[Kept]
    fields: Sequence[FieldInfo]
    body: str
    columns: Callable[[Any], Sequence[Fractions]]
    remade: Callable[[Values, pl.DataFrame, Sequence[Fractions]], Kept]
    unseen: Sequence[str] = ()
    is_framed: bool = True
    is_streamed: bool = False


def keep(kept: Kept) -> bytes:
    """Return a result as snapshot bytes."""
    name, kind = next((name, kind) for name, kind in KINDS.items() if isinstance(kept, kind.made))
    table = tabled(kept) if kind.is_framed else pa.table({})
    columns = dict(zip(table.column_names, table.columns, strict=True))
    width = len(columns)
    for at, (numerators, denominators) in enumerate(kind.columns(kept)):
        columns[f"numerator{at}"], columns[f"denominator{at}"] = integers(numerators), integers(denominators)
    elsewhere = {kind.body, *kind.unseen}
    head = {field.name: getattr(kept, field.name) for field in kind.fields if field.name not in elsewhere}
    aside = {field: getattr(kept, field) for field in kind.unseen}
    whole = pa.table(columns)
    return write(whole, {"kind": name, "width": width, "rows": whole.num_rows, **head}, aside)


def tabled(kept: Kept) -> pa.Table:
    """Return the frame of a result as Arrow columns."""
    return kept.table if isinstance(kept, Inspection) else kept.frame.to_arrow()


def opened(data: bytes, reader: Reader) -> Kept:
    """Return the result in a snapshot. Raises an error if the reader may no longer see all of it."""
    found = checked(data, reader)
    made = found.kind.remade(found.values, found.frame, found.figures())
    return with_frame(made, found.frame) if found.kind.is_framed else made


def given(data: bytes, reader: Reader) -> Kept:
    """Return the part of a snapshot that a script receives: its frame, without exact figures, rows and places."""
    found = checked(data, reader)
    kind = found.kind
    frame = found.frame if kind.is_framed else kind.remade(found.values, found.frame, found.figures()).frame
    left_out: Values = {**dict.fromkeys(kind.unseen, ()), kind.body: frame if kind.body == FRAME else ()}
    return with_frame(kind.made(**{**found.values, **left_out}), frame)


def with_frame(made: Kept, frame: pl.DataFrame) -> Kept:
    """Return a result whose `frame` property, if it has one, is set, so that it is not computed again."""
    if isinstance(made, Report | Inspection):
        vars(made)[FRAME] = frame
    return made


class OpenedSnapshot(Struct, frozen=True):
    """A reopened snapshot: its fields and its table, whose first columns are the frame."""

    kind: SnapshotKind
    values: Values
    table: pa.Table
    width: int
    frame: pl.DataFrame

    def figures(self) -> list[Fractions]:
        """The exact figures behind the frame."""
        return fractions_of(self.table.columns[self.width :])


def checked(data: bytes, reader: Reader) -> OpenedSnapshot:
    """Return the content of a snapshot. Raises an error if the reader may no longer see all of it."""
    header, table = read(data)
    kind, values, width = kind_of(header), values_of(header), header["width"]
    permission = values["permission"]
    if not still_allows(permission, reader):
        raise ExpiredReference.of()
    values["notes"] = tuple(dict.fromkeys([*values["notes"], *newer_data(permission, reader)]))
    frame = pl.DataFrame(table.select(range(width))).cast({pl.Categorical: pl.String})
    return OpenedSnapshot(kind, values, table, width, frame)


def kind_of(header: Header) -> SnapshotKind:
    """Return the kind of a snapshot. Raises ExpiredReference if this release does not know it."""
    kind = KINDS.get(header.get("kind", ""))
    if kind is None or not isinstance(header.get("width"), int):
        raise ExpiredReference.of()
    return kind


def values_of(header: Header) -> dict[str, Any]:
    """Return the fields in the header of a snapshot; those with a default may be newer than it.

    Raises ExpiredReference if another release wrote them.
    """
    kind = kind_of(header)
    there = [part for part in kind.fields if part.name != kind.body and (part.required or part.name in header)]
    try:
        return {part.name: typed(header[part.name], part) for part in there}
    except (KeyError, ValidationError) as kept_by_another_release:
        raise ExpiredReference.of() from kept_by_another_release


def typed(value: object, part: FieldInfo) -> object:
    """Return a value of a header as the type of its field; the items of a long list one by one.

    Raises ValidationError.
    """
    if not (isinstance(value, list) and value and isinstance(value[0], Raw)):
        found: object = convert(value, part.type)
        return found
    items: Decoder[object] = Decoder(get_args(part.type)[0])
    return tuple([items.decode(item) for item in watched(value)])


def integers(numbers: Sequence[int | None]) -> pa.Array:
    """Return integers of any length as an Arrow column."""
    try:
        return pa.array(numbers, pa.int64())
    except OverflowError:  # one is longer than 64 bits
        return pa.array([None if number is None else as_bytes(number) for number in watched(numbers)], pa.binary())


def as_bytes(number: int) -> bytes:
    """Return an integer of any length as signed bytes, the least first."""
    return number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)


def fractions_of(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[Fractions]:
    """Return the numerators and denominators that some columns hold in pairs."""
    numbers = [
        column.to_pylist()
        if pa.types.is_integer(column.type)
        else [None if number is None else from_text_or_bytes(number) for number in watched(column.to_pylist())]
        for column in columns
    ]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def from_text_or_bytes(number: str | bytes) -> int:
    """Return the integer of a decimal text or of signed bytes."""
    return int(number) if isinstance(number, str) else int.from_bytes(number, "little", signed=True)


def report_columns(report: Report) -> list[Fractions]:
    """Return the figures of a report as one column, in the order of its tidy frame."""
    shown = report.figures.only([at for at, line in enumerate(report.lines) if line.type is not None])
    pairs = zip(shown.numerators, shown.denominators, strict=True) if None in shown.numerators else ()
    denominators = [None if number is None and unit else unit for number, unit in watched(pairs)]
    return [(shown.numerators, denominators or shown.denominators)]


def report_of(values: Values, _frame: pl.DataFrame, columns: Sequence[Fractions]) -> Report:
    """Return a report from its fields and figures; headers have no figures."""
    count, places = len(values["columns"]), len(values["places"])
    headers = [at for at, line in enumerate(values["lines"]) if line.type is None]
    return Report(figures=FigureCube(*columns[0], count, places).with_headers(headers), **values)


class OlderPlace(MemberTuple, frozen=True):
    """A place of a report that was kept with a drill for each."""

    drill: Mapping[str, Any] = {}


OLDER_FIELDS = [
    replace(part, type=tuple[OlderPlace, ...]) if part.name == "places" else part for part in fields(Report)
]


def older_report_of(values: Values, frame: pl.DataFrame, columns: Sequence[Fractions]) -> Report:
    """Return a report of which every place is a cell with the drill that was kept with it."""
    breakdown, places = values["breakdown"], values["places"]
    cells = {cell_key([member.id for member in place.members]): place.drill for place in watched(places)}
    filters = dict.fromkeys(key for cell in watched(cells.values()) for key in cell.get("filters", {}))
    by_time = tuple(key for key in filters if key not in breakdown)
    return report_of({**values, "drill": DrillRule(breakdown, by_time, cells)}, frame, columns)


def inspection_columns(inspection: Inspection) -> list[Fractions]:
    """Return the amount columns of an inspection."""
    at_amounts = [at for at, column in enumerate(inspection.columns) if column.kind == "amount"]
    each = [[row[at] for row in watched(inspection.rows)] for at in at_amounts]
    return [(list(map(numerator_of, watched(found))), list(map(denominator_of, watched(found)))) for found in each]


def inspection_of(values: Values, frame: pl.DataFrame, columns: Sequence[Fractions]) -> Inspection:
    """Return an inspection from its fields: amounts from exact figures, other columns from the frame."""
    ahead = iter(columns)
    found = [
        amounts_of(next(ahead)) if column.kind == "amount" else frame[column.name].to_list()
        for column in values["columns"]
    ]
    return Inspection(rows=list(zip(*found, strict=True)), **values)


def amounts_of(fractions: Fractions) -> list[Exact | None]:
    """Return the amounts of rows, None where a row has none."""
    return [figure if isinstance(figure, Exact) else None for figure in watched(figures_of(*fractions))]


def no_columns(_: Explanation | Transform) -> Sequence[Fractions]:
    """Return no exact columns: the header holds those of an explanation, and those of a script are floats."""
    return ()


def transform_of(values: Values, frame: pl.DataFrame, _: Sequence[Fractions]) -> Transform:
    """Return a transform from its fields and frame."""
    return Transform(frame=frame, **values)


def explanation_of(values: Values, frame: pl.DataFrame, _: Sequence[Fractions]) -> Explanation:
    """Return an explanation from its fields and frame."""
    return Explanation(frame=frame, **values)


REPORT = SnapshotKind(
    Report, fields(Report), "figures", report_columns, report_of, unseen=("places", "lines"), is_framed=False
)
OLDER_REPORT = replace(REPORT, fields=OLDER_FIELDS, remade=older_report_of)
KINDS: Mapping[str, SnapshotKind] = {  # by name and format number; the first of a kind is written
    "report 3": REPORT,
    "report 2": OLDER_REPORT,
    "report 1": OLDER_REPORT,  # with its frame before the figures
    "inspection 1": SnapshotKind(
        Inspection, fields(Inspection), "rows", inspection_columns, inspection_of, is_streamed=True
    ),
    "transform 1": SnapshotKind(Transform, fields(Transform), FRAME, no_columns, transform_of),
    "explanation 1": SnapshotKind(
        Explanation, fields(Explanation), FRAME, no_columns, explanation_of, unseen=("lists",)
    ),
}
