"""Files of the store are named by their rows alone, however the rows were put together."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.files import mapped, write_named

ROW = st.tuples(
    st.none() | st.text(max_size=30),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.dates(date(1, 1, 1), date(9999, 12, 31)),
)
SCHEMA = {"text": pl.String, "amount": pl.Int64, "date": pl.Date}


@given(st.lists(ROW, max_size=20), st.integers(0, 20), st.permutations(range(20)))
def test_equal_rows_have_one_name(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[object, ...]], cut: int, order: list[int]
) -> None:
    """A frame in two chunks, and one that is gathered out of another order, are the same rows."""
    folder: Path = tmp_path_factory.mktemp("store")
    whole = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    chunks = pl.concat([whole[:cut], whole[cut:]], rechunk=False)
    places = [place for place in order if place < len(rows)]
    gathered = whole[places][[places.index(place) for place in range(len(rows))]] if rows else whole

    names = {write_named(folder, "rows", frame) for frame in (whole, chunks, gathered)}

    assert len(names) == 1
    assert mapped(folder / names.pop()).equals(whole)
