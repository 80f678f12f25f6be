"""The charts: what their pictures show is what the table holds, in both themes and in words."""

import json
import re
from datetime import date
from typing import Any

import pytest
import vl_convert

from engine.model.calendar.periods import GRAINS, Grain
from engine.present.charts.charts import CHARTS
from engine.present.charts.periods import STEPS
from engine.present.charts.picture import THEMES, Theme, contrast
from engine.present.charts.waterfalls import signs_of
from server.tools.toolbox import TOOLS
from tests.support.answers.charts import CASES, MONTHS, ChartCase, drawn, marks, texts

MOST_BESIDES_DATA = 7000  # bytes
BOX = re.compile(r"M([-\d.]+),([-\d.]+)h([-\d.]+)v([-\d.]+)")


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Return left, top, width and height of the bars of a picture."""
    found = [BOX.match(path) for path in marks(svg, "rect")]
    return [tuple(map(float, box.groups())) for box in found if box]  # type: ignore[misc]  # the pattern has four groups


def bare(spec: Any) -> Any:
    """Return a specification without its data."""
    if isinstance(spec, list):
        return [bare(part) for part in spec]
    return {key: bare(part) for key, part in spec.items() if key != "values"} if isinstance(spec, dict) else spec


def test_each_kind_of_chart_has_a_case_and_is_offered_to_clients() -> None:
    spec = TOOLS["eval_chart_transform"].schema["properties"]["chart_spec"]["properties"]
    assert spec["chart_type"]["enum"] == list(CHARTS)
    assert set(CASES) == set(CHARTS)


def test_each_grain_has_its_codes_and_its_place_along_an_axis() -> None:
    assert set(GRAINS) == set(STEPS) == set(Grain)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_compiles_and_stays_small_in_both_themes(kind: str, theme: str) -> None:
    made = CASES[kind].chart(theme=theme)
    assert vl_convert.vegalite_to_vega(dict(made.vega_lite))["marks"]
    assert made.vega_lite["background"] == {"light": "#ffffff", "dark": "#14181d"}[theme]
    assert len(json.dumps(bare(made.vega_lite), separators=(",", ":"))) < MOST_BESIDES_DATA


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_gives_back_the_rows_that_it_draws(kind: str) -> None:
    made = CASES[kind].chart()
    names = [column.name for column in made.columns]
    assert [dict(zip(names, row, strict=True)) for row in made.rows] == [
        dict(zip(CASES[kind].table, row, strict=True)) for row in zip(*CASES[kind].table.values(), strict=True)
    ]


@pytest.mark.parametrize("kind", CHARTS)
def test_nothing_of_a_caller_stands_in_an_expression_or_an_address(kind: str) -> None:
    hostile = "x' + alert(1) + '{{url}} http://example.test/a.png"
    case = CASES[kind]
    table = {
        name: [f"{hostile} {value}" if isinstance(value, str) and value not in MONTHS else value for value in values]
        for name, values in case.table.items()
    }
    made = ChartCase({**case.spec, "title": hostile, "subtitle": hostile}, table).chart()
    keys: set[str] = set()

    def walk(part: Any, path: tuple[str, ...]) -> None:
        if isinstance(part, dict):
            for key, inner in part.items():
                walk(inner, (*path, key))
        elif isinstance(part, list):
            for inner in part:
                walk(inner, path)
        elif isinstance(part, str) and hostile in part:
            keys.add(path[-1])

    walk({key: part for key, part in made.vega_lite.items() if key != "data"}, ())
    assert keys <= {"text", "subtitle", "description", "domain", "t", "x", "s"}
    assert not re.search(r'"(url|href|image|mark": ?"image)"', json.dumps(bare(made.vega_lite)))
    assert drawn(made)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_every_text_of_a_theme_can_be_read(theme: Theme) -> None:
    inks = (theme.ink, theme.quiet, theme.actual, theme.good, theme.bad, *theme.palette)
    assert min(contrast(ink, theme.background) for ink in inks) >= 4.5


def test_a_title_of_markup_is_text() -> None:
    svg = drawn(CASES["bar"].chart(title="<script>alert(1)</script>"))
    assert "&lt;script&gt;" in svg
    assert "<script" not in svg


def test_bars_are_as_long_as_their_figures_and_stand_on_one_line() -> None:
    bars = boxes(drawn(CASES["bar"].chart()))
    figures = [100.0, 200.0, 110.0, 150.0, 180.0, 170.0]
    assert [height / bars[0][3] * 100 for _, _, _, height in bars] == pytest.approx(figures)
    assert {round(top + height, 6) for _, top, _, height in bars} == {320.0}


def test_lying_bars_are_as_long_as_their_figures_and_the_largest_is_on_top() -> None:
    svg = drawn(CASES["horizontal_bar"].chart())
    assert texts(svg)[:6] == ["Boreal", "Anker Maschinenbau", "Cedar", "200", "50", "−25"]
    bars = sorted(boxes(svg), key=lambda bar: bar[1])
    assert [width / bars[0][2] * 200 for _, _, width, _ in bars] == pytest.approx([200, 50, 25])


TEN = [5_312_345.0, 3_204_551.1, 2_871_002.0, 2_870_998.0, 2_100_000.5, 2_000_000.0, 1_900_000.0, 900.4, 900.1, -20.0]


@pytest.mark.parametrize("kind", ["bar", "horizontal_bar"])
def test_bars_of_different_figures_have_different_labels_and_their_unit(kind: str) -> None:
    table = {"customer": [f"C{at}" for at in range(10)], "value": TEN}
    made = ChartCase(
        {"chart_type": kind, "x": "customer", "y": "value", "size": "large"}, table, {"value": "EUR"}
    ).chart()
    labels = [point["t"] for point in made.vega_lite["data"]["values"]]
    assert labels == [
        *("5,312.345", "3,204.551", "2,871.002", "2,870.998", "2,100.001", "2,000.000", "1,900.000"),
        *("0.900", "0.900", "−0.020"),  # no more than three digits beyond those of the largest
    ]
    assert made.unit == "EUR"
    assert made.vega_lite["title"]["subtitle"] == ["in EUR thousands"]
    plain = ChartCase(
        {"chart_type": kind, "x": "customer", "y": "value"}, {"customer": ["A", "B"], "value": [5.2e6, 3.1e6]}
    )
    assert [point["t"] for point in plain.chart().vega_lite["data"]["values"]] == ["5,200", "3,100"]


def test_steps_of_a_waterfall_of_different_figures_have_different_labels() -> None:
    table = {"step": ["a", "b", "c", "d"], "value": [120_000.0, 40.0, 0.4, 120_040.4]}
    made = ChartCase({"chart_type": "waterfall", "x": "step", "y": "value", "unit": "EUR"}, table).chart()
    assert [point["t"] for point in made.vega_lite["data"]["values"]] == ["120.00", "+0.04", "0.00", "120.04"]


def test_steps_of_a_waterfall_of_percents_are_percentage_points() -> None:
    table = {"step": ["a", "b", "c", "d"], "value": [0.41, 0.02, -0.005, 0.425]}
    made = ChartCase({"chart_type": "waterfall", "x": "step", "y": "value", "unit": "fraction"}, table).chart()
    assert [point["t"] for point in made.vega_lite["data"]["values"]] == ["41.0%", "+2.0 pp", "−0.5 pp", "42.5%"]
    assert made.summary == (
        "From a 41.0% to d 42.5% (+1.5 pp). Largest increase: b +2.0 pp. Largest decrease: c −0.5 pp."
    )


def test_the_bars_of_a_waterfall_begin_where_the_last_one_ended() -> None:
    bars = boxes(drawn(CASES["waterfall"].chart()))
    scale = 1000.1 / bars[0][3]
    tops = [(320 - top) * scale for _, top, _, _ in bars]
    feet = [(320 - top - height) * scale for _, top, _, height in bars]
    assert tops == pytest.approx([1000.1, 1200.3, 1200.3, 1150.2, 1050.1])
    assert feet == pytest.approx([0, 1000.1, 1150.2, 1050.1, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("figures", "signs"),
    [
        ([10.0, 6.0, 4.0], [0, -1, 0]),
        ([10.0, 6.0, 4.0, 3.0, -0.5, 0.5], [0, -1, 0, -1, 1, 0]),
        ([10.0, 2.0, 12.0], [0, 1, 0]),
        ([0.3, 0.1, 0.2], [0, -1, 0]),
        ([10.0, 6.0, 5.0], None),
        ([10.0, 6.0, 4.0, 1.0], None),
        ([10.0, 4.0], None),
        ([1.0, *[2.0**at for at in range(11)], 0.0], None),
    ],
)
def test_the_signs_of_a_statement_are_those_that_add_up(figures: list[float], signs: list[int] | None) -> None:
    assert signs_of(figures) == signs


def test_a_heatmap_has_a_cell_with_its_figure_for_each_row_and_none_for_what_is_missing() -> None:
    svg = drawn(CASES["cohort_heatmap"].chart())
    assert len(boxes(svg)) == 6
    assert texts(svg)[:6] == ["100.0%", "80.0%", "60.0%", "100.0%", "70.0%", "100.0%"]


def test_a_scatter_places_its_points_by_both_figures() -> None:
    svg = drawn(CASES["scatter"].chart())
    places = [tuple(map(float, at)) for at in re.findall(r'transform="translate\(([-\d.]+),([-\d.]+)\)" d="M4', svg)]
    for axis, name in enumerate(("revenue", "margin")):
        figures, at = CASES["scatter"].table[name], [place[axis] for place in places]
        shares = [(figure - figures[0]) / (figures[3] - figures[0]) for figure in figures]
        assert [(pixel - at[0]) / (at[3] - at[0]) for pixel in at] == pytest.approx(shares)


def test_a_forecast_begins_where_it_says_and_is_dashed_from_the_last_actual_figure() -> None:
    made = CASES["forecast_line"].chart()
    lines = [part for part in made.vega_lite["data"]["values"] if part["s"] == "Forecast" and part["y"] is not None]
    assert [(point["x"], point["y"]) for point in lines] == [("2026-04", 13.0), ("2026-05", 14.0), ("2026-06", 15.0)]
    svg = drawn(made)
    assert "Forecast from May 2026" in texts(svg)
    assert len(re.findall(r'stroke-dasharray="6,4"', svg)) == 1
    assert made.summary.startswith(
        "The forecast begins in May 2026. Actuals: 10 in Jan 2026, 13 in Apr 2026 (+3, +30.0%)"
    )


def test_a_stack_ends_at_the_sum_of_its_parts() -> None:
    case = ChartCase({**CASES["area"].spec, "chart_type": "bar", "stack": True}, CASES["area"].table)
    bars = boxes(drawn(case.chart()))
    for first, second in zip(bars[:6], bars[6:], strict=True):
        assert second[1] + second[3] == pytest.approx(first[1])
    assert [height / bars[0][3] * 10 for _, _, _, height in bars] == pytest.approx(case.table["value"])


def test_a_sparkline_has_a_row_for_each_member_with_its_first_and_last_figure() -> None:
    svg = drawn(CASES["sparkline_row"].chart())
    assert len(marks(svg, "line")) == 3
    shown = texts(svg)
    for name, first, last in (("Anker", "0", "10"), ("Boreal", "12", "15"), ("Cedar", "17", "20")):
        assert {name, first, last} <= set(shown)


def test_a_summary_tells_the_course_in_exact_figures() -> None:
    assert CASES["line"].chart().summary == (
        "Actuals: 110 EUR in Jan 2026, 151 in Jun 2026 (+41, +36.8%); highest 151 in Jun 2026, lowest 110 in Jan 2026. "
        "Prior Year: 100 EUR in Jan 2026, 105 in Jun 2026 (+5, +5.0%); highest 105 in Jun 2026, lowest 100 in Jan 2026."
    )
    assert CASES["waterfall"].chart().summary == (
        "From Budget 1,000 to Actuals 1,050 EUR (+50, +5.0%). "
        "Largest increase: Price +200. Largest decrease: Cost −100."
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("line", "0.998 in Jan 2026, 1.002 in Mar 2026 (+0.004, +0.4%); highest 1.004 in Feb 2026, lowest 0.998 in"),
        ("horizontal_bar", "C is largest with 1.004, A smallest with 0.998."),
        ("sparkline_row", "0.998 in Jan 2026, 1.002 in Mar 2026"),
    ],
)
def test_a_summary_has_the_digits_that_tell_its_figures_apart(kind: str, words: str) -> None:
    table = {"period": ["2026-01", "2026-02", "2026-03"], "value": [0.998, 1.004, 1.002], "name": ["A"] * 3}
    if kind == "horizontal_bar":
        table |= {"period": ["A", "C", "B"]}
    series = "name" if kind == "sparkline_row" else None
    summary = (
        ChartCase({"chart_type": kind, "x": "period", "series": series}, table, {"value": "ratio"}).chart().summary
    )
    assert words in summary


def test_arithmetic_on_doubles_leaves_no_noise() -> None:
    made = ChartCase(
        {"chart_type": "waterfall", "x": "step", "y": "value"},
        {"step": ["Start", "First", "Second", "End"], "value": [0.1, 0.2, 0.3, 0.6]},
    ).chart()
    assert [(point["a"], point["b"]) for point in made.vega_lite["data"]["values"]] == [
        (0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.0, 0.6),
    ]  # fmt: skip
    assert "0000" not in json.dumps(made.vega_lite) + made.summary


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        (["2026-02", "2025-12", "2026-01"], ["Dec2025", "Jan2026", "Feb"]),
        (["2026-Q2", "2025-Q4"], ["Q42025", "Q12026", "Q2"]),
        (["2026-W02", "2025-W52"], ["W522025", "W012026", "W02"]),
        (["2026", "2024"], ["2024", "2025", "2026"]),
        (["2026-03-02", "2026-02-27"], ["27 Feb2026", "2 Mar"]),
    ],
)
def test_periods_are_in_time_with_the_missing_ones_between(codes: list[str], labels: list[str]) -> None:
    case = ChartCase(
        {"chart_type": "line", "x": "period"}, {"period": codes, "value": [float(at) for at, _ in enumerate(codes)]}
    )
    svg = drawn(case.chart())
    assert [text for text in texts(svg) if text in labels] == labels


@pytest.mark.parametrize("kind", ["line", "area", "waterfall", "horizontal_bar", "forecast_line", "sparkline_row"])
def test_columns_that_are_certain_need_not_be_named(kind: str) -> None:
    case = CASES[kind]
    rest = {name: value for name, value in case.spec.items() if name not in ("x", "y", "series")}
    assert ChartCase(rest, case.table, case.units).chart() == case.chart()


def test_the_cohorts_of_a_heatmap_may_be_periods() -> None:
    case = CASES["cohort_heatmap"]
    rest = {name: value for name, value in case.spec.items() if name not in ("y", "series")}
    assert ChartCase(rest, case.table).chart() == case.chart()


@pytest.mark.parametrize("ids", [["6020", "6010", "6100"], ["2000", "1400", "2100"], ["2026-13", "2026-01"]])
def test_ids_that_look_like_periods_stay_as_they_are_given(ids: list[str]) -> None:
    made = ChartCase(
        {"chart_type": "bar"}, {"account": ids, "value": [float(at + 1) for at, _ in enumerate(ids)]}
    ).chart()
    assert [point["x"] for point in made.vega_lite["data"]["values"]] == ids


def test_dates_are_days_and_rows_are_plain() -> None:
    days = [date(2026, 3, 2), date(2026, 2, 27)]
    made = ChartCase({"chart_type": "line"}, {"day": days, "value": [1.0, float("nan")]}).chart()
    assert made.rows == (("2026-03-02", 1.0), ("2026-02-27", None))
    assert [point["x"] for point in made.vega_lite["data"]["values"]] == ["2026-02-27", "2026-03-02"]


def test_a_figure_is_scaled_once_for_the_whole_chart() -> None:
    table = {"name": ["a", "b"], "value": [12_345_678.0, 450_000.0]}
    made = ChartCase({"chart_type": "bar", "unit": "EUR"}, table).chart()
    shown = texts(drawn(made))
    assert {"12.3", "0.5", "in EUR millions"} <= set(shown)
    assert made.rows == (("a", 12_345_678.0), ("b", 450_000.0))
    scaled = ChartCase({"chart_type": "bar", "unit": "EUR thousands"}, table).chart()
    assert {"12,345,678", "450,000", "in EUR thousands"} <= set(texts(drawn(scaled)))


@pytest.mark.parametrize(
    ("unit", "values", "labels"),
    [
        ("fraction", [0.051, -0.2], {"5.1%", "−20.0%"}),
        ("pp", [0.051, -0.002], {"5.1", "−0.2", "in pp"}),
        ("%", [5.1, -20.0], {"5.1%", "−20.0%"}),
        ("FTE", [12.0, 3.0], {"12", "3", "in FTE"}),
        (None, [1.5e10, -2.5e9], {"15.0", "−2.5", "in billions"}),
        ("EUR each", [1.25, 0.5], {"1.25", "0.50"}),
    ],
)
def test_figures_are_shown_in_their_unit(unit: str | None, values: list[float], labels: set[str]) -> None:
    made = ChartCase({"chart_type": "bar", "unit": unit}, {"name": ["a", "b"], "value": values}).chart()
    assert labels <= set(texts(drawn(made)))


@pytest.mark.parametrize(
    ("known", "unit", "values", "labels", "name"),
    [
        ("EUR", "EUR", [12_345_678.0, 450_000.0], {"12.3", "0.5", "in EUR millions"}, "EUR"),
        ("EUR", "EUR thousands", [12_345_678.0, 450_000.0], {"12,346", "450", "in EUR thousands"}, "EUR"),
        ("EUR", "EUR k", [12_345_678.0, 450_000.0], {"12,346", "450", "in EUR thousands"}, "EUR"),
        ("EUR", "eur million", [12_345_678.0, 450_000.0], {"12.3", "0.5", "in EUR millions"}, "EUR"),
        ("EUR", "thousands", [12_345_678.0, 450_000.0], {"12,346", "450", "in EUR thousands"}, "EUR"),
        ("EUR", "EUR billions", [12_345_678.0, 450_000.0], {"0.0123", "0.0005", "in EUR billions"}, "EUR"),
        ("EUR each", "EUR per head", [1.25, 0.5], {"1.25", "0.50", "in EUR per head"}, "EUR per head"),
        ("number", "FTE", [12.0, 3.0], {"12", "3", "in FTE"}, "FTE"),
        ("number", "FTE thousands", [12_000.0, 3_000.0], {"12", "3", "in FTE thousands"}, "FTE"),
        ("ratio", "fraction", [1.02, 0.5], {"102.0%", "50.0%"}, "fraction"),
        ("fraction", "%", [0.051, -0.2], {"5.1%", "−20.0%"}, "fraction"),
        ("EUR", "fraction", [0.0, 0.0], {"0.000%"}, "fraction"),
    ],
)
def test_a_chart_keeps_the_unit_of_its_figures_at_the_scale_asked_for(
    known: str, unit: str, values: list[float], labels: set[str], name: str
) -> None:
    table = {"name": ["a", "b"], "value": values}
    made = ChartCase({"chart_type": "bar", "unit": unit}, table, {"value": known}).chart()
    assert labels <= set(texts(drawn(made)))
    assert made.unit == name
    assert made.rows == tuple(zip(["a", "b"], values, strict=True))


def test_scenarios_are_drawn_by_what_they_are() -> None:
    table = {
        "quarter": ["2026-Q1"] * 4,
        "alias": ["Ist", "Vorjahr", "Plan", "Erwartung"],
        "value": [4.0, 3.0, 2.0, 1.0],
    }
    styles = {"Ist": "actual", "Vorjahr": "prior_year", "Plan": "plan", "Erwartung": "forecast"}
    made = ChartCase({"chart_type": "bar", "series": "alias", "styles": styles}, table).chart()
    svg, theme = drawn(made), THEMES["light"]
    fills = re.findall(r'role="graphics-symbol"[^>]*fill="([^"]+)"', svg)
    assert fills[:4] == [theme.actual, theme.prior_year, theme.background, theme.tint]
    assert svg.count('stroke-dasharray="1.25,3"') == 1
    by_name = ChartCase(
        {"chart_type": "bar", "series": "alias"}, {**table, "alias": ["Actuals", "PY", "Budget", "Forecast"]}
    )
    assert re.findall(r'role="graphics-symbol"[^>]*fill="([^"]+)"', drawn(by_name.chart()))[:4] == fills[:4]


def test_a_variance_is_coloured_by_whether_it_is_good_never_by_its_sign_alone() -> None:
    table = {"name": ["a", "b"], "value": [5.0, -5.0]}
    for favourable, kinds in (("up", ["good", "bad"]), ("down", ["bad", "good"])):
        made = ChartCase({"chart_type": "bar", "favourable": favourable}, table).chart()
        assert [point["g"] for point in made.vega_lite["data"]["values"]] == kinds


def test_an_axis_that_does_not_reach_zero_says_so() -> None:
    line = ChartCase({"chart_type": "line"}, {"period": MONTHS, "value": [100.0, 101, 102, 103, 104, 105]})
    assert "axis from 100" in texts(drawn(line.chart()))
    bars = ChartCase({"chart_type": "bar"}, line.table)
    assert not any("axis" in text for text in texts(drawn(bars.chart())))


@pytest.mark.parametrize(
    "values", [[5.0, 5.0], [0.0, 0.0], [-5.0, -5.0], [100.0, 100.0 + 1e-10], [-1e15, 1e15], [1e-9, 0]]
)
@pytest.mark.parametrize("kind", ["line", "bar", "area", "horizontal_bar", "sparkline_row", "cohort_heatmap"])
def test_figures_that_hardly_differ_are_drawn(kind: str, values: list[float]) -> None:
    table = {"name": ["a", "b"], "period": ["2026-01", "2026-02"], "value": values}
    x, series = ("name", None) if "bar" in kind else ("period", "name")
    if kind == "area":
        table, series = {**table, "value": [abs(value) for value in values]}, None
    assert "NaN" not in drawn(ChartCase({"chart_type": kind, "x": x, "series": series}, table).chart())


@pytest.mark.parametrize("end", ["\\", "\\'", "\u2028x", "\n", '\\"]', "\x1b[2J"])
@pytest.mark.parametrize("kind", CASES)
def test_names_and_units_with_any_mark_are_drawn(kind: str, end: str) -> None:
    case = CASES[kind]

    def named(part: Any) -> Any:
        return tuple(map(named, part)) if isinstance(part, tuple) else f"{part}{end}"

    columns: dict[str, Any] = {
        part: named(case.spec[part]) for part in ("x", "y", "series", "label") if part in case.spec
    }
    table = {f"{name}{end}": values for name, values in case.table.items()}
    assert drawn(ChartCase({**case.spec, **columns, "unit": None}, table).chart())
    if kind != "scatter":
        assert drawn(ChartCase({**case.spec, "unit": f"u{end}"}, case.table).chart())
