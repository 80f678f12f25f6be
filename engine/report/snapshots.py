"""Snapshots: results kept as bytes, and opened again while the reader's permission still contains theirs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl
import pyarrow as pa

from engine.books.reader import Reader
from engine.model.errors import ExpiredReference
from engine.model.exact import Exact
from engine.model.formulas import Figure, Nothing
from engine.model.notes import Note
from engine.model.scope import ALL_CODES, Cell, CodeSet, Conjunction, Cut, Cuts
from engine.report.encoding import Decode, Header, as_json, decoders, read, write
from engine.report.inspection import Inspection
from engine.report.permission import Permission, counted
from engine.report.report import Report
from engine.report.transform import Transform

# Whether a snapshot may still be opened, and whether newer data was loaded since: its permission against a reader.


FIELDS = decoders(Permission)


def permission_json(permission: Permission) -> Mapping[str, Any]:
    """Return a permission as JSON, to be held against readers later."""
    return dict(as_json(permission))


def permission_from(data: Mapping[str, Any]) -> Permission | None:
    """Return the permission that JSON says, None where another release wrote it."""
    try:
        return Permission(**{name: decode(data[name]) for name, decode in FIELDS.items()})
    except (KeyError, TypeError, ValueError):
        return None


def still_allows(permission: Permission, reader: Reader) -> bool:
    """Tell whether a reader may see all that a report was cut to, and every name in it."""
    return (
        permission.books == reader.catalogue.name
        and reader.domains.keys() >= set(permission.domains)
        and reader.scenarios.keys() >= set(permission.scenarios)
        and still_contains(permission, reader)
        and all(cut.dimension in reader.dimensions and sees(cut, reader) for cut in permission.nodes)
    )


def sees(cut: Cut, reader: Reader) -> bool:
    """Tell whether a reader sees every node of a cut."""
    return all(reader.sees(cut.dimension, node) for node in cut.ids)


def still_contains(permission: Permission, reader: Reader) -> bool:
    """Tell whether what a reader may see of all that a report read contains what the report was cut to."""
    cells = [present_cell(cell, permission, reader) for cell in permission.cells]
    return all(
        reader.cell(granted.scenario, granted.domain).contains(cells[granted.cell]) for granted in permission.granted
    )


def present_cell(cell: Iterable[Cuts], permission: Permission, reader: Reader) -> Cell:
    """Return a cell that a report was cut to, on present members."""
    return Cell.of(
        Conjunction.of({cut.dimension: present_codes(cut, permission, reader) for cut in cuts}) for cuts in cell
    )


def present_codes(cut: Cut, permission: Permission, reader: Reader) -> CodeSet:
    """Return the codes of what a cut of a leaf dimension left, of the members that there were then.

    What cannot be placed any more is inside what is unrestricted, and nowhere else. Where the books were made anew, so
    that their codes no longer tell which members came later, a deny leaves all but what it names.
    """
    dimension = reader.catalogue.dimensions.get(cut.dimension)
    if dimension is None or dimension.leaf != dimension.key:
        return ALL_CODES
    codes, then = reader.cut_codes(cut), permission.members[cut.dimension]
    if not cut.deny:
        return CodeSet(codes) if len(codes) == len(cut.ids) else ALL_CODES
    if counted(cut.dimension, then[0], reader) == then:
        return CodeSet(frozenset(range(then[0])) - codes)
    return CodeSet(codes, complement=True)


def newer_data(permission: Permission, reader: Reader) -> Iterator[Note]:
    """Yield, for each domain, of which scenarios newer data was loaded since."""
    for domain in permission.domains:
        newer = dict.fromkeys(
            granted.scenario
            for granted in permission.granted
            if granted.domain == domain and granted.version != reader.version(domain, granted.scenario)
        )
        if newer:
            yield Note.of("newer_data", domain=domain, scenarios=", ".join(newer))


# Keeping reports, inspections and transforms as bytes, and opening them again.
#
# The table of a snapshot is the tidy frame, unscaled, and behind it the fractions of its figures: numerators and
# denominators as they came out of the sums and formulas, in 64 bits or, where some are longer, as text. Digits would
# not do: a quotient's are cut to 15, and what rounds an opened report must round the figure and not its rounding. A
# figure that is not there has no numerator; its denominator is 0 where it is unavailable and absent where it is
# missing. What was asked, the layout, notes, freshness, versions and permission are the header; the lines and places
# of a report, each with what leads from it to its rows, stand beside it.


LONGEST = 2**63  # no number from here on fits 64 bits
UNAVAILABLE = 0  # as a denominator
FRAME = "frame"

Kept = Report | Inspection | Transform
Values = Mapping[str, Any]  # field to value


@dataclass(frozen=True, slots=True)
class SnapshotKind:
    """One kind of what is kept: its fields, the one that the table stands for, that one's columns, how it is remade.

    `unseen` are fields of which a script is given nothing, and which may be long: they stand beside the header.
    """

    made: type[Kept]
    fields: Mapping[str, Decode]
    body: str
    columns: Callable[[Any], Sequence[Sequence[object]]]
    remade: Callable[[Values, pl.DataFrame, Sequence[Sequence[Figure]]], Kept]
    unseen: Sequence[str] = ()


def keep(kept: Kept) -> bytes:
    """Return a result as a snapshot."""
    name, kind = next((name, kind) for name, kind in KINDS.items() if isinstance(kept, kind.made))
    table = kept.frame.to_arrow()
    for at, figures in enumerate(kind.columns(kept)):
        table = table.append_column(f"numerator{at}", integers([numerator_of(figure) for figure in figures]))
        table = table.append_column(f"denominator{at}", integers([denominator_of(figure) for figure in figures]))
    head = {field: getattr(kept, field) for field in kind.fields if field not in (kind.body, *kind.unseen)}
    aside = {field: getattr(kept, field) for field in kind.unseen}
    return write(table, {"kind": name, "width": kept.frame.width, **head}, aside)


def opened(data: bytes, reader: Reader) -> Kept:
    """Return what a snapshot holds; refuse a reader who may not see all of it any more."""
    found = checked(data, reader)
    return with_frame(found.kind.remade(found.values, found.frame, found.figures()), found.frame)


def given(data: bytes, reader: Reader) -> Kept:
    """Return what a script is given of a snapshot: its frame, without the figures, rows and places behind it."""
    found = checked(data, reader, whole=False)
    kind = found.kind
    left_out: Values = {**dict.fromkeys(kind.unseen, ()), kind.body: found.frame if kind.body == FRAME else ()}
    return with_frame(kind.made(**found.values, **left_out), found.frame)


def with_frame(made: Kept, frame: pl.DataFrame) -> Kept:
    """Return a result with the frame that its property would make again."""
    vars(made)[FRAME] = frame
    return made


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """A snapshot that was opened: its fields, and its table, of which so many columns are the frame."""

    kind: SnapshotKind
    values: Values
    table: pa.Table
    width: int
    frame: pl.DataFrame

    def figures(self) -> list[list[Figure]]:
        """Return the figures behind the frame."""
        columns = self.table.columns
        return [figures_of(*columns[at : at + 2]) for at in range(self.width, len(columns), 2)]


def checked(data: bytes, reader: Reader, *, whole: bool = True) -> OpenedSnapshot:
    """Return what a snapshot consists of; refuse a reader who may not see all of it any more."""
    header, table = read(data, whole=whole)
    kind, values, width = kind_of(header), values_of(header, whole=whole), header["width"]
    permission = values["permission"]
    if not still_allows(permission, reader):
        raise ExpiredReference.of()
    values["notes"] = tuple(dict.fromkeys([*values["notes"], *newer_data(permission, reader)]))
    frame = pl.DataFrame(table.select(range(width))).cast({pl.Categorical: pl.String})
    return OpenedSnapshot(kind, values, table, width, frame)


def kind_of(header: Header) -> SnapshotKind:
    """Return the kind of a snapshot; ExpiredReference where this release knows none of its name."""
    kind = KINDS.get(header.get("kind", ""))
    if kind is None or not isinstance(header.get("width"), int):
        raise ExpiredReference.of()
    return kind


def values_of(header: Header, *, whole: bool = True) -> dict[str, Any]:
    """Return the fields in the header of a snapshot; ExpiredReference where another release wrote them."""
    kind = kind_of(header)
    left_out = {kind.body, *(() if whole else kind.unseen)}
    try:
        return {field: decode(header[field]) for field, decode in kind.fields.items() if field not in left_out}
    except (KeyError, TypeError, ValueError) as kept_by_another_release:
        raise ExpiredReference.of() from kept_by_another_release


def numerator_of(figure: object) -> int | None:
    """Return the numerator of a figure, None where there is none."""
    return figure.numerator if isinstance(figure, Exact) else None


def denominator_of(figure: object) -> int | None:
    """Return the denominator of a figure, or what says why there is none."""
    if isinstance(figure, Exact):
        return figure.denominator
    return UNAVAILABLE if figure is Nothing.UNAVAILABLE else None


def integers(numbers: Sequence[int | None]) -> pa.Array:
    """Return integers of any length as a column."""
    if all(number is None or -LONGEST <= number < LONGEST for number in numbers):
        return pa.array(numbers, pa.int64())
    return pa.array([None if number is None else str(number) for number in numbers], pa.string())


def figures_of(numerators: pa.Array | pa.ChunkedArray, denominators: pa.Array | pa.ChunkedArray) -> list[Figure]:
    """Return the figures of two columns."""
    return [
        Exact(int(numerator), int(denominator))
        if numerator is not None
        else Nothing.MISSING
        if denominator is None
        else Nothing.UNAVAILABLE
        for numerator, denominator in zip(numerators.to_pylist(), denominators.to_pylist(), strict=True)
    ]


def report_columns(report: Report) -> list[list[Figure]]:
    """Return the figures of a report in the order of its tidy frame, as one column."""
    shown = (figures for line, figures in zip(report.lines, report.figures, strict=True) if line.type is not None)
    return [[figure for by_column in shown for by_place in by_column for figure in by_place]]


def report_of(values: Values, _frame: pl.DataFrame, columns: Sequence[Sequence[Figure]]) -> Report:
    """Return a report made again; headers have no figures of their own."""
    ahead, height = iter(columns[0]), len(values["places"])
    figures = [
        [[Nothing.MISSING] * height if line.type is None else list(islice(ahead, height)) for _ in values["columns"]]
        for line in values["lines"]
    ]
    return Report(figures=figures, **values)


def inspection_columns(inspection: Inspection) -> list[list[object]]:
    """Return the columns of amounts."""
    at_amounts = [at for at, column in enumerate(inspection.columns) if column.kind == "amount"]
    return [[row[at] for row in inspection.rows] for at in at_amounts]


def inspection_of(values: Values, frame: pl.DataFrame, columns: Sequence[Sequence[Figure]]) -> Inspection:
    """Return an inspection made again: amounts from their figures, everything else from the frame."""
    ahead = iter(columns)
    found = [
        [amount if isinstance(amount, Exact) else None for amount in next(ahead)]
        if column.kind == "amount"
        else frame[column.name].to_list()
        for column in values["columns"]
    ]
    return Inspection(rows=list(zip(*found, strict=True)), **values)


def transform_columns(_: Transform) -> Sequence[Sequence[object]]:
    """Return no figures: those of a script are floats, and stand in the frame."""
    return ()


def transform_of(values: Values, frame: pl.DataFrame, _: Sequence[Sequence[Figure]]) -> Transform:
    """Return a transform made again."""
    return Transform(frame=frame, **values)


KINDS: Mapping[str, SnapshotKind] = {  # by name and format: a change that fields do not tell takes the next number
    "report 1": SnapshotKind(
        Report, decoders(Report), "figures", report_columns, report_of, unseen=("places", "lines")
    ),
    "inspection 1": SnapshotKind(Inspection, decoders(Inspection), "rows", inspection_columns, inspection_of),
    "transform 1": SnapshotKind(Transform, decoders(Transform), FRAME, transform_columns, transform_of),
}
