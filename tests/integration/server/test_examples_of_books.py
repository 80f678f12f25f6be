"""The laws of examples over the wire: drawn books, served, and asked by a real client with a drawn profile."""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hypothesis import given

from tests.laws.oracle.replay import from_seed
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.law import seen_books
from tests.laws.scoped.mistakes import OF_EVERY_BOOKS, Sent, has_data, mistaken_charts, some_mistakes, unanswered
from tests.laws.scoped.profiles import ProfileSpec
from tests.laws.scoped.writing import write
from tests.support.service.forks import tieout
from tests.support.service.servers import KEY, McpBooks, connected, serving

BOOKS = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 3
SOME = 150  # mistakes in the calls of each books
SEED = 5


def test_examples_of_drawn_books_are_answered_with_data_over_the_wire(tmp_path: Path) -> None:
    met: list[tuple[int, int]] = []  # of each books the examples and the mistakes

    @from_seed(SEED, BOOKS)
    @given(known=seen_books())
    def served(known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]) -> None:
        books, profiles = known
        folder = Path(mkdtemp(dir=tmp_path))
        instance = write(books, {"dev": profiles}, folder / "instance")
        loaded = tieout("load", "--instance", instance, SVC_STATE_DIR=str(folder / "state"))
        assert loaded.returncode == 0, loaded.stderr
        with serving(instance, folder / "state") as server, connected(server.url, "auto", KEY) as client:
            met.append(hold(client, len(met)))

    served()
    assert sum(examples for examples, _ in met) > BOOKS
    assert sum(mistakes for _, mistakes in met) >= SOME


def hold(client: McpBooks, seed: int) -> tuple[int, int]:
    """Hold the examples of a caller and those of some refusals to the law; return how many there were."""
    examples = client.examples()
    for tool, example in examples.items():
        if tool not in OF_EVERY_BOOKS:
            sent = dict(example)
            if "data_refs" in sent:
                sent["data_refs"] = [client.keep("run_metric", **examples["run_metric"])]
            answer = client.ask(tool, **sent)
            assert has_data(tool, answer), (tool, example, answer)

    def ask(tool: str, sent: Sent) -> tuple[Mapping[str, Any], bool]:
        called = client.call(tool, **sent)
        return called.result, called.is_error

    mistakes = some_mistakes(examples, seed, SOME) if "run_metric" in examples else []
    if "eval_chart_transform" in examples:
        reference = client.keep("run_metric", **examples["run_metric"])
        mistakes += mistaken_charts({**examples["eval_chart_transform"], "data_refs": [reference]})
    assert next(unanswered(mistakes, ask), None) is None
    return len(examples), len(mistakes)
