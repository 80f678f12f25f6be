"""The law of kept reports: one opens only for whoever may see every row that it may have been made of."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from engine.door import open_books
from engine.model.errors import ExpiredReference, Refusal
from tests.laws.scoped.books import GL, ScopedBooks, ScopedRow, random_books
from tests.laws.scoped.cutting import Sight
from tests.laws.scoped.profiles import ProfileSpec, profiles_asked
from tests.laws.scoped.writing import profiles_text, write
from tests.support.books.loads import load_instance
from tests.support.engines.memory import folder_in_memory

ASKED: dict[str, Any] = {
    "scenarios": {"A": "actual", "B": "budget", "V": "var(actual,budget)"},
    "period": ("2020-01", "2020-03"),
}


@st.composite
def changed_profiles(draw: st.DrawFn) -> tuple[ScopedBooks, ProfileSpec, ProfileSpec]:
    """Draw books, a profile, and what becomes of it: mostly another."""
    books = draw(random_books())
    before, *_ = draw(profiles_asked(books.world))
    after, *_ = draw(profiles_asked(books.world))
    return books, before, draw(st.sampled_from((before, after, after)))


def visible(books: ScopedBooks, profile: ProfileSpec) -> list[ScopedRow]:
    """Return the rows of the ledger that a profile shows."""
    sight = Sight(books, [profile])
    return [row for row in books.rows if row.domain == GL and sight.sees(row, [row.scenario])]


@given(known=changed_profiles())
def test_a_kept_report_opens_only_for_whoever_sees_every_row_behind_it(
    known: tuple[ScopedBooks, ProfileSpec, ProfileSpec],
) -> None:
    books, before, now = known
    with folder_in_memory() as folder:
        home = folder
        written = write(books, [before], home / "books")
        load_instance(written, home / "state")
        door = open_books(written, state=home / "state", profile="p0")
        try:
            report = door.metric("revenue", "closing", **ASKED)
        except Refusal:
            assume(False)
        door.keep(report, home / "kept")
        (written / "profiles.yaml").write_text(profiles_text([now]))
        try:
            open_books(written, state=home / "state", profile="p0").open(home / "kept")
        except ExpiredReference:
            assert now != before
        else:
            read = {column.scenario for column in report.columns}
            after = visible(books, now)
            assert all(row in after for row in visible(books, before) if row.scenario in read)
