"""Members of many windows are counted in one sorted pass: equal to sets of members, a window at a time."""

from collections.abc import Sequence
from random import Random

import polars as pl
import pytest

from engine.model.fact_store import SPAN, VALUE
from engine.plans import member_counts
from engine.plans.member_counts import GROUP, ClassPairs, MemberCounts
from engine.plans.windows import Run, WindowRuns
from tests.unit.engine.facts.test_last_values import drawn_windows

SPANS, CODES, CLASSES = 40, 9, 4
Pair = tuple[int, int, int]  # span, class, code


def drawn_runs(drawn: Random) -> list[list[Run]]:
    """Draw windows of one run, some of several, and some of none."""
    single = [[(window.start, window.stop)] if window else [] for window in drawn_windows(drawn)]
    several = [
        [(at, drawn.randint(at, min(at + 4, SPANS))) for at in sorted(drawn.sample(range(SPANS), drawn.randint(2, 5)))]
        for _ in range(drawn.choice((0, 4)))
    ]
    return [*single, *several]


def expected_count(pairs: Sequence[Pair], classes: set[int], runs: Sequence[Run]) -> int | None:
    """Return the number of members of some classes in a window, code 0 aside; None if it has no rows."""
    inside = {at for first, after in runs for at in range(first, after)}
    codes = {code for span, known, code in pairs if span in inside and known in classes}
    return len(codes - {0}) if codes else None


class Windows(WindowRuns):
    """Windows of given runs of intervals."""

    def __init__(self, runs: Sequence[Sequence[Run]]) -> None:
        self.runs = tuple(map(tuple, runs))


def drawn_pairs(drawn: Random) -> list[Pair]:
    """Draw the intervals in which members of some classes have rows."""
    every = [(span, known, code) for span in range(SPANS) for known in range(CLASSES) for code in range(CODES)]
    return drawn.sample(every, drawn.choice((0, 1, 30, 700)))


def class_pairs(pairs: Sequence[Pair], groups: Sequence[set[int]], keys: tuple[str, ...]) -> ClassPairs:
    """Return pairs with the groups of each class, or with all of them where there are no keys."""
    schema = {SPAN: pl.UInt32, "product": pl.UInt8, VALUE: pl.UInt16}
    frame = pl.DataFrame(pairs, schema=schema, orient="row").select(SPAN, *keys, VALUE)
    each = [(known, at) for at, classes in enumerate(groups) for known in (classes if keys else (0,))]
    numbers = pl.DataFrame(each, schema={"product": pl.UInt8, GROUP: pl.UInt32}, orient="row")
    return ClassPairs(frame, numbers.select(*keys, GROUP), keys)


@pytest.mark.parametrize("seed", range(60))
def test_members_of_many_windows_are_those_of_sets(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    drawn = Random(seed)
    monkeypatch.setattr(member_counts, "PACKED_CODES", drawn.choice((0, 2**63)))
    monkeypatch.setattr(member_counts, "MAX_TOGETHER", drawn.choice((1, 50, 10**6)))
    keys = drawn.choice(((), ("product",)))
    groups = [set(drawn.sample(range(CLASSES), drawn.randint(0 if keys else 1, CLASSES))) for _ in range(4)]
    groups = groups if keys else [set(range(CLASSES))] * 4
    terms, windows = [drawn_pairs(drawn) for _ in range(drawn.choice((1, 2)))], drawn_runs(drawn)
    likely = drawn.sample(windows, drawn.randint(0, len(windows)))
    counts = MemberCounts([class_pairs(pairs, groups, keys) for pairs in terms], SPANS, CODES, likely)
    pairs = [pair for term in terms for pair in term]
    asked = Windows(windows)
    for group, classes in enumerate(groups):
        assert list(counts.over(group, asked)) == [expected_count(pairs, classes, runs) for runs in windows]
    others = [run for runs in drawn_runs(drawn) for run in runs]
    holding = {group for group, classes in enumerate(groups) if expected_count(pairs, classes, others) is not None}
    assert counts.holding(others) == holding
