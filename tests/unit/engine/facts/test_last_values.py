"""Last values of many windows in one pass: chains of windows, and sums equal to those of a search a window."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random

import polars as pl
import pytest

from engine.facts import last_values
from engine.facts.last_values import in_order, last_sums
from engine.model.fact_store import PERIOD, ROWS, SPAN
from engine.model.window_chains import chains_of

SPANS, LEAVES = 40, {"account": 7, "centre": 3}
Row = tuple[int, int, int, int, int]  # span, account, centre, amount, rows
LARGE = 10**17  # of which 92 and more do not fit into 63 bits


def drawn_rows(drawn: Random) -> list[Row]:
    """Draw the sums of some leaves in some spans."""
    places = [(span, account, centre) for span in range(SPANS) for account in range(7) for centre in range(3)]
    chosen = drawn.sample(places, drawn.choice((0, 5, 300)))
    return [(*place, drawn.randint(-LARGE, LARGE), drawn.randint(1, 3)) for place in chosen]


def drawn_windows(drawn: Random) -> list[range]:
    """Draw windows of any kind: days, months of days, all days before each, and some that hold nothing."""
    days = [range(at, at + 1) for at in range(SPANS)]
    months = [range(at, at + 8) for at in range(0, SPANS, 8)]
    rolling = [range(max(0, at - 10), at + 1) for at in range(SPANS)]
    before = [range(at + 1) for at in range(SPANS)]
    any_other = [range(first, drawn.randint(first, SPANS)) for first in drawn.choices(range(SPANS), k=20)]
    kinds = drawn.sample((days, months, rolling, before, any_other), drawn.randint(1, 5))
    windows = [window for kind in kinds for window in kind]
    drawn.shuffle(windows)
    return windows


def expected_sums(
    rows: Sequence[Row], periods: Sequence[int], windows: Sequence[range]
) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the sums and counts of the last period of each leaf, by window, period and account."""
    found: dict[tuple[int, ...], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for place, window in enumerate(windows):
        inside = [row for row in rows if row[0] in window]
        last: dict[tuple[int, int], int] = {}
        for span, account, centre, _, _ in inside:
            last[account, centre] = max(periods[span], last.get((account, centre), -1))
        for span, account, centre, amount, count in inside:
            if periods[span] == last[account, centre]:
                key = place, periods[span], account
                found[key] = found[key][0] + amount, found[key][1] + count
    return dict(found)


@pytest.mark.parametrize("seed", range(40))
def test_many_windows_are_summed_in_one_pass(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    drawn = Random(seed)
    monkeypatch.setattr(last_values, "PACKED_CODES", drawn.choice((0, 2**63)))
    rows, windows = drawn_rows(drawn), drawn_windows(drawn)
    length = drawn.choice((1, 4))  # of a period, in spans
    periods = [span // length for span in range(SPANS)]
    schema = {SPAN: pl.UInt32, "account": pl.UInt8, "centre": pl.UInt8, "amount": pl.Int128, ROWS: pl.Int64}
    sums = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.lit(pl.Series(periods, dtype=pl.UInt32)).gather(pl.col(SPAN)).alias(PERIOD)
    )
    ordered = in_order(sums.lazy(), LEAVES, SPANS)
    chains = chains_of(windows)
    frames = [last_sums(ordered, chain, SPANS, ["account"], ["amount", ROWS]) for chain in chains]
    found = [row for frame in pl.collect_all(frames) for row in frame.iter_rows()]
    assert {row[:3]: row[3:] for row in found} == expected_sums(rows, periods, windows)
    assert len({row[:3] for row in found}) == len(found)


@pytest.mark.parametrize("seed", range(40))
def test_the_windows_of_a_chain_begin_and_end_in_order(seed: int) -> None:
    windows = drawn_windows(Random(seed))
    chains = chains_of(windows)
    for chain in chains:
        assert (chain.starts, chain.ends) == (sorted(chain.starts), sorted(chain.ends))
        assert [windows[place] for place in chain.places] == [
            range(start, end) for start, end in zip(chain.starts, chain.ends, strict=True)
        ]
    assert sorted(place for chain in chains for place in chain.places) == [
        place for place, window in enumerate(windows) if window
    ]


def test_days_and_months_and_all_days_before_each_are_three_chains_at_most() -> None:
    days = [range(at, at + 1) for at in range(SPANS)]
    months = [range(at, at + 8) for at in range(0, SPANS, 8)]
    before = [range(at + 1) for at in range(SPANS)]
    assert len(chains_of([*days, *months, *before])) == 3
