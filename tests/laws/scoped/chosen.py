"""Random choices among rows, and calls that name something in them: a file of its own, as that of materiality is."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.laws.scoped.operands import Arguments

AMOUNTS: tuple[dict[str, float], ...] = (
    {"min": 0},
    {"max": 0},
    {"min": -3, "max": 5.5},
    {"min": 2},
    {"min": 9, "max": 1},
    {},
)
TEXTS = ("note", "Note X", "eu note", "note 4", "P1", "nothing", "-", "")
ROWS: dict[str, Any] = {"source_key": "gl", "scenario_id": "actual"}
INSPECTED = "inspect_columns: [date, product, region, amount, memo]\n"  # of the source of these calls
OF_CHOSEN_ROWS: dict[str, tuple[str, Arguments]] = {  # of each place that names something: tool, arguments
    "column to order by": ("inspect_rows", lambda name: {**ROWS, "order_by": f"of_{name}"}),
    "column to count by": ("inspect_rows", lambda name: {**ROWS, "count_by": ["product", f"of_{name}"]}),
    "text of rows": ("inspect_rows", lambda name: {**ROWS, "text": name}),
    "text of counted rows": ("inspect_rows", lambda name: {**ROWS, "text": f"no {name}", "count_by": ["memo"]}),
}


@st.composite
def with_choices(draw: st.DrawFn, asked: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Draw an order, amounts, a text and columns to count by, half the time nothing."""
    if draw(st.booleans()):
        return asked
    columns = st.sampled_from((*names, "memo"))
    optional = {
        "order_by": st.one_of(columns, st.sampled_from(("contribution", "rows", "amount", "value", "date"))),
        "amount": st.sampled_from(AMOUNTS),
        "text": st.sampled_from(TEXTS),
        "count_by": st.lists(st.one_of(columns, st.sampled_from(("customer", "date", "product"))), max_size=2),
        "summary": st.sampled_from((False, False, False, True)),
    }
    kept = draw(st.sets(st.sampled_from(sorted(optional)), min_size=1, max_size=3))
    found = {key: draw(optional[key]) for key in sorted(kept)}
    if "order_by" in found:
        found["asc"] = draw(st.booleans())
    without = ("columns",) if "count_by" in found and draw(st.integers(0, 5)) else ()
    return {**{key: part for key, part in asked.items() if key not in without}, **found}
