"""Figures with more digits than a spreadsheet holds are numbers, and all their digits stand beside them."""

from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from openpyxl import load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from engine.door import Door
from engine.model.exact import Exact
from engine.present.exports.all_digits import MANY
from engine.present.exports.cells import SheetCell, digits_cell, look_of, number_cell
from engine.present.exports.workbook import write_workbook
from tests.support.answers.workbooks import go_on, shown
from tests.support.books.small import small_books
from tests.support.books.traps import MADE, written

approx = partial(pytest.approx, rel=1e-15, abs=0)  # XlsxWriter writes 16 digits
LONG = "90071992547409.93"  # 16 digits
SHORT = "12.50"
OF_COMMENTS = "figures have more digits than a spreadsheet holds; comments of their cells have all digits."
OF_TEXTS = "figures have more digits than a spreadsheet holds; texts in or beside their cells have all digits."


def long_books(folder: Path, members: int) -> Door:
    """Return books of items: of each a long actual amount, LONG and its number, and a short one of the budget."""
    rows = [
        f"2021-01-05 {scenario} m{n:04} {amount}"
        for n in range(members)
        for scenario, amount in (("actual", Decimal(LONG) + n), ("budget", SHORT))
    ]
    return small_books(
        folder,
        facts={"gl": "\n".join(["date scenario item amount", *rows])},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {item: item}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              amount: {label: Amount, measure: amount}
            """
        },
        dimensions="item: {kind: leaf}",
        statements={"pnl": "- {metric: amount}"},
    )


def sheets(path: Path) -> list[Worksheet]:
    """Return the sheets but that about the file, as openpyxl reads them."""
    return [sheet for sheet in load_workbook(path).worksheets if sheet.title != "About"]


def values(sheet: Worksheet, column: str, first: int) -> list[object]:
    """Return the values of a column from a row on."""
    return [cell.value for cell in sheet[column][first - 1 :]]


def comments(sheet: Worksheet) -> dict[str, str]:
    """Return the comments of a sheet by cell."""
    return {cell.coordinate: cell.comment.text for row in sheet.iter_rows() for cell in row if cell.comment}


def notes(path: Path) -> list[object]:
    """Return the notes about the file."""
    return [row[1].value for row in load_workbook(path)["About"].iter_rows() if row[0].value == "Note"]


def by_item(books: Door, folder: Path, **columns: str) -> Path:
    """Return the workbook of a report of items down and scenarios across, whose figures begin in C3."""
    report = books.metric("amount", period="2021-01", scenarios=columns, dimensions=("item",))
    return written(report, folder)


def test_a_figure_of_more_digits_than_a_spreadsheet_holds_is_a_number_with_a_comment(tmp_path: Path) -> None:
    path = by_item(long_books(tmp_path, 2), tmp_path, A="actual", B="budget")
    (sheet,) = sheets(path)
    total = "180143985094820.86"  # of LONG, and LONG + 1
    assert values(sheet, "C", 4) == approx([float(LONG), float("90071992547410.93"), float(total)])
    assert comments(sheet) == {"C4": LONG, "C5": "90071992547410.93", "C6": total}
    assert values(sheet, "D", 4) == [12.5, 12.5, 25]
    assert f"3 {OF_COMMENTS}" in notes(path)


def test_999_long_figures_have_comments_and_1000_columns_of_text(tmp_path: Path) -> None:
    path = by_item(long_books(tmp_path / "few", MANY - 2), tmp_path, A="actual")  # and the total
    (sheet,) = sheets(path)
    assert (len(comments(sheet)), sheet.max_column) == (999, 3)
    assert f"999 {OF_COMMENTS}" in notes(path)
    path = by_item(long_books(tmp_path / "many", MANY - 1), tmp_path, A="actual")
    (sheet,) = sheets(path)
    assert (len(comments(sheet)), sheet.max_column) == (0, 4)
    assert f"1000 {OF_TEXTS}" in notes(path)


def test_the_column_of_text_stands_beside_each_column_of_long_figures(tmp_path: Path) -> None:
    members = 600
    report = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}
    path = by_item(long_books(tmp_path, members), tmp_path, **report)
    (sheet,) = sheets(path)
    amounts = [Decimal(LONG) + n for n in range(members)]
    amounts.append(sum(amounts, Decimal()))
    budgets = [Decimal(SHORT)] * members + [Decimal(SHORT) * members]
    variances = [amount - budget for amount, budget in zip(amounts, budgets, strict=True)]
    heads = [[cell.value for cell in row[2:]] for row in sheet["A1:G3"]]
    assert heads == [
        ["Amount", None, None, None, None],
        ["A", None, "B", "V", None],
        ["USD", "All digits", "USD", "USD", "All digits"],
    ]
    assert {str(area) for area in sheet.merged_cells.ranges} == {"C1:G1", "C2:D2", "F2:G2"}
    assert values(sheet, "C", 4) == approx([float(amount) for amount in amounts])
    assert values(sheet, "D", 4) == [f"{amount.normalize():f}" for amount in amounts]
    assert values(sheet, "E", 4) == [float(budget) for budget in budgets]
    assert values(sheet, "F", 4) == approx([float(variance) for variance in variances])
    assert values(sheet, "G", 4) == [f"{variance.normalize():f}" for variance in variances]
    assert not comments(sheet)


def test_rows_of_long_amounts_have_columns_of_text_on_every_sheet(tmp_path: Path) -> None:
    members = MANY + 200
    rows = long_books(tmp_path, members).rows("gl", scenario="actual", limit=5000)
    path = tmp_path / "rows.xlsx"
    write_workbook(rows, MADE, path, go_on, most_rows=801)
    first, second = sheets(path)
    assert [cell.value for cell in first[1]] == ["date", "item", "amount (USD)", "All digits"]
    texts = [*values(first, "D", 2), *values(second, "D", 2)]
    assert [len(values(sheet, "D", 2)) for sheet in (first, second)] == [800, 400]
    assert sorted(map(str, texts)) == sorted(str(Decimal(LONG) + n) for n in range(members))
    assert not comments(first)


@pytest.mark.program("soffice")
def test_a_spreadsheet_adds_long_figures_up(tmp_path: Path) -> None:
    path = by_item(long_books(tmp_path, 3), tmp_path, A="actual")
    book = load_workbook(path)
    book.worksheets[0]["D4"] = "=SUM(C4:C6)-C7"
    book.worksheets[0]["E4"] = "=COUNT(C4:C7)"
    book.save(tmp_path / "summed.xlsx")
    assert shown(tmp_path / "summed.xlsx", tmp_path)[3][3:] == ["0", "4"]


def test_a_figure_beyond_all_doubles_is_a_text() -> None:
    digits = f"1{'0' * 400}"
    cell = number_cell(Exact(int(digits), 1), look_of(), quotient=False)
    assert (cell.value, cell.look.number, cell.digits) == (digits, "@", digits)
    digits = "12345678901234567890"
    assert digits_cell(digits, look_of()) == SheetCell(float(digits), look_of(), digits)
