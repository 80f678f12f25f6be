"""What a chart refuses: each refusal names field, cause and columns, and its example draws."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pytest

from engine.model.errors import ChartInvalid
from engine.model.requests import ChartSpec
from engine.present.charts.charts import CHARTS, chart, spec_of
from engine.present.charts.repairs import framed
from sandbox.job import Job
from sandbox.pool import Pool
from tests.support.answers.charts import CASES, MONTHS, ChartCase

NAMES = [f"Name {at}" for at in range(700)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Where scripts run."""
    with Pool() as opened:
        yield opened


def refused(case: ChartCase) -> ChartInvalid:
    """Return why a chart is not drawn."""
    with pytest.raises(ChartInvalid) as caught:
        case.chart()
    return caught.value


def mended(case: ChartCase, example: Mapping[str, Any], pool: Pool) -> None:
    """Do what a refusal gives as an example: another spec, a script in jail over the same table, or both."""
    frame = pl.DataFrame(case.table, strict=False)
    if code := example.get("transform_code"):
        outcome = pool.run(Job(code=code, frames=(frame.write_ipc_stream(None).getvalue(),)))
        assert outcome.failure is None
        frame = pl.DataFrame(outcome.rows, [column.name for column in outcome.columns], orient="row")
    chart(spec_of(example.get("chart_spec", {"title": "A title", **case.spec})), frame)


def of(kind: str, table: dict[str, Any] | None = None, /, **changed: Any) -> ChartCase:
    """Return the case of a kind with another table or other fields; None leaves one out."""
    spec = {name: value for name, value in {**CASES[kind].spec, **changed}.items() if value is not None}
    return ChartCase(spec, table if table is not None else CASES[kind].table)


LINE, AREA, STEPS, MAP = (CASES[kind].table for kind in ("line", "area", "waterfall", "cohort_heatmap"))

NEGATIVE = {**AREA, "value": [1] * 6 + [1, 2, -3, 1, 1, 1]}

OF_BARS = ["styles", "favourable", "stack", "sort", "lines"]
FIGURES = ("actual", "budget", "forecast")
QUARTERS = {**CASES["bar"].table, "quarter": ["North", "South", "West"]}
UNITS = {
    "period": ["2026-01"] * 3,
    "of": ["A", "B", "C"],
    "value": [1.0, 2.0, 3.0],
    "unit": ["number", "EUR", "days"],
}

REFUSED = [
    (of("line", chart_type="pie"), "chart_type", "There is no chart 'pie'", list(CHARTS)),
    (of("bar", favourable="up"), "favourable", "favourable colours one series of variances; here are 3", None),
    (of("line", x="periode"), "x", "result has no column 'periode'", ["period", "alias"]),
    (of("line", y="alias"), "y", "Column 'alias' holds text; y takes figures", ["value"]),
    (of("line", series="value"), "series", "Column 'value' holds numbers; series takes names", ["period", "alias"]),
    (of("line", x="value"), "x", "Column 'value' holds numbers; x takes names", ["period", "alias"]),
    (
        of("scatter", {"r": [*range(9)], "m": [*range(9)], "s": NAMES[:9]}, x="r", y="m", label=None, series="s"),
        "series",
        "9 series, 8 colours",
        None,
    ),
    (of("scatter", x="company"), "x", "Column 'company' holds text; x takes figures", ["revenue", "margin"]),
    (
        of("scatter", x=None, y=None),
        "y",
        "needs y, a column of figures: result has 'revenue' or 'margin', say which",
        None,
    ),
    (
        of("line", {"n": NAMES[:2], "m": NAMES[:2], "v": [1, 2]}, x=None, y="v", series=None),
        "x",
        "'n' or 'm'",
        ["n", "m"],
    ),
    (of("line", {**LINE, "other": LINE["value"]}, y=None), "y", "result has 'value' or 'other', say which", None),
    (of("line", series="period"), "series", "x names the bars and points already: leave series out", None),
    (of("bar", series="budget"), "series", "Several columns y are series already", None),
    (of("waterfall", series="step"), "series", "A waterfall chart takes no series", None),
    (
        of("waterfall", {**STEPS, "more": STEPS["value"]}, y=("value", "more")),
        "y",
        "draws one column y",
        ["value", "more"],
    ),
    (
        of("waterfall", {"step": ["a", "b"], "value": [1, 2]}),
        "chart_type",
        "a start, changes and an end; result has 2 rows",
        None,
    ),
    (of("line", stack=True), "stack", "A line chart takes no stack: leave it out", ["styles"]),
    (
        of("bar", kind="quarter"),
        "kind",
        "A bar chart takes no kind",
        OF_BARS,
    ),
    (of("bar", lines=("plan",)), "lines", "There is no series 'plan' to draw as a line", [*FIGURES]),
    (of("bar", lines=FIGURES), "chart_type", "Every series is a line: draw a line chart", None),
    (of("bar", lines=("budget",), stack=True), "stack", "Beside lines bars are not stacked", None),
    (of("bar", lines=("budget",), favourable="up"), "favourable", "bars have the colours of their series", None),
    (of("bar", QUARTERS, lines=("budget",)), "lines", "share an axis of time, and quarter holds names", [*FIGURES]),
    (of("line", lines=("Actuals",)), "lines", "A line chart takes no lines", ["styles"]),
    (of("bar", UNITS, x="period", y="value", series="of", lines=("B", "C")), "lines", "'EUR', 'days'", None),
    (of("line", title=" "), "title", "The title has 1 characters: 1 to 160 are shown", None),
    (of("line", title="x" * 161), "title", "The title has 161 characters", None),
    (
        of("bar", unit="E" * 41),
        "unit",
        "The unit has 41 characters: 1 to 40 are shown",
        None,
    ),
    (
        of("bar", styles={"Ist": "actual"}),
        "styles",
        "There is no series 'Ist' to style",
        ["actual", "budget", "forecast"],
    ),
    (of("forecast_line", forecast_from="2027-01"), "forecast_from", "There is no x '2027-01'", MONTHS),
    (of("forecast_line", forecast_from=None), "forecast_from", "Nothing here is a forecast", MONTHS),
    (
        of("forecast_line", {**LINE, "alias": ["Ist"] * 6 + ["Erwartet"] * 6}, forecast_from=None, series="alias"),
        "styles",
        "Nothing here is a forecast",
        ["Ist", "Erwartet"],
    ),
    (of("area", NEGATIVE), "chart_type", "negative parts: 'Service, 2026-03'", None),
    (of("bar", NEGATIVE, y="value", x="period", stack=True), "stack", "Draw them side by side, or a waterfall", None),
]

MENDED = [
    (of("bar", {"quarter": ["x" * 121], "v": [1.0]}, y="v"), "a text of 121 characters, 120 are the most"),
    (of("bar", {"quarter": ["a"], "v": [2e15]}, y="v"), "is 2e+15: 1e-09 to 1e+15 can be drawn"),
    (of("bar", {"quarter": ["a"], "v": [2e-12]}, y="v"), "is 2e-12: 1e-09 to 1e+15 can be drawn"),
    (of("line", {**LINE, "x" * 121: LINE["value"]}, y="value"), "a column whose name has 121 characters"),
    (of("line", {**LINE, "alias": [*LINE["alias"][:11], None]}), "Rows of totals have null members"),
    (of("line", {**LINE, "period": [None, *LINE["period"][1:]]}), "the x of the chart, has 1 nulls"),
    (
        of("line", {**LINE, "period": ["2026-01"] * 12}),
        "More than one row for '2026-01, Actuals', '2026-01, Prior Year'",
    ),
    (of("cohort_heatmap", {**MAP, "age": [0, 0, 2, 0, 1, 0]}), "More than one row for '0, 2026-Q1'"),
    (
        of("waterfall", {**STEPS, "step": ["Budget", "Price", "Price", "Cost", "Actuals"]}),
        "More than one row for 'Price'",
    ),
    (of("area", {name: values[:-1] for name, values in AREA.items()}), "missing: 'Service, 2026-06'"),
    (of("area", {**AREA, "value": [None, *AREA["value"][1:]]}), "missing: 'Pumps, 2026-01'"),
    (
        of("area", {"period": MONTHS[:3], "line": ["a", "value", "a"], "value": [1, 2, 3]}, y="value", series="line"),
        "missing: 'a, 2026-02', 'value, 2026-01', 'value, 2026-03'",
    ),
    (
        of("area", {"period": MONTHS[:3], "line": [1, 2, 1]}, y="line", series="line"),
        "missing: '1, 2026-02', '2, 2026-01', '2, 2026-03'",
    ),
    (
        of("waterfall", {**STEPS, "value": [1000.1, 200.2, -50.1, -100.1, 1051]}),
        "before it comes to 1050.1, 0.9 are missing",
    ),
    (
        of("waterfall", {**STEPS, "value": [1000.1, 200.2, -50.1, None, 1150.2]}),
        "a figure for each step; missing: 'Cost'",
    ),
    (of("waterfall", {**STEPS, "k": ["x"] * 5}, kind="k"), "says 'x': it is total or change"),
    (
        of("scatter", {**CASES["scatter"].table, "margin": [0.1, None, 0.2, 0.3]}),
        "1 of 4 rows have no revenue or no margin",
    ),
    (
        of("scatter", {"r": range(500), "m": range(500)}, x="r", y="m", label=None, series=None),
        "500 points, 400 are the most",
    ),
    (of("horizontal_bar", {"customer": NAMES[:61], "value": range(61)}), "61 values of x, 60 are the most"),
    (of("line", {"period": ["2026"] * 9, "alias": NAMES[:9], "value": range(9)}), "9 series, 8 are the most"),
    (
        of("line", {"period": ["1900-01", "2026-01"], "value": [1, 2]}, series=None),
        "1,513 values of x, 600 are the most",
    ),
    (
        of(
            "area", {"period": [str(1900 + at // 6) for at in range(660)], "line": NAMES[:6] * 110, "value": range(660)}
        ),
        "660 points, 600 are the most",
    ),
]


@pytest.mark.parametrize(("case", "field", "words", "valid"), REFUSED)
def test_a_spec_that_does_not_fit_is_refused_with_one_that_does(
    case: ChartCase, field: str, words: str, valid: list[str] | None, pool: Pool
) -> None:
    refusal = refused(case)
    told = refusal.as_data()
    assert told["error_type"] == "chart_invalid"
    assert told["field"] == f"chart_spec.{field}"
    assert words in refusal.error
    assert valid is None or told["valid"] == valid
    mended(case, refusal.example, pool)


@pytest.mark.parametrize(
    ("known", "unit"),
    [
        *(("EUR", unit) for unit in ("USD", "USD thousands", "fraction", "pp", "%", "EUR per head", "FTE")),
        *(("fraction", unit) for unit in ("pp", "EUR", "fraction thousands", "thousands")),
        *(("number", unit) for unit in ("fraction", "%")),
        *(("EUR each", unit) for unit in ("USD", "fraction")),
        ("pp", "%"),
    ],
)
def test_a_unit_that_contradicts_the_figures_is_refused(known: str, unit: str) -> None:
    case = ChartCase({"chart_type": "bar", "unit": unit}, {"name": ["a", "b"], "value": [5.0, 2.0]}, {"value": known})
    refusal = refused(case)
    told = refusal.as_data()
    assert told["field"] == "chart_spec.unit"
    assert f"are in {known}, and unit says '{unit}'" in refusal.error
    assert ChartCase(refusal.example["chart_spec"], case.table, case.units).chart().unit == told["valid"][0] == known


def test_columns_of_several_units_are_refused_with_those_of_one() -> None:
    table = {"name": ["a", "b"], "sales": [5.0, 2.0], "margin": [0.1, 0.2], "costs": [4.0, 1.0]}
    units = {"sales": "EUR", "margin": "fraction", "costs": "EUR"}
    case = ChartCase({"chart_type": "bar", "y": ("sales", "margin", "costs")}, table, units)
    refusal = refused(case)
    assert refusal.as_data()["field"] == "chart_spec.y"
    assert "'margin' is in fraction" in refusal.error
    made = ChartCase(refusal.example["chart_spec"], table, units).chart()
    assert (made.unit, made.rows) == ("EUR", (("a", 5.0, 4.0), ("b", 2.0, 1.0)))


@pytest.mark.parametrize(("case", "words"), MENDED)
def test_a_table_that_does_not_fit_is_refused_with_code_that_mends_it(case: ChartCase, words: str, pool: Pool) -> None:
    refusal = refused(case)
    assert refusal.as_data()["field"] == "transform_code"
    assert words in refusal.error
    mended(case, refusal.example, pool)


def test_an_empty_table_is_refused_with_its_columns() -> None:
    told = refused(of("line", {"period": [], "value": []})).as_data()
    assert (told["error"], told["got"]) == ("result has no rows: nothing to draw.", ["period", "value"])


def test_a_column_without_figures_is_refused() -> None:
    refusal = refused(of("line", {**LINE, "value": [float("nan")] * 12}))
    assert refusal.error == "'value' holds no figures, only nulls."


def test_a_misspelt_column_is_guessed() -> None:
    assert refused(of("line", x="perod")).did_you_mean == ["period"]


def test_no_column_of_figures_is_told_as_such() -> None:
    refusal = refused(of("line", {"period": MONTHS, "value": [str(at) for at in range(6)]}, y=None, series=None))
    assert refusal.error == "A line chart needs y, and result has no column of figures for it."


@pytest.mark.parametrize("length", [10, 3000])
def test_an_example_goes_on_with_the_script_that_made_the_table(length: int) -> None:
    code = f"result = df  # {'x' * length}"
    with pytest.raises(ChartInvalid) as caught:
        chart(
            ChartSpec(chart_type="line", title="A"), pl.DataFrame({"period": [None, "2026-01"], "v": [1, 2]}), code=code
        )
    line = "result = result.filter(pl.col('period').is_not_null())"
    assert caught.value.example["transform_code"] == (
        f"{code}\n{line}" if length < 3000 else f"# add to the script\n{line}"
    )


def test_a_rest_of_a_waterfall_is_a_step_before_the_total_that_it_explains() -> None:
    table = {
        "s": ["A", "x", "B", "y", "C"],
        "v": [10, 2, 13, 1, 14],
        "k": ["total", "change", "total", "change", "total"],
    }
    refusal = refused(ChartCase({"chart_type": "waterfall", "x": "s", "y": "v", "kind": "k"}, table))
    assert "steps.head(2), rest, steps.slice(2)" in str(refusal.example)
    assert "'v': [1.0]" in str(refusal.example)


@pytest.mark.parametrize(
    "code",
    [
        "result = df",
        "result = df.lazy()",
        "result = [{'period': None, 'v': 1}] * 150 + [{'period': '2026-01', 'v': 2.5, 'more': 'x'}]",
        "result = {'period': [None, '2026-01'], 'v': [1, 2.5]}  # so far",
        "if df.height:\n    result = df\n",
    ],
)
def test_an_example_takes_whatever_table_a_script_leaves(code: str, pool: Pool) -> None:
    frame = pl.DataFrame({"period": [None, "2026-01"], "v": [1.0, 2.5]})
    with pytest.raises(ChartInvalid) as caught:
        chart(ChartSpec(chart_type="line", title="A"), frame, code=framed(code))
    outcome = pool.run(
        Job(code=caught.value.example["transform_code"], frames=(frame.write_ipc_stream(None).getvalue(),))
    )
    assert outcome.failure is None
    left = pl.DataFrame(outcome.rows, [column.name for column in outcome.columns], orient="row")
    assert left.select("period", "v").rows() == [("2026-01", 2.5)]
