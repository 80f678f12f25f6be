"""Places of measures that init proposes: those of the amounts, without what computations leave behind their digits."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from openpyxl import Workbook

from tests.support.books.newcomer import first_statement, initialised


@pytest.mark.parametrize(
    ("amounts", "places", "total"),
    [
        ([924.0894000000001, 688.39, -1954.0170000000001], 4, "-341.5376"),
        ([0.30000000000000004, 1.1], 2, "1.4"),
        ([0.123456789012, 2.5], 12, "2.623456789012"),
    ],
)
def test_places_are_those_of_the_amounts(tmp_path: Path, amounts: list[float], places: int, total: str) -> None:
    book = Workbook()
    rows = [["date", "account", "amount"], *([f"2025-01-0{at}", "A", one] for at, one in enumerate(amounts, 1))]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "gl.xlsx")
    assert initialised(tmp_path / "books", tmp_path / "gl.xlsx") == 0
    domain = yaml.safe_load((tmp_path / "books" / "domains" / "gl.yaml").read_text(encoding="utf-8"))
    assert domain["measures"]["amount"]["places"] == places
    assert first_statement(tmp_path / "books", tmp_path / "state")["Amount"] == Decimal(total)
