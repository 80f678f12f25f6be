"""Results drawn as they are, without a script: what a spec leaves open, and the rows that are points."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl
from msgspec import Struct

from engine.model.catalogue import LABEL, Favourable
from engine.model.errors import ChartInvalid, first_of
from engine.model.notes import MOST_NAMED, Note
from engine.model.requests import ChartSpec
from engine.notes.currency_notes import MIXED
from engine.present.charts.charts import Chart, chart
from engine.present.charts.periods import grain_of
from engine.present.charts.picture import HUNDREDFOLD, PLAIN, asked_unit
from engine.present.charts.refusals import bad_spec, no_data, some
from engine.present.charts.waterfalls import signs_of
from engine.report.explanation import Explanation
from engine.report.report import Report
from engine.report.snapshots import Kept

LONGEST_HEADING = 60  # characters of each part of a title


class AsItIs(Struct, frozen=True):
    """A result drawn as it is: a spec whose columns are named, the rows to draw, and the unit of their figures."""

    spec: ChartSpec
    frame: pl.DataFrame
    unit: str | None = None
    notes: tuple[Note, ...] = ()  # on figures that are left out
    kept: tuple[str, ...] = ()  # conditions that a script would keep the rows by

    @property
    def code(self) -> str:
        """The script that leaves the same rows."""
        return f"result = df.filter({', '.join(self.kept)})" if self.kept else "result = df"


def drawn_as_it_is(spec: ChartSpec, given: Kept) -> AsItIs:
    """Return how to draw a result: of an explanation its first list, of a report the figures of one unit."""
    match given:
        case Explanation():
            return explanation_as_it_is(spec, given)
        case Report():
            return report_as_it_is(spec, given)
    return AsItIs(spec, given.frame)


def explanation_as_it_is(spec: ChartSpec, given: Explanation) -> AsItIs:
    """Return how to draw the first list of an explanation. Raises ChartInvalid if it has no rows."""
    if given.currency == MIXED and (given.unit or "").startswith(MIXED):
        raise several_currencies(given.notes)
    first = given.frame.filter(pl.col("by") == pl.col("by").first())
    if not (first["kind"] == "change").any():
        raise no_data("The explanation has no rows to draw.", "result = df", first.height)
    spec = replace(spec, x=spec.x or "label", y=spec.y or "value")
    by = f"pl.col('by') == {first['by'][0]!r}"
    if spec.chart_type != "waterfall":
        changes = first.filter(pl.col("kind") == "change")
        return AsItIs(spec, changes, given.unit, kept=(by, "pl.col('kind') == 'change'"))
    if given.line.favourable is Favourable.DOWN and spec.favourable is None:
        spec = replace(spec, favourable="down")
    return AsItIs(replace(spec, kind=spec.kind or "kind"), first, given.unit, kept=(by,))


def report_as_it_is(spec: ChartSpec, given: Report) -> AsItIs:
    """Return how to draw the figures of a report in one unit; of a breakdown its members, as totals have no place."""
    frame = given.frame
    if given.breakdown:
        frame = frame.filter(pl.all_horizontal(pl.col(given.breakdown).is_not_null()))
    members = tuple(f"pl.col({name!r}).is_not_null()" for name in given.breakdown)
    if spec.chart_type == "scatter":
        return AsItIs(spec, frame, kept=members)
    refuse_unknown_lines(spec, frame)
    is_line = pl.any_horizontal(pl.col("label", "alias").is_in(list(spec.lines)))
    bars = of_one_unit(spec, given, frame.filter(~is_line))
    kept = pl.concat([bars, frame.filter(is_line)])
    unit = next(iter(kept["unit"]), None)
    if given.currency == MIXED and not is_one_currency(spec, frame, unit):
        raise several_currencies(given.notes)
    notes = left_out(frame, kept, unit)
    aliases = kept["alias"].unique(maintain_order=True).to_list()
    only = (f"pl.col('unit') == {unit!r}", f"pl.col('alias').is_in({aliases!r})") if notes and not spec.lines else ()
    own = unit if kept["unit"].n_unique() < 2 else None  # bars and lines of two units: the rows say them
    return AsItIs(*named_columns(spec, given, kept), own, notes, (*members, *only))


def refuse_unknown_lines(spec: ChartSpec, frame: pl.DataFrame) -> None:
    """Raise ChartInvalid for a line of the spec that is no line and no scenario of a report."""
    labels, aliases = (frame[column].unique(maintain_order=True).to_list() for column in ("label", "alias"))
    unknown = [name for name in spec.lines if name not in {*labels, *aliases}]
    if unknown:
        series = labels if len(labels) > 1 else aliases
        fault = f"There is no series {some(unknown)} to draw as a line."
        raise bad_spec(spec, "lines", fault, tuple(series[-1:] if len(series) > 1 else ()), series)


def of_one_unit(spec: ChartSpec, given: Report, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the figures of one unit: the one that the spec names, else that of most figures, money if several are.

    Percent variances, shares and ranks come last, as they are no figures of the lines.
    """
    shares = [column.heading for column in given.columns if not column.comparison.keeps_unit]
    is_share = pl.col("alias").is_in(shares).alias("is_share")
    kinds = frame.group_by("unit", is_share, maintain_order=True).agg(pl.col("value").count()).rows()
    if len(kinds) < 2:
        return frame
    asked = [asked_unit(spec.unit, unit) if spec.unit else None for unit, _, _ in kinds]
    said = [kind for kind, found in zip(kinds, asked, strict=True) if found and found.name == kind[0]]
    named = [kind for kind, found in zip(kinds, asked, strict=True) if found]
    unit, share, _ = max(said or named or kinds, key=lambda kind: (not kind[1], kind[2], kind[0] == given.currency))
    return frame.filter(pl.col("unit") == unit, is_share == share)


def is_one_currency(spec: ChartSpec, frame: pl.DataFrame, unit: str | None) -> bool:
    """Tell whether figures to draw are in one currency: all amounts of a frame, or those that a spec names."""
    if unit is None or unit.startswith(MIXED):
        return False
    others = {each for each in frame["unit"].unique() if each != unit and each not in (*HUNDREDFOLD, *PLAIN)}
    return not others or (spec.unit is not None and asked_unit(spec.unit, unit) is not None)


def left_out(frame: pl.DataFrame, kept: pl.DataFrame, unit: str | None) -> tuple[Note, ...]:
    """Return the note on lines and scenarios whose figures have another unit than those that are drawn."""
    left = [name for column in ("label", "alias") for name in names_beside(frame[column], kept[column])]
    others = [str(other) for other in frame["unit"].unique(maintain_order=True) if other != unit]
    about = {"unit": str(unit), "left": first_of(left, MOST_NAMED), "others": first_of(others)}
    return (Note.of("other_units", **about),) if left else ()


def names_beside(names: pl.Series, drawn: pl.Series) -> list[str]:
    """Return the names of a column that are not among those that are drawn, each once."""
    each = names.unique(maintain_order=True)
    return each.filter(~each.is_in(drawn.unique().implode())).to_list()


def named_columns(spec: ChartSpec, given: Report, frame: pl.DataFrame) -> tuple[ChartSpec, pl.DataFrame]:
    """Return the spec with the columns that it leaves open, and the rows; those of a waterfall with their signs."""
    if len(given.time) > 1 and given.breakdown == given.time:
        return by_two_times(spec, given, frame), frame
    first = next(iter(given.breakdown), None)
    name = "label" if first is None else first if first in given.time else first + LABEL
    spec = replace(spec, x=spec.x or name, y=spec.y or "value")
    if spec.chart_type == "waterfall":
        return with_signs(spec, frame) if first is None else (spec, frame)
    labels, aliases = frame["label"].n_unique(), frame["alias"].n_unique()
    are_lines = bool(frame["label"].is_in(list(spec.lines)).any())
    several = "label" if are_lines else "alias" if aliases > 1 else "label" if given.breakdown and labels > 1 else None
    return replace(spec, series=spec.series or several), frame


def with_signs(spec: ChartSpec, frame: pl.DataFrame) -> tuple[ChartSpec, pl.DataFrame]:
    """Return a waterfall whose costs are negative changes and whose subtotals are totals, if the figures add up so."""
    is_open = spec.kind is None and spec.x in frame.columns and spec.y == "value" and len(frame["alias"].unique()) == 1
    signs = signs_of(frame["value"].to_list()) if is_open and not frame["value"].null_count() else None
    if signs is None:
        return spec, frame
    value = pl.col("value") * pl.Series([sign or 1 for sign in signs])
    kinds = pl.Series(["change" if sign else "total" for sign in signs])
    return replace(spec, kind="kind"), frame.drop("exact").with_columns(value.alias("value"), kinds.alias("kind"))


def by_two_times(spec: ChartSpec, given: Report, frame: pl.DataFrame) -> ChartSpec:
    """Return the spec of two dimensions of time: the first has the series, the second stands along the axis."""
    first, second = given.time
    x = second if grain_of(frame[second].unique().to_list()) else second + LABEL
    if spec.chart_type == "waterfall":
        return replace(spec, x=spec.x or x, y=spec.y or "value")
    return replace(spec, x=spec.x or x, y=spec.y or "value", series=spec.series or first)


def several_currencies(notes: Iterable[Note]) -> ChartInvalid:
    """Return the refusal to draw amounts of several currencies, with the filter that works if a note names them."""
    about = next((dict(note.about) for note in notes if note.code == "mixed_currency"), {})
    dimension, one = str(about.get("dimension", "currency")), str(about.get("currencies", "")).partition(", ")[0]
    example = {"filters": {dimension: [one]}} if one else None
    return ChartInvalid(
        "These are amounts in several currencies, which have no unit together. Run the report with a filter on "
        f"{dimension}, or with a converted metric, and draw its data_ref.",
        field="data_ref",
        example=example,
    )


def bridge(given: Explanation) -> Chart:
    """Return the chart of an explanation: the waterfall of its first list. Raises ChartInvalid if there is none."""
    sides = " against ".join(side.heading[:LONGEST_HEADING] for side in given.sides)
    title = f"{given.line.label[:LONGEST_HEADING]}: {sides}"
    drawn = explanation_as_it_is(ChartSpec(chart_type="waterfall", title=title), given)
    return chart(drawn.spec, drawn.frame, {"value": given.unit} if given.unit else {})
