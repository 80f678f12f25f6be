"""Calls that name something within an operand of a formula, in what it reads in place of the scenario of its column."""

from collections.abc import Callable
from typing import Any

Arguments = Callable[[str], dict[str, Any]]  # of a call that names something
ASKED = {"scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}
OF_OPERAND_MEMBERS: dict[str, tuple[str, Arguments]] = {  # of each place that names a member
    "member of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f'revenue / revenue{{product: "{name}"}}'}},
    ),
    "node of an operand": (
        "run_metric_data",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f'revenue{{tree: [Top, "N{name}"]}}'}},
    ),
    "member of an operand by name": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f'revenue{{product: "article {name}"}}'}},
    ),
}
OF_OPERANDS: dict[str, tuple[str, Arguments]] = {  # of each place that names something: tool, arguments
    "scenario of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue / revenue[{name}]"}},
    ),
    "part of a blend of an operand": (
        "run_metric_data",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue[actual+{name}@py]"}},
    ),
    "variant of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"abs(revenue[{name}/fewer])"}},
    ),
    "metric of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"of_{name}[actual]"}},
    ),
    "window of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue[@py] / revenue[{name}@ytd]"}},
    ),
    "dimension of an operand": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue{{of_{name}: X}}"}},
    ),
    "metric whose operand is hidden": ("run_metric", lambda name: {**ASKED, "metrics": [f"gap_{name}"]}),
    "line whose operand is hidden": ("run_statement", lambda name: {**ASKED, "lines": [f"gap_{name}"]}),
}
