"""Waterfalls: changes that lead from a start to an end. They must add up."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Final, Literal

from msgspec import Struct

from engine.model.errors import ChartInvalid
from engine.model.exact import Exact
from engine.present.charts.axes import again, exact_format, figure_axis, name_axis, ticks_of, tooltip, zero_line
from engine.present.charts.bars import BAND, NARROWEST, WIDEST_STEP
from engine.present.charts.grid import KNOWN, Grid, change_words, exact, grid_for, in_words, number, points_words
from engine.present.charts.picture import ChartInput, Picture, Unit, Vega, title_words, told_apart
from engine.present.charts.refusals import bad_data, bad_spec, some

TOTALS: Final = ("total", "subtotal", "start", "end")
CHANGES: Final = ("change", "delta", "part", "increase", "decrease")
NOISE = Exact(1, 10**9)  # of the largest figure; the tolerance for sums of doubles
MOST_SIGNS = 10  # changes before a total whose signs are looked for


class Step(Struct, frozen=True):
    """A bar: its bounds, and whether it is a total."""

    name: str
    first: float
    last: float
    is_total: bool

    @property
    def change(self) -> float:
        """How much it rises."""
        return number(exact(self.last) - exact(self.first))


def waterfall(sheet: ChartInput) -> Picture:
    """Draw totals from zero, changes from the previous level, and connectors."""
    grid, unit = grid_for(sheet)
    unit = told_apart(unit, grid.values)
    steps = steps_of(sheet, grid)
    width, height = sheet.size
    width = min(width, max(NARROWEST, WIDEST_STEP * len(steps)))
    ticks = ticks_of([end for step in steps for end in (step.first, step.last)], zero=True, room=0.08)
    x = name_axis(grid, width, BAND)
    x["axis"] |= {"domain": False}
    y = figure_axis(ticks, unit, shown=False)
    theme = sheet.theme
    looks = {
        "good": (theme.good, theme.good),
        "bad": (theme.bad, theme.bad),
        "actual": (theme.actual, theme.actual),
        "prior_year": (theme.prior_year, theme.prior_year),
        "plan": (theme.background, theme.plan),
        "forecast": (theme.tint, theme.forecast),
    }
    colours = {
        channel: {
            "field": "k",
            "type": "nominal",
            "scale": {"domain": list(looks), "range": [look[at] for look in looks.values()]},
            "legend": None,
        }
        for at, channel in enumerate(("fill", "stroke"))
    }
    told = tooltip(x=(title_words(sheet.columns.x), None), y=(unit.name or "Value", exact_format(unit)))
    return Picture(
        width=width,
        height=height,
        values=[point(sheet, step, steps[at + 1 : at + 2], unit) for at, step in enumerate(steps)],
        layer=[
            {
                "mark": {"type": "bar", "strokeWidth": 1.25},
                "encoding": {"x": x, "y": {**y, "field": "b"}, "y2": {"field": "a"}, **colours, "tooltip": told},
            },
            {
                "mark": {"type": "rule", "color": theme.line},
                "encoding": {
                    "x": {**again(x), "bandPosition": 1},
                    "x2": {"field": "n", "bandPosition": 0},
                    "y": again(y, "b"),
                },
                "transform": [{"filter": "isValid(datum.n)"}],
            },
            zero_line("y", y, theme),
            {
                "mark": {
                    "type": "text",
                    "baseline": {"expr": "datum.b < datum.a ? 'top' : 'bottom'"},
                    "dy": {"expr": "datum.b < datum.a ? 4 : -4"},
                    "fontWeight": {"expr": "isValid(datum.m) ? 'bold' : 'normal'"},
                },
                "encoding": {"x": again(x), "y": again(y, "b"), "text": {"field": "t"}},
            },
        ],
        unit=unit,
        sentences=bridge(steps, unit),
    )


def steps_of(sheet: ChartInput, grid: Grid) -> list[Step]:
    """Return the bars. Raises ChartInvalid if a total differs from the sum before it."""
    figures = grid.series[0].values
    missing = [x for x, figure in zip(grid.xs, figures, strict=True) if figure is None]
    if missing:
        raise bad_data(
            f"A waterfall needs a figure for each step; missing: {some(missing)}.",
            f"result = result.drop_nulls({sheet.columns.y[0]!r})",
            len(missing),
            sheet.frame.drop_nulls(sheet.columns.y[0]),
        )
    totals = totals_of(sheet, grid)
    level, steps = Exact(0), []
    largest = max(abs(exact(figure or 0.0)) for figure in figures)
    for at, (name, figure) in enumerate(zip(grid.xs, figures, strict=True)):
        value = exact(figure or 0.0)
        if not totals[at]:
            steps.append(Step(name, number(level), number(level + value), is_total=False))
            level += value
            continue
        if at and largest * NOISE < abs(value - level):
            raise off(sheet, grid, at, level)
        level = value
        steps.append(Step(name, 0.0, number(value), is_total=True))
    return steps


def totals_of(sheet: ChartInput, grid: Grid) -> list[bool]:
    """Tell for each step whether it is a total: from the kind column, else the first and the last."""
    if len(grid.xs) < 3:
        raise bars_instead(sheet, f"A waterfall needs a start, changes and an end; result has {len(grid.xs)} rows.")
    if sheet.columns.kind is None:
        return [at in (0, len(grid.xs) - 1) for at in range(len(grid.xs))]
    kinds = [str(kind).strip().casefold() for kind in sheet.frame[sheet.columns.kind].to_list()]
    unknown = [kind for kind in kinds if kind not in TOTALS + CHANGES]
    if unknown:
        raise bad_data(
            f"Column '{sheet.columns.kind}', the kind of each step, says {some(dict.fromkeys(unknown))}: it is "
            "total or change.",
            "ends = pl.col('at').is_in([0, result.height - 1])\n"
            "kinds = pl.when(ends).then(pl.lit('total')).otherwise(pl.lit('change'))\n"
            f"result = result.with_row_index('at').with_columns(kinds.alias({sheet.columns.kind!r}))",
            got=unknown[0],
        )
    return [kind in TOTALS for kind in kinds]


def off(sheet: ChartInput, grid: Grid, at: int, level: Exact) -> ChartInvalid:
    """Return the refusal of a total that differs from the sum before it.

    Its example gives costs their sign if the figures add up so, else shows a rest that is smaller than both ends as a
    step, else draws bars.
    """
    x, y, figures = sheet.columns.x, sheet.columns.y[0], [figure or 0.0 for figure in grid.series[0].values]
    value = exact(figures[at])
    rest = value - level
    said = (
        f"The steps do not add up: '{grid.xs[at]}' is {value.digits()}, what stands before it comes to "
        f"{level.digits()}, {rest.digits()} are missing. Do not round in the script; give costs that rise as negative "
        "changes; leave subtotals out, or say in a column kind which steps are totals."
    )
    signs = signs_of(figures) if sheet.columns.kind is None else None
    if signs is not None:
        steps = [place for place, sign in enumerate(signs) if sign or place in (0, len(signs) - 1)]
        by = [float(signs[place] or 1) for place in steps]
        code = f"result = result[{steps}].with_columns(pl.col({y!r}) * pl.Series({by}))"
        return bad_data(said, code, got=value.digits())
    if min(abs(exact(figures[0])), abs(value)) < abs(rest):
        return bars_instead(sheet, said)
    name = "Not explained" if "Not explained" not in grid.xs else f"Not explained in {grid.xs[at]}"
    kind = sheet.columns.kind
    row = {x: [name], y: [number(rest)], **({kind: ["change"]} if kind else {})}
    code = (
        f"steps = result.select(pl.col({x!r}).cast(pl.String), {', '.join(map(repr, [*row][1:]))})\n"
        f"rest = pl.DataFrame({row!r})\n"
        f"result = pl.concat([steps.head({at}), rest, steps.slice({at})], how='vertical_relaxed')"
    )
    return bad_data(said, code, got=value.digits())


def bars_instead(sheet: ChartInput, said: str) -> ChartInvalid:
    """Return the refusal of a table that makes no waterfall; the example draws it as bars."""
    spec = replace(sheet.spec, x=sheet.columns.x, y=sheet.columns.y[0], kind=None, styles={}, favourable=None)
    return bad_spec(spec, "chart_type", f"{said} Draw bars instead.", "bar")


def signs_of(figures: Sequence[float]) -> list[int] | None:
    """Return the sign of each figure in the sum that it enters, 0 of totals; None if the figures do not add up.

    A statement gives costs as positive figures: revenue 10, costs 6, profit 4 have the signs 0, −1, 0.
    """
    values = [exact(figure) for figure in figures]
    noise = max(map(abs, values)) * NOISE
    signs, waiting, level = [0], list[Exact](), values[0]
    for value in values[1:]:
        tries = product((1, -1), repeat=len(waiting)) if 0 < len(waiting) <= MOST_SIGNS else ()
        found = next((signed for signed in tries if not noise < abs(added(level, waiting, signed) - value)), None)
        if found is None:
            waiting.append(value)
            continue
        signs += [*found, 0]
        waiting, level = [], value
    return None if waiting else signs


def added(level: Exact, values: Sequence[Exact], signs: Sequence[int]) -> Exact:
    """Return a level with signed changes."""
    return sum((value if sign > 0 else -value for value, sign in zip(values, signs, strict=True)), level)


def point(sheet: ChartInput, step: Step, after: Sequence[Step], unit: Unit) -> Vega:
    """Return a bar's point: bounds `a` and `b`, style `k`, text `t`, next step `n`; `m` marks totals."""
    look: Literal["good", "bad", "actual", "prior_year", "plan", "forecast"]
    if step.is_total:
        look = sheet.spec.styles.get(step.name) or KNOWN.get(step.name.casefold()) or "actual"
    else:
        look = "good" if (step.last >= step.first) == (sheet.spec.favourable != "down") else "bad"
    figure = step.last if step.is_total else step.change
    said: Vega = {
        "x": step.name,
        "y": figure,
        "a": step.first,
        "b": step.last,
        "k": look,
        "t": unit.text(figure) if step.is_total else points_words(exact(figure), unit),
    }
    return said | ({"n": after[0].name} if after else {}) | ({"m": 1} if step.is_total else {})


def bridge(steps: Sequence[Step], unit: Unit) -> tuple[str, ...]:
    """Describe the start, the end and the largest changes."""
    first, last = steps[0], steps[-1]
    changes = [step for step in steps if not step.is_total]
    ends = f"From {first.name} {unit.text(first.last)} to {last.name} {unit.text(last.last)}{in_words(unit)}"
    said = [f"{ends} ({change_words(first.last, last.last, unit)})."]
    up = max(changes, key=lambda step: step.change, default=None)
    down = min(changes, key=lambda step: step.change, default=None)
    if up is not None and up.change > 0:
        said.append(f"Largest increase: {up.name} {points_words(exact(up.change), unit)}.")
    if down is not None and down.change < 0:
        said.append(f"Largest decrease: {down.name} {points_words(exact(down.change), unit)}.")
    return tuple(said)
