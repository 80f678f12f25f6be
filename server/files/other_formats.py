"""Other formats: files of packages and authorities that are no tables, named with what their program can export."""

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

HEAD: Final = 4_096  # bytes that tell a format
LEDGER_LIST: Final = "export the journal, or the list of accounts by month, as CSV or XLSX"


class OtherFormat(Struct, frozen=True):
    """A format that is not read: what its first bytes or the ending of its name are, and the way on."""

    name: str
    way: str
    mark: re.Pattern[bytes] | None = None  # in its first bytes
    endings: tuple[str, ...] = ()

    def fits(self, ending: str, head: bytes) -> bool:
        """Tell whether a file is written in it: by its bytes, else by its ending."""
        return bool(self.mark.search(head)) if self.mark is not None else ending in self.endings


BOOKINGS: Final = "export the bookings of the account as CSV, a row each with its day and amount"
SAME_ROWS: Final = "export the same rows as CSV or XLSX from the program that wrote it"
DATEV: Final = (
    "export the account sheets (Kontenblätter) or the totals and balances (Summen- und Saldenliste) as CSV or XLSX"
)
OTHER_FORMATS: Final = (
    OtherFormat("a DATEV batch (EXTF)", DATEV, re.compile(rb'^(\xef\xbb\xbf)?"?(EXTF|DTVF)"?;')),
    OtherFormat("a SAF-T file", LEDGER_LIST, re.compile(rb"(?i)<\s*([\w.-]+:)?AuditFile\b")),
    OtherFormat("a JPK file", LEDGER_LIST, re.compile(rb"<\s*([\w.-]+:)?JPK\b")),
    OtherFormat("an XBRL instance", SAME_ROWS, re.compile(rb"(?i)<\s*xbrli?:xbrl")),
    OtherFormat("a bank statement in camt.053", BOOKINGS, re.compile(rb"urn:iso:std:iso:20022:tech:xsd:camt\.05")),
    OtherFormat(
        "a bank statement in MT940", BOOKINGS, re.compile(rb"(?m)^:20:[^\r\n]*\r?\n(:[0-9A-Z]+:[^\r\n]*\r?\n)*?:25:")
    ),
    OtherFormat("a SIE file", LEDGER_LIST, re.compile(rb"(?m)^#FLAGGA\s")),
    OtherFormat("an OFX file", BOOKINGS, re.compile(rb"(?i)OFXHEADER|<OFX>")),
    OtherFormat("a QIF file", BOOKINGS, re.compile(rb"^!Type:")),
    OtherFormat("an IIF file", LEDGER_LIST, re.compile(rb"^!(TRNS|HDR|ACCNT)\t")),
    OtherFormat(
        "num of the SEC's financial statements",
        "its segments and its spans (qtrs) are no parts of a total; load it by a feed with sql, docs/recipes/files.md",
        re.compile(rb"^(\xef\xbb\xbf)?adsh\ttag\tversion\t"),
    ),
    OtherFormat(
        "a GnuCash book in XML",
        "save it as SQLite (File, Save As, sqlite3), or export its transactions as CSV",
        endings=(".gnucash",),
    ),
    OtherFormat("an SQLite database", "name a table of it, as sqlite:FILE:TABLE", re.compile(rb"^SQLite format 3\0")),
    OtherFormat("a ledger of beancount", "export it with bean-query as CSV", endings=(".beancount", ".bean")),
    OtherFormat(
        "a ledger of ledger or hledger",
        "export it with `hledger register -O csv`, or `ledger csv`",
        endings=(".ledger", ".hledger", ".journal"),
    ),
    OtherFormat("an XML file", SAME_ROWS, re.compile(rb"^(\xef\xbb\xbf)?\s*<\?xml")),
    OtherFormat("a PDF", SAME_ROWS, re.compile(rb"^%PDF-")),
)


def other_format(path: Path) -> str | None:
    """Return what a file is that is no table, with the way on; None if it may be one."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    ending = path.suffix.lower()
    known = next((one for one in OTHER_FORMATS if one.fits(ending, head)), None)
    return f"{path.name} is {known.name}, which is not read: {known.way}" if known else None
