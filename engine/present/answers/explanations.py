"""Answers: an explained variance as a result object within a token budget, and whole.

Each list says only what differs from the result: its totals where a weighted tree makes them others, the part of its
drill, and rows. A row without `drill` has the call of its list; null means that no rows stand behind it alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.model.catalogue import Favourable
from engine.model.exact import Exact
from engine.model.notes import Note, notes_as_data
from engine.model.stopping import Stop, watched
from engine.notes.currency_notes import MIXED
from engine.present.answers.budget import DataRef, Json, LeftOut, UncutAnswer, cut_list, period_json
from engine.present.answers.drill_template import TOOL, filled, sides_json
from engine.present.answers.full_reports import currency_json, freshness_json, full_period_json
from engine.present.answers.reports import direction_words, scenario_json, short_freshness
from engine.present.charts.charts import Chart
from engine.queries.explanations import LINES
from engine.report.data import OTHERS
from engine.report.drill import joined
from engine.report.explanation import ExplainedList, ExplainedRow, Explanation

KEY = "{row.key}"
REST = "A smaller top, or materiality, folds more rows into (others); export_dataset with this data_ref has every row."


def explanation_answer(
    found: Explanation, budget: int, data_ref: DataRef, stop: Stop, more: Sequence[Note] = ()
) -> Json:
    """Return the result object of an explanation, at most about `budget` tokens long; rows of members go first.

    `more` are notes on the answer beside those of the explanation.
    """
    members = [[row for row in watched(known.rows) if not is_special(row)] for known in found.lists]

    def build(left: LeftOut) -> Json:
        notes = data_ref.notes((*found.notes, *more))
        kept = shortened(members, left["rows"])
        return {
            **described(found),
            **totals_json(found, found),
            "lists": [list_json(found, known, rows) for known, rows in zip(found.lists, kept, strict=True)],
            **shared_drill(found),
            **({"notes": notes} if notes else {}),
            "freshness": short_freshness(found.freshness),
            **data_ref.as_data(),
        }

    return cut_list(build, {"rows": sum(map(len, members))}, REST, budget, stop)


def is_special(row: ExplainedRow) -> bool:
    """Tell whether a row stands for no member or operand alone."""
    return row.holds is not None or row.key.startswith("(")


def shortened(lists: Sequence[Sequence[ExplainedRow]], left: int) -> list[Sequence[ExplainedRow]]:
    """Return lists without some rows at their ends, always of the longest."""
    sizes = [len(rows) for rows in lists]
    for _ in watched(range(left)):
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        sizes[longest] -= 1
    return [rows[:size] for rows, size in zip(lists, sizes, strict=True)]


def described(found: Explanation) -> Json:
    """Return what is explained: the figure, the period and the two sides."""
    line = found.line
    good = direction_words(line.favourable, [figure.numerator for figure in (found.a, found.b) if figure is not None])
    return {
        "metric": found.written,
        **({"label": line.label} if line.label != found.written else {}),
        **({"unit": found.unit} if found.unit != found.currency or found.currency == MIXED else {}),
        **({"variance_unit": found.variance_unit} if found.variance_unit != found.unit else {}),
        **({"favourable": good} if good != Favourable.UP.value else {}),
        "period": period_json(found.period),
        **currency_json(found.currency),
        "scenarios": [scenario_json(side, side.window) for side in found.sides],
    }


def totals_json(of: Explanation | ExplainedList, found: Explanation) -> Json:
    """Return both sides of a total and their variance."""
    return {
        "a": figure_json(of.a, found),
        "b": figure_json(of.b, found),
        "variance": figure_json(of.variance, found),
    }


def list_json(found: Explanation, known: ExplainedList, members: Sequence[ExplainedRow]) -> Json:
    """Return one list with some rows of members, and all others."""
    kept = {id(row) for row in watched(members)}
    rows = [row for row in watched(known.rows) if id(row) in kept or is_special(row)]
    differs = (known.a, known.b) != (found.a, found.b)
    template = list_drill(found, known)
    return {
        "by": known.by,
        **(totals_json(known, found) if differs else {}),
        **parts_json(known),
        **({"drill": template} if template else {}),
        "rows": [row_json(found, known, row, template) for row in watched(rows)],
    }


def parts_json(known: ExplainedList) -> Json:
    """Return the parts of all rows of a list together, which add up to its variance; nothing where it has none."""
    return {"totals": {name: part.as_json(quotient=True) for name, part in known.parts.items()}} if known.parts else {}


def row_json(found: Explanation, known: ExplainedList, row: ExplainedRow, template: Json) -> Json:
    """Return one row: its own figures, and what it contributes."""
    figures = {"a": row.a, "b": row.b, "difference": row.difference}
    parts = {known.rest or "": row.rest, "mix": row.mix}
    variance = known.variance
    good = is_favourable(found.line.favourable, row.contribution)
    holds = {"holds": row.holds} if row.holds is not None else {}
    weight = {"into_parent": row.into_parent.as_json()} if row.into_parent is not None else {}
    return {
        "key": row.key,
        **({"label": row.label} if row.label != row.key else {}),
        **holds,
        **weight,
        **({"unit": row.unit} if row.unit not in (None, found.unit) else {}),
        **{name: figure_json(figure, found) for name, figure in figures.items() if figure is not None},
        "contribution": figure_json(row.contribution, found),
        **{name: part.as_json(quotient=True) for name, part in parts.items() if part is not None},
        **({"share": (row.contribution / variance).as_json(quotient=True)} if variance else {}),
        **({} if good is None else {"favourable": good}),
        **(own_drill(row, template) if known.by == LINES or found.line.drill is not None else {}),
    }


def is_favourable(good: Favourable, contribution: Exact) -> bool | None:
    """Tell whether a contribution is good; None for none, and where neither direction is."""
    if good is Favourable.NONE or not contribution:
        return None
    return (contribution.numerator > 0) is (good is Favourable.UP)


def figure_json(figure: Exact | None, found: Explanation) -> int | float | str | None:
    """Return a figure as JSON, 15 digits of a quotient."""
    return None if figure is None else figure.as_json(quotient=found.quotient)


# The calls behind the rows: the part of the result, of the list and of the row joined, one for each side and operand.


def shared_drill(found: Explanation) -> Json:
    """Return the part that all calls share, as a field: the tool, the period, the two sides and the filters."""
    if not (found.sides and has_rows(found)):
        return {}
    return {"drill": {"tool": TOOL, **found.drill, "sides": sides_json(found.drill["sides"])}}


def has_rows(found: Explanation) -> bool:
    """Tell whether rows may be shown behind the figure, or behind a line of it."""
    return found.line.drill is not None or any(
        row.drill is not None for known in found.lists if known.by == LINES for row in known.rows
    )


def list_drill(found: Explanation, known: ExplainedList) -> Json:
    """Return the part that the rows of a list share, with a placeholder for their key; none for lines.

    Others that stand alone are the rows of the list: no placeholder.
    """
    if found.line.drill is None or known.by == LINES:
        return {}
    drills = {row.key: row.drill for row in known.rows if row.drill is not None}
    key, own = next(iter(drills.items()), ("", None))
    if own is None:
        return {}
    return dict(joined(figure_drill(found.line.drill), own if key == OTHERS else with_placeholder(own, key)))


def figure_drill(drill: Mapping[str, Any]) -> Json:
    """Return the part of a figure; operands of one source by their names."""
    calls: Sequence[Json] = drill.get("operands", ())
    sources = {call["source_key"] for call in calls}
    if len(sources) != 1 or any(call["filters"].keys() != {"metric"} for call in calls):
        return dict(drill)
    return {"source_key": sources.pop(), "operands": [call["filters"]["metric"] for call in calls]}


def with_placeholder(part: Mapping[str, Any], key: str) -> Json:
    """Return a part of a drill with the key of its row replaced by the placeholder."""
    return {
        name: with_placeholder(known, key) if isinstance(known, Mapping) else KEY if known == key else known
        for name, known in part.items()
    }


def own_drill(row: ExplainedRow, template: Json) -> Json:
    """Return what a row's call has beside that of its list; null if no rows stand behind it alone."""
    if row.drill is None:
        return {"drill": None}
    if not template:
        return {"drill": figure_drill(row.drill)}
    inside = filled(template, {KEY: row.key})
    if joined(inside, row.drill) == inside:
        return {}
    return {"drill": row.drill}


# The whole explanation, for files.


def whole_explanation(found: Explanation, _: Stop) -> UncutAnswer:
    """Return the result object of an explanation, and the rows of all lists."""
    result = {
        **described(found),
        **totals_json(found, found),
        "period": full_period_json(found.period),
        **shared_drill(found),
        "lists": [
            {"by": known.by, **totals_json(known, found), **parts_json(known), "drill": list_drill(found, known)}
            for known in found.lists
        ],
        "notes": notes_as_data(found.notes),
        "freshness": freshness_json(found.freshness),
        "catalogue_version": found.catalogue_version,
        "data_version": found.data_version,
    }
    return UncutAnswer(result, whole_rows(found))


def whole_rows(found: Explanation) -> Iterator[Json]:
    """Yield the rows of all lists, each with what its list is by."""
    for known in found.lists:
        template = list_drill(found, known)
        yield from ({"by": known.by, **row_json(found, known, row, template)} for row in watched(known.rows))


def details(found: Explanation, drawn: Chart | None = None) -> Json:
    """Return what only programs need of an answered explanation, of its picture the specification."""
    return {
        "catalogue_version": found.catalogue_version,
        "data_version": found.data_version,
        "freshness": freshness_json(found.freshness),
        **({"vega_lite": dict(drawn.vega_lite)} if drawn else {}),
    }
