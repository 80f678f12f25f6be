"""Exports: files that hold what was seen, figure for figure, and no text that a spreadsheet takes for a formula."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import fastexcel
import pytest
from xlsxwriter.utility import xl_col_to_name

from engine.door import Door, open_books
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.formulas import Nothing
from engine.present.answers.reports import details
from engine.present.answers.rows import rows_answer
from engine.present.blocks import table
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.workbook import (
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_ROWS,
    ROWS_AT_ONCE,
    sheet_name,
    write_workbook,
)
from engine.report.inspection import Inspection, Stop
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.books import load_instance
from tests.support.reading import answer
from tests.support.small import small_books, write_instance
from tests.support.workbooks import cells, go_on, grid, parts, sheet_xml, shown

Write = Callable[[Report | Inspection, ExportStamp, Path, Stop], None]
MADE = ExportStamp(at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC), subject="ann")
COLUMNS = {"Actuals": "actual", "=Budget": "budget", "Var": "var(actual,budget)", "Var %": "var_pct(actual,budget)"}
LINK = '=HYPERLINK("http://x.example")'
EVIL = ("=1+1", "+1", "-1", "@SUM(A1)", LINK, "00123", "950E2862", "1e5", "TRUE", "2021-01-01")
LOST = "\N{REPLACEMENT CHARACTER}"
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Amounts, one of them longer than a spreadsheet holds, by members whose ids and names are traps."""
    folder = tmp_path_factory.mktemp("exported")
    lines = [f"2021-01-05 actual {member} {cents}.25" for member, cents in zip(EVIL, range(1001, 1100), strict=False)]
    instance = write_instance(
        folder / "small",
        facts={
            "gl": "\n".join(
                [
                    "date scenario product amount",
                    *lines,
                    "2021-01-06 budget 00123 2000.50",
                    "2021-01-07 budget 00123 -0.10",
                    "2021-02-05 actual 00123 90071992547409.93",
                ]
            )
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              revenue: {label: =Revenue, measure: amount, favourable: up}
              third: {label: Third, formula: revenue / 3}
              margin: {label: Margin, formula: third / revenue, format: percent}
            """
        },
        dimensions="product: {kind: leaf, label: Product, members: live.product}",
        tables={"product": "id name\n" + "\n".join(f'{member} "Name~of~{member}"'.replace('"', "") for member in EVIL)},
        statements={
            "pnl": """
              - {header: Trading}
              - {metric: revenue}
              - {metric: third, style: subtotal}
              - {metric: margin, style: ratio}
            """
        },
    )
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state")


class Gone(Exception):
    """Nobody waits any more."""


def written(kept: Report | Inspection, folder: Path) -> Path:
    """Write a workbook of what was kept and opened again."""
    path = folder / "made.xlsx"
    write_workbook(kept, MADE, path, go_on)
    return path


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
    asked = {"scenarios": columns, "period": "2021-01", "dimensions": ("product",), "scale": scale}
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


def test_a_figure_of_more_digits_than_a_spreadsheet_holds_is_a_text_and_said(books: Door, tmp_path: Path) -> None:
    path = written(books.metric("revenue", period="2021-02", scenarios={"A": "actual"}), tmp_path)
    assert ("inlineStr", "90071992547409.93") in cells(path).values()
    assert ["Note", "1 figures have more digits than a spreadsheet holds; they are texts."] in grid(path, 1)


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
    asked = {str(at): "actual" for at in range(len(headings))}
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


@pytest.mark.parametrize("write", [write_workbook, write_document])
def test_nothing_but_the_file_stays_in_its_folder(books: Door, tmp_path: Path, write: Write) -> None:
    report = books.statement("pnl", scenarios=COLUMNS, period="2021-01")
    write(report, MADE, tmp_path / "made", go_on)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    with pytest.raises(FileNotFoundError):
        write(report, MADE, tmp_path / "gone" / "made", go_on)


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


def test_a_file_says_what_was_asked_when_as_whom_and_how_fresh_it_is(books: Door, tmp_path: Path) -> None:
    report = books.statement(
        "pnl", scenarios={**COLUMNS, "Gone": "gone"}, period="2021-01", scale=3, filters={"product": "00123"}
    )
    told = dict(grid(written(report, tmp_path), 1))
    assert told["Books"] == "Small"
    assert told["Statement"] == "pnl"
    assert (told["Period"], told["Days"]) == ("Jan 2021", "2021-01-01 to 2021-01-31")
    assert told["Column: Var"] == "var(actual,budget)"
    assert told["Filter: product"] == "00123"
    assert told["Scale"] == "numbers are in units and shown in thousands"
    assert (told["Made at"], told["Made for"]) == ("2026-11-21T09:30:00+00:00", "ann")
    assert told["Data version"] == report.data_version
    assert told["Fresh: gl, budget"].startswith("through 2021-01-07, loaded ")
    assert "There is no scenario 'gone'" in told["Note"]


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
    wide = replace(report, places=(*report.places, *[report.places[0]] * MOST_COLUMNS), figures=figures)
    with pytest.raises(BadArguments, match=r"holds 16,384 columns and this has 16,397\. Export it as json") as refused:
        written(wide, tmp_path)
    assert refused.value.as_data()["valid"] == ["json"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_workbook, write_document])
def test_a_report_without_columns_is_a_file_as_well(books: Door, tmp_path: Path, write: Write) -> None:
    report = books.statement("pnl", scenarios={"Gone": "gone"}, period="2021-01")
    write(opened(keep(report), books.reader), MADE, tmp_path / "made", go_on)
    if write is write_workbook:
        assert grid(tmp_path / "made")[0] == ["Pnl, Jan 2021", "Unit"]
    else:
        assert json.loads((tmp_path / "made").read_text())["columns"] == []


@pytest.mark.parametrize("write", [write_workbook, write_document])
@pytest.mark.parametrize("kind", ["report", "rows"])
def test_a_file_that_nobody_waits_for_any_more_is_not_insideon(
    books: Door, tmp_path: Path, write: Write, kind: str
) -> None:
    rows = books.rows("gl", scenario="actual")
    report = books.metric("revenue", period="2021-01", scenarios=COLUMNS, dimensions=("product",))
    kept = {"rows": replace(rows, rows=list(rows.rows) * 100), "report": report}[kind]
    asked = []

    def gone() -> None:
        asked.append(None)
        if len(asked) > limit:
            raise Gone

    limit = 1 << 20
    write(kept, MADE, tmp_path / "whole", gone)
    looks, asked[:] = len(asked), []
    assert looks > len(kept.rows if kind == "rows" else report.places) / ROWS_AT_ONCE
    limit = looks - 1
    with pytest.raises(Gone):
        write(kept, MADE, tmp_path / "part", gone)


def test_a_document_is_the_whole_answer_and_says_when_it_was_made(books: Door, tmp_path: Path) -> None:
    report = books.metric("revenue", "margin", period="2021-01", scenarios=COLUMNS, dimensions=("product",))
    again = opened(keep(report), books.reader)
    assert isinstance(again, Report)
    write_document(again, MADE, tmp_path / "made.json", go_on)
    made = json.loads((tmp_path / "made.json").read_text())
    head = {"books": "Small", "made_at": "2026-11-21T09:30:00+00:00", "made_for": "ann"}
    assert {key: made[key] for key in head} == head
    short, parts = answer(report, 10**9), details(report)
    assert [row["values"] for row in made["rows"]] == [row["values"] for row in short["rows"]]
    assert [row["members"] for row in made["rows"]] == [row["members"] for row in short["rows"]]
    assert {key: made[key] for key in parts} == json.loads(json.dumps(parts))
    assert [(column["metric"], column["alias"]) for column in made["columns"]] == [
        (column["metric"], column["alias"]) for column in short["columns"]
    ]
    assert (made["period"]["last_day"], made["scale"], made["currency"]) == ("2021-01-31", 0, short["currency"])


def test_a_document_of_rows_has_them_all(books: Door, tmp_path: Path) -> None:
    rows = books.rows("gl", scenario="actual")
    write_document(rows, MADE, tmp_path / "made.json", go_on)
    made = json.loads((tmp_path / "made.json").read_text())
    assert made["rows"] == rows_answer(rows, 10**9)["rows"]
    assert len(made["rows"]) == len(EVIL) + 1
    assert "agent_truncated" not in made
    assert "90071992547409.93" in str(made["rows"])
