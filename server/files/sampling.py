"""Sampling: some rows of a file as text, from its head, its end and places between, with what its bytes say."""

import codecs
import glob
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.feeds.file_kinds import ALL_ENDINGS, FILE_KINDS, kind_of
from server.files.archives import ArchiveFault, PackedFile, is_archive, unpacked
from server.files.columns import to_text
from server.files.cut_ends import CutEnd, cut_end
from server.files.database_samples import SAMPLE_ROWS, DatabaseTable, parse_database_table
from server.files.dialect import (
    HEAD,
    PIECE,
    WHOLE,
    TextTable,
    detect_header_row,
    detect_text_table,
    encoding_behind,
    heading_findings,
    places_behind,
    split_records,
    with_second_row,
)
from server.files.encodings import ENCODING, UTF8, decode, detect_encoding
from server.files.files import explain_fault
from server.files.findings import Ambiguity, Finding, Findings, SampleFault, SampleQuestion, SampleTable
from server.files.formulas import Formulas
from server.files.gnucash import gnucash_book
from server.files.limits import FileTooLarge, refuse_long_lines, refuse_wide
from server.files.other_formats import other_format
from server.files.quotes import loose_pair
from server.files.side_tables import side_tables
from server.files.stacked_tables import second_heading, without_repeats
from server.files.workbook_reader import READER
from server.files.workbooks import formulas_of, refuse_large_parts, unvalued_fault

QUOTE: Final = '"'
TYPED_ROWS: Final = 50_000  # rows that are read of a Parquet or Arrow file
SCANS: Final[Mapping[str, Callable[[Path], pl.LazyFrame]]] = {
    ".parquet": pl.scan_parquet,
    ".arrow": pl.scan_ipc,
}


class SourceTable(Struct, frozen=True, kw_only=True):
    """One table of a source: some of its rows, and the keys that read it."""

    path: Path | None = None  # of a file
    database: DatabaseTable | None = None
    sheet: str | None = None
    sample: SampleTable
    findings: Findings
    header_row: int = 1
    titles: Sequence[tuple[int, str]] = ()  # rows above the heading with text
    is_joined: bool = False  # whether a statement joins it from two files
    is_whole: bool = True  # whether the sample has every row
    megabytes: float = 0.0
    temporal: frozenset[str] = frozenset()  # columns with a type of days; they need no format
    formulas: Formulas = Formulas()
    packed: PackedFile | None = None  # where its file came from, if an archive holds it
    constants: Mapping[str, str] = {}  # columns with one text in every row, which its file does not have
    scenario: str | None = None  # of amounts that stand beside those of others
    heading: str | None = None  # the column that holds the account above each row
    cut: CutEnd | None = None
    fault: str | None = None  # why it cannot be read; it stands in nobody's way if it is not used

    @property
    def name(self) -> str:
        """The name of the file, with the sheet of a workbook that has several."""
        return self.sample.name

    @property
    def is_text(self) -> bool:
        """Whether its numbers are texts, which can be read in several ways."""
        return self.path is not None and kind_of(self.path) in (".csv", ".xlsx")

    @property
    def file(self) -> tuple[Path, str]:
        """The folder of its file and its name in there, as a feed says them."""
        if self.packed is not None:
            return self.packed.folder, self.packed.pattern
        assert self.path is not None  # noqa: S101 - it is a file
        return self.path.parent, glob.escape(self.path.name)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.sample.frame.columns

    def distinct(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the distinct values of some columns as text, of every row: a file that was sampled is read once.

        Of a journal that is joined and larger than a sample, those of the sample; of a constant too.
        """
        if self.is_whole or self.is_joined or not self.constants.keys().isdisjoint(columns):
            return self.sample.frame.select(columns).unique(maintain_order=True)
        if self.database is not None:
            names = ", ".join(f'"{column}"' for column in columns)
            rows = self.database.rows(f"select distinct {names} from {self.database.relation}")  # noqa: S608 - as told
            return as_texts(rows).rename(dict(zip(rows.columns, columns, strict=True)))
        return as_texts(self._scan().select(columns).unique().collect(engine="streaming")).unique().sort(columns)

    def _scan(self) -> pl.LazyFrame:
        assert self.path is not None  # noqa: S101 - it is a file
        if scan := SCANS.get(self.path.suffix.lower()):
            return scan(self.path)
        encoding = self.findings.value("csv.encoding") or "utf-8"
        if encoding != "utf-8":
            says = f"{self.name} is larger than {WHOLE >> 20} MB and in {encoding}"
            raise SampleFault(f"{says}; save it as UTF-8, or name members and scenarios in files of their own")
        return pl.scan_csv(
            self.path,
            separator=self.findings.value("csv.separator") or ",",
            skip_rows=self.header_row,
            has_header=False,
            new_columns=self.columns,
            infer_schema=False,
            truncate_ragged_lines=True,
        )


EncodingOf = Callable[[str], str | None]


def no_encoding(_: str) -> str | None:
    """Return that nobody said how a file is written."""
    return None


def as_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows as texts, each as a load reads it: 4000 of the double 4000.0."""
    return pl.DataFrame([to_text(column).alias(column.name) for column in rows])


def sample_source(text: str, into: Path, encoding: EncodingOf = no_encoding) -> Iterator[SourceTable]:
    """Yield the tables of a file, or a table of a database written as KIND:PLACE:TABLE. Raises SampleFault.

    The files of archives are written to `into`. `encoding` says what somebody said of a file by its name.
    """
    database = parse_database_table(text) or gnucash_book(Path(text))
    if database is None and is_archive(path := Path(text)) and path.is_file():
        try:
            for packed in unpacked(path, into):
                for table in sample_file(packed.path, encoding(packed.path.name)):
                    yield replace(table, packed=packed)
        except (ArchiveFault, FileTooLarge) as fault:
            raise SampleFault(str(fault)) from fault
        return
    if database is None:
        yield from sample_file(Path(text), encoding(Path(text).name))
        return
    rows = database.sample()
    if rows.is_empty():
        raise SampleFault(f"{database.table} has no rows")
    numbered = pl.Series(range(1, rows.height + 1), dtype=pl.Int64)
    yield SourceTable(
        database=database,
        sample=SampleTable(name=database.table, frame=as_texts(rows), rows=numbered),
        findings=Findings(),
        is_whole=rows.height < SAMPLE_ROWS,
        temporal=frozenset(name for name, dtype in rows.schema.items() if dtype.is_temporal()),
    )


def sample_file(path: Path, encoding: str | None = None) -> Iterator[SourceTable]:
    """Yield the tables of a file: one, or one for each sheet of a workbook. Raises SampleFault."""
    ending = kind_of(path)
    if not path.is_file():
        raise SampleFault(f"{path}: there is no such file")
    if (other := other_format(path)) is not None:
        raise SampleFault(other)
    if ending not in FILE_KINDS:
        raise SampleFault(f"{path.name} is none of {', '.join(ALL_ENDINGS)}; save a text file as .csv")
    try:
        if ending == ".csv":
            yield sample_text(path, encoding)
        elif ending == ".xlsx":
            yield from sample_workbook(path)
        else:
            yield sample_typed(path)
    except FileTooLarge as fault:
        raise SampleFault(str(fault)) from fault
    except (OSError, pl.exceptions.PolarsError, UnicodeError) as fault:
        raise SampleFault(f"{path.name} cannot be read: {explain_fault(path, fault)}") from fault


# Text.


def sample_text(path: Path, said: str | None = None) -> SourceTable:
    """Return a CSV file in the encoding that somebody said, else in that of its words."""
    size = path.stat().st_size
    is_whole = size <= WHOLE
    with path.open("rb") as file:
        head = file.read(WHOLE if is_whole else HEAD)
    if not head.strip():
        raise SampleFault(f"{path.name} is empty")
    refuse_long_lines(path, path.name)
    encoding = decided(path, detect_encoding(head, whole=is_whole)) if said is None else answered(said)
    table = detect_text_table(decode(head, encoding.value, whole=is_whole), path.name, whole=is_whole)
    if table is None:
        raise SampleFault(
            f"{path.name} has no heading: no row of column names stands above rows as wide, by comma, semicolon, tab "
            "or pipe; write the names of the columns in its first row"
        )
    refuse_wide(len(table.columns), path.name)
    if encoding.value == UTF8 and not is_whole and said is None:
        encoding = decided(path, encoding_behind(path, size) or encoding)
    quote = quote_findings(path, head, encoding.value, table, whole=is_whole)
    footer = table.findings.value("csv.skip_footer") or 0
    numbered = [(row, record) for row, record in enumerate(table.records, 1) if row > table.header_row]
    numbered = numbered[: len(numbered) - footer]
    rows: list[tuple[int | None, list[str]]] = [(row, record) for row, record in numbered]
    if not is_whole:
        rows += [(None, record) for record in records_behind(path, size, encoding.value, table)]
    if (other := second_heading(table)) is not None:
        raise SampleFault(f"{path.name}: {other}")
    found = Findings((encoding,) if encoding.value != "utf-8" else ()).and_(table.findings, quote)
    pages = without_repeats(to_sample(path.name, table.columns, rows))
    return SourceTable(
        path=path,
        sample=pages.sample,
        findings=found.and_(pages.findings),
        header_row=table.header_row,
        titles=table.titles,
        is_whole=is_whole,
        megabytes=size / 1e6,
        cut=None if footer else cut_end(path, table, whole=is_whole),
    )


def quote_findings(path: Path, head: bytes, encoding: str, table: TextTable, *, whole: bool) -> Findings:
    """Return that quotation marks are letters, where one has no other. Raises SampleFault if others enclose values."""
    text, separator = decode(head, encoding, whole=whole), table.findings.value("csv.separator")
    loose = loose_pair(StringIO(text, newline=""), separator, QUOTE) if QUOTE in text else None
    if loose is None or (loose.begins and not whole):  # a part may end inside a value
        return Findings()
    if loose.begins or re.search(rf"(^|{re.escape(separator)}){QUOTE}", text, re.MULTILINE):
        raise SampleFault(f"{path.name} {loose}")
    return Findings((Finding("csv.quote", "none", f"row {loose.row} has a quotation mark inside a value"),))


def decided(path: Path, found: Finding | Ambiguity) -> Finding:
    """Return the encoding of a file. Raises SampleQuestion if its words allow several, or none."""
    if isinstance(found, Finding):
        return found
    raise SampleQuestion(path.name, found)


def answered(said: str) -> Finding:
    """Return an encoding that somebody said. Raises SampleFault if there is none of this name."""
    try:
        return Finding(ENCODING, codecs.lookup(said).name, "answered")
    except LookupError:
        raise SampleFault(f"csv: {{encoding: {said}}} is no encoding that Python knows, such as cp1250") from None


def records_behind(path: Path, size: int, encoding: str, table: TextTable) -> Iterator[list[str]]:
    """Yield the whole records at some places behind the head of a large file."""
    separator, width = table.findings.value("csv.separator"), len(table.columns)
    with path.open("rb") as file:
        order = file.read(2) if encoding == "utf-16" else b""
        for place in places_behind(size):
            file.seek(place)
            text = decode(order + cut_lines(file.read(PIECE), encoding), encoding, whole=False)
            _, _, inner = text.partition("\n")
            for record in split_records(inner, path.name, separator, whole=False):
                if len(record) == width:
                    yield record


def cut_lines(piece: bytes, encoding: str) -> bytes:
    """Return a piece of a file without the first bytes of a character that began before it."""
    if encoding != "utf-8":
        return piece
    return piece[piece.find(b"\n") + 1 : piece.rfind(b"\n") + 1]


def to_sample(
    name: str, columns: Sequence[str], rows: Sequence[tuple[int | None, Sequence[str | None]]]
) -> SampleTable:
    """Return records as columns of text. Rows without a value are no rows; a short one is filled up."""
    width = len(columns)
    filled = [(row, record) for row, record in rows if any(cell and cell.strip() for cell in record)]
    cells = [
        pl.Series(column, [record[at] or None if at < len(record) else None for _, record in filled], dtype=pl.String)
        for at, column in enumerate(columns[:width])
    ]
    return SampleTable(name=name, frame=pl.DataFrame(cells), rows=pl.Series([row for row, _ in filled], dtype=pl.Int64))


# Workbooks and typed files.


def sample_workbook(path: Path) -> Iterator[SourceTable]:
    """Yield the sheets of a workbook that hold a table."""
    refuse_large_parts(path)
    sheets = READER.names(path)
    found = False
    for sheet in sheets:
        formulas = formulas_of(path, sheet)  # also refuses a sheet that reaches too far, before it is read
        records = [[cell or "" for cell in row] for row in READER.cells(path, sheet).iter_rows()]
        header_row = detect_header_row(records)
        if header_row is None:
            continue
        found = True
        name = f"{path.name} [{sheet}]" if len(sheets) > 1 else path.name
        table = with_second_row(TextTable(records, header_row, Findings()))
        if (fault := sheet_fault(table, sheet, formulas)) is not None:
            if len(sheets) == 1:
                raise SampleFault(f"{path.name}: {fault}")
            empty = to_sample(name, [], [])
            yield SourceTable(path=path, sheet=sheet, sample=empty, findings=Findings(), fault=f"{path.name}: {fault}")
            continue
        decided = heading_findings(table, whole=False).decided
        keys = [Finding("header_row", one.value, one.evidence) for one in decided]
        if len(sheets) > 1:
            keys.insert(0, Finding("sheet", sheet, f"one of {', '.join(sheets)}"))
        rows = [(row, record) for row, record in enumerate(records, 1) if row > table.header_row]
        whole = SourceTable(
            path=path,
            sheet=sheet if len(sheets) > 1 else None,
            sample=to_sample(name, table.columns, rows),
            findings=Findings(tuple(keys)),
            header_row=table.header_row,
            titles=table.titles,
            megabytes=path.stat().st_size / 1e6,
            formulas=formulas,
        )
        for one in side_tables(whole.sample):
            pages = without_repeats(one.sample)
            yield replace(whole, sample=pages.sample, findings=whole.findings.and_(one.findings, pages.findings))
    if not found:
        raise SampleFault(
            f"{path.name} has no sheet with a row of column names above other rows; write them into its first row"
        )


def sheet_fault(table: TextTable, sheet: str, formulas: Formulas) -> str | None:
    """Return why a sheet with a heading is not read; None if it is."""
    if formulas.unvalued is not None:
        return unvalued_fault(sheet, formulas.unvalued)
    other = second_heading(table)
    return None if other is None else f"sheet {sheet}, {other}"


def sample_typed(path: Path) -> SourceTable:
    """Return a Parquet or Arrow file."""
    scan = SCANS[path.suffix.lower()](path)
    schema = scan.collect_schema()
    count = int(scan.select(pl.len()).collect().item())
    if not count:
        raise SampleFault(f"{path.name} has no rows")
    step = max(1, count // TYPED_ROWS)
    temporal = frozenset(name for name, dtype in schema.items() if dtype.is_temporal())
    days = [pl.col(name).cast(pl.Date).cast(pl.String) for name in temporal if schema[name] != pl.Time]
    rows = scan.with_row_index("_row", offset=1).gather_every(step).with_columns(days).collect()
    texts = as_texts(rows.drop("_row"))
    return SourceTable(
        path=path,
        sample=SampleTable(name=path.name, frame=texts, rows=rows["_row"].cast(pl.Int64)),
        findings=Findings(),
        is_whole=step == 1,
        megabytes=path.stat().st_size / 1e6,
        temporal=temporal,
    )
