"""Rows of a side as the oracle reads them: each with its term, and which of them lie in some days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from tests.differential.books import PostedRow
from tests.differential.references import WrittenTerm


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row, and the term of a side that it comes from."""

    row: PostedRow
    term: WrittenTerm


def inside(rows: Sequence[SideRow], first: date, last: date) -> tuple[SideRow, ...]:
    """Return the rows whose periods lie in some days."""
    return tuple(each for each in rows if each.row.period.first >= first and each.row.period.last <= last)
