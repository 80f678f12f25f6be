"""A small table and spec for each kind of chart, and what a drawn chart holds."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import vl_convert

from engine.model.requests import ChartSpec
from engine.present.charts.charts import Chart, chart

MONTHS = [f"2026-{month:02}" for month in range(1, 7)]


@dataclass(frozen=True)
class ChartCase:
    """A table and the spec of its chart."""

    spec: dict[str, Any]
    table: Mapping[str, Any]
    units: dict[str, str] = field(default_factory=dict)

    def chart(self, **changed: object) -> Chart:
        """Draw the chart with changed fields of the spec."""
        fields: dict[str, Any] = {"title": "A title", **self.spec, **changed}
        return chart(ChartSpec(**fields), pl.DataFrame(self.table, strict=False), self.units)


CASES = {
    "line": ChartCase(
        {"x": "period", "y": "value", "series": "alias", "unit": "EUR"},
        {
            "period": MONTHS * 2,
            "alias": ["Actuals"] * 6 + ["Prior Year"] * 6,
            "value": [110.1, 120.2, 130.3, 125.4, 140.5, 150.6, 100.0, 101.0, 102.0, 103.0, 104.0, 105.0],
        },
    ),
    "bar": ChartCase(
        {"x": "quarter", "y": ("actual", "budget", "forecast")},
        {
            "quarter": ["2026-Q1", "2026-Q2", "2026-Q3"],
            "actual": [100.0, 200.0, None],
            "budget": [110.0, 150.0, 180.0],
            "forecast": [None, None, 170.0],
        },
        {"actual": "EUR", "budget": "EUR", "forecast": "EUR"},
    ),
    "area": ChartCase(
        {"x": "period", "y": "value", "series": "line"},
        {"period": MONTHS * 2, "line": ["Pumps"] * 6 + ["Service"] * 6, "value": [10, 20, 30, 20, 10, 5] * 2},
    ),
    "waterfall": ChartCase(
        {"x": "step", "y": "value", "unit": "EUR"},
        {"step": ["Budget", "Price", "Volume", "Cost", "Actuals"], "value": [1000.1, 200.2, -50.1, -100.1, 1050.1]},
    ),
    "scatter": ChartCase(
        {"x": "revenue", "y": "margin", "label": "company", "series": "region"},
        {
            "company": ["Anker", "Boreal", "Cedar", "Delta"],
            "region": ["Europe", "Americas", "Europe", "Asia"],
            "revenue": [1.0e6, 4.0e6, 2.5e6, 8.0e6],
            "margin": [0.05, 0.11, -0.02, 0.2],
        },
        {"revenue": "EUR", "margin": "fraction"},
    ),
    "horizontal_bar": ChartCase(
        {"x": "customer", "y": "value", "sort": "descending"},
        {"customer": ["Anker Maschinenbau", "Boreal", "Cedar"], "value": [50.0, 200.0, -25.0]},
    ),
    "forecast_line": ChartCase(
        {"x": "period", "y": "value", "forecast_from": "2026-05"},
        {"period": MONTHS, "value": [10.0, 12.0, 11.0, 13.0, 14.0, 15.0]},
    ),
    "cohort_heatmap": ChartCase(
        {"x": "age", "y": "share", "series": "cohort", "unit": "fraction"},
        {
            "cohort": ["2026-Q1"] * 3 + ["2026-Q2"] * 2 + ["2026-Q3"],
            "age": [0, 1, 2, 0, 1, 0],
            "share": [1.0, 0.8, 0.6, 1.0, 0.7, 1.0],
        },
    ),
    "sparkline_row": ChartCase(
        {"x": "period", "y": "value", "series": "company"},
        {
            "period": MONTHS * 3,
            "company": ["Anker"] * 6 + ["Boreal"] * 6 + ["Cedar"] * 6,
            "value": [float(at % 7 + at) for at in range(18)],
        },
    ),
}
CASES = {kind: ChartCase({"chart_type": kind, **case.spec}, case.table, case.units) for kind, case in CASES.items()}


def drawn(made: Chart) -> str:
    """Return a chart as SVG."""
    svg: str = vl_convert.vegalite_to_svg(dict(made.vega_lite))
    return svg


def texts(svg: str) -> list[str]:
    """Return the texts of a picture."""
    return [re.sub("<[^>]*>", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


def marks(svg: str, kind: str) -> list[str]:
    """Return the paths of the marks of one kind, such as rect or symbol, without legends."""
    groups = re.findall(rf'<g class="mark-{kind} role-mark[^"]*"[^>]*>(.*?)</g>', svg)
    return [path for group in groups for path in re.findall(r'<path[^>]* d="([^"]*)"', group)]


def size_of(png: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG in pixels, as its header has them."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height
