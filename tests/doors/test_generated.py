"""Ten generated files a kind, of other headings, languages, orders of columns and numbers, whose figures are known."""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.doors.case_books import CaseBooks
from tests.support.books.newcomer import initialised

SEED = int(os.environ.get("DOORS_SEED", "0")) or random.randrange(10**9)
FILES = 10  # of each kind
MONTHS = ("2025-01", "2025-02", "2025-03")
WORDS = (  # day, account, name, amount, debit, credit, opening, closing, balance
    ("date", "account", "account_name", "amount", "debit", "credit", "opening", "closing", "balance"),
    ("Datum", "Konto", "Bezeichnung", "Betrag", "Soll", "Haben", "EB", "Endbestand", "Bestand"),
    ("Date", "Compte", "Libellé", "Montant", "Débit", "Crédit", "Ouverture", "Clôture", "Solde"),
    ("Fecha", "Cuenta", "Descripción", "Importe", "Debe", "Haber", "Inicial", "Final", "Saldo"),
)
NAMES = ("Till", "House bank", "Honey sales", "Wages", "Workshop rent", "Van fuel", "Wax sales")
Cells = dict[tuple[str, str], Decimal]


@dataclass
class Drawn:
    """Files of one kind, the answers that they need, and their figures by account and month."""

    files: dict[str, list[list[str]]]
    cells: Cells
    answer: str | None = None  # to the one question that no figure decides
    point: str = "."
    separator: str = ","

    def write(self, folder: Path) -> list[Path]:
        """Write the files."""
        for name, rows in self.files.items():
            lines = (self.separator.join(row) for row in rows)
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [folder / name for name in self.files]


def money(draw: random.Random) -> Decimal:
    """Return an amount with cents that are not 0."""
    return Decimal(draw.choice([-1, 1]) * (draw.randrange(10, 900_000) * 100 + draw.randrange(1, 100))).scaleb(-2)


def accounts(draw: random.Random) -> dict[str, str]:
    """Return some accounts with their names."""
    ids = sorted(draw.sample(range(1010, 9990), 5))
    return dict(zip(map(str, ids), draw.sample(NAMES, 5), strict=True))


def shuffled(draw: random.Random, rows: list[list[str]]) -> list[list[str]]:
    """Return rows with their columns in another order, the same in each."""
    order = draw.sample(range(len(rows[0])), len(rows[0]))
    return [[row[at] for at in order] for row in rows]


def postings(draw: random.Random) -> Iterator[tuple[str, str, str, Decimal]]:
    """Yield day, account, name and amount of some postings; each account has one in each month."""
    for month in MONTHS:
        for account, name in accounts(random.Random(draw.random())).items():
            yield f"{month}-{draw.randrange(1, 28):02}", account, name, money(draw)


def summed(rows: list[tuple[str, str, str, Decimal]]) -> Cells:
    """Return the figures of postings by account and month."""
    cells: Cells = {}
    for day, account, _, amount in rows:
        cells[account, day[:7]] = cells.get((account, day[:7]), Decimal(0)) + amount
    return cells


def long(draw: random.Random) -> Drawn:
    """Draw a long table."""
    words, rows = draw.choice(WORDS), list(postings(draw))
    table = [[words[0], words[1], words[3]], *([day, account, str(amount)] for day, account, _, amount in rows)]
    return Drawn({"gl.csv": shuffled(draw, table)}, summed(rows), separator=draw.choice(",;|"))


def codes(draw: random.Random) -> Drawn:
    """Draw a long table with a company, a document and names under headings that no word list has."""
    words, rows, company = draw.choice(WORDS), list(postings(draw)), str(draw.randrange(10, 9_000))
    table = [["zzfirm", "zzseq", words[0], words[1], words[2], words[3]]]
    table += [
        [company, str(at), day, account, f"N{account}", str(amount)]
        for at, (day, account, _, amount) in enumerate(rows, draw.randrange(100, 900))
    ]
    return Drawn({"gl.csv": shuffled(draw, table)}, summed(rows))


def euro(draw: random.Random) -> Drawn:
    """Draw a long table whose amounts have a currency."""
    words, rows, mark = draw.choice(WORDS), list(postings(draw)), draw.choice(["€", "zł", "CHF", "$"])
    written = [f"{amount:,}".replace(",", "x").replace(".", ",").replace("x", ".") for *_, amount in rows]
    table = [[words[0], words[1], words[3]]]
    table += [[day, account, f"{text} {mark}"] for (day, account, *_), text in zip(rows, written, strict=True)]
    return Drawn({"gl.csv": shuffled(draw, table)}, summed(rows), separator=";")


def journal(draw: random.Random) -> Drawn:
    """Draw a journal in two columns."""
    words, rows = draw.choice(WORDS), list(postings(draw))
    table = [[words[0], words[1], words[4], words[5]]]
    table += [
        [day, account, str(amount) if amount > 0 else "", str(-amount) if amount < 0 else ""]
        for day, account, _, amount in rows
    ]
    return Drawn({"journal.csv": shuffled(draw, table)}, summed(rows))


def companies(draw: random.Random) -> Drawn:
    """Draw a ledger for each of two companies that the names of the files tell apart."""
    words, rows = draw.choice(WORDS), list(postings(draw))
    heading = [words[0], words[1], words[3]]
    parts = [rows[::2], rows[1::2]]
    files = {
        f"{name}_buch.csv": [heading, *([day, account, str(amount)] for day, account, _, amount in part)]
        for name, part in zip(draw.sample(["Nord", "Sud", "East", "Vest"], 2), parts, strict=True)
    }
    return Drawn(files, summed(rows))


def across(draw: random.Random) -> Drawn:
    """Draw a report with months across, whose lines are names."""
    headings = draw.choice([["january_2025", "february_2025", "march_2025"], ["2025M01", "2025M02", "2025M03"]])
    headings = draw.choice([headings, ["01/2025", "02/2025", "03/2025"], ["Jan 2025", "Feb 2025", "Mar 2025"]])
    cells = {(name, month): money(draw) for name in NAMES for month in MONTHS}
    table = [["Post", *headings], *([name, *(str(cells[name, month]) for month in MONTHS)] for name in NAMES)]
    return Drawn({"report.csv": table}, cells)


def headings(draw: random.Random) -> Drawn:
    """Draw balances by month whose headings are the sums of their accounts."""
    words = draw.choice(WORDS)
    table, cells = [[words[0], words[1], words[3]]], dict[tuple[str, str], Decimal]()
    leaves = [f"{group}{part}{leaf}" for group in "12" for part in "12" for leaf in ("10", "20")]
    for month in MONTHS:
        held = {leaf: abs(money(draw)) for leaf in leaves}
        cells |= {(leaf, month): amount for leaf, amount in held.items()}
        sums = {stem: sum(amount for leaf, amount in held.items() if leaf.startswith(stem)) for stem in ("1", "2")}
        sums |= {leaf[:2]: sum(held[one] for one in leaves if one[:2] == leaf[:2]) for leaf in leaves}
        rows = {stem.ljust(4, "0"): total for stem, total in sums.items()} | held
        table += [[month, account, str(rows[account])] for account in sorted(rows)]
    return Drawn({"list.csv": table}, cells)


def balances(draw: random.Random) -> Drawn:
    """Draw balances by month, which add up over time only if somebody says so."""
    words, ids = draw.choice(WORDS), list(accounts(draw))
    cells = {(account, month): money(draw) for month in MONTHS for account in ids}
    table = [
        [words[0], words[1], words[8]],
        *([month, account, str(cells[account, month])] for account, month in cells),
    ]
    return Drawn({"list.csv": shuffled(draw, table)}, cells, answer="{over_time: closing}")


def three_pairs(draw: random.Random) -> Drawn:
    """Draw a trial balance of three pairs, of which the second is the movement."""
    words, names = draw.choice(WORDS), accounts(draw)
    table = [[words[1], words[2]]]
    table[0] += [f"{part}{side}".strip() for part in (f"{words[6]} ", "", f"{words[7]} ") for side in words[4:6]]
    cells: Cells = {}
    for account, name in names.items():
        opening, debit, credit = money(draw), abs(money(draw)), abs(money(draw))
        cells[account, MONTHS[2]] = debit - credit
        closing = opening + debit - credit
        sides = [*split(opening), str(debit), str(credit), *split(closing)]
        table.append([account, name, *sides])
    return Drawn({"tb 2025-03.csv": table}, cells)


def split(amount: Decimal) -> list[str]:
    """Return an amount as a debit and a credit."""
    return [str(amount), ""] if amount > 0 else ["", str(-amount)]


KINDS: dict[str, Callable[[random.Random], Drawn]] = {
    one.__name__: one for one in (long, codes, euro, journal, companies, across, headings, balances, three_pairs)
}


@pytest.mark.parametrize("number", range(FILES))
@pytest.mark.parametrize("kind", KINDS)
def test_generated_files_of_a_kind_hold_what_was_drawn(
    tmp_path: Path, kind: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = KINDS[kind](random.Random(f"{SEED} {kind} {number}"))
    files, books = drawn.write(tmp_path), tmp_path / "books"
    status = initialised(books, *files)
    told = f"seed {SEED}\n{capsys.readouterr().err}"
    if drawn.answer is not None:
        assert status == 3, told
        assert f"#- {drawn.answer} " in told
        said = yaml.safe_dump({"files": {files[0].name: yaml.safe_load(drawn.answer)}})
        status = initialised(books, *files, answers=said)
    assert status == 0, told
    found = CaseBooks(books).figures("amount", "2025-01..2025-03", dimensions=["account", "period"])
    figures = {key: figure for key, figure in found.items() if figure and len(key) == 2}
    assert figures == {key: amount for key, amount in drawn.cells.items() if amount}, told
