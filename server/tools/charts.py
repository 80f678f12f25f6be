"""Charts of kept results: a sandboxed script, the chart of its table, and perhaps a picture file."""

from dataclasses import dataclass, replace
from typing import Annotated

import polars as pl

from engine.model.catalogue import Favourable
from engine.model.errors import BadArguments, QuotaExceeded, Unavailable
from engine.model.notes import Note
from engine.model.requests import ChartRequest, ChartSpec, OneOf
from engine.present.answers.charts import PictureFile, chart_answer, spec_json
from engine.present.charts.charts import CHARTS, Chart, chart
from engine.report.explanation import Explanation
from engine.report.snapshots import Kept
from engine.report.transform import ScriptOutput, Transform, transformed
from sandbox.job import MOST_FRAMES
from sandbox.render import RenderError
from server.caller.caller import Caller
from server.caller.scripts import ScriptResult
from server.tools.tool import Effect, Tool
from server.wire.answers import Answer, given_json

# Charts of kept results: a script in jail, the chart of what it leaves, and perhaps a picture as a file.


NAME = "eval_chart_transform"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChartSpec(ChartSpec):
    """How to draw a chart of one of the kinds in CHARTS."""

    chart_type: Annotated[str, OneOf(tuple(CHARTS))]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChartRequest(ChartRequest):
    """A chart of one of the kinds in CHARTS."""

    chart_spec: KnownChartSpec


def eval_chart_transform(caller: Caller, asked: ChartRequest) -> Answer:
    """Draw what a script makes of kept results."""
    hold(asked.data_refs)
    given = caller.datasets.given(asked.data_refs)
    spec, code = asked.chart_spec, asked.transform_code or ""
    if code:
        left = caller.scripts.run(NAME, code, [one.frame for one in given])
    else:
        refuse_several(asked.data_refs)
        spec, frame = drawn_as_it_is(spec, given[0])
        left = ScriptResult(frame, "")
    transform = transformed(ScriptOutput(spec.title, code, spec_json(spec), left.frame), given)
    drawn = chart(spec, left.frame, transform.units)
    picture = picture_of(caller, spec, drawn, transform)
    kept = caller.datasets.keep(transform)
    return Answer(chart_answer(drawn, transform, kept, left.printed, picture, caller.answer_tokens, caller.stop))


def hold(references: tuple[str, ...]) -> None:
    """Refuse no references, and more than a script is given."""
    if not 0 < len(references) <= MOST_FRAMES:
        raise BadArguments(
            f"data_refs takes 1 to {MOST_FRAMES} references of results, as run_statement and run_metric return them in "
            f"data_ref; {len(references)} were given.",
            field="data_refs",
            got=len(references),
            example={"data_refs": ["ds_\N{HORIZONTAL ELLIPSIS}"]},
        )


def refuse_several(references: tuple[str, ...]) -> None:
    """Refuse several results without a script that joins them."""
    if len(references) > 1:
        raise BadArguments(
            f"Without transform_code one result is drawn as it is, and {len(references)} were given. Name one, or join "
            "them.",
            field="transform_code",
            example={"transform_code": "result = pl.concat(frames)"},
        )


def drawn_as_it_is(spec: ChartSpec, given: Kept) -> tuple[ChartSpec, pl.DataFrame]:
    """Return a spec and the table of a result without a script: of an explanation, its first list."""
    if not isinstance(given, Explanation):
        return spec, given.frame
    spec = replace(spec, x=spec.x or "label", y=spec.y or "value")
    first = given.frame.filter(pl.col("by") == pl.col("by").first())
    if spec.chart_type != "waterfall":
        return spec, first.filter(pl.col("kind") == "change")
    if given.line.favourable is Favourable.DOWN and spec.favourable is None:
        spec = replace(spec, favourable="down")
    return replace(spec, kind=spec.kind or "kind"), first


def picture_of(caller: Caller, spec: ChartSpec, drawn: Chart, transform: Transform) -> PictureFile:
    """Return the picture file that the caller asked for, or a note that says why there is none."""
    if spec.render == "none":
        return PictureFile()
    try:
        picture = caller.scripts.draw(drawn.vega_lite, spec.format)
        return PictureFile(given_json(caller.files.picture(transform, spec.format, picture)))
    except RenderError as failed:
        return PictureFile(note=Note.of("not_drawn", reason=str(failed)))
    except (QuotaExceeded, Unavailable) as refused:
        return PictureFile(note=Note.of("not_drawn", reason=refused.error.rstrip(".")))


# Charts of kept results.


CHARTING = (
    Tool(
        name=NAME,
        title="Draw a chart",
        description=(
            "Draw a chart of results by their data_ref: a script makes the table, chart_spec says how it is drawn. "
            "Statements and metrics are a tidy frame, one row for each figure: line (or metric), label, line_order, "
            "level, kind, scenario, alias, for each breakdown dimension a column of ids and one named "
            "<dimension>_label (null in totals: filter those out), value (a float, unscaled), exact (its digits), "
            "unit. inspect_rows: its rows. explain_variance: a waterfall, which needs no script. Select and pivot "
            "figures, do not round or scale them; where you compute new ones, give chart_spec.unit. Returns the "
            "points, a Vega-Lite specification, a summary to quote and a data_ref."
        ),
        request=KnownChartRequest,
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
