"""Sequences over HTTP: several callers of one server at once, while others keep its lanes busy."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

from msgspec.json import encode

from server.base.interfaces import Principal
from server.http.dispatch import DETAILS, RENDER_BLOCK
from tests.laws.order.answering import CallAnswer, OrderedBooks, masked
from tests.laws.order.law import PATIENCE, answer_alone, hold
from tests.laws.order.steps import SequenceStep
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.users import RawRequest, call, serving_many

MONTHS = {"period_start": "2025-07", "period_end": "2026-09"}
BOTH = [{"scenario": "actual"}, {"scenario": "budget"}]
BUSY: Sequence[Mapping[str, Any]] = (  # of one base group: the first is answered in the heavy lane, the second is large
    {"statement": "full_pnl", "scenarios": BOTH[:1], "dimensions": ["organisation", "function"], **MONTHS},
    {"statement": "full_pnl", "scenarios": BOTH, "dimensions": ["organisation", "function"], **MONTHS},
)
LIMITS = {"SVC_ANSWER_TOKENS": "1000000", "INSPECTION_ROW_CAP": "1000", "SVC_WORKERS": "2"}  # rows as ROW_CAP


class ServedBooks:
    """A server of books, and the tokens of its callers."""

    def __init__(self, url: str, issuer: Issuer) -> None:
        self._request = RawRequest(url)
        self._issuer = issuer

    def ask(self, who: Principal, tool: str, arguments: Mapping[str, Any]) -> CallAnswer:
        """Return what a caller is answered over HTTP, masked as an answer in this process is."""
        claims: dict[str, Any] = {"groups": None, **{name: list(values) for name, values in who.claims.items()}}
        token = self._issuer.token(sub=who.subject, **claims)
        reply = self._request.post(token, call(tool, json.dumps(arguments)))
        assert reply.status_code == 200, reply.text
        result = reply.json()["result"]
        text = result["content"][0]["text"].encode()
        if result["isError"]:
            return CallAnswer(masked(text))
        meta = result.get("_meta", {})
        parts = (text, encode(meta.get(RENDER_BLOCK)), encode(meta.get(DETAILS)))
        return CallAnswer(masked(b"\n".join(parts)), json.loads(text).get("data_ref"))


@contextmanager
def served(folder: Path, state: Path) -> Iterator[ServedBooks]:
    """Serve books with two workers until the block ends."""
    with issuing() as issuer, serving_many((folder, state), issuer.url, **LIMITS) as server:
        yield ServedBooks(server.url, issuer)


@contextmanager
def busy(books: ServedBooks, who: Principal) -> Iterator[None]:
    """Keep the lanes of heavy and of large calls busy until the block ends."""
    over = Event()

    def ask(arguments: Mapping[str, Any]) -> None:
        while not over.is_set():
            books.ask(who, "run_statement_data", arguments)

    threads = [Thread(target=ask, args=[arguments]) for arguments in BUSY]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def hold_served(books: OrderedBooks, server: ServedBooks, sequences: Sequence[Sequence[SequenceStep]]) -> None:
    """Hold sequences that callers ask a server at once, step by step, to the answers of their calls alone."""
    alone = [[answer_alone(books, step) for step in steps] for steps in sequences]
    answers: list[list[CallAnswer | Exception]] = [[] for _ in sequences]
    meeting = Barrier(len(sequences), timeout=PATIENCE)

    def ask(steps: Sequence[SequenceStep], into: list[CallAnswer | Exception]) -> None:
        for step in steps:
            meeting.wait()
            try:
                into.append(server.ask(step.who, step.call.tool, step.call.arguments))
            except Exception as fault:  # noqa: BLE001 - raised below
                into.append(fault)

    threads = [Thread(target=ask, args=pair) for pair in zip(sequences, answers, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for steps, here, expected in zip(sequences, answers, alone, strict=True):
        for step, mine, right in zip(steps, here, expected, strict=True):
            if isinstance(mine, Exception):
                raise mine
            hold(step, mine, right)
