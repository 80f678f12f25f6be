"""Sequences of calls: random ones, the same ones permuted, and reads of what earlier ones kept."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from server.base.interfaces import Principal
from tests.laws.scoped.answering import of_all
from tests.laws.scoped.calls import LARGE, BudgetedCall

LISTED = ("dimensions", "scenarios", "metrics", "by")  # arguments whose order a caller chooses
FAMILIES = (("run_statement", "run_statement_data"), ("run_metric", "run_metric_data"))
CUT = {"run_statement", "run_metric", "inspect_rows"}  # to their budget
budgets = st.one_of(st.just(LARGE), st.just(LARGE), st.integers(400, 5000))  # tokens of an answer
REMOVABLE = ("filters", "subtotals", "top", "order_by", "summary", "scale")
FORMS = ("json", "json", "xlsx")
STEPS = 20
VARIED, READING = 3, 7  # of eight kinds of steps


class SequenceStep(Struct, frozen=True):
    """A call of one caller. `reads` counts back to the answer whose kept result it reads, 0 for none."""

    call: BudgetedCall
    who: Principal
    reads: int = 0


def with_reference(step: SequenceStep, data_ref: str, file_id: str) -> Mapping[str, Any]:
    """Return the arguments of a step that reads what another kept."""
    match step.call.tool:
        case "eval_chart_transform":
            return {**step.call.arguments, "data_refs": [data_ref]}
        case "get_file_download":
            return {"file_id": file_id}
    return {**step.call.arguments, "data_ref": data_ref}


@st.composite
def readings(draw: st.DrawFn) -> BudgetedCall:
    """Draw a call that reads a kept result: a chart or the rows of it, a file, or the link to a file."""
    match draw(st.integers(0, 4)):
        case 0 | 1:
            spec = of_all("", draws=draw(st.booleans()))
            chart = {"chart_type": "horizontal_bar", "title": "T", "x": "at", "y": "n"} if spec.chart_spec else None
            return BudgetedCall("eval_chart_transform", {"transform_code": spec.transform_code, "chart_spec": chart})
        case 2:
            return BudgetedCall("get_file_download", {})
    return BudgetedCall("export_dataset", {"format": draw(st.sampled_from(FORMS))})


@st.composite
def varied(draw: st.DrawFn, call: BudgetedCall) -> BudgetedCall:
    """Draw the same question put otherwise: lists in another order, a member twice, a part left out, another budget."""
    arguments = dict(call.arguments)
    lists = [key for key in LISTED if isinstance(arguments.get(key), list) and len(arguments[key]) > 1]
    removable = [key for key in REMOVABLE if arguments.get(key)]
    family = next((names for names in FAMILIES if call.tool in names), (call.tool,))
    match draw(st.sampled_from((*lists * 3, "filters", "without", "tool", "budget"))):
        case "filters" if isinstance(arguments.get("filters"), dict):
            arguments["filters"] = draw(filters_varied(arguments["filters"]))
        case "without" if removable:
            del arguments[draw(st.sampled_from(removable))]
        case "tool":
            return BudgetedCall(draw(st.sampled_from(family)), arguments, call.budget)
        case "budget" if call.tool in CUT:
            return BudgetedCall(call.tool, arguments, draw(budgets))
        case key if key in lists:
            first = draw(st.integers(1, len(arguments[key]) - 1))
            arguments[key] = [*arguments[key][first:], *arguments[key][:first]]
    return BudgetedCall(call.tool, arguments, call.budget)


@st.composite
def filters_varied(draw: st.DrawFn, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the same filters in another order, their members permuted and perhaps repeated."""
    return {key: draw(members_varied(filters[key])) for key in draw(st.permutations(list(filters)))}


@st.composite
def members_varied(draw: st.DrawFn, members: Any) -> Any:
    """Draw the members of a filter in another order, perhaps with one of them twice."""
    if isinstance(members, dict):
        return {key: draw(members_varied(part)) for key, part in members.items()}
    if not isinstance(members, list) or not members:
        return members
    again = [draw(st.sampled_from(members))] if draw(st.integers(0, 3)) == 1 else []
    return draw(st.permutations([*members, *again]))


@st.composite
def sequences(
    draw: st.DrawFn, calls: st.SearchStrategy[BudgetedCall], callers: Sequence[Principal], most: int = STEPS
) -> list[SequenceStep]:
    """Draw a sequence of calls; half of them put an earlier question otherwise, one in eight reads what one kept."""
    steps: list[SequenceStep] = []
    for _ in range(draw(st.integers(2, most))):
        who = draw(st.sampled_from(callers))
        kind = draw(st.integers(0, READING)) if steps else 0
        asked = [step for step in steps if not step.reads and step.call.arguments]
        if kind == READING:
            steps.append(SequenceStep(draw(readings()), who, draw(st.integers(1, 4))))
        elif kind >= VARIED and asked:
            broken_down = [step for step in asked if len(step.call.arguments.get("dimensions") or ()) > 1]
            earlier = draw(st.sampled_from([*asked, *broken_down * 2]))
            steps.append(SequenceStep(draw(varied(earlier.call)), draw(st.sampled_from((*[earlier.who] * 3, who)))))
        else:
            steps.append(SequenceStep(draw(calls), who))
    return steps


def without_reads(steps: Sequence[SequenceStep]) -> list[SequenceStep]:
    """Return the steps that ask the books themselves."""
    return [replace(step, reads=0) for step in steps if not step.reads]
