"""The laws of examples: the example of each tool, and that of each refusal, put into its call, is answered with data.

A description names keys of the catalogue alone: a member is data, and a description is a text that a model obeys. The
same laws hold over the wire: tests/integration/server/test_examples_of_books.py.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.model.errors import Refusal
from server.caller.caller import Caller
from server.tools.toolbox import LIST_TOOLS, TOOLS
from server.wire.arguments import read_request
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.calls import LARGE, BudgetedCall, calls
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.mistakes import MISTAKEN, OF_EVERY_BOOKS, Sent, has_data, some_mistakes, unanswered
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import ScopedTools
from tests.support.engines.memory import folder_in_memory

SOME = 40  # mistakes in the calls of each books


def examples_of(caller: Caller) -> Mapping[str, Sent]:
    """Return the examples that a caller is told."""
    return LIST_TOOLS.answer(caller, read_request(LIST_TOOLS.shape, {})).result


def empty_examples(caller: Caller) -> Iterator[tuple[str, Sent, Mapping[str, Any]]]:
    """Yield the tools whose example is answered without a figure, a row or a record, with both."""
    examples = examples_of(caller)
    for tool, example in examples.items():
        if tool in OF_EVERY_BOOKS:
            continue
        sent = dict(example)
        if "data_refs" in sent:
            sent["data_refs"] = [TOOLS["run_metric"].call(caller, examples["run_metric"]).result["data_ref"]]
        answer = TOOLS[tool].call(caller, sent).result
        if not has_data(tool, answer):
            yield tool, example, answer


@given(known=seen_books())
def test_every_example_is_answered_with_data(known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]) -> None:
    with folder_in_memory() as folder:
        caller = ScopedTools(*known, Path(folder)).caller(LARGE)
        assert next(empty_examples(caller), None) is None


@given(known=seen_books(), seed=st.integers(0, 10**6), drawn=st.lists(calls(), min_size=4, max_size=10))
def test_every_example_of_a_refusal_is_answered_with_data(
    known: tuple[ScopedBooks, tuple[ProfileSpec, ...]], seed: int, drawn: list[BudgetedCall]
) -> None:
    with folder_in_memory() as folder:
        caller = ScopedTools(*known, Path(folder)).caller(LARGE)

        def ask(tool: str, sent: Sent) -> tuple[Mapping[str, Any], bool]:
            try:
                return TOOLS[tool].call(caller, sent).result, False
            except Refusal as refused:
                return refused.as_data(), True

        examples = examples_of(caller)
        if "run_metric" not in examples:  # no example has data for who sees no figure
            return
        others = [(call.tool, call.arguments) for call in drawn if call.tool in MISTAKEN]
        assert next(unanswered([*some_mistakes(examples, seed, SOME), *others], ask), None) is None
