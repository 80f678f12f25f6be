"""Books whose ids, names and headings are traps for spreadsheets, and the workbooks that are made of them."""

from datetime import UTC, datetime
from pathlib import Path

from engine.door import Door, open_books
from engine.present.exports.about import ExportStamp
from engine.present.exports.workbook import (
    write_workbook,
)
from engine.report.inspection import Inspection
from engine.report.report import Report
from tests.support.answers.workbooks import go_on
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

MADE = ExportStamp(at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC), subject="ann")
COLUMNS = {"Actuals": "actual", "=Budget": "budget", "Var": "var(actual,budget)", "Var %": "var_pct(actual,budget)"}
LINK = '=HYPERLINK("http://x.example")'
EVIL = ("=1+1", "+1", "-1", "@SUM(A1)", LINK, "00123", "950E2862", "1e5", "TRUE", "2021-01-01")


def trap_books(folder: Path) -> Door:
    """Return books of amounts, one longer than a spreadsheet holds, by members whose ids and names are traps."""
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


def written(kept: Report | Inspection, folder: Path) -> Path:
    """Write a workbook of what was kept and opened again."""
    path = folder / "made.xlsx"
    write_workbook(kept, MADE, path, go_on)
    return path
