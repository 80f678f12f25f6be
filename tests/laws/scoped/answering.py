"""What tools answer or refuse as their caller reads it: JSON, what is of one load or one version aside."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.json import encode
from msgspec.structs import replace

from engine.model.errors import Refusal
from engine.model.requests import ChartSpec
from server.base.interfaces import LoadQuery
from server.base.requests import ChartRequest, ExportRequest
from server.caller.caller import Caller
from server.feeds.feeds import LoadStatus
from server.stores.memory import REFERENCE
from server.tools.charts import eval_chart_transform
from server.tools.definitions import DATASET
from server.tools.files import export_dataset
from server.tools.resources import READ_DATASET
from server.tools.toolbox import REQUESTS
from tests.laws.scoped.calls import LARGE, BudgetedCall
from tests.laws.scoped.writing import ScopedTools

CHARTED = ("run_statement_data", "run_metric_data", "inspect_rows", "explain_variance")
EVERY_ROW = """
print(df.height, df.columns)
print(df.rows()[:50])
result = [{'at': str(i), 'n': i, 'every': str(row)[:1500]} for i, row in enumerate(df.rows()[:50])]
"""
VERSIONS = ("catalogue_version", "data_version", "data_ref")
OF_SCENARIOS = ("filters", "notes", "drill")  # empty without what is of one scenario
OF_PROFILES = "scope"  # of an orientation: what allow-lists name, and books without profiles have none
OF_ONE_LOAD = ("load_id", "loaded_at", "started_at", "finished_at", "seconds")
OF_THE_WHOLE = (  # of a feed and its loads: told only to who reads all that it brings
    *("rows_read", "rows_landed", "rows_rejected", "days", "error"),
    *("extract", "file", "sheet", "parameters", "mapping", "source_variable"),
)


def asked(call: BudgetedCall, opened: ScopedTools, budget: int | None = None) -> Any:
    """Return what a call answers or refuses; loads are named by their feed."""
    names = load_names(opened)
    arguments = json.loads(swapped(json.dumps(call.arguments), {name: load for load, name in names.items()}))
    text = told(call.tool, arguments, opened.caller(budget or call.budget))
    answer = json.loads(swapped(text, names))
    return plain(answer) if "shown" in answer else refused(answer)


def told(name: str, arguments: Mapping[str, Any], caller: Caller, *, charts: bool = True) -> str:
    """Return what a tool answers, with the table beside it and the chart of it, or refuses, as text."""
    tool = REQUESTS[name]
    try:
        answer = tool.call(caller, arguments)
    except Refusal as refusal:
        return encode(refusal.as_data()).decode()
    kept = answer.result.get("data_ref")
    document = exported(kept, caller) if kept else None
    chart = charted(kept, caller, draws=name != "run_metric_data") if charts and kept and name in CHARTED else None
    block = answer.render_block() if tool.widget else None
    text = encode({"shown": [answer.result, block, answer.details, document, chart]}).decode()
    return REFERENCE.sub("ds_", text)  # no two calls share one


def charted(data_ref: str, caller: Caller, *, draws: bool) -> Any:
    """Return the chart or the rows of a kept result and the document of its table, or why there is none."""
    try:
        chart = eval_chart_transform(replace(caller, answer_tokens=LARGE), of_all(data_ref, draws=draws)).result
    except Refusal as refusal:
        return refusal.as_data()
    return [chart, exported(chart["data_ref"], caller)]


def of_all(data_ref: str, *, draws: bool) -> ChartRequest:
    """Return the request of a chart, or of rows, that shows every row and column of a result."""
    spec = ChartSpec(chart_type="horizontal_bar", title="T", x="at", y="n") if draws else None
    return ChartRequest(data_refs=(data_ref,), transform_code=EVERY_ROW, chart_spec=spec)


def exported(data_ref: str, caller: Caller) -> Any:
    """Return the document that a kept result is made into, which is also what stands at its address."""
    made = export_dataset(caller, ExportRequest(data_ref=data_ref, format="json"))
    document = json.loads(caller.files.archive.volume.path(made.result["file_id"]).read_bytes())
    page = READ_DATASET.call(caller, {"uri": f"{DATASET}{data_ref}"}).result
    assert {**json.loads(page["text"]), "made_at": None} == {**document, "made_at": None}
    return {key: part for key, part in document.items() if key != "made_at"}


def refused(error: dict[str, Any]) -> dict[str, Any]:
    """Return a refusal; which loads have an id like the one asked for differs from books to books."""
    if error.get("field") != "load_id":
        return error
    return {"error_type": error["error_type"], "valid": sorted(error.get("valid", ()))}


def load_names(opened: ScopedTools) -> dict[str, str]:
    """Return the loads of books, each with the name that it has in all books."""
    every = LoadQuery(
        bindings=["gl", "people", "sales", "product", "customer", "tree"], statuses=tuple(LoadStatus), limit=99
    )
    return {attempt.load_id: f"load of {attempt.binding}" for attempt in opened.loads.find(every)}


def swapped(text: str, names: Mapping[str, str]) -> str:
    """Return a text with some words put in place of others."""
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def plain(part: Any) -> Any:
    """Return an answer without what is of one load or version; what is null says so."""
    if isinstance(part, Mapping):
        return {
            key: "…" if key in OF_ONE_LOAD and known is not None else plain(known)
            for key, known in part.items()
            if key not in (*VERSIONS, *OF_THE_WHOLE, OF_PROFILES)
        }
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [plain(known) for known in part if not (isinstance(known, Mapping) and known.get("code") == "withheld")]
    return part


def compared_alike(answer: Any) -> Any:
    """Return what scenarios differ by without what each of them holds alone, and whether that is more."""
    if "shown" not in answer:
        return answer["error_type"]
    return held_by_all(answer)


def held_by_all(part: Any) -> Any:
    """Return a part of an answer without what is of one scenario, and without the note that more is seen of it."""
    if isinstance(part, Mapping):
        kept = {key: held_by_all(known) for key, known in part.items() if key not in ("freshness", "compared_with")}
        if kept.keys() == {"filters"} and kept["filters"].keys() == {"metric"}:
            return kept["filters"]["metric"]  # an operand that nothing but its metric tells apart
        return {key: known for key, known in kept.items() if known not in ({}, []) or key not in OF_SCENARIOS}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [held_by_all(known) for known in part if not says_more_is_seen(known)]
    return part


def says_more_is_seen(part: Any) -> bool:
    """Tell whether a part of an answer is the note `scope_differs`, as an object or as a sentence."""
    sentence = part.get("message") if isinstance(part, Mapping) else part
    words = ("The variance of ", "is computed only of what you may see in all of ")
    return isinstance(sentence, str) and any(each in sentence for each in words)
