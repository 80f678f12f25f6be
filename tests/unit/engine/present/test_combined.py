"""Bars and lines in one chart: which is which, and the axis, unit and words of each."""

import json
from typing import Any

import pytest
import vl_convert

from engine.present.charts.charts import Chart
from tests.support.answers.charts import ChartCase

MONTHS = ["2026-01", "2026-02", "2026-03"]
ACROSS = {"period": MONTHS, "sales": [200.0, 250.0, 300.0], "plan": [220.0, 240.0, 260.0]}
MARGINS = [0.40, 0.30, 0.45]
LONG = {
    "period": MONTHS * 2,
    "label": ["Sales"] * 3 + ["Margin"] * 3,
    "value": [200.0, 250.0, 300.0, *MARGINS],
    "unit": ["EUR"] * 3 + ["fraction"] * 3,
}
SHARED = ChartCase({"chart_type": "bar", "y": ("sales", "plan"), "lines": ("plan",), "unit": "EUR"}, ACROSS)
SPLIT = ChartCase({"chart_type": "bar", "x": "period", "y": "value", "series": "label", "lines": ("Margin",)}, LONG)


def layers(made: Chart) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the layer of both, that of the bars and that of the lines."""
    (both,) = made.vega_lite["layer"]
    bars, lines = both["layer"]
    return both, bars, lines


def axis(layer: dict[str, Any]) -> dict[str, Any]:
    """Return the y axis of the first marks of a layer."""
    found: dict[str, Any] = layer["layer"][0]["encoding"]["y"]["axis"]
    return found


def test_bars_and_lines_of_one_unit_share_an_axis_from_zero() -> None:
    both, bars, lines = layers(SHARED.chart())
    assert "resolve" not in both
    assert [part["layer"][0]["mark"]["type"] for part in (bars, lines)] == ["bar", "line"]
    assert [part["transform"][0]["filter"]["oneOf"] for part in (bars, lines)] == [["sales"], ["plan"]]
    scales = [part["layer"][0]["encoding"]["y"]["scale"]["domain"] for part in (bars, lines)]
    assert scales[0] == scales[1]
    assert (scales[0][0], scales[0][1] >= 300) == (0, True)


def test_lines_of_another_unit_have_an_axis_on_the_right() -> None:
    made = SPLIT.chart()
    both, bars, lines = layers(made)
    assert both["resolve"] == {"scale": {"y": "independent"}}
    assert ("orient" in axis(bars), axis(lines)["orient"], axis(lines)["grid"]) == (False, "right", False)
    assert axis(lines)["labelExpr"].endswith("'%'")
    first, last = lines["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert first <= min(MARGINS)
    assert max(MARGINS) <= last < 1
    assert made.vega_lite["title"]["subtitle"] == ["bars: Sales in EUR · line: Margin in %"]
    assert made.unit == "EUR"
    assert [(column.name, column.unit) for column in made.columns] == [
        ("period", None),
        ("label", None),
        ("value", None),
    ]


def test_both_are_told_in_words_with_their_units() -> None:
    made = SPLIT.chart()
    assert made.summary == (
        "Sales: 200 EUR in Jan 2026, 300 in Mar 2026 (+100, +50.0%); highest 300 in Mar 2026, lowest 200 in Jan 2026. "
        "Margin: 40.0% in Jan 2026, 45.0% in Mar 2026 (+5.0 pp); highest 45.0% in Mar 2026, lowest 30.0% in Feb 2026."
    )
    assert made.vega_lite["description"] == f"A title. {made.summary}"


@pytest.mark.parametrize("case", [SHARED, SPLIT])
def test_they_are_drawn(case: ChartCase) -> None:
    svg = vl_convert.vegalite_to_svg(json.dumps(case.chart().vega_lite))
    assert ("mark-rect" in svg, "mark-line" in svg) == (True, True)


def test_columns_keep_their_units_where_their_table_has_them() -> None:
    units = {"sales": "EUR", "plan": "days"}
    made = ChartCase({**SHARED.spec, "unit": None}, ACROSS, units).chart()
    assert [(column.name, column.unit) for column in made.columns] == [("period", None), *units.items()]
    assert layers(made)[0]["resolve"] == {"scale": {"y": "independent"}}
