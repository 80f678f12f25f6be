"""Calls with a mistake, made of the examples of tools, and whether what they are answered has data."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from server.tools.toolbox import TOOLS

Sent = Mapping[str, Any]
Ask = Callable[[str, Sent], tuple[Mapping[str, Any], bool]]  # what a call is answered, and whether it is refused
REPORTS = ("run_statement", "run_metric", "explain_variance", "eval_chart_transform")
OF_EVERY_BOOKS = ("begin_file_upload",)  # names nothing of the books
MAY_BE_EMPTY = ("list_variants",)  # where no scenario has a variant, the answer says so
MISTAKEN = (
    *("list_kpis", "list_variants", "search_hierarchy", "run_statement", "run_metric", "run_metric_data"),
    *("explain_variance", "get_inspection_schema", "inspect_rows", "list_load_history", "list_bindings", "get_binding"),
)
VALUES: tuple[Any, ...] = (
    *(5, -1, 99_999, True, "", "ghost", [], {}, [5], ["ghost"], ["ghost", "ghost2"]),
    *("last_clsoed", "2020-13", "2099", "actual@yty", ["actual@yty", "budget"], ["actual"]),
    *([{"scenario": "actual@yty"}], [{"scenario": "var(actual)"}], [{"scenario": "actual-budget"}]),
    *({"region": {"not": ["EU"]}}, {"region": {"exclude": ["EU"], "include": []}}, {"period": ["rubbish"]}),
    *({"ghost": ["x"]}, {"metric": "ghost"}, {"region": ["EU", "EU"]}),
)


def mistaken_calls(examples: Mapping[str, Sent]) -> Iterator[tuple[str, Sent]]:
    """Yield calls that are no example any more: without an argument, with one too many, with a wrong value."""
    for tool in MISTAKEN:
        example = dict(examples.get(tool.removesuffix("_data"), {}))
        yield tool, {}
        yield tool, {**example, "querry": 1}
        for name in TOOLS[tool].schema["properties"]:
            yield tool, {key: value for key, value in example.items() if key != name}
            yield from ((tool, {name: value}) for value in VALUES[:2])
            yield from ((tool, {**example, name: value}) for value in VALUES)


def some_mistakes(examples: Mapping[str, Sent], seed: int, count: int) -> list[tuple[str, Sent]]:
    """Return some of the calls with a mistake, by chance."""
    return Random(seed).sample(list(mistaken_calls(examples)), count)


def unanswered(calls: Iterator[tuple[str, Sent]] | list[tuple[str, Sent]], ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Yield the refused calls whose example, put into them, is not answered with data: call, refusal, answer."""
    for tool, sent in calls:
        refusal, is_refused = ask(tool, sent)
        example = refusal.get("example")
        if not is_refused or example is None:
            continue
        known = TOOLS[tool].schema["properties"]
        answer, is_refused = ask(tool, {name: value for name, value in {**sent, **example}.items() if name in known})
        if is_refused or not has_data(tool, answer):
            yield tool, sent, refusal, answer


def has_data(tool: str, answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer has a figure, if it is of a report, else a record."""
    if tool.removesuffix("_data") not in REPORTS:
        return tool in MAY_BE_EMPTY or has_record(answer)
    figures = [value for row in answer.get("rows", ()) for value in figures_of(row)]
    return any(isinstance(value, int | float | str) for value in (*figures, answer.get("a"), answer.get("b")))


def figures_of(row: Any) -> Iterator[Any]:
    """Yield the figures of a row: the last cell of a chart's, the values of a report's."""
    yield from row[-1:] if isinstance(row, list) else row.get("values", ())


def has_record(answer: Mapping[str, Any]) -> bool:
    """Tell whether a list has a record."""
    return any(isinstance(part, list | Mapping) and part for key, part in answer.items() if key != "notes")


def mistaken_charts(example: Sent) -> Iterator[tuple[str, Sent]]:
    """Yield charts that are no example any more, of the result that the example names."""
    given, spec = {"data_refs": example["data_refs"]}, example["chart_spec"]
    code = {"transform_code": example["transform_code"]}
    names: list[Any] = ["nope", "value", 5]
    lists: list[Any] = ["alias", "nope", []]
    for wrong in (
        {},
        {"transform_code": "result = 5", "chart_spec": spec},
        {"transform_code": "result = df.select('nope')", "chart_spec": spec},
        *({**code, "chart_spec": {**spec, "x": name}} for name in names),
        *({**code, "chart_spec": {**spec, "y": name}} for name in lists),
        {**code, "chart_spec": {**spec, "title": ""}},
        *({**code, "chart_spec": {**spec, "chart_type": kind}} for kind in ("waterfall", "scatter", "pie")),
        {"chart_spec": {**spec, "series": "nope"}},
    ):
        yield "eval_chart_transform", {**given, **wrong}
