"""The law of examples: the example call of each tool, sent by the caller who was told it, is answered with data.

A description names keys of the catalogue alone: a member is data, and a description is a text that a model obeys.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import given

from server.caller.caller import Caller
from server.tools.known_names import is_known
from server.tools.toolbox import LIST_TOOLS, TOOLS
from server.wire.arguments import read_request
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import LARGE
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import ScopedTools
from tests.support.memory import folder_in_memory

REPORTS = ("run_statement", "run_metric", "explain_variance", "eval_chart_transform")
OF_EVERY_BOOKS = {"begin_file_upload"}  # names nothing of the books
MAY_BE_EMPTY = {"list_variants"}  # where no scenario has a variant, the answer says so


def answer_of(tool: str, arguments: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """Return what a tool answers."""
    known = TOOLS[tool]
    examples, names = partial(known.examples, caller), partial(is_known, caller.reader)
    return known.answer(caller, read_request(known.shape, arguments, examples, names)).result


def empty_examples(caller: Caller) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the tools whose example is answered without a figure, a row or a record, with both."""
    examples = LIST_TOOLS.answer(caller, read_request(LIST_TOOLS.shape, {})).result
    for tool, example in examples.items():
        if tool in OF_EVERY_BOOKS:
            continue
        sent = dict(example)
        if "data_refs" in sent:
            sent["data_refs"] = [answer_of("run_metric", examples["run_metric"], caller)["data_ref"]]
        answer = answer_of(tool, sent, caller)
        if tool not in MAY_BE_EMPTY and not (has_figure(answer) if tool in REPORTS else has_record(answer)):
            yield tool, example, answer


def has_figure(answer: Mapping[str, Any]) -> bool:
    """Tell whether a report, an explanation or a chart has a figure."""
    figures = [value for row in answer.get("rows", ()) for value in figures_of(row)]
    return any(isinstance(value, int | float | str) for value in (*figures, answer.get("a")))


def figures_of(row: Any) -> Iterator[Any]:
    """Yield the figures of a row: the last cell of a chart's, the values of a report's."""
    yield from row[-1:] if isinstance(row, list) else row.get("values", ())


def has_record(answer: Mapping[str, Any]) -> bool:
    """Tell whether a list has a record."""
    return any(isinstance(part, list | Mapping) and part for key, part in answer.items() if key != "notes")


@given(known=seen_books())
def test_every_example_is_answered_with_data(known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]) -> None:
    with folder_in_memory() as folder:
        caller = ScopedTools(*known, Path(folder)).caller(LARGE)
        assert next(empty_examples(caller), None) is None
