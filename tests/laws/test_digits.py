"""The law of digits: no reader, driver or cast between a source and the exact integer changes a digit."""

import os
from pathlib import Path
from random import SystemRandom

import pytest

from tests.laws.digits.drawn import DrawnRow, drawn
from tests.laws.digits.law import outcome
from tests.laws.digits.sources import INTEGERS, SOURCES, only_whole

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
SEED = SystemRandom().randrange(2**32) if IS_DEEP else 51
COUNT = 20_000 if IS_DEEP else 300


@pytest.fixture(scope="module")
def rows() -> list[DrawnRow]:
    """Rows of numbers, the same for every kind of source."""
    return drawn(SEED, COUNT)


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_loaded_is_what_was_written_or_the_row_is_rejected_by_name(
    tmp_path: Path, rows: list[DrawnRow], kind: str
) -> None:
    chosen = [only_whole(row) for row in rows] if SOURCES[kind].holds is INTEGERS["holds"] else rows
    found = outcome(tmp_path, SOURCES[kind], chosen)
    counts = f"{found.drawn} drawn, {found.rejected} rejected, {len(found.wrong)} wrong"
    print(f"{kind}: seed {SEED}, {counts}")  # noqa: T201 - pytest -s shows it
    assert found.wrong[:5] == []
    assert found.loaded > found.drawn / 3
