"""Formulas: what is known of the formulas and the hidden rows of a sheet; those of OpenDocument are counted here."""

import re
from typing import IO, Final
from xml.etree import ElementTree as ET

from msgspec import Struct

from server.files.extents import CellReach, letters_of

ZERO: Final = re.compile(rb"-?0(\.0*)?(E.*)?")


class Formulas(Struct, frozen=True):
    """The formulas of a sheet: how many, the first cell of one, and the first without a stored value; its hidden rows.

    A filter hides the rows that it does not show.
    """

    count: int = 0
    first: str | None = None
    unvalued: str | None = None
    hidden: int = 0
    zeros: frozenset[str] = frozenset()  # the columns of formulas, as A, if all of the sheet read 0
    is_hidden_sheet: bool = False

    def __str__(self) -> str:
        """Say that all of them read 0, and why that may be wrong."""
        only = self.count == 1
        says = (
            f"its one formula, in {self.first}," if only else f"all its {self.count:,} formulas, from {self.first} on,"
        )
        return f"{says} read{'s' if only else ''} 0, as in files of programs that compute nothing"


def counted_cells(file: IO[bytes], name: str, sheet: str) -> Formulas:
    """Return the formulas of a sheet of an OpenDocument workbook. Raises FileTooLarge."""
    reach = CellReach(name)
    row = column = count = zeros = hidden = 0
    is_here = False
    first = unvalued = None
    columns: set[str] = set()
    for event, node in ET.iterparse(file, events=("start", "end")):  # noqa: S314 - expat itself ends what expands
        kind, said = node.tag.rpartition("}")[2], {key.rpartition("}")[2]: text for key, text in node.attrib.items()}
        if event == "end":
            if kind in {"table-row", "table"}:
                node.clear()
            continue
        if kind == "table":
            is_here = said.get("name") == sheet
        elif is_here and kind == "table-row":
            repeated = int(said.get("number-rows-repeated", "1"))
            hidden += repeated if said.get("visibility", "visible") != "visible" else 0
            row, column = row + repeated, 0
        elif is_here and kind in {"table-cell", "covered-table-cell"}:
            column += int(said.get("number-columns-repeated", "1"))
            if "value-type" in said:
                reach.refuse_beyond(row, column)
            if "formula" in said:
                address = f"{letters_of(column)}{row}"
                first, count = first or address, count + 1
                columns.add(letters_of(column))
                unvalued = unvalued or (None if "value-type" in said else address)
                zeros += bool(ZERO.fullmatch(said.get("value", "").encode()))
    return Formulas(count, first, unvalued, hidden, frozenset(columns) if zeros == count else frozenset())
