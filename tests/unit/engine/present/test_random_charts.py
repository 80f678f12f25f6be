"""Random charts of random kept results: each is drawn or refused, and nothing else happens."""

from random import Random

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.present.charts.charts import chart
from tests.support.answers.charts import ChartCase
from tests.support.books.random_results import ResultBooks, draw_random_chart, random_result, write_result_books

CHARTS_OF_A_RESULT = 6


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> ResultBooks:
    """The books that results are drawn from."""
    return write_result_books(tmp_path_factory.mktemp("random"))


@given(st.integers(0, 2**32 - 1))
@example(2)  # a report by two dimensions of time, drawn without a script
@example(4)  # a series without a figure
@example(49)  # 500 products of equal volumes
@example(320)  # one column named twice
@example(68950)  # a column without a name that would tell rows apart
@example(1371)  # rows of a scatter that the columns left do not tell apart
def test_a_random_chart_is_drawn_or_refused(books: ResultBooks, seed: int) -> None:
    random = Random(seed)
    result = random_result(books, random)
    if result is not None:
        for _ in range(CHARTS_OF_A_RESULT):
            draw_random_chart(result, random)


@pytest.mark.parametrize("kind", ["bar", "horizontal_bar"])
def test_the_summary_passes_over_a_series_without_a_figure(kind: str) -> None:
    spec = {"chart_type": kind, "x": "region", "y": "value", "series": "alias"}
    table = {
        "region": ["North", "North", "South"],
        "alias": ["plan", "actual", "actual"],
        "value": [None, 5.0, 3.0],
    }
    assert ChartCase(spec, table).chart().summary == "actual: North is largest with 5, South smallest with 3."


def test_a_column_named_twice_is_refused_with_rows_that_can_be_drawn() -> None:
    case = ChartCase(
        {"chart_type": "cohort_heatmap", "x": "age", "y": "age", "series": "cohort"},
        {"age": [1, 1, 2], "cohort": ["a", "a", "b"], "share": [0.5, 0.5, 0.1]},
    )
    for adds_up in (True, False):
        with pytest.raises(ChartInvalid, match="More than one row for '1, a'"):
            chart(ChartSpec(title="A title", **case.spec), pl.DataFrame(case.table), adds_up=adds_up)


def test_a_scatter_of_members_of_which_none_has_both_figures_is_mended_by_bars() -> None:
    case = ChartCase(
        {"chart_type": "scatter", "x": "region", "y": "value", "series": "alias"},
        {"region": ["North", "South"], "alias": ["plan", "actual"], "value": [5.0, 3.0]},
    )
    with pytest.raises(ChartInvalid) as refused:
        case.chart()
    spec = refused.value.example["chart_spec"]
    assert spec["chart_type"] == "bar"
    assert ChartCase({key: value for key, value in spec.items() if key != "title"}, case.table).chart().vega_lite
