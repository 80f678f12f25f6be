"""Hostile files: what would take memory or time without end is refused by file and setting, in load and in init."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from server.feeds.extract_formats import CsvFormat, ExtractFormat, TableLayout
from server.files.files import WrittenFormat, file_rows
from server.files.findings import SampleFault
from server.files.rejects import LoadFailed
from server.files.sampling import sample_file
from server.files.workbook_reader import READER

HEAD = "date,account,amount,memo\n"
LINE = "2026-01-05,4000,1.50,rent\n"


def load(path: Path, sheet: str | None = None) -> None:
    """Read every row of a file as a load reads them."""
    form = ExtractFormat(csv=CsvFormat(), sheet=TableLayout())
    for _ in file_rows(path, WrittenFormat(form), sheet):
        pass


def sample(path: Path) -> None:
    """Read a file as init reads it."""
    list(sample_file(path))


READERS = [pytest.param(load, LoadFailed, id="load"), pytest.param(sample, SampleFault, id="init")]
HOSTILE_TEXTS = {  # a CSV file, and the setting that refuses it
    "a field of 2 MB of digits": (f"{HEAD}{LINE}2026-01-05,4000,{'1' * (2 << 20)},x\n{LINE}", "SVC_FIELD_MEGABYTES"),
    "a field of 80,000 lines": (f'{HEAD}{LINE}2026-01-05,4000,1,"{LINE * 80_000}"\n', "SVC_FIELD_MEGABYTES"),
    "a heading of 2 MB": (f"date,{'x' * (2 << 20)}\n2026-01-05,1\n", "SVC_FIELD_MEGABYTES"),
    "a line of 24 MB": (f"{HEAD}{LINE}{',' * (24 << 20)}\n", "SVC_LINE_MEGABYTES"),
    "20,000 columns": (
        f"date,{','.join(f'c{at}' for at in range(20_000))}\n" + f"2026-01-05{',1' * 20_000}\n" * 2,
        "SVC_FILE_COLUMNS",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE_TEXTS)
@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_hostile_text_is_refused_by_file_and_setting(
    tmp_path: Path, kind: str, read: Callable[[Path], None], refusal: type[Exception]
) -> None:
    path = tmp_path / "gl.csv"
    text, setting = HOSTILE_TEXTS[kind]
    path.write_text(text)
    with pytest.raises(refusal, match=rf"gl\.csv.*{setting}"):
        read(path)


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_field_beyond_the_usual_limit_of_csv_is_read(
    tmp_path: Path, read: Callable[[Path], None], refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gl.csv"
    path.write_text(f"{HEAD}{LINE}2026-01-05,4000,1.50,{'x' * 140_000}\n{LINE}")
    read(path)
    path.write_text(f"{HEAD}{LINE}2026-01-05,4000,1.50,{'x' * (3 << 20)}\n{LINE}")
    with pytest.raises(refusal):
        read(path)
    monkeypatch.setenv("SVC_FIELD_MEGABYTES", "4")
    read(path)


# Workbooks.


BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats'
    '.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
)
LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="'
    'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    '<Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" '
    'Target="sharedStrings.xml"/></Relationships>'
)
ROOT = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="'
    'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>"
)
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def text_cell(text: str, address: str | None = None) -> str:
    """Return the XML of a cell with a text."""
    at = f' r="{address}"' if address else ""
    return f'<c{at} t="inlineStr"><is><t>{text}</t></is></c>'


HEAD_ROW = f'<row r="1">{text_cell("date", "A1")}{text_cell("account", "B1")}{text_cell("amount", "C1")}</row>'
FIRST_ROW = f'<row r="2">{text_cell("2026-01-05", "A2")}{text_cell("4000", "B2")}<c r="C2"><v>1.5</v></c></row>'
LAST_ROW = f'<row r="3">{text_cell("2026-01-06", "A3")}{text_cell("5000", "B3")}<c r="C3"><v>2.5</v></c></row>'
ROWS = HEAD_ROW + FIRST_ROW + LAST_ROW


def write_sheet(path: Path, rows: str, texts: str = "") -> Path:
    """Write a workbook of one sheet of some XML."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("_rels/.rels", ROOT)
        archive.writestr("xl/workbook.xml", BOOK)
        archive.writestr("xl/_rels/workbook.xml.rels", LINKS)
        archive.writestr("xl/sharedStrings.xml", f"<sst {SPACE}>{texts}</sst>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>")
    return path


WIDE_ROW = "".join("<c><v>1</v></c>" for _ in range(20_000))
LONG_ROW = "".join(f"<c><v>{at * 7919}</v></c>" for at in range(800_000))
HOSTILE_SHEETS = {  # the rows of a sheet and its shared texts, and the setting that refuses it
    "a cell at the end of a sheet": (f'{ROWS}<row><c r="XFD1048576"><v>1</v></c></row>', "SVC_SHEET_CELLS"),
    "a cell that stands in another row": (f"{ROWS}<row><c s='1' r='ZZ900000'><v>1</v></c></row>", "SVC_SHEET_CELLS"),
    "a cell in a namespace of its own": (
        f'{ROWS}<x:row {SPACE.replace("xmlns", "xmlns:x")}><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>',
        "SVC_SHEET_CELLS",
    ),
    "a column behind the last": (f'{ROWS}<row r="4"><c r="ZZZ4"><v>1</v></c></row>', "SVC_FILE_COLUMNS"),
    "20,000 cells without addresses": (f"{ROWS}<row>{WIDE_ROW}</row>", "SVC_FILE_COLUMNS"),
    "rows without addresses": (
        f'{ROWS}<row r="1048000">{"<c><v>1</v></c>" * 60}</row>', "SVC_SHEET_CELLS",
    ),
    "a row without an end": (f'{ROWS}<row r="4">{LONG_ROW}', "SVC_LINE_MEGABYTES"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE_SHEETS)
@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_sheet_that_reaches_too_far_is_refused_before_it_is_read(
    tmp_path: Path, kind: str, read: Callable[[Path], None], refusal: type[Exception]
) -> None:
    rows, setting = HOSTILE_SHEETS[kind]
    with pytest.raises(refusal, match=rf"gl\.xlsx \[S\].*{setting}"):
        read(write_sheet(tmp_path / "gl.xlsx", rows))


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_part_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, read: Callable[[Path], None], refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sheet(tmp_path / "gl.xlsx", ROWS, f"<si><t>{'x' * (24 << 20)}</t></si>")
    with pytest.raises(refusal, match=r"gl\.xlsx: its part xl/sharedStrings.xml unpacks to 24 MB.*SVC_SHEET_RATIO"):
        read(path)
    monkeypatch.setenv("SVC_SHEET_RATIO", "2000")
    monkeypatch.setenv("SVC_SHEET_MEGABYTES", "20")
    with pytest.raises(refusal, match=r"gl\.xlsx: its part xl/sharedStrings.xml unpacks to 24 MB.*SVC_SHEET_MEGABYTES"):
        read(path)


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_cells_without_a_value_and_a_wrong_dimension_reach_nowhere(
    tmp_path: Path, read: Callable[[Path], None], refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_sheet(tmp_path / "gl.xlsx", f'{ROWS}<row r="1048576"><c r="XFD1048576" s="1"/></row>')
    read(path)
    monkeypatch.setenv("SVC_SHEET_CELLS", "8")  # it has 3 rows of 3 cells
    with pytest.raises(refusal, match="3 rows and 3 columns"):
        read(path)


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_workbook_that_takes_the_memory_of_its_reader_is_refused_and_the_next_is_read(
    tmp_path: Path, read: Callable[[Path], None], refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_SHEET_CELLS", "1000000000000")
    rows, _ = HOSTILE_SHEETS["a cell at the end of a sheet"]
    path, good = write_sheet(tmp_path / "gl.xlsx", rows), write_sheet(tmp_path / "good.xlsx", ROWS)
    for _ in range(2):
        with pytest.raises(refusal, match=r"gl\.xlsx \[S\]: its reader ended.*SVC_WORKBOOK_MEGABYTES"):
            read(path)
        read(good)


def test_the_reader_gives_back_every_cell_and_names_what_it_cannot_read(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "gl.xlsx", ROWS)
    assert READER.names(path) == ["S"]
    assert READER.cells(path, "S").rows() == [
        ("date", "account", "amount"),
        ("2026-01-05", "4000", "1.5"),
        ("2026-01-06", "5000", "2.5"),
    ]
    path.write_bytes(b"no workbook")
    with pytest.raises(OSError, match="Zip"):
        READER.names(path)
    with pytest.raises(LoadFailed, match=r"gl\.xlsx cannot be read"):
        load(path)


def test_the_reader_of_workbooks_is_ended_with_its_process() -> None:
    script = "from server.files.workbook_reader import READER; READER.begin(); print(READER._process.pid)"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    assert not Path("/proc", ended.stdout.strip()).exists()
