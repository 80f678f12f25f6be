"""Charts of kept results: a script in jail, the chart of what it leaves, and perhaps a picture as a file."""

from engine.charts.charts import Chart, chart
from engine.errors import BadArguments, QuotaExceeded, Unavailable
from engine.notes import Note
from engine.report.transform import Made, Transform, transformed
from engine.requests import ChartRequest, ChartSpec
from sandbox.job import MOST_FRAMES
from sandbox.render import RenderFailed
from server.caller import Caller
from server.wire.answer import Answer
from server.wire.charts import Picture, charted, spec_json

NAME = "eval_chart_transform"


def eval_chart_transform(caller: Caller, asked: ChartRequest) -> Answer:
    """Draw what a script makes of kept results."""
    hold(asked.data_refs)
    given = caller.datasets.given(asked.data_refs)
    left = caller.scripts.run(NAME, asked.transform_code, [one.frame for one in given])
    spec = asked.chart_spec
    transform = transformed(Made(spec.title, asked.transform_code, spec_json(spec), left.frame), given)
    drawn = chart(spec, left.frame, transform.units)
    picture = picture_of(caller, spec, drawn, transform)
    return charted(drawn, transform, caller.datasets.keep(transform), left.printed, picture, caller.answer_tokens)


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


def picture_of(caller: Caller, spec: ChartSpec, drawn: Chart, transform: Transform) -> Picture:
    """Return the file of the picture that was asked for, or the note that says why there is none."""
    if spec.render == "none":
        return Picture()
    try:
        return Picture(caller.files.picture(transform, spec.format, caller.scripts.draw(drawn.vega_lite, spec.format)))
    except RenderFailed as failed:
        return Picture(note=Note.of("not_drawn", reason=str(failed)))
    except (QuotaExceeded, Unavailable) as refused:
        return Picture(note=Note.of("not_drawn", reason=refused.error.rstrip(".")))
