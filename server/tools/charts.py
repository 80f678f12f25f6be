"""Charts of kept results, and tables computed of them: a sandboxed script, the chart of its table, its picture."""

from dataclasses import dataclass
from typing import Annotated

from engine.instance.schema.common import OneOf
from engine.model.errors import BadArguments, ChartInvalid, Unavailable, first_of
from engine.model.notes import MOST_NAMED, Note
from engine.model.requests import ChartSpec
from engine.plans.report_size import ReportSize
from engine.present.answers.budget import DataRef
from engine.present.answers.charts import ChartPictures, chart_answer, computed_answer, details, spec_json
from engine.present.charts.charts import CHARTS, Chart, chart, whole
from engine.present.charts.repairs import framed
from engine.present.charts.results import drawn_as_it_is
from engine.report.inspection import Inspection
from engine.report.snapshots import Kept
from engine.report.transform import ScriptOutput, Transform, transformed
from sandbox.job import MOST_FRAMES
from sandbox.render import RenderError
from server.base.errors import QuotaExceeded, TransformFailed
from server.base.notes import ServerNote
from server.base.requests import ChartRequest
from server.caller.caller import Caller
from server.caller.scripts import ScriptResult
from server.tools.examples import no_example
from server.tools.tool import Effect, Tool
from server.wire.answers import Answer, given_json

# Charts of kept results: a script in jail, the chart of what it leaves, and perhaps a picture of it.


NAME = "eval_chart_transform"
COMPUTED = "Computed rows"  # label of a table without a chart
SELECT = "result = df.select('label', 'value')"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChartSpec(ChartSpec):
    """How to draw a chart of one of the kinds in CHARTS."""

    chart_type: Annotated[str, OneOf(tuple(CHARTS))]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChartRequest(ChartRequest):
    """A chart of one of the kinds in CHARTS."""

    chart_spec: KnownChartSpec | None = None


def eval_chart_transform(caller: Caller, asked: ChartRequest) -> Answer:
    """Draw what a script makes of kept results, or return its rows; without a script, draw a result as it is."""
    try:
        return transform_or_draw(caller, asked)
    except ChartInvalid as refused:
        refused.example = whole(refused.example)
        raise
    except TransformFailed as refused:
        named = columns_of(asked.chart_spec) if asked.chart_spec else []
        if known := [name for name in named if name in refused.valid]:
            names = ", ".join(map(repr, known))
            refused.example = {"transform_code": f"result = df.select({names}).drop_nulls()"}
        raise


def columns_of(spec: ChartSpec) -> list[str]:
    """Return the columns that a spec names, each once."""
    y = (spec.y,) if isinstance(spec.y, str) else spec.y or ()
    return list(dict.fromkeys(name for name in (spec.x, *y, spec.series, spec.kind, spec.label) if name))


def transform_or_draw(caller: Caller, asked: ChartRequest) -> Answer:
    """Return what `eval_chart_transform` answers."""
    hold(asked.data_refs)
    refuse_nothing(asked)
    spec, code = asked.chart_spec, asked.transform_code or ""
    if not code:
        refuse_several(asked.data_refs)
    given = caller.datasets.given(asked.data_refs, lambda rows: caller.admit(ReportSize(figures=rows, places=0)))
    if code:
        left = caller.scripts.run(NAME, code, [one.frame for one in given])
    if spec is None:
        return computed(caller, code, left, given)
    if code:
        output = ScriptOutput(spec.title, code, spec_json(spec), left.frame, notes=not_finite_notes(left))
        made_by = framed(code)
    else:
        drawable = drawn_as_it_is(spec, given[0])
        spec, left = drawable.spec, ScriptResult(drawable.frame, "")
        units = {"value": drawable.unit} if drawable.unit else {}
        output = ScriptOutput(spec.title, "", spec_json(spec), drawable.frame, units, drawable.notes)
        made_by = drawable.code
    transform = transformed(output, given)
    is_ledger = all(isinstance(one, Inspection) for one in given)
    drawn = chart(spec, transform.frame, transform.units, code=made_by, adds_up=is_ledger)
    pictures = pictures_of(caller, spec, drawn, transform, is_shown=asked.picture)

    def answered(data_ref: DataRef) -> Answer:
        result = chart_answer(drawn, transform, data_ref, left.printed, pictures, caller.answer_tokens, caller.stop)
        return Answer(result, details=details(transform, drawn if pictures.shown else None), picture=pictures.shown)

    return caller.datasets.keep(transform, answered)


def computed(caller: Caller, code: str, left: ScriptResult, given: list[Kept]) -> Answer:
    """Return the rows that a script left, kept as they are."""
    transform = transformed(ScriptOutput(COMPUTED, code, {}, left.frame, notes=not_finite_notes(left)), given)

    def answered(data_ref: DataRef) -> Answer:
        result = computed_answer(transform, data_ref, left.printed, caller.answer_tokens, caller.stop)
        return Answer(result, details=details(transform))

    return caller.datasets.keep(transform, answered)


def not_finite_notes(left: ScriptResult) -> tuple[Note, ...]:
    """Return the note on figures of a script that are blank as they were NaN or infinite."""
    names, count = first_of(list(left.not_finite), MOST_NAMED), sum(left.not_finite.values())
    return (Note.of("not_finite", columns=names, count=f"{count:,}"),) if count else ()


def hold(references: tuple[str, ...]) -> None:
    """Refuse no references, and more than a script is given."""
    if not 0 < len(references) <= MOST_FRAMES:
        raise BadArguments(
            f"data_refs takes 1 to {MOST_FRAMES} references of results, as run_statement and run_metric return them in "
            f"data_ref; {len(references)} were given.",
            field="data_refs",
            got=references,
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


def refuse_nothing(asked: ChartRequest) -> None:
    """Refuse a call with neither a script nor a chart, and a picture of no chart."""
    if asked.chart_spec is not None:
        return
    chart_spec = {"chart_spec": {"chart_type": "bar", "title": "Figures by member"}}
    if asked.picture:
        raise BadArguments(
            "picture draws a chart, and there is no chart_spec. Add one, or leave picture out.",
            field="chart_spec",
            example=chart_spec,
        )
    if not asked.transform_code:
        raise BadArguments(
            "Neither transform_code nor chart_spec is given. transform_code computes rows of the results, chart_spec "
            "draws one; give one of them, or both.",
            field="transform_code",
            example={"transform_code": SELECT},
        )


def pictures_of(
    caller: Caller, spec: ChartSpec, drawn: Chart, transform: Transform, *, is_shown: bool
) -> ChartPictures:
    """Return the pictures that the caller asked for, or notes that say why there are none."""
    file = shown = None
    notes = []
    if spec.render == "artifact":
        try:
            picture = caller.scripts.draw(drawn.vega_lite, spec.format)
            file = given_json(caller.files.picture(transform, spec.format, picture))
        except RenderError as failed:
            notes.append(ServerNote.of("not_drawn", reason=str(failed)))
        except (QuotaExceeded, Unavailable) as refused:
            notes.append(ServerNote.of("not_drawn", reason=refused.error.rstrip(".")))
    if is_shown:
        try:
            shown = caller.scripts.picture(drawn.vega_lite)
        except RenderError as failed:
            notes.append(ServerNote.of("not_drawn", reason=str(failed)))
    return ChartPictures(file, shown, tuple(notes))


# Charts of kept results.


CHARTING = (
    Tool(
        name=NAME,
        title="Draw a chart",
        hint="draw a chart, compute with results",
        description=(
            "Compute with kept results and draw them: transform_code makes a table, whose first 200 rows are returned; "
            "chart_spec draws it, without a script a result as it is (explain_variance as a waterfall). Statements and "
            "metrics are a tidy frame, one row for each figure: line (or metric), label, line_order, level, kind, "
            "scenario, alias, for each dimension ids and <dimension>_label (null in totals: filter those out), value "
            "(a float, unscaled), exact (digits), unit. inspect_rows: its rows. Do not round or scale; of new figures "
            "give chart_spec.unit. A chart returns points, Vega-Lite, a summary to quote and a data_ref."
        ),
        request=KnownChartRequest,
        run=eval_chart_transform,
        example=no_example,  # the toolbox draws that of run_metric
        lane="scripts",
        effect=Effect.FILE,
        withheld=lambda here: here.workshop.pool.trouble(),
    ),
)
