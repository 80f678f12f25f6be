"""The fact store: last known values, distinct members and questions that are asked together, against plain Python.

The questions are asked of every implementation in STORES.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from engine.facts.manifest import pin_current
from engine.model.calendar.periods import Span
from engine.model.errors import BadArguments
from engine.model.fact_store import (
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    AggregateFunction,
    DistinctSlice,
    LastKnownSlice,
    Question,
    RowSlice,
    Slice,
    SumTooLarge,
)
from engine.model.scope import EVERYTHING, NOTHING
from engine.model.stopping import never
from tests.support.engines.warehouses import DEEP
from tests.unit.engine.facts.test_store import (
    AMOUNT,
    FIRST,
    GL,
    SPANS,
    STORES,
    Fact,
    cells,
    every_loaded_store,
    every_store,
    facts_of,
    load_of,
    opened,
    publish,
)

pytestmark = pytest.mark.usefixtures("stores_in_warehouses", "attached_stores")
HALVES = (*SPANS[:2], Span(date(2021, 2, 20), date(2021, 2, 28)), Span(date(2021, 3, 1), date(2021, 4, 9)))
MONTHS = (1, 2, 2, 4)  # the numbers of their periods
WINDOWS = ((0,), (0, 1), (1, 2), (0, 1, 2, 3), ())
RUNS = tuple(range(first, after) for _ in range(2) for first in range(5) for after in range(first, 5))  # each twice
ODD = pl.Series([0, 1, 0, 1, 0], dtype=pl.UInt32)  # groups of the codes of an account
LARGEST = Aggregate("amount", AggregateFunction.MAX)
LAST = LastKnownSlice(
    domain="gl",
    scenario="actual",
    spans=HALVES,
    periods=MONTHS,
    windows=WINDOWS,
    leaves=("account", "centre"),
    keys=("account",),
    aggregates=(*AMOUNT, LARGEST),
)
DISTINCT = DistinctSlice(domain="gl", scenario="actual", spans=SPANS, keys=("account",), counted="centre")
SUMS = Slice(domain="gl", scenario="actual", spans=SPANS[:1], keys=("account",), aggregates=AMOUNT)
ROW_SLICE = RowSlice(domain="gl", scenario="actual", span=None, columns=("amount",), limit=3)
Codes = Mapping[str, Mapping[str | None, int]]


def last_known(
    facts: list[Fact], windows: Sequence[Sequence[int]], keys: tuple[str, ...], codes: Codes
) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """Return the sums, maxima and counts of the last period of each leaf, by window, period and key."""
    found: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for window, read in enumerate(windows):
        inside: dict[tuple[str | None, str | None], list[tuple[int, int]]] = defaultdict(list)
        for _, day, account, centre, amount, _ in facts:
            for place in read:
                if day and HALVES[place].holds(day):
                    inside[account, centre].append((MONTHS[place], amount))
        for (account, centre), rows in inside.items():
            leaf = {"account": codes["account"][account], "centre": codes["centre"][centre]}
            last = max(period for period, _ in rows)
            found[window, last, *(leaf[key] for key in keys)] += [amount for period, amount in rows if period == last]
    return {group: (sum(amounts), max(amounts), len(amounts)) for group, amounts in found.items()}


@every_store
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("windows", "aggregates"),
    [(WINDOWS, LAST.aggregates), (RUNS, LAST.aggregates), (RUNS, AMOUNT), (RUNS, ())],
    ids=["few", "many", "many sums", "many counts"],
)
def test_last_known_values_are_those_of_plain_python(
    tmp_path: Path, kind: str, seed: int, windows: Sequence[Sequence[int]], aggregates: tuple[Aggregate, ...]
) -> None:
    facts = facts_of(seed, 60)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    odd = {"account": {account: code % 2 for account, code in codes["account"].items()}, "centre": codes["centre"]}
    for cell, allowed in cells(codes):
        mine = [fact for fact in facts if fact[0] == "actual" and allowed(fact[2], fact[3])]
        for keys, groups in (
            ((), {}),
            (("account",), {}),
            (("centre", "account"), {}),
            (("account",), {"account": ODD}),
        ):
            asked = replace(LAST, windows=windows, keys=keys, groups=groups, aggregates=aggregates)
            found = store.last_known(asked, cell).collect()
            assert found.columns == [SPAN, PERIOD, *keys, *(known.column for known in aggregates), ROWS]
            width, shown = 2 + len(keys), [*range(len(aggregates)), -1]
            expected = last_known(mine, windows, keys, odd if groups else codes)
            assert {row[:width]: row[width:] for row in found.iter_rows()} == {
                group: tuple(amounts[at] for at in shown) for group, amounts in expected.items()
            }


@every_store
def test_a_domain_without_leaves_has_one_last_period(tmp_path: Path, kind: str) -> None:
    facts: list[Fact] = [("actual", FIRST, "A", "x", 1, ""), ("actual", date(2021, 2, 10), "B", "x", 2, "")]
    publish(tmp_path, facts, load_of())
    _, store, _ = opened(tmp_path, kind)
    asked = replace(LAST, leaves=(), keys=(), windows=((0, 1),))
    assert store.last_known(asked, EVERYTHING).collect().rows() == [(0, 2, 2, 2, 1)]
    many = store.last_known(replace(asked, windows=(range(2),) * 20), EVERYTHING).collect()
    assert sorted(many.rows()) == [(at, 2, 2, 2, 1) for at in range(20)]


@every_store
@pytest.mark.parametrize("seed", range(4))
def test_distinct_members_are_those_of_plain_python(tmp_path: Path, kind: str, seed: int) -> None:
    facts = facts_of(seed, 60)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    ways: tuple[tuple[dict[str, Any], Callable[[int], int]], ...] = (
        ({}, lambda code: code),
        ({"account": ODD}, lambda code: code % 2),
    )
    for cell, allowed in cells(codes):
        for counted in ("centre", "account"):
            for groups, group in ways:
                expected = {
                    (
                        place,
                        group(codes["account"][account]),
                        codes[counted][{"account": account, "centre": centre}[counted]],
                    )
                    for scenario, day, account, centre, *_ in facts
                    for place, span in enumerate(SPANS)
                    if scenario == "actual" and day and span.holds(day) and allowed(account, centre)
                }
                found = store.distinct(replace(DISTINCT, counted=counted, groups=groups), cell).collect()
                assert found.columns == [SPAN, "account", VALUE]
                assert set(found.rows()) == expected
                assert found.height == len(expected)


@every_store
@pytest.mark.parametrize("asked", [LAST, DISTINCT])
def test_more_groups_than_a_question_allows_are_refused(
    tmp_path: Path, kind: str, asked: LastKnownSlice | DistinctSlice
) -> None:
    publish(tmp_path, facts_of(1), load_of())
    _, store, _ = opened(tmp_path, kind)
    (found,) = store.collect([Question(asked, EVERYTHING)], never)
    for most in (found.height, found.height - 1):
        question = Question(replace(asked, most=most), EVERYTHING, lambda frame: frame.head(1))
        with nullcontext() if most == found.height else pytest.raises(BadArguments, match=f"more than {most:,}"):
            assert store.collect([question], never)[0].height == 1


@every_store
def test_rows_of_some_leaves_alone_are_those_of_plain_python(tmp_path: Path, kind: str) -> None:
    facts = facts_of(2)
    publish(tmp_path, facts, load_of())
    _, store, codes = opened(tmp_path, kind)
    wanted = [("A", "x"), ("B", None)]
    leaves = pl.DataFrame(
        [(codes["account"][account], codes["centre"][centre]) for account, centre in wanted],
        schema=["account", "centre"],
        orient="row",
    )
    found = store.rows(replace(ROW_SLICE, limit=None, leaves=leaves), EVERYTHING).collect()
    mine = [fact[4] for fact in facts if fact[0] == "actual" and fact[2:4] in wanted]
    assert sorted(found["amount"]) == sorted(mine)
    first = store.rows(replace(ROW_SLICE, leaves=leaves), EVERYTHING).collect()
    assert first["amount"].to_list() == found["amount"].to_list()[:3]


@every_store
def test_questions_asked_together_are_answered_in_order_and_a_stop_ends_them(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, facts_of(1), load_of())
    _, store, _ = opened(tmp_path, kind)
    questions = [Question(asked, EVERYTHING) for asked in (SUMS, LAST, DISTINCT, ROW_SLICE)]
    alone = (store.sums(SUMS, EVERYTHING), store.last_known(LAST, EVERYTHING), store.distinct(DISTINCT, EVERYTHING))
    looks = 0

    def count() -> None:
        nonlocal looks
        looks += 1

    *grouped, rows = store.collect(questions, count)
    for found, frame in zip(grouped, alone, strict=True):
        assert found.sort(found.columns).equals(frame.collect().sort(found.columns))
    assert rows.equals(store.rows(ROW_SLICE, EVERYTHING).collect())
    assert looks > len(questions)
    for at in range(len(questions) + 1):  # a store that waits for an engine looks more often
        with pytest.raises(InterruptedError):
            store.collect(questions, stop_after(at))
    assert store.collect([], never) == []


def stop_after(looks: int) -> Callable[[], None]:
    """Return a stop that raises InterruptedError after some looks."""
    left = iter(range(looks))

    def stop() -> None:
        if next(left, None) is None:
            raise InterruptedError

    return stop


@every_store
def test_nothing_lies_inside_a_cell_of_nothing(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, facts_of(1), load_of())
    _, store, _ = opened(tmp_path, kind)
    answers = store.collect([Question(asked, NOTHING) for asked in (SUMS, LAST, DISTINCT, ROW_SLICE)], never)
    assert [frame.height for frame in answers] == [0, 0, 0, 0]
    presence = store.presence("gl", "actual", NOTHING)
    assert (presence.dates, presence.undated) == ((), 0)
    assert store.codes("gl", "actual", "account", NOTHING) == frozenset()
    assert store.unassigned("gl", "actual", ["account"], NOTHING) == frozenset()
    assert not store.presence_of_loads("gl", "actual", NOTHING, ["load-gl-0"])


@every_loaded_store
def test_sums_that_could_pass_128_bits_are_refused(tmp_path: Path, kind: str) -> None:
    publish(tmp_path, [("actual", FIRST, "A", "x", 1, "")], load_of())
    manifest = pin_current(tmp_path).manifest
    sums, last = replace(SUMS, keys=()), replace(LAST, keys=(), windows=((0,),), aggregates=AMOUNT)
    limit = 10**38 if kind in DEEP else 2**127  # whose widest sums are decimals
    for magnitude, fits in ((limit - 1, True), (limit, False)):
        huge = [replace(part, magnitudes={"amount": magnitude}) for part in manifest.facts["gl"]]
        store = STORES[kind](tmp_path, replace(manifest, facts={"gl": tuple(huge)}), {"gl": GL})
        for asked in (sums, last):
            with nullcontext() if fits else pytest.raises(SumTooLarge, match="could pass 128 bits"):
                (found,) = store.collect([Question(asked, EVERYTHING)], never)
                assert found["amount"].to_list() == [1]
