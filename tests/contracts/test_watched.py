"""A loop over what a caller can make long is watched: it looks at `stop`, or stands in the list of short ones.

The names below are those that places, members, days, windows and figures have throughout the engine. `test_stops.py`
counts what runs between two looks; this test reads the text, so that it finds a loop that no call of a test enters.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("plans", "notes", "report", "queries", "present")
LONG = {
    *("places", "windows", "ids", "codes", "figures", "numerators", "amounts", "times", "combinations", "days"),
    "iter_rows",
}
WATCHES = {"watched", "each_watched"}
PASSES_ON = {  # what is as long as its arguments
    *("enumerate", "zip", "reversed", "sorted", "list", "tuple", "set", "dict", "map", "filter", "islice", "range"),
    *("len", "fromkeys", "pairwise", "chain", "items", "values", "keys", "unique"),
}
OF_A_CHART = "a chart refuses more marks than its kind shows before this"
OF_COLUMNS = "columns of a table"
SHORT: Mapping[str, str] = {  # the loops that nobody can make long
    "plans/accumulators.py times[first:first + stride]": "a stride",
    "plans/day_causes.py days": "any() within one window: runs of days",
    "plans/measure.py amounts": "one for each batch",
    "plans/presence.py days": "next() of the first",
    "plans/row_plan.py windows": "one for each base",
    "plans/variances.py found.numerators": "rows of the plan",
    "notes/blank_causes.py figures.values()": "operands of a formula",
    "notes/days.py figures": "lines of the report",
    "notes/unassigned_notes.py places": "an enumeration that is watched",
    "report/blanks.py places.items()": "pairs of a row and a column",
    "report/blanks.py enumerate(ids)": "dimensions of the breakdown",
    "report/currencies.py zip(axes, known, codes, strict=True)": "dimensions of the breakdown",
    "report/permission.py part.codes": "leaf dimensions of a cell",
    "queries/filters.py ids": "watched in the loop before it, and short by the length of a message",
    "present/answers/catalogue.py base.amounts": "ranges of a metric",
    "present/answers/charts.py transform.frame.head(MOST_ROWS).iter_rows()": "200 rows",
    "present/answers/explanations.py figures.items()": "sides and effects of a row",
    "present/answers/places.py enumerate(amounts)": "lines of the report",
    "present/answers/places.py amounts": "lines of the report",
    "present/answers/rows.py amounts": OF_COLUMNS,
    "present/charts/columns.py figures": OF_COLUMNS,
    "present/charts/periods.py zip(places, codes, strict=True)": OF_A_CHART,
    "present/charts/periods.py codes": OF_A_CHART,
    "present/charts/picture.py figures": OF_A_CHART,
    "present/charts/repairs.py times": OF_COLUMNS,
    "present/charts/repairs.py figures": OF_COLUMNS,
    "present/charts/scatters.py places.items()": "sides of a label",
    "present/charts/waterfalls.py enumerate(zip(grid.xs, figures, strict=True))": OF_A_CHART,
    "present/charts/waterfalls.py zip(grid.xs, figures, strict=True)": OF_A_CHART,
    "present/charts/waterfalls.py figures": OF_A_CHART,
    "present/exports/table_sheets.py zip(heads, figures, strict=True)": OF_COLUMNS,
}


def is_long(node: ast.expr) -> bool:
    """Tell whether what a loop goes through is named as something long and not watched."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in WATCHES:
            return False
        case ast.Call(func=ast.Attribute(attr="iter_rows")):
            return True
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=parts) if name in PASSES_ON:
            return is_long(inner) or any(map(is_long, parts))
        case ast.Call(func=ast.Name(id=name), args=parts) if name in PASSES_ON:
            return any(map(is_long, parts))
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return is_long(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in LONG
    return False


def loops(text: str) -> Iterator[ast.expr]:
    """Yield what the loops and comprehensions of a module go through, if it is long and not watched."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.For(iter=each) if is_long(each):
                yield each
            case ast.comprehension(iter=each) if is_long(each):
                yield each


def test_every_loop_over_something_long_is_watched() -> None:
    met: dict[str, int] = {}
    for room in ROOMS:
        for path in sorted((ROOT / "engine" / room).rglob("*.py")):
            name = path.relative_to(ROOT / "engine").as_posix()
            met |= {f"{name} {ast.unparse(each)}": each.lineno for each in loops(path.read_text(encoding="utf-8"))}
    unwatched = {f"{loop} (line {line})" for loop, line in met.items() if loop not in SHORT}
    assert not unwatched, "watch these loops, engine/model/stopping.py says how"
    assert set(SHORT) == set(met), "a loop of the list is gone or watched"


@pytest.mark.parametrize(
    ("loop", "count"),
    [
        ("for place in report.places: pass", 1),
        ("x = [1 for at, place in enumerate(self.places)]", 1),
        ("x = {code for code in sorted(known.codes)}", 1),
        ("for row in frame.iter_rows(): pass", 1),
        ("for place in watched(report.places): pass", 0),
        ("x = [1 for at, place in enumerate(watched(report.places))]", 0),
        ("for column in report.columns: pass", 0),
    ],
)
def test_a_loop_that_does_not_look_is_found(loop: str, count: int) -> None:
    assert len(list(loops(loop))) == count
