"""What Books keep: as much as their bound, however many profiles ask."""

from pathlib import Path

from engine.books.books import KEPT
from engine.books.reader import Reader
from engine.model.profiles import Grant, Profile
from engine.model.scope import Cut
from tests.support.small import small_books

MEMBERS, PROFILES = 20_000, 90


def test_what_is_worked_out_for_many_profiles_is_bounded_by_the_members_it_holds(tmp_path: Path) -> None:
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario product amount\n2021-01-05 actual M1 1"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            """
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\n" + "\n".join(f"M{number}" for number in range(MEMBERS))},
    ).reader._books
    for number in range(PROFILES):
        half = tuple(f"M{member}" for member in range(MEMBERS) if member % 2 or member == 2 * number)
        grant = Grant(dimensions=(Cut("product", half),))
        reader = Reader(books, [Profile(key=f"p{number}", grants=(("*", grant),))])
        assert len(reader.visible("product")) == MEMBERS // 2 + 1
    assert KEPT / 2 < books._kept <= KEPT
    assert sum(size for _, size in books._memos.values()) == books._kept
