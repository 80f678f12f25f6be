"""Charts of many rows: what is looked up is made once, not for each name, and loops look at `stop`."""

from collections.abc import Iterator

import polars as pl
import pytest

from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.model.stopping import STRIDE, stopped_by
from engine.present.charts.charts import chart
from engine.present.charts.results import left_out

ROWS = 20 * STRIDE


def figures(labels: int) -> pl.DataFrame:
    """Return the figures of some lines, of which each second is a percentage."""
    units = ["EUR", "%"] * (labels // 2)
    names = [f"Line {number}" for number in range(labels)]
    return pl.DataFrame({"label": names, "alias": ["A"] * labels, "unit": units, "value": [1.0] * labels})


def columns_gone_through(labels: int, patch: pytest.MonkeyPatch) -> int:
    """Return how often a column is gone through, value by value, for the note on lines that are left out."""
    count = 0
    each = pl.Series.__iter__

    def counted(column: pl.Series) -> Iterator[object]:
        nonlocal count
        count += 1
        return iter(each(column))

    frame = figures(labels)
    with patch.context() as context:
        context.setattr(pl.Series, "__iter__", counted)
        (note,) = left_out(frame, frame.filter(pl.col("unit") == "EUR"), "EUR")
    assert str(dict(note.about)["left"]).startswith("Line 1, Line 3, ")
    return count


def test_the_names_that_are_drawn_are_looked_up_once_however_many_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert columns_gone_through(10, monkeypatch) == columns_gone_through(100, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "columns"), [("line", 3), ("bar", 3), ("horizontal_bar", 3), ("cohort_heatmap", 3), ("scatter", 2)]
)
def test_a_chart_of_many_rows_looks_at_stop(kind: str, columns: int) -> None:
    numbers = range(ROWS)
    frame = pl.DataFrame(
        {
            "x": [float(number + 1) for number in numbers]
            if kind == "scatter"
            else [f"K{number}" for number in numbers],
            "series": [f"S{number % 7}" for number in numbers],
            "value": [1.0 + number for number in numbers],
        }
    )
    looks = list[int]()
    spec = ChartSpec(chart_type=kind, title="Many", x="x", y="value", series="series")
    with stopped_by(lambda: looks.append(1)), pytest.raises(ChartInvalid):
        chart(spec, frame, code="")
    assert len(looks) >= columns * ROWS // STRIDE
