"""GnuCash books: the splits of one that is an SQLite file, joined with their transactions, accounts and currencies."""

from pathlib import Path
from typing import Final

from server.feeds.feeds import SourceKind
from server.files.database_samples import DatabaseTable
from server.files.findings import SampleFault

MARK: Final = b"SQLite format 3\0"
TABLES: Final = ("accounts", "books", "commodities", "splits", "transactions")
POWERS: Final = ", ".join(str(10**places) for places in range(10))
PATHS: Final = (  # of accounts below the root of the book: those of templates stand below another root
    "with recursive paths(guid, path) as (select guid, name from accounts where parent_guid in (select "
    "root_account_guid from books) union all select accounts.guid, paths.path || ':' || accounts.name from accounts "
    "join paths on accounts.parent_guid = paths.guid)"
)
DAY: Final = (  # as releases from 2.7 on write it, and those before
    "case when t.post_date like '____-__-__%' then substr(t.post_date, 1, 10) else substr(t.post_date, 1, 4) || '-' || "
    "substr(t.post_date, 5, 2) || '-' || substr(t.post_date, 7, 2) end"
)
AMOUNT: Final = (  # a fraction as its decimal digits: a denominator that is no power of ten makes no number, and a
    # point before four digits or more marks no thousands
    f"case when s.value_denom in ({POWERS}) then case when s.value_num < 0 then '-' else '' end || "
    "(abs(s.value_num) / s.value_denom) || '.' || substr(s.value_denom + abs(s.value_num) % s.value_denom, 2) || "
    "'0000' else s.value_num || '/' || s.value_denom end"
)
QUERY: Final = (
    f"{PATHS} select {DAY} as date, paths.path as account, a.account_type as type, c.mnemonic as currency, t.guid as "  # noqa: S608 - texts of this module
    f"entry, t.description as description, s.memo as memo, {AMOUNT} as amount from splits s join transactions t on "
    "t.guid = s.tx_guid join accounts a on a.guid = s.account_guid join paths on paths.guid = a.guid join "
    "commodities c on c.guid = t.currency_guid"
)


def gnucash_book(path: Path) -> DatabaseTable | None:
    """Return the splits of a GnuCash book; None if a file is no SQLite file that holds one."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            return None
    book = DatabaseTable(kind=SourceKind.SQLITE, place=str(path), table=path.stem, statement=QUERY)
    try:
        names = book.rows("select name from sqlite_master where type = 'table'")["name"]
    except SampleFault:
        return None
    return book if set(TABLES) <= set(names) else None
