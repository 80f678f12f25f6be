"""Workbooks: sheets that hold what was seen, figure for figure, and no text that a spreadsheet takes for a formula."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fastexcel
import pytest
from msgspec.structs import replace
from xlsxwriter.utility import xl_col_to_name

from engine.door import Door
from engine.model.errors import BadArguments
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.formulas import Nothing
from engine.present.blocks import table
from engine.present.exports.workbook import (
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_ROWS,
    sheet_name,
    write_workbook,
)
from engine.report.report import Report
from tests.support.answers.workbooks import MAIN, cells, go_on, grid, parts, sheet_xml, shown
from tests.support.books.small import small_books
from tests.support.books.traps import COLUMNS, EVIL, MADE, trap_books, written

LOST = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Books of traps."""
    return trap_books(tmp_path_factory.mktemp("exported"))


def test_a_statement_has_its_lines_down_and_every_figure_in_units(books: Door, tmp_path: Path) -> None:
    report = books.statement("pnl", scenarios=COLUMNS, period="2021-01", scale=3, decimals=2)
    path = written(report, tmp_path)
    actual, budget = sum(range(1001, 1011)) * 100 + 250, 200040  # cents
    assert grid(path)[0][1:] == ["Unit", *COLUMNS]
    assert grid(path)[1][0] == "Trading"
    assert [float(figure) for figure in grid(path)[2][2:5]] == [actual / 100, budget / 100, (actual - budget) / 100]
    assert cells(path)["C3"] == ("n", "10057.5")
    assert cells(path)["D3"] == ("n", "2000.4")
    assert cells(path)["E3"] == ("n", "8057.1")
    assert cells(path)["F3"] == ("n", "4.02774445110978")  # 15 digits of 8057.1 / 2000.4
    assert cells(path)["A3"] == ("inlineStr", "=Revenue")
    assert cells(path)["D1"] == ("inlineStr", "=Budget")
    assert cells(path)["C5"] == ("n", "0.333333333333333")


@pytest.mark.program("soffice")
def test_numbers_are_shown_in_scale_and_decimals_and_signed_as_in_the_table(books: Door, tmp_path: Path) -> None:
    report = books.statement("pnl", scenarios=COLUMNS, period="2021-01", scale=3, decimals=2)
    assert shown(written(report, tmp_path), tmp_path) == [
        ["Pnl, Jan 2021", "Unit", *COLUMNS],
        ["Trading", "", "", "", "", ""],
        ["=Revenue", "USD, shown in thousands", "10.06", "2.00", "+8.06", "+402.77%"],
        ["Third", "USD, shown in thousands", "3.35", "0.67", "+2.69", "+402.77%"],
        ["Margin", "%", "33.33%", "33.33%", "–", "–"],
    ]


@pytest.mark.program("soffice")
@pytest.mark.parametrize(("scale", "decimals"), [(0, 0), (3, 0), (6, 1)])
def test_t64_every_number_is_shown_as_in_the_table_and_what_rounds_to_zero_as_zero(
    tmp_path: Path, scale: int, decimals: int
) -> None:
    amounts = ["-0.004", "0.004", "-0.005", "0.005", "-0.4", "0.5", "-0.5", "-499.999", "500", "-500", "2.675", "-4e6"]
    rows = [f"2021-01-05 actual P{at:02} {float(amount):.3f} 3" for at, amount in enumerate(amounts)]
    rows += [f"2021-01-05 budget P{at:02} {1000 if at % 2 else 0.001} 7" for at in range(len(amounts))]
    books = small_books(
        tmp_path,
        facts={"gl": "\n".join(["date scenario product amount heads", *rows])},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 3}, heads: {type: number, places: 0}}
            metrics:
              revenue: {measure: amount}
              largest: {measure: amount, over_members: max}
              heads: {measure: heads}
              share: {formula: revenue / largest * heads / 100 / heads, format: percent}
            """
        },
        dimensions="product: {kind: leaf}",
    )
    columns = {"A": "actual", "V": "var(actual,budget)", "%": "var_pct(actual,budget)"}
    keys = ("revenue", "largest", "heads", "share")
    asked: dict[str, Any] = {"scenarios": columns, "period": "2021-01", "dimensions": ("product",), "scale": scale}
    report = books.metric(*keys, **asked, decimals=decimals)
    texts = [[text for text, *_ in row["cells"]] for row in table(report)["rows"]]
    signs = str.maketrans({"\N{MINUS SIGN}": "-"})
    expected = [[text.translate(signs).replace(" pp", "% pts") for text in row] for row in texts]
    assert [row[2:] for row in shown(written(report, tmp_path), tmp_path)[3:]] == expected


def test_a_text_is_never_a_formula_a_link_or_a_number(books: Door, tmp_path: Path) -> None:
    path = written(books.metric("revenue", period="2021-01", scenarios=COLUMNS, dimensions=("product",)), tmp_path)
    found = cells(path)
    ids = {found[f"A{row}"] for row in range(4, 4 + len(EVIL))}
    assert ids == {("inlineStr", member) for member in EVIL}
    assert not [name for name, text in parts(path).items() if "<f>" in text or "<f " in text or "hyperlink" in text]
    assert all("externalLink" not in name for name in parts(path))
    rows = [row for row in grid(path)[3:] if row[0] == "00123"]
    assert rows[0][:4] == ["00123", "Name of 00123", "1006.25", "2000.4"]


@pytest.mark.program("soffice")
def test_ids_stay_as_they_are_where_a_program_of_people_opens_the_file(books: Door, tmp_path: Path) -> None:
    path = written(
        books.metric("revenue", period="2021-01", scenarios={"A": "actual"}, dimensions=("product",)), tmp_path
    )
    assert {row[0] for row in shown(path, tmp_path)} >= set(EVIL)


def test_headings_and_the_first_columns_stay_in_sight(books: Door, tmp_path: Path) -> None:
    path = written(books.statement("pnl", scenarios=COLUMNS, period="2021-01", dimensions=("product",)), tmp_path)
    pane = next(sheet_xml(path).iter(f"{MAIN}pane")).attrib
    assert (pane["xSplit"], pane["ySplit"], pane["state"]) == ("2", "2", "frozen")
    assert grid(path)[0][2] == "Actuals"
    assert grid(path)[0][0] == "Pnl, Jan 2021"
    assert grid(path)[1][:2] == ["", "Unit"]
    assert grid(path)[1][2].startswith("Name of")
    assert grid(path)[1][-1] == "Total"


def headed(books: Door, headings: list[str]) -> Report:
    """Return a report with headings of any length; a request's may have 200 characters."""
    asked: dict[str, Any] = {str(at): "actual" for at in range(len(headings))}
    report = books.statement("pnl", scenarios=asked, period="2021-01")
    columns = [replace(column, heading=text) for column, text in zip(report.columns, headings, strict=True)]
    return replace(report, columns=tuple(columns))


def test_a_text_is_as_long_as_a_spreadsheet_counts_it(books: Door, tmp_path: Path) -> None:
    aliases = ["\N{BAR CHART}" * (LONGEST_TEXT // 2), "\N{BAR CHART}" * LONGEST_TEXT, "é" * LONGEST_TEXT]
    path = written(headed(books, aliases), tmp_path)
    whole, cut, also_whole = (cells(path)[place][1] for place in ("C1", "D1", "E1"))
    assert [whole, also_whole] == [aliases[0], aliases[2]]
    assert cut == "\N{BAR CHART}" * (LONGEST_TEXT // 2) + "\N{HORIZONTAL ELLIPSIS}"


def test_upper_headings_stand_once_over_the_columns_that_share_them(books: Door, tmp_path: Path) -> None:
    path = written(books.statement("pnl", scenarios=COLUMNS, period="2021-01", dimensions=("product",)), tmp_path)
    merged = [merge.attrib["ref"] for merge in sheet_xml(path).iter(f"{MAIN}mergeCell")]
    each = len(EVIL) + 1  # and the total
    assert merged == [
        f"{xl_col_to_name(2 + at * each)}1:{xl_col_to_name(1 + (at + 1) * each)}1" for at in range(len(COLUMNS))
    ]
    assert [grid(path)[0][2 + at * each] for at in range(len(COLUMNS))] == list(COLUMNS)
    metrics = books.metric("revenue", "third", period="2021-01", scenarios=COLUMNS, dimensions=("product",), scale=3)
    path = written(metrics, tmp_path)
    assert [merge.attrib["ref"] for merge in sheet_xml(path).iter(f"{MAIN}mergeCell")] == ["C1:F1", "G1:J1"]
    assert grid(path)[2][:6] == ["product", "product label", *["USD, shown in thousands"] * 3, "%"]


def test_a_workbook_filters_prints_and_names_its_ranges(books: Door, tmp_path: Path) -> None:
    metrics = books.metric("revenue", period="2021-01", scenarios={"A": "actual"}, dimensions=("product",))
    path = written(metrics, tmp_path)
    sheet, last = sheet_xml(path), 3 + len(EVIL) + 1  # headings, members, the total
    assert next(sheet.iter(f"{MAIN}autoFilter")).attrib["ref"] == f"A3:C{last - 1}"  # never hides the total
    page = next(sheet.iter(f"{MAIN}pageSetup")).attrib
    assert (page["orientation"], page["fitToHeight"]) == ("landscape", "0")
    assert next(sheet.iter(f"{MAIN}pageSetUpPr")).attrib["fitToPage"] == "1"
    names = {
        found.attrib["name"]: found.text
        for found in ET.fromstring(parts(path)["xl/workbook.xml"]).iter(f"{MAIN}definedName")  # noqa: S314 - our file
    }
    assert names["Data"] == f"'=Revenue'!$A$3:$C${last}"
    assert names["Figures"] == f"'=Revenue'!$C$4:$C${last}"
    assert names["_xlnm.Print_Titles"] == "'=Revenue'!$1:$3"


def test_the_lines_below_a_line_are_an_outline_of_it(books: Door, tmp_path: Path) -> None:
    report = books.statement("pnl", period="2021-01", scenarios={"A": "actual"})
    levels = (0, 1, 2, 9)
    lines = tuple(replace(line, level=level) for line, level in zip(report.lines, levels, strict=True))
    sheet = sheet_xml(written(replace(report, lines=lines), tmp_path))
    shown_levels = [int(row.attrib.get("outlineLevel", 0)) for row in sheet.iter(f"{MAIN}row")]
    assert shown_levels == [0, 0, 1, 2, 7]  # the heading, and of an outline at most seven levels
    assert next(sheet.iter(f"{MAIN}outlinePr")).attrib["summaryBelow"] == "0"


@pytest.mark.program("soffice")
def test_inspected_rows_have_days_and_numbers_and_labels(books: Door, tmp_path: Path) -> None:
    rows = books.rows("gl", scenario="budget", filters={"metric": "revenue"})
    path = written(rows, tmp_path)
    assert shown(path, tmp_path) == [
        ["date", "product", "product label", "amount (USD)", "contribution (USD)"],
        ["2021-01-06", "00123", "Name of 00123", "2,000.50", "2,000.50"],
        ["2021-01-07", "00123", "Name of 00123", "-0.10", "-0.10"],
    ]
    assert cells(path)["A2"] == ("n", "44202")  # days since 1899-12-30


def test_texts_that_no_file_can_hold_are_mended(books: Door, tmp_path: Path) -> None:
    alias = "bell\x07 null\x00 lone\ud800 " + "x" * LONGEST_TEXT
    path = written(headed(books, [alias]), tmp_path)
    heading = cells(path)["C1"][1]
    assert heading.startswith(f"bell{LOST} null{LOST} lone{LOST} xx")
    assert len(heading) == LONGEST_TEXT
    assert heading.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert any("texts are longer than a cell holds" in str(text) for _, text in grid(path, 1))


@pytest.mark.program("soffice")
def test_a_text_is_never_markup_or_a_character_by_its_number(books: Door, tmp_path: Path) -> None:
    traps = [
        "<r><t>rich</t></r>",
        "<r></r>",
        "<r>_x0041_</r>",
        "<r> two\nlines \x85 & <b></r>",
        "a & b < c",
        "_x0041_",
        "_x000D__x0041",
        "two\nlines",
        "  starts",
        "https://x.example/?a=b",
        "mailto:ann@x.example",
        "internal:Sheet2!A1",
        "{=1+1}",
    ]
    report = books.statement("pnl", scenarios=dict.fromkeys(traps, "actual"), period="2021-01")
    path = written(report, tmp_path)
    assert grid(path)[0][2:] == traps
    assert "<t>rich" not in parts(path)["xl/worksheets/sheet1.xml"]
    assert not [name for name, text in parts(path).items() if "<f>" in text or "hyperlink" in text]
    assert shown(path, tmp_path)[0][2:] == traps


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Profit and loss", "Profit and loss"),
        ("P&L [2026]: a/b\\c*?", "P&L  2026   a b c"),
        ("", "Report"),
        ("'quoted'", "quoted"),
        ("About", "About (report)"),
        ("HISTORY", "HISTORY (report)"),
        ("x" * 40, "x" * 31),
        ("x" * 30 + "'s", "x" * 30),
        ("\N{BAR CHART}" * 20, "\N{BAR CHART}" * 15),
    ],
)
def test_a_sheet_has_a_name_that_spreadsheets_allow(label: str, name: str) -> None:
    assert sheet_name(label, 0) == name
    assert len(sheet_name(label, 1)) <= 31
    assert sheet_name(label, 1).endswith(" (2)")


@pytest.mark.parametrize(("height", "sheets"), [(0, [0]), (9, [9]), (10, [9, 1]), (19, [9, 9, 1])])
def test_more_rows_than_a_sheet_holds_go_on_in_the_next(
    books: Door, tmp_path: Path, height: int, sheets: list[int]
) -> None:
    rows = replace(books.rows("gl", scenario="budget", columns=["amount"]), rows=[(Exact(7, 10),)] * height)
    write_workbook(rows, MADE, tmp_path / "made", go_on, most_rows=10)
    names = ["gl", "gl (2)", "gl (3)"][: len(sheets)]
    assert fastexcel.read_excel(tmp_path / "made").sheet_names == [*names, "About"]
    inside = parts(tmp_path / "made")
    for at, count in enumerate(sheets, 1):
        assert inside[f"xl/worksheets/sheet{at}.xml"].count("<v>0.7</v>") == count
        filtered = next(sheet_xml(tmp_path / "made", at).iter(f"{MAIN}autoFilter")).attrib["ref"]
        assert filtered == (f"A1:A{count + 1}" if count else "A1")
    assert "$1:$1" in inside["xl/workbook.xml"]
    assert MOST_ROWS == 2**20


def test_more_columns_than_a_sheet_holds_are_refused_with_what_to_do(books: Door, tmp_path: Path) -> None:
    report = books.statement("pnl", scenarios={"A": "actual"}, period="2021-01", dimensions=("product",))
    figures = [[[*column, *[Nothing.MISSING] * MOST_COLUMNS] for column in line] for line in report.figures]
    wide = replace(report, places=(*report.places, *[report.places[0]] * MOST_COLUMNS), figures=FigureCube.of(figures))
    with pytest.raises(BadArguments, match=r"holds 16,384 columns and this has 16,397\. Export it as json") as refused:
        written(wide, tmp_path)
    assert refused.value.as_data()["valid"] == ["json"]
    assert list(tmp_path.iterdir()) == []
