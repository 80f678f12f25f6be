"""Random materiality of a statement: a file of its own, since that of the calls is as long as a file may be."""

from typing import Any

from hypothesis import strategies as st

BOUNDS = {"absolute": st.sampled_from((0, 3, 5.5, 20)), "percent": st.sampled_from((5, 0.5, 50, -1))}
BY = ("product", "region", "customer", "tree", "band")


@st.composite
def with_materiality(draw: st.DrawFn, asked: dict[str, Any], dimensions: st.SearchStrategy[str]) -> dict[str, Any]:
    """Draw what the lines of a statement have to reach, mostly nothing; half of the rest without a breakdown."""
    if draw(st.integers(0, 2)) != 1:
        return asked
    columns = [column["scenario"] for column in asked.get("scenarios", ({"scenario": "actual"},))]
    optional = {
        **BOUNDS,
        "rule": st.sampled_from(("any", "any", "all")),
        "by": st.one_of(st.sampled_from(BY), dimensions),
    }
    found = draw(st.fixed_dictionaries({"of": st.sampled_from((*columns * 9, "Variance"))}, optional=optional))
    found |= {} if found.keys() & BOUNDS.keys() else {"absolute": 3}
    if "by" in found and draw(st.booleans()):
        found["top"] = draw(st.sampled_from((1, 1, 2, 0, 300)))
    without = ("dimensions", "subtotals") if draw(st.booleans()) else ()
    return {**{key: part for key, part in asked.items() if key not in without}, "materiality": found}
