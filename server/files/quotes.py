"""Quotation marks: the first row of a CSV text whose marks do not pair."""

import csv
from collections.abc import Iterable, Iterator

from msgspec import Struct

LARGEST = 1 << 30  # characters of a value
TWICE = "write a quotation mark inside a value twice"


class LoosePair(Struct, frozen=True):
    """A quotation mark without the one that it pairs with: its row, and whether its value begins with one."""

    row: int
    begins: bool

    def __str__(self) -> str:
        """Return what is wrong with the row, and what to do about it."""
        if self.begins:
            return f'row {self.row}: a value begins with ", and that " has no end: {TWICE}, or remove it'
        return (
            f"row {self.row}: a value without quotation marks around it has one inside; set csv: {{quote: none}} if "
            f"the file has no others, else {TWICE}, and one at both ends of its value"
        )


def loose_pair(lines: Iterable[str], separator: str, mark: str) -> LoosePair | None:
    """Return the first quotation mark of a text that has no other; None if they all pair."""
    csv.field_size_limit(LARGEST)
    raw: list[str] = []  # lines of the row

    def taken() -> Iterator[str]:
        for line in lines:
            raw.append(line)
            yield line

    rows, row = csv.reader(taken(), delimiter=separator, quotechar=mark, strict=True), 0
    while True:
        row += 1
        raw.clear()
        try:
            values = next(rows, None)
        except csv.Error:
            return LoosePair(row, begins=True) if any(mark in line for line in raw) else None
        if values is None:
            return None
        odd = (value for value in values if value.count(mark) % 2)
        if any(mark + value.replace(mark, mark * 2) + mark not in "".join(raw) for value in odd):
            return LoosePair(row, begins=False)
