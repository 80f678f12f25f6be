"""Files with a fault by chance: never a traceback or a figure that does not stand there; a broken control is told."""

import gzip
import os
import random
import resource
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
import xlwt
from openpyxl import Workbook

from tests.doors.case_books import opened
from tests.support.books.newcomer import initialised

SEED = int(os.environ.get("DOORS_SEED", "0")) or random.randrange(10**9)
TIMES = 3  # that each kind meets each fault
DONE, REFUSES, ASKS = 0, 1, 3  # statuses of the command
NAMED = {"utf-16", "utf-8-sig", "cp1252"}  # encodings whose names are right
MEGABYTES = 512  # of memory that no small file takes
Rows = list[list[str]]


def long(draw: random.Random) -> Rows:
    """Return postings, which hold no control."""
    return [["date", "account", "amount"], *([day(draw), account(draw), cents(draw)] for _ in range(30))]


def journal(draw: random.Random) -> Rows:
    """Return entries of two lines, whose debits are their credits."""
    made: Rows = [["date", "journal", "account", "debit", "credit"]]
    for number in range(1, 16):
        when, amount = day(draw), cents(draw).lstrip("-")
        made += [[when, f"J{number}", account(draw), amount, ""], [when, f"J{number}", account(draw), "", amount]]
    return made


def grouped(draw: random.Random) -> Rows:
    """Return a ledger whose accounts stand above their postings, each with its total."""
    made: Rows = [["group", "date", "text", "amount"]]
    for name in draw.sample(["Bank", "Rent", "Sales", "Wages", "Post"], 4):
        amounts = [cents(draw) for _ in range(4)]
        made.append([name, "", "", ""])
        made += [["", day(draw), "x", one] for one in amounts]
        made.append([f"Total {name}", "", "", str(sum(map(Decimal, amounts)))])
    return made


def day(draw: random.Random) -> str:
    """Return a day of three months."""
    return f"2025-{draw.randrange(1, 4):02}-{draw.randrange(1, 28):02}"


def account(draw: random.Random) -> str:
    """Return an account."""
    return f"A{draw.randrange(1, 6)}0{draw.randrange(1, 6)}0"


def cents(draw: random.Random) -> str:
    """Return an amount with cents that are not 0."""
    return str(Decimal(draw.choice([-1, 1]) * (draw.randrange(10, 90_000) * 100 + draw.randrange(1, 100))).scaleb(-2))


KINDS: dict[str, Callable[[random.Random], Rows]] = {one.__name__: one for one in (long, journal, grouped)}


def figures(rows: Rows) -> dict[tuple[str, str], Decimal]:
    """Return the figures by account and month that rows of a kind hold, added up here; rows that are cut hold none."""
    head, found, above = rows[0], dict[tuple[str, str], Decimal](), ""
    for row in rows[1:]:
        cells = dict(zip(head, row, strict=False))
        above = cells.get("group") or above
        if len(cells.get("date", "")) != len("2025-01-31"):
            continue
        key = cells.get("account") or above, cells["date"][:7]
        amount = cells.get("amount") or cells.get("debit") or f"-{cells.get('credit', '')}"
        try:
            found[key] = found.get(key, Decimal(0)) + Decimal(amount)
        except InvalidOperation:
            continue
    return {key: amount for key, amount in found.items() if amount}


def text_of(rows: Rows) -> str:
    """Return rows as CSV."""
    return "".join(",".join(row) + "\n" for row in rows)


def outcome(folder: Path, path: Path) -> tuple[int, dict[tuple[str, str], Decimal]]:
    """Return the status of init, and the figures of what it wrote; a load that refuses counts as a refusal."""
    os.utime(path, (1_700_000_000, 1_700_000_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = initialised(folder / "books", path)
    found: dict[tuple[str, str], Decimal] = {}
    if status == DONE:
        books = opened(folder / "books")
        if isinstance(books, str):
            return REFUSES, {}
        rows = books.figures("amount", "2025-01..2025-12", dimensions=["account", "period"])
        found = {(key[0], key[1]): figure for key, figure in rows.items() if figure and len(key) == 2}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES << 10
    return status, found


def drawn(kind: str, fault: str, number: int) -> tuple[random.Random, Rows]:
    """Return rows of a kind, and what draws their fault; the seed stands in what a failure prints."""
    print(f"DOORS_SEED={SEED}")  # noqa: T201 - pytest shows it where a test fails
    draw = random.Random(f"{SEED} {kind} {fault} {number}")
    return draw, KINDS[kind](draw)


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_at_a_byte_is_asked_about_or_holds_what_stands_there(tmp_path: Path, kind: str, number: int) -> None:
    draw, rows = drawn(kind, "cut", number)
    text = text_of(rows)
    cut = text[: draw.randrange(len(text) // 3, len(text))]
    (tmp_path / "gl.csv").write_text(cut, encoding="utf-8")
    status, found = outcome(tmp_path, tmp_path / "gl.csv")
    if status == DONE:
        held = [line for line in cut.splitlines() if "2025-" in line]
        assert set(held) <= set(text.splitlines()), "a row that is cut is asked about"
        assert found == figures([line.split(",") for line in cut.splitlines()])


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_doubled_row_counts_twice_or_breaks_its_total(tmp_path: Path, kind: str, number: int) -> None:
    draw, rows = drawn(kind, "doubled", number)
    postings = [at for at, row in enumerate(rows) if at and row[rows[0].index("date")]]
    at = draw.choice(postings)
    rows.insert(at, rows[at])
    (tmp_path / "gl.csv").write_text(text_of(rows), encoding="utf-8")
    status, found = outcome(tmp_path, tmp_path / "gl.csv")
    assert status == (ASKS if kind == "grouped" else DONE)
    assert found == ({} if kind == "grouped" else figures(rows))


@pytest.mark.parametrize("number", range(TIMES))
def test_a_total_that_moved_is_asked_about(tmp_path: Path, number: int) -> None:
    draw, rows = drawn("grouped", "moved", number)
    total = draw.choice([row for row in rows if row[0].startswith("Total")])
    total[-1] = str(Decimal(total[-1]) + draw.choice([-1, 1]) * Decimal(draw.randrange(1, 10**6)).scaleb(-2))
    (tmp_path / "gl.csv").write_text(text_of(rows), encoding="utf-8")
    assert outcome(tmp_path, tmp_path / "gl.csv") == (ASKS, {})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252", "cp850", "mac-roman"])
@pytest.mark.parametrize("kind", KINDS)
def test_another_encoding_is_read_or_asked_about(tmp_path: Path, kind: str, encoding: str) -> None:
    _, rows = drawn(kind, encoding, 0)
    renamed = [[cell.replace("Bank", "Büro").replace("A1", "Ä1") for cell in row] for row in rows]
    (tmp_path / "gl.csv").write_bytes(text_of(renamed).encode(encoding))
    status, found = outcome(tmp_path, tmp_path / "gl.csv")
    if status == DONE and encoding in NAMED:
        assert found == figures(renamed)
    elif status == DONE:  # one word does not tell it: amounts are right, and the word is told with its row
        assert sorted(found.values()) == sorted(figures(renamed).values())


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_renamed_column_changes_no_figure(tmp_path: Path, kind: str, number: int) -> None:
    draw, rows = drawn(kind, "renamed", number)
    expected = figures(rows)
    rows[0][draw.choice([at for at, name in enumerate(rows[0]) if name in {"date", "text", "journal", "group"}])] = "zz"
    (tmp_path / "gl.csv").write_text(text_of(rows), encoding="utf-8")
    status, found = outcome(tmp_path, tmp_path / "gl.csv")
    if status == DONE:
        assert found == expected


def packed(kind: str, rows: Rows) -> bytes:
    """Return rows as a file of bytes that have an end of their own."""
    held = BytesIO()
    if kind == "gl.csv.gz":
        return gzip.compress(text_of(rows).encode())
    if kind == "gl.zip":
        with ZipFile(held, "w") as archive:
            archive.writestr("gl.csv", text_of(rows))
    elif kind == "gl.xls":
        old = xlwt.Workbook()
        sheet = old.add_sheet("gl")
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                sheet.write(at, column, float(cell) if at and column == 2 else cell)
        old.save(held)
    else:
        new = Workbook()
        for at, row in enumerate(rows):
            new.active.append([float(cell) if at and column == 2 else cell for column, cell in enumerate(row)])
        new.save(held)
    return held.getvalue()


@pytest.mark.parametrize("number", range(TIMES))
@pytest.mark.parametrize("kind", ["gl.csv.gz", "gl.zip", "gl.xls", "gl.xlsx"])
def test_a_packed_file_that_is_cut_or_changed_holds_what_stood_there_or_is_refused(
    tmp_path: Path, kind: str, number: int
) -> None:
    draw, rows = drawn("long", kind, number)
    whole = packed(kind, rows)
    (tmp_path / kind).write_bytes(whole)
    assert outcome(tmp_path, tmp_path / kind) == (DONE, figures(rows))
    (tmp_path / kind).write_bytes(whole[: draw.randrange(len(whole) // 3, len(whole))])
    status, found = outcome(tmp_path / "cut", tmp_path / kind)
    assert status != DONE or found == figures(rows)
