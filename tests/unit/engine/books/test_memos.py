"""The memos of the books: as large as their bound, however many profiles ask."""

from pathlib import Path

import pytest

from engine.books import books as opened_books
from engine.books.reader import Reader
from engine.door import Door
from engine.model.exact import Exact
from engine.model.profiles import Grant, Profile
from engine.model.scope import Cut
from engine.plans import base_groups
from tests.support.small import LEDGER, small_books

MEMBERS, PROFILES = 2_000, 90
SHARE = 10  # the bound is so many times less here: as many profiles reach it with so many fewer members


def test_the_memos_of_many_profiles_are_bounded_by_the_members_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = opened_books.MEMO_MEMBERS // SHARE
    monkeypatch.setattr(opened_books, "MEMO_MEMBERS", bound)
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
    assert bound / 2 < books._memo_members <= bound
    assert sum(size for _, size in books._memos.values()) == books._memo_members


def test_the_combinations_that_a_large_report_meets_are_kept_up_to_a_bound_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_groups, "KEPT_TARGETS", 5)
    rows = "\n".join(f"2021-01-05 actual M{number} {number}" for number in range(100))
    books = small_books(
        tmp_path,
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\n" + "\n".join(f"M{number}" for number in range(100))},
    )
    for _ in range(2):
        report = books.metric("revenue", scenarios={"A": "actual"}, period="2021", dimensions=["product"])
        assert [figure.as_json() for figure in report.figures[0][0]] == [*range(100), 4950]
    memos = books.reader._books._memos
    ((made, size),) = (memo for key, memo in memos.items() if key[:1] == ("for all",) and "base_groups" in key[1])
    assert all(len(group._targets) == 5 for groups in made for group in groups)
    assert size == 1 + 101 + 101 + 5  # the memo; members of the axis and codes, with the unassigned; targets


def test_amounts_kept_for_a_filter_are_not_taken_for_those_of_who_sees_only_what_it_keeps(tmp_path: Path) -> None:
    north = "\n".join(f"2021-{month:02}-05 actual north 7" for month in range(1, 13))
    south = "2021-06-05 actual south 100\n2021-09-05 actual south 1000"  # in fewer months than the north
    whole = small_books(
        tmp_path,
        facts={"gl": f"date scenario product amount\n{north}\n{south}"},
        domains={"gl": LEDGER.replace("dimensions: {}", "dimensions: {product: product}")},
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\nnorth\nsouth"},
    )
    of_south = Grant(dimensions=(Cut("product", ("south",)),))
    part = Door(whole._shelf, Profile(key="south", grants=(("*", of_south),)))
    for door, filters in ((whole, {"product": ["south"]}), (part, {"product": ["south"]}), (part, {})):
        report = door.metric(
            "revenue", scenarios={"A": "actual"}, period=("2021-01", "2021-12"), dimensions=["period"], filters=filters
        )
        shown = [figure.as_json() if isinstance(figure, Exact) else None for figure in report.figures[0][0]]
        assert shown == [*[None] * 5, 100, None, None, 1000, None, None, None, 1100]
