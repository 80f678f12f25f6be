"""Files as they are: dialects, encodings, headings and footers, sheets, each row with its spreadsheet's number."""

from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from server.feeds.extract_formats import CsvFormat, ExtractFormat, TableLayout
from server.files import files
from server.files.files import WrittenFormat, file_rows, join_names, letter
from server.files.rejects import FILE, ROW, LoadFailed

ROWS = [("4000", "Müller", "1,50"), ("5000", 'says "no"; never', "-2")]


def read(path: Path, sheet: str | None = None, **said: Any) -> pl.DataFrame:
    """Return the rows of a file in a dialect."""
    layout = TableLayout(**{key: said.pop(key) for key in ("header_rows", "skip_rows", "skip_footer") if key in said})
    form = ExtractFormat(csv=CsvFormat(layout=layout, **said), sheet=layout)
    return pl.concat(file_rows(path, WrittenFormat(form), sheet))


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a CSV file."""
    path = folder / "gl.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_dialect_gives_the_rows_as_they_are(
    tmp_path: Path, separator: str, encoding: str, quote: str, end: str
) -> None:
    def cell(text: str) -> str:
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"

    lines = [separator.join(map(cell, row)) for row in [("Konto", "Text", "Betrag"), *ROWS]]
    path = written(tmp_path, end.join([*lines, ""]), encoding)
    found = read(path, separator=separator, quote=quote, encoding=None if encoding.startswith("utf") else encoding)
    assert found.columns == [FILE, ROW, "Konto", "Text", "Betrag"]
    assert found.rows() == [("gl.csv", 2, *ROWS[0]), ("gl.csv", 3, *ROWS[1])]


def test_nothing_is_quoted_where_quote_is_none(tmp_path: Path) -> None:
    assert read(written(tmp_path, 'a;b\n"x;5" steel\n'), separator=";", quote="").row(0)[2:] == ('"x', '5" steel')


@pytest.mark.parametrize("above", ["", "Journal 2026;;\n\n"])
@pytest.mark.parametrize("rows", [("1;2",), ("1;2", "3;4;x"), ("1", "3;4;x", "5;6")])
def test_rows_that_lack_their_last_empty_values_are_read(tmp_path: Path, above: str, rows: tuple[str, ...]) -> None:
    found = read(
        written(tmp_path, f"{above}Konto;Betrag;Notiz\n" + "\n".join((*rows, ""))),
        separator=";",
        header_rows=(above.count("\n") + 1,),
    )
    first = above.count("\n") + 2
    cells = [[cell or None for cell in row.split(";")] for row in rows]
    assert found.rows() == [
        ("gl.csv", number, *cell, *[None] * (3 - len(cell))) for number, cell in enumerate(cells, first)
    ]


def test_a_row_wider_than_the_heading_is_refused_below_a_short_one(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"gl\.csv row 3 has 4 values, and the table has 3 columns"):
        read(written(tmp_path, "Konto;Betrag;Notiz\n1;2\n3;4;x;y\n"), separator=";")


def test_rows_around_a_table_are_not_read_and_its_rows_keep_their_numbers(tmp_path: Path) -> None:
    text = 'Journal 2026;;\n\n"Corvane\nGroup";;\nKonto;Betrag\n1;2\n\n3;"4\n5"\n6;7\nSumme;9\n'
    found = read(written(tmp_path, text), separator=";", header_rows=(4,), skip_footer=1)
    assert found.rows() == [("gl.csv", 5, "1", "2"), ("gl.csv", 7, "3", "4\n5"), ("gl.csv", 8, "6", "7")]
    assert read(written(tmp_path, text), separator=";", skip_rows=3, skip_footer=1).equals(found)


def test_a_table_without_names_has_the_letters_of_a_spreadsheet(tmp_path: Path) -> None:
    found = read(written(tmp_path, "x\n1,2\n3,4\n"), header_rows=(), skip_rows=1)
    assert found.columns[2:] == ["A", "B"]
    assert found[ROW].to_list() == [2, 3]
    assert [letter(number) for number in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_headings_of_several_rows_are_joined_and_merged_cells_reach_to_the_right() -> None:
    upper, lower = ["Konto", "2026", "", "2027", ""], ["", "Jan", "Feb", "Jan", ""]
    assert join_names([upper, lower]) == ["Konto", "2026 Jan", "2026 Feb", "2027 Jan", "E"]
    assert join_names([["Amount\n EUR ", "x", "x"]]) == ["Amount EUR", "x_1", "x_2"]


def test_a_file_of_more_columns_comes_in_pieces_of_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CELLS", 4_000)
    for width in (1, 4, 40):
        rows = pl.DataFrame({f"c{at}": range(9_000) for at in range(width)})
        pieces = list(files.scan_batches(rows.lazy()))
        assert max(piece.height * piece.width for piece in pieces) <= 4_000
        assert pl.concat(pieces).equals(rows)


@pytest.mark.parametrize("piece", [1, 2, 3, 100])
def test_the_footer_is_left_out_however_the_rows_come(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIECE", piece)
    path = written(tmp_path, "a,b\n" + "".join(f"{number},x\n" for number in range(7)) + "t,x\nu,x\n")
    assert read(path, skip_footer=2)["a"].to_list() == list("0123456")
    assert read(path, skip_footer=100).is_empty()


@pytest.mark.parametrize(
    ("text", "said", "says"),
    [
        ("", {}, "gl.csv is empty"),
        ("a\n1\n", {"header_rows": (4,)}, "gl.csv has 2 rows, and its column names stand in row 4"),
        (
            "Report\na,b\n1,2\n",
            {},
            "gl.csv row 2 has 2 values, and the table has 1 columns; set csv: {separator: …} or csv: {header_row: …}",
        ),
        ('a,b\n1,"x\ny"\n1,2,3\n', {}, "gl.csv row 3 has 3 values, and the table has 2 columns"),
        ("a\nü\n", {"encoding": "utf-16"}, "gl.csv is written in another encoding; set csv: {encoding"),
        ("a\n\x81\n", {"encoding": "windows-1252"}, "gl.csv is written in another encoding; set csv: {encoding"),
    ],
)
def test_a_file_that_is_written_otherwise_is_refused(tmp_path: Path, text: str, said: Any, says: str) -> None:
    with pytest.raises(LoadFailed) as failed:
        read(written(tmp_path, text, "latin-1" if "\x81" in text else "utf-8"), **said)
    assert says in str(failed.value)


@pytest.mark.parametrize("ends", [(";", ";"), (";;", ";"), (";;", "")])
def test_separators_behind_the_last_column_hold_no_value(tmp_path: Path, ends: tuple[str, str]) -> None:
    text = f"a;b\n1;2{ends[0]}\n\n3;4{ends[1]}\n"
    found = read(written(tmp_path, text), separator=";")
    assert found.columns[2:] == ["a", "b"]
    assert found.rows() == [("gl.csv", 2, "1", "2"), ("gl.csv", 4, "3", "4")]
    with pytest.raises(LoadFailed, match=r"gl.csv row 5 has 3 values, and the table has 2 columns"):
        read(written(tmp_path, f"{text}5;6;7\n"), separator=";")
    assert read(written(tmp_path, f"{text}5;6;7\n"), separator=";", skip_footer=1).equals(found)


def test_a_value_behind_the_last_column_is_refused_far_below_rows_without_one(tmp_path: Path) -> None:
    text = "a;b\n" + "1;2;\n" * 1000 + "1;2;3\n"
    with pytest.raises(LoadFailed, match=r"gl.csv row 1002 has 3 values, and the table has 2 columns"):
        read(written(tmp_path, text), separator=";")


def workbook(folder: Path) -> Path:
    """Write a workbook whose table begins in row 4 of its second sheet, with a merged heading."""
    path = folder / "gl.xlsx"
    book = xlsxwriter.Workbook(path)
    book.add_worksheet("Cover").write(0, 0, "Corvane")
    sheet = book.add_worksheet("Data")
    sheet.merge_range(3, 2, 3, 3, "2026")
    for row, cells in ((4, ("Konto", "Jan", "Feb")), (5, ("0010", 1.1, 0.3)), (7, ("0020", -2, 1234567.89))):
        sheet.write_row(row, 1, cells)
    book.close()
    return path


def test_a_sheet_is_found_by_name_and_its_heading_by_row(tmp_path: Path) -> None:
    found = read(workbook(tmp_path), "Data", header_rows=(4, 5))
    assert found.columns[2:] == ["Konto", "2026 Jan", "2026 Feb"]
    assert found.rows() == [("gl.xlsx", 6, "0010", "1.1", "0.3"), ("gl.xlsx", 8, "0020", "-2", "1234567.89")]
    assert read(workbook(tmp_path), "Data", header_rows=(5,)).columns[2:] == ["Konto", "Jan", "Feb"]


def test_the_first_row_with_a_value_has_the_names_where_no_other_is_said(tmp_path: Path) -> None:
    found = read(workbook(tmp_path), "Data")
    assert found.columns[2:] == ["A", "2026", "C"]
    assert found[ROW].to_list() == [5, 6, 8]


def test_a_wrong_sheet_names_the_sheets_there_are(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"gl.xlsx has no sheet 'Sheet1'; it has Cover, Data"):
        read(workbook(tmp_path), "Sheet1")
    with pytest.raises(LoadFailed, match=r"gl.xlsx has 8 rows, and its column names stand in row 90"):
        read(workbook(tmp_path), "Data", header_rows=(90,))


def test_typed_files_number_their_rows_from_one(tmp_path: Path) -> None:
    path = tmp_path / "gl.parquet"
    pl.read_csv(StringIO("a\n1\n2\n")).write_parquet(path)
    assert pl.concat(file_rows(path, WrittenFormat(ExtractFormat()), None))[ROW].to_list() == [1, 2]
