"""Amounts with a currency or a typographic minus: the statement of the feed takes these away."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.support.books.newcomer import first_statement, initialised


def ledger(folder: Path, first: str, second: str) -> Path:
    """Write a ledger of two amounts."""
    path = folder / "gl.csv"
    rows = [f"2025-01-05;Konto A;{first}", f"2025-01-06;Konto B;{second}", "2025-01-07;Konto B;"]
    path.write_text("\n".join(["Datum;Konto;Wert", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("first", "second", "amounts"),
    [
        ("1.234,50 €", "-99,25 €", ("1234.50", "-99.25")),
        ("R$ 1.234,50", "R$ -99,25", ("1234.50", "-99.25")),
        ("$1,234.50", "$(99.25)", ("1234.50", "-99.25")),
        ("1 234,50 zł", "-99,25 zł", ("1234.50", "-99.25")),
        ("CHF 1'234.50", "CHF -99.25", ("1234.50", "-99.25")),
        ("1234,50", "−99,25", ("1234.50", "-99.25")),  # the minus of typographers
    ],
)
def test_amounts_are_loaded_without_their_marks(
    tmp_path: Path, first: str, second: str, amounts: tuple[str, str]
) -> None:
    assert initialised(tmp_path / "books", ledger(tmp_path, first, second)) == 0
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert (figures["Konto A"], figures["Konto B"]) == tuple(map(Decimal, amounts))
    feeds = yaml.safe_load((tmp_path / "books" / "integrations.yaml").read_text(encoding="utf-8"))
    (feed,) = (one for one in feeds["bindings"].values() if "sql" in one)
    assert feed["sql"].startswith('select "Datum", "Konto", trim(replace("Wert", ')


@pytest.mark.parametrize("second", ["-99,25 $", "99,25 S", "neunzig €"])
def test_several_currencies_and_other_texts_behind_amounts_are_refused(
    tmp_path: Path, second: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert initialised(tmp_path / "books", ledger(tmp_path, "1.234,50 €", second)) == 1
    assert "Wert" in capsys.readouterr().err
