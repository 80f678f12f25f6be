"""Cut ends: what looks as if the end of a text file were missing."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from server.files.dialect import PIECE, TextTable

AMOUNT: Final = re.compile(r"-?[\d,]*\.?\d+")
FEWEST: Final = 2  # rows of which the last may look cut


class CutEnd(Struct, frozen=True):
    """What looks as if the end of a file were missing, and the number of its last row."""

    says: str
    row: int
    is_short: bool = False  # whether the last row lacks values, which no sum excuses


def cut_end(path: Path, table: TextTable, *, whole: bool) -> CutEnd | None:
    """Return what looks as if the end of a text file were missing; None if nothing does."""
    rows = [(row, record) for row, record in enumerate(table.records, 1) if any(map(str.strip, record))]
    filled = [record for row, record in rows if row > table.header_row]
    if len(filled) < FEWEST:
        return None
    with path.open("rb") as file:
        file.seek(-min(PIECE, path.stat().st_size), os.SEEK_END)
        end = file.read()
    width = len(table.columns)
    if whole and len(filled[-1]) < width and all(len(record) >= width for record in filled[:-1]):
        says = f"the last row has {len(filled[-1])} values, and the rows above have {width}"
        return CutEnd(says, rows[-1][0], is_short=True)
    marks = b"\n" if b"\n" in end else b"\r"
    if is_whole_value(filled):
        return None
    return CutEnd("the last row has no end of line, as all others have", rows[-1][0]) if marks not in end[-2:] else None


def is_whole_value(records: Sequence[Sequence[str]]) -> bool:
    """Tell whether the last value of some records is not cut: it occurs above, or has as many places as all above."""
    last, above = records[-1][-1], [record[-1] for record in records[:-1] if len(record) == len(records[-1])]
    places = {len(text.rpartition(".")[2]) if "." in text else 0 for text in (last, *above) if text}
    if AMOUNT.fullmatch(last):
        return len(places) == 1 and 0 not in places and all(AMOUNT.fullmatch(text) for text in above if text)
    return bool(last) and last in above
