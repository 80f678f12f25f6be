"""Repairs of refused charts: a spec or a script that draws the same table, the example of the refusal."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, repeat

import polars as pl

from engine.model.catalogue import LABEL
from engine.model.errors import MOST_CHARACTERS, ChartInvalid, as_text, closest, quoted
from engine.model.requests import ChartSpec
from engine.present.charts.periods import is_time
from engine.present.charts.refusals import (
    CODE,
    FIELD,
    ChartRequirements,
    as_sent,
    bad_data,
    figures_in,
    names_in,
    words_of,
)
from engine.report.report import DEPTH, HEAD

LINES, SCENARIOS = ("label", "metric", "line"), ("alias", "scenario")
DESCRIBING = (*HEAD, *LINES, DEPTH, "exact")  # columns of a report that are neither figures nor members
PARTS = ("x", "y", "series", "kind", "label")  # fields of a spec that name columns

# Columns in the order in which an example takes them.


def figures_by_use(frame: pl.DataFrame) -> list[str]:
    """Return the figure columns; those without a figure and those that describe rows only if there are no others."""
    figures = figures_in(frame)
    return [name for name in figures if name not in DESCRIBING and frame[name].count()] or figures


def axes_by_use(frame: pl.DataFrame) -> list[str]:
    """Return the columns of names: periods, members, lines, scenarios. A member goes by its label, a period by code."""
    names = [name for name in names_in(frame) if not frame.schema[name].is_numeric()]
    times = [name for name in names if is_time(frame[name]) and name not in DESCRIBING]
    times = [name for name in times if name.removesuffix(LABEL) not in times or not name.endswith(LABEL)]
    twins = {name + LABEL if name in times else name.removesuffix(LABEL) for name in names if twin(name) in names}
    members = [name for name in names if name not in (*DESCRIBING, *times, *twins)]
    return [*times, *members, *(name for name in ("label", "alias") if name in names)] or names


def twin(name: str) -> str:
    """Return the name of the column with the ids of labels, or the labels of ids."""
    return name.removesuffix(LABEL) if name.endswith(LABEL) else name + LABEL


# Refusals of columns, with a spec that names others.


def bad_column(
    spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, field: str, got: str, fits: Sequence[str]
) -> ChartInvalid:
    """Return the refusal of a column that is absent or of the wrong type."""
    if got in frame.columns:
        fitting = "figures" if field == "y" or (field == "x" and takes.numeric_x) else "names or periods"
        said = f"Column {quoted([got])} holds {words_of(frame.schema[got])}; {field} takes {fitting}."
    else:
        said = f"result has no column {quoted([got])}."
    close = closest(got, [name for name in fits if name != got])
    refusal = ChartInvalid(said, field=FIELD + field, got=got, valid=fits, did_you_mean=close)
    return with_example(refusal, spec, frame, takes)


def which_column(
    spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements, field: str, fits: Sequence[str]
) -> ChartInvalid:
    """Return the refusal of a spec that omits a column with several candidates."""
    kind = "figures" if field == "y" or (field == "x" and takes.numeric_x) else "text or dates"
    if not fits:
        said = f"A {spec.chart_type} chart needs {field}, and result has no column of {kind} for it."
        return ChartInvalid(said, field=CODE, got=frame.columns, example=EXAMPLES[kind])
    said = f"A {spec.chart_type} chart needs {field}, a column of {kind}: result has {quoted(fits)}, say which."
    return with_example(ChartInvalid(said, field=FIELD + field, valid=fits), spec, frame, takes)


EXAMPLES = {
    "figures": "result = df.select('alias', 'period', 'value')",
    "text or dates": "result = df.select('period', 'alias', 'value')",
}


def with_example(refusal: ChartInvalid, spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements) -> ChartInvalid:
    """Return a refusal with a spec that fits; of a scatter perhaps with a script that makes its two columns."""
    if not takes.numeric_x or len(figures_by_use(frame)) > 1:
        refusal.example = named(spec, frame, takes)
        return refusal
    wide = across(frame)
    if wide is not None:
        return bad_data(f"{refusal.error} A scatter draws two columns of figures: make them.", *wide)
    refusal.example = as_bars(spec, frame)
    return refusal


def named(spec: ChartSpec, frame: pl.DataFrame, takes: ChartRequirements) -> dict[str, object]:
    """Return the spec with its valid columns, and with others for those that are not."""
    figures, names = figures_in(frame), names_in(frame)
    y = [name for name in ((spec.y,) if isinstance(spec.y, str) else spec.y or ()) if name in figures]
    x = spec.x if spec.x in (figures if takes.numeric_x else names) and spec.x not in y else None
    series = spec.series if spec.series in names and spec.series != x and takes.series != "none" else None
    others = [name for name in figures_by_use(frame) if name not in y]
    if takes.numeric_x:
        y = y or [name for name in others if name != x][-1:]
        x = x or next((name for name in others if name not in y), None)
    else:
        axes = [name for name in axes_by_use(frame) if name not in (series, x)]
        is_counted = takes.series == "must" and len(others) + len(y) > 1
        x = x or next((name for name in (*(others if is_counted else ()), *axes) if name in names), None)
        y = y or [name for name in others if name != x][:1]
        if takes.series == "must" and len(y) == 1:
            series = series or next((name for name in axes if name != x), None)
    kept = {part: value for part, value in (("kind", spec.kind), ("label", spec.label)) if value in names}
    found = {"x": x, "y": y[0] if len(y) == 1 else y or None, "series": series, **kept}
    plain = {part: value for part, value in as_sent(spec).items() if part not in PARTS}
    return {**plain, **{part: value for part, value in found.items() if value is not None}}


def as_bars(spec: ChartSpec, frame: pl.DataFrame) -> dict[str, object]:
    """Return the spec of bars of the same table."""
    names, figures = axes_by_use(frame), figures_by_use(frame)
    x = spec.x if spec.x in names_in(frame) and spec.x not in figures_in(frame) else next(iter(names), None)
    y = spec.y if isinstance(spec.y, str) and spec.y in figures else next(iter(figures), None)
    looks = {part: getattr(spec, part) for part in ("subtitle", "unit") if getattr(spec, part)}
    return {"chart_type": "bar", "title": spec.title, "x": x, "y": y, **looks}


# Code that goes on with `result`, the refused table.


def framed(code: str) -> str:
    """Return a script that leaves the table of a caller's script as a frame in `result`."""
    frame = "pl.DataFrame(result, strict=False, infer_schema_length=None)"
    return f"{code.rstrip()}\nresult = {'result.lazy().collect()' if 'lazy' in code.casefold() else frame}"


def continued(code: str, lines: Sequence[str]) -> str:
    """Return a script that makes a table and goes on with lines; beside a long script these lines alone."""
    whole = "\n".join((code, *lines))
    return whole if len(as_text(whole)) <= MOST_CHARACTERS else "\n".join(("# add to the script", *lines))


def splitting(frame: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the columns of names that tell rows with the same keys apart: lines, scenarios, members."""
    known = [next((name for name in names if name in frame.columns), "") for names in (LINES, SCENARIOS)]
    members = [name for name in axes_by_use(frame) if name not in DESCRIBING and twin(name) not in keys]
    names = [name for name in (*known, *members) if name and name not in keys]
    counts = frame.group_by(keys).agg(pl.col(names).n_unique()) if names else frame
    return [name for name in names if (counts[name] > 1).any()]


def filled(frame: pl.DataFrame, x: str, y: str, series: str | None, gaps: Sequence[object]) -> tuple[str, pl.DataFrame]:
    """Return code that makes 0 of what is missing, also at the `gaps` of x, and the table that it leaves."""
    wide, code = frame, "result"
    if series is not None:
        wide = wide.pivot(series, index=x, values=y)
        code += f".pivot({series!r}, index={x!r}, values={y!r})"
    if gaps:
        rows = {x: gaps}
        wide = pl.concat([wide, pl.DataFrame(rows)], how="diagonal")
        code = f"pl.concat([{code}, pl.DataFrame({rows!r})], how='diagonal')"
    wide, code = wide.fill_null(0), f"result = {code}.fill_null(0)"
    if series is None:
        return code, wide
    names: list[str] = []
    for name in (series, y):  # a member may be named as one of both columns
        names.append(next(free for free in each_longer(name) if free not in (*wide.columns, *names)))
    long = wide.unpivot(index=x, variable_name=names[0], value_name=names[1])
    return f"{code}.unpivot(index={x!r}, variable_name={names[0]!r}, value_name={names[1]!r})", long


def each_longer(name: str) -> Iterator[str]:
    """Yield a name, then the same name with more and more underscores."""
    return accumulate(repeat("_"), initial=name)


def of_first(rows: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str]:
    """Return the rows with the first name in a column, and the code that keeps them; all of them if there is none."""
    first = next(iter(rows[name].drop_nulls()), None)
    if first is None:
        return rows, ""
    return rows.filter(pl.col(name) == first), f".filter(pl.col({name!r}) == {first!r})"


def across(frame: pl.DataFrame) -> tuple[str, None, pl.DataFrame] | None:
    """Return code that gives each line, or each scenario, a column of its own, nothing, and the table that it leaves.

    None if there are no two lines of members and no two scenarios, or no row has a figure of each.
    """
    axes, figures = axes_by_use(frame), figures_by_use(frame)
    members = [name for name in axes if name not in DESCRIBING][:1]
    pairs = [("label", members[0]), ("alias", members[0])] if members else [("alias", "label")]
    found = next((pair for pair in pairs if {*pair} <= {*axes} and frame[pair[0]].n_unique() > 1), None)
    if found is None or len(figures) != 1:
        return None
    code, rows = f"result = result.drop_nulls({[*found, *figures]!r})", frame.drop_nulls([*found, *figures])
    for name in [*splitting(frame, found), *(["unit"] if not members and "unit" in frame.columns else [])]:
        rows, kept = of_first(rows, name)
        code += kept
    if rows.select(found).is_duplicated().any():  # the table lacks what tells these rows apart
        rows = rows.unique(found, keep="first", maintain_order=True)
        code += f".unique({[*found]!r}, keep='first', maintain_order=True)"
    wide = rows.pivot(found[0], index=found[1], values=figures[0]).drop_nulls()
    if wide.is_empty():
        return None
    return f"{code}.pivot({found[0]!r}, index={found[1]!r}, values={figures[0]!r}).drop_nulls()", None, wide
