"""Rollups of the store: which questions read them, and that they go with the facts they sum.

What was read is told by taking files away: a question that needs one that is gone fails.
"""

import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from engine.door import open_books
from engine.facts import arrow
from engine.facts.arrow import ArrowFacts
from engine.facts.files import MappedFiles
from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import UNDATED, Partition, current_version, pin_current
from engine.facts.writer import stage
from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import ROWS, SPAN, Aggregate, AggregateFunction, Slice
from engine.model.scope import EVERYTHING, Cell, CodeSet, Conjunction
from tests.support.books.loads import load_instance
from tests.support.books.small import figure, write_instance
from tests.unit.engine.facts.test_store import (
    AMOUNT,
    FIRST,
    GL,
    SPANS,
    Fact,
    cells,
    facts_of,
    frame_of,
    load_of,
    opened,
)

BY_ACCOUNT = replace(GL, rollups=(("account",),))
BY_BOTH = replace(GL, rollups=(("account",), ("account", "centre")))
JANUARY, WHOLE = Span(FIRST, date(2021, 1, 31)), Span(FIRST, date(2021, 4, 30))
TWO = (Span(date(2021, 2, 1), date(2021, 2, 14)), Span(date(2021, 2, 15), date(2021, 2, 28)))
FIRST_OF_ALL = CodeSet(frozenset({1}))


def publish(root: Path, facts: Sequence[Fact], domain: Domain = BY_ACCOUNT, **how: Any) -> None:
    """Publish facts of a domain as one load."""
    with stage(root) as staged, TemporaryDirectory() as folder:
        landing = Landing(Path(folder), domain)
        landing.add(frame_of(facts))
        staged.facts(domain, landing, how.pop("load", load_of()), **how)
        staged.publish()


def store_of(root: Path, domain: Domain = BY_ACCOUNT) -> ArrowFacts:
    """Open the facts of the current version."""
    return ArrowFacts(MappedFiles(root), pin_current(root).manifest, {"gl": domain})


def parts_of(root: Path) -> list[Partition]:
    """Return the partitions of the current version that have dates."""
    return [part for part in pin_current(root).manifest.facts["gl"] if part.bucket != UNDATED]


def asked(*keys: str, span: Span = WHOLE, aggregates: Sequence[Aggregate] = AMOUNT) -> Slice:
    """Return a question of a span by some keys."""
    return Slice(domain="gl", scenario="actual", spans=(span,), keys=keys, aggregates=tuple(aggregates))


def total(root: Path, domain: Domain = BY_ACCOUNT) -> int:
    """Return everything of a scenario."""
    return int(store_of(root, domain).sums(asked(), EVERYTHING).collect()["amount"].sum())


def test_rows_are_counted_without_keys_and_measures(tmp_path: Path) -> None:
    publish(tmp_path, [("actual", date(2021, month, 3), "A", "x", 5, "") for month in (1, 1, 2)])
    assert store_of(tmp_path).sums(asked(aggregates=()), EVERYTHING).collect()[ROWS].sum() == 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keys", [(), ("account",), ("centre", "account")])
def test_sums_are_the_same_with_and_without(tmp_path: Path, seed: int, keys: tuple[str, ...]) -> None:
    publish(tmp_path, facts_of(seed), BY_BOTH)
    some, other = CodeSet(frozenset({1, 3})), CodeSet(frozenset({2}), complement=True)
    either = Cell.of([Conjunction.of({"account": some}), Conjunction.of({"centre": other})])
    for cell in (EVERYTHING, Cell.where("account", some), Cell.where("centre", other), either):
        for spans in (SPANS, (WHOLE,)):
            question = replace(asked(*keys), spans=spans)
            by = (SPAN, *keys)
            found, expected = (
                store_of(tmp_path, domain).sums(question, cell).collect().group_by(by).sum().sort(by)
                for domain in (BY_BOTH, GL)
            )
            assert found.equals(expected)
            assert found.schema == expected.schema


@pytest.mark.parametrize("keys", [(), ("account",), ("centre", "account")])
@pytest.mark.parametrize("spans", [(WHOLE,), (*SPANS, WITHOUT_DATE)])
def test_small_months_are_summed_together_as_large_ones_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spans: tuple[Span, ...], keys: tuple[str, ...]
) -> None:
    publish(tmp_path, facts_of(3), GL)
    _, store, codes = opened(tmp_path)
    question = replace(asked(*keys, aggregates=(*AMOUNT, Aggregate("amount", AggregateFunction.MAX))), spans=spans)
    sums = [pl.col("amount", ROWS).sum(), pl.col("amount.max").max()]
    for cell, _ in cells(codes):
        found = []
        for together in (arrow.JOINED_ROWS, 0):
            with monkeypatch.context() as patched:
                patched.setattr(arrow, "JOINED_ROWS", together)
                found.append(store.sums(question, cell).collect().group_by(SPAN, *keys).agg(sums).sort(SPAN, *keys))
        assert found[0].equals(found[1])
        assert found[0].is_empty() == cell.is_nothing
        assert found[0].schema == found[1].schema


def test_counts_of_rows_pass_thirty_two_bits(tmp_path: Path) -> None:
    """Release 0.3.0 wrote them in 32 bits."""
    billions = 3_000_000_000
    publish(tmp_path, [("actual", date(2021, month, 1), "A", "x", 1, "") for month in (1, 2)])
    for part, kind in zip(parts_of(tmp_path), (pl.UInt32, pl.Int64), strict=True):
        (rollup,) = part.rollups
        sums = pl.read_ipc(tmp_path / rollup.file)
        (tmp_path / rollup.file).unlink()
        sums.with_columns(pl.lit(billions, kind).alias(ROWS)).write_ipc(tmp_path / rollup.file)
    question = replace(asked("account"), spans=(JANUARY, Span(date(2021, 2, 1), WHOLE.last)))
    by_month = store_of(tmp_path).sums(question, EVERYTHING)
    assert by_month.collect()[ROWS].to_list() == [billions, billions]
    assert store_of(tmp_path).sums(asked("account"), EVERYTHING).collect()[ROWS].sum() == 2 * billions
    assert by_month.select(pl.col(ROWS).sum()).collect().item() == 2 * billions
    assert by_month.group_by("account").agg(pl.col(ROWS).sum()).collect()[ROWS].to_list() == [2 * billions]


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        (asked(), EVERYTHING),
        (asked("account"), EVERYTHING),
        (asked("account", span=JANUARY), Cell.where("account", FIRST_OF_ALL)),
        (asked(aggregates=()), Cell.where("account", ~FIRST_OF_ALL)),
    ],
)
def test_a_rollup_is_read_and_not_the_rows_where_it_holds_all_that_is_asked(
    tmp_path: Path, question: Slice, cell: Cell
) -> None:
    publish(tmp_path, facts_of(1))
    expected = store_of(tmp_path, GL).sums(question, cell).collect()
    shutil.rmtree(tmp_path / "facts")
    found = store_of(tmp_path).sums(question, cell).collect()
    assert found.sort(found.columns).equals(expected.sort(found.columns))
    with pytest.raises(Unavailable, match="No such file"):
        store_of(tmp_path, GL).sums(question, cell)


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        pytest.param(asked("centre"), EVERYTHING, id="a key that it lacks"),
        pytest.param(asked(), Cell.where("centre", FIRST_OF_ALL), id="a permission on what it lacks"),
        pytest.param(
            asked(),
            Cell.of([Conjunction.of({"account": FIRST_OF_ALL}), Conjunction.of({"centre": ~FIRST_OF_ALL})]),
            id="a permission of which one grant is on what it lacks",
        ),
        pytest.param(asked(span=Span(FIRST, date(2021, 1, 15))), EVERYTHING, id="part of a month"),
        pytest.param(asked(aggregates=(Aggregate("amount", AggregateFunction.MIN),)), EVERYTHING, id="a least amount"),
        pytest.param(
            asked(aggregates=(*AMOUNT, Aggregate("amount", AggregateFunction.MAX))),
            EVERYTHING,
            id="a largest beside sums",
        ),
        pytest.param(replace(asked(), spans=TWO), EVERYTHING, id="two spans in one month"),
    ],
)
def test_a_rollup_that_lacks_something_is_not_read(tmp_path: Path, question: Slice, cell: Cell) -> None:
    publish(tmp_path, facts_of(1))
    expected = store_of(tmp_path, GL).sums(question, cell).collect()
    shutil.rmtree(tmp_path / "rollups")
    found = store_of(tmp_path).sums(question, cell).collect()
    assert found.sort(found.columns).equals(expected.sort(found.columns))
    assert found.height


def test_at_the_edges_of_a_span_rows_are_read_and_rollups_between_them(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1))
    question = asked(span=Span(date(2021, 1, 15), date(2021, 3, 10)))
    expected = store_of(tmp_path, GL).sums(question, EVERYTHING).collect()
    for part in parts_of(tmp_path):
        (tmp_path / (part.file if part.bucket == "2021-02" else part.rollups[0].file)).unlink()
    assert store_of(tmp_path).sums(question, EVERYTHING).collect().equals(expected)


def test_the_members_that_occur_are_read_from_a_rollup(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1))
    cell = Cell.where("account", ~FIRST_OF_ALL)
    expected = store_of(tmp_path, GL).codes("gl", "actual", "account", cell)
    for part in parts_of(tmp_path):
        if part.rollups:
            (tmp_path / part.file).unlink()
    assert store_of(tmp_path).codes("gl", "actual", "account", cell) == expected
    with pytest.raises(Unavailable, match="No such file"):
        store_of(tmp_path).codes("gl", "actual", "centre", cell)


def test_the_smallest_rollup_is_read(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1), BY_BOTH)
    expected = total(tmp_path, GL)
    for part in parts_of(tmp_path):
        sizes = {rollup.dimensions: rollup.rows for rollup in part.rollups}
        assert sizes["account",] < sizes["account", "centre"] < part.rows
        (larger,) = (rollup.file for rollup in part.rollups if rollup.dimensions == ("account", "centre"))
        (tmp_path / larger).unlink()
    assert total(tmp_path, BY_BOTH) == expected


def test_a_rollup_that_is_declared_no_more_is_not_read_and_goes_with_the_next_load(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1))
    expected = total(tmp_path)
    (tmp_path / parts_of(tmp_path)[0].rollups[0].file).write_bytes(b"not looked at")
    assert total(tmp_path, GL) == expected
    publish(tmp_path, [], GL, load=load_of("another", 1))
    assert not any(part.rollups for part in parts_of(tmp_path))
    assert not (tmp_path / "rollups").exists() or not list((tmp_path / "rollups").rglob("*.arrow"))


def test_what_is_declared_later_is_derived_from_what_is_loaded(tmp_path: Path) -> None:
    late, early = tmp_path / "late", tmp_path / "early"
    publish(early, facts_of(2), BY_BOTH)
    publish(late, facts_of(2), GL)
    assert derived(late, BY_ACCOUNT) == len(parts_of(late))
    derived(late, BY_BOTH)
    assert [part.rollups for part in parts_of(late)] == [part.rollups for part in parts_of(early)]
    files = [rollup.file for part in parts_of(late) for rollup in part.rollups]
    assert [(late / file).read_bytes() for file in files] == [(early / file).read_bytes() for file in files]
    version = current_version(late)
    assert derived(late, BY_BOTH) == 0
    assert current_version(late) == version  # nothing to do, no new version
    derived(late, GL)
    assert not any(part.rollups for part in parts_of(late))


def derived(root: Path, domain: Domain) -> int:
    """Build the rollups of a domain as it is declared by now, and return how many were built."""
    with stage(root) as staged:
        count = staged.derive({"gl": domain})
        staged.publish()
    return count


def test_a_domain_that_is_gone_from_the_files_is_left_as_it_is(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(2))
    before = pin_current(tmp_path).manifest
    with stage(tmp_path) as staged:
        assert staged.derive({}) == 0
        staged.publish()
    assert pin_current(tmp_path).manifest == before


def test_a_month_that_is_replaced_in_part_gets_its_rollup_anew(tmp_path: Path) -> None:
    facts = facts_of(3)
    gone = Span(date(2021, 1, 10), date(2021, 1, 20))
    publish(tmp_path, facts)
    publish(tmp_path, [], load=load_of(at=1), mode=LoadMode.REPLACE_PERIODS, span=gone)
    shutil.rmtree(tmp_path / "facts")
    left = [fact[4] for fact in facts if fact[0] == "actual" and fact[1] and not gone.holds(fact[1])]
    assert total(tmp_path) == sum(left)


def test_rows_without_a_date_and_sums_past_63_bits_have_no_rollup(tmp_path: Path) -> None:
    huge = 2**62
    facts: list[Fact] = [
        *([("actual", FIRST, "A", "x", huge, "")] * 5),
        ("actual", None, "A", "x", 1, ""),
        ("actual", date(2021, 2, 1), "A", "x", 7, ""),
    ]
    publish(tmp_path, facts)
    held = {part.bucket: len(part.rollups) for part in pin_current(tmp_path).manifest.facts["gl"]}
    assert held == {UNDATED: 0, "2021-01": 0, "2021-02": 1}
    found = store_of(tmp_path).sums(asked("account"), EVERYTHING).collect()
    assert sorted(found["amount"].to_list()) == [7, 5 * huge]  # of one type, wherever they were read


def test_a_dimension_that_older_rows_lack_leaves_them_without_its_rollup(tmp_path: Path) -> None:
    publish(tmp_path, facts_of(1), GL)
    with_entity = replace(
        GL, dimensions={**GL.dimensions, "entity": "entity"}, rollups=(("account", "entity"), ("account",))
    )
    derived(tmp_path, with_entity)
    assert {rollup.dimensions for part in parts_of(tmp_path) for rollup in part.rollups} == {("account",)}


def test_rollups_follow_codes_that_outgrow_their_width(tmp_path: Path) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load=load_of("old"))
    publish(tmp_path, [("actual", FIRST, f"K{at:04}", "x", 1, "") for at in range(400)], load=load_of("new", 1))
    shutil.rmtree(tmp_path / "facts")
    found = store_of(tmp_path).sums(asked("account"), EVERYTHING).collect()
    assert sorted(found["account"]) == list(range(1, 402))
    assert found[ROWS].sum() == 401


def test_a_profile_reads_a_rollup_only_where_it_has_every_dimension_of_its_restrictions(tmp_path: Path) -> None:
    facts = "\n".join(
        f"2021-0{month}-05 actual {account} {region} {month}.00"
        for month in (1, 2)
        for account in "AB"
        for region in ("EU", "US")
    )
    instance = write_instance(
        tmp_path / "books",
        facts={"gl": f"date scenario account region amount\n{facts}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account, region: region}
            rollups: [[account]]
            measures: {amount: {places: 2}}
            metrics: {all: {measure: amount}}
            """
        },
        dimensions="account: {kind: leaf}\nregion: {kind: leaf}\n",
        profiles="""
            europe: {scenarios: {actual: {dimensions: {region: {allow: [EU]}}}}}
            not_us: {scenarios: {actual: {dimensions: {region: {deny: [US]}}}}}
            one: {scenarios: {actual: {dimensions: {account: {deny: [B]}}}}}
        """,
    )
    load_instance(instance, tmp_path / "state")

    def year(profile: str | None, **filters: str) -> str:
        books = open_books(instance, state=tmp_path / "state", profile=profile)
        return str(figure(books.metric("all", scenarios={"A": "actual"}, period="2021", filters=filters)))

    for file in (tmp_path / "state" / "store" / "rollups").rglob("*.arrow"):
        poison(file)
    assert year("europe") == "6"
    assert year("not_us") == "6"
    assert year("europe", account="A") == "3"
    assert year(None) == "1200"  # who may see all of it is answered from the rollup, poisoned as it is
    assert year("one") == "600"


def poison(rollup: Path) -> None:
    """Let a rollup say a hundredfold, so that whatever reads it can be told."""
    frame = pl.read_ipc(rollup.read_bytes()).with_columns(pl.col("amount") * 100)
    frame.write_ipc(rollup, compat_level=pl.CompatLevel.newest())
