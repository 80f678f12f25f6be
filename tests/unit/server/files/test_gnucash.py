"""GnuCash books: their splits are facts, with the paths of their accounts and their amounts to the last digit."""

import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from server.ingest.load import BindingFailed
from tests.support.books.loads import load_feeds
from tests.support.books.newcomer import first_statement, initialised

TABLES = """
create table books (guid text, root_account_guid text, root_template_guid text);
create table commodities (guid text, namespace text, mnemonic text);
create table accounts (guid text, name text, account_type text, parent_guid text, code text, placeholder integer);
create table transactions (guid text, currency_guid text, num text, post_date text, enter_date text, description text);
create table splits (guid text, tx_guid text, account_guid text, memo text, action text, reconcile_state text,
  value_num bigint, value_denom bigint, quantity_num bigint, quantity_denom bigint);
"""
ACCOUNTS = [
    ("root", "Root Account", "ROOT", None), ("template", "Template Root", "ROOT", None),
    ("assets", "Assets", "ASSET", "root"), ("bank", "Bank", "BANK", "assets"), ("food", "Food", "EXPENSE", "root"),
    ("planned", "Planned", "BANK", "template"),
]  # fmt: skip
SPLITS = [  # entry, account, value
    ("t1", "bank", -1050, 100), ("t1", "food", 1050, 100), ("t2", "bank", -205, 100), ("t2", "food", 205, 100),
    ("t3", "bank", 7, 1), ("t3", "food", -7000, 1000), ("t3", "planned", 99, 1),
]  # fmt: skip


def gnucash(path: Path, *days: str, extra: tuple[object, ...] | None = None) -> Path:
    """Write a book of three transactions on some days; `extra` is a split more."""
    with sqlite3.connect(path) as book:
        book.executescript(TABLES)
        book.execute("insert into books values ('b', 'root', 'template')")
        book.execute("insert into commodities values ('eur', 'CURRENCY', 'EUR')")
        book.executemany("insert into accounts values (?, ?, ?, ?, '', 0)", ACCOUNTS)
        lines = [(f"t{at}", day) for at, day in enumerate(days, 1)]
        book.executemany("insert into transactions values (?, 'eur', '', ?, ?, 'x')", [(*one, one[1]) for one in lines])
        splits = [*SPLITS, *([extra] if extra else [])]
        made = [(f"s{at}", *split, *split[2:]) for at, split in enumerate(splits)]
        book.executemany("insert into splits values (?, ?, ?, '', '', 'n', ?, ?, ?, ?)", made)
    book.close()
    return path


@pytest.mark.parametrize(
    "days",
    [
        ("2025-01-05 10:59:00", "2025-02-06 10:59:00", "2025-02-07 10:59:00"),
        ("20250105105900", "20250206105900", "20250207105900"),
    ],
)
def test_a_book_is_read_at_once(tmp_path: Path, days: tuple[str, ...]) -> None:
    path = gnucash(tmp_path / "household.gnucash", *days)
    assert initialised(tmp_path / "books", path) == 0
    feed = yaml.safe_load((tmp_path / "books" / "integrations.yaml").read_text(encoding="utf-8"))["bindings"][
        "household"
    ]
    assert feed["extract"].startswith("with recursive paths")
    held = first_statement(tmp_path / "books", tmp_path / "state")
    assert {key: held[key] for key in ("Assets:Bank", "Food", "Amount")} == {
        "Assets:Bank": Decimal("-5.55"),  # -10.50 - 2.05 + 7
        "Food": Decimal("5.55"),
        "Amount": Decimal(0),
    }


def test_a_value_that_has_no_decimal_digits_is_rejected(tmp_path: Path) -> None:
    days = ("2025-01-05 10:59:00", "2025-02-06 10:59:00", "2025-02-07 10:59:00")
    path = gnucash(tmp_path / "household.gnucash", *days, extra=("t3", "food", 1, 3))
    assert initialised(tmp_path / "books", path) == 0
    with pytest.raises(BindingFailed, match=r"1 of 7 rows rejected, 0 allowed: 1 amount is no number"):
        load_feeds(tmp_path / "books", tmp_path / "state")


def test_a_book_in_xml_is_named_with_the_way_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "book.gnucash").write_bytes(b"\x1f\x8b")
    assert initialised(tmp_path / "books", tmp_path / "book.gnucash") == 1
    assert "is a GnuCash book in XML, which is not read: save it as SQLite" in capsys.readouterr().err
