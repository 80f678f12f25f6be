"""Charts of kept results."""

from engine.requests import ChartRequest
from server.tool import Effect, Tool
from server.tools.charts import NAME, eval_chart_transform

CHARTS = (
    Tool(
        name=NAME,
        title="Draw a chart",
        description=(
            "Draw a chart of results that you have: a script makes the table, chart_spec says how it is drawn. Take "
            "the data_ref of run_statement, run_metric or inspect_rows, or of a chart before. In the script a "
            "statement or metrics are a tidy frame, one row for each figure: line (or metric), label, line_order, "
            "level, kind, scenario, alias, for each breakdown dimension a column of ids and one of labels named "
            "<dimension>_label (null in totals: filter those out), value (a float in units, never scaled), exact (its "
            "digits as text) and unit. Rows of inspect_rows are as they were shown: amounts as floats, all else as "
            "text. Select and pivot figures rather than rounding or scaling them; where you compute new ones, give "
            "chart_spec.unit. Returns the points, a Vega-Lite specification that stands by itself, a summary to quote "
            "and a data_ref of the table, which export_dataset makes into a file. With render: artifact the chart "
            "is also a temporary file of the caller's own, an SVG or PNG with a download_url; the books stay as they "
            "are. The example draws a result of run_metric."
        ),
        request=ChartRequest,
        run=eval_chart_transform,
        example={
            "data_refs": ["ds_\N{HORIZONTAL ELLIPSIS}"],
            "transform_code": "result = df.filter(pl.col('metric') == 'revenue', pl.col('organisation').is_not_null())"
            ".select('organisation_label', 'alias', 'value')",
            "chart_spec": {"chart_type": "bar", "title": "Revenue by region", "x": "organisation_label", "y": "value"}
            | {"series": "alias"},
        },
        lane="scripts",
        effect=Effect.FILE,
        withheld=lambda here: here.workshop.pool.trouble(),
    ),
)
