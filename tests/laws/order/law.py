"""The law of order: what a call is answered is what it is answered alone, in books in which nothing was worked out."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Barrier, Thread

from msgspec.json import encode

from engine.books.books import Shelf
from server.caller.caller import CallerStores
from tests.laws.order.answering import CallAnswer, OrderedBooks, answer, memo_members
from tests.laws.order.steps import SequenceStep, with_reference

THREADS = 3
INTERVAL = 1e-6  # seconds of a thread's turn
PATIENCE = 120.0  # seconds in which every thread comes to a step


class BrokenOrder(AssertionError):
    """A call is answered otherwise than alone."""


class CallSequence:
    """A sequence of calls, each asked of one shelf, or alone of a fresh one."""

    def __init__(
        self, books: OrderedBooks, steps: Sequence[SequenceStep], shelf: Shelf | None = None, *, loads: bool = False
    ) -> None:
        """`shelf` is that of all the calls; without one, each is asked alone. `loads` says that something may load."""
        self._loads = loads
        self.answers: list[CallAnswer] = []
        self._books = books
        self._steps = steps
        self._shelf = shelf
        self._keeping = books.keeping()
        self._versions: list[int] = []  # of the books at each step
        self._read: dict[int, int] = {}  # the step that each step reads

    def ask(self) -> CallAnswer:
        """Ask the next call, and return its answer."""
        at = len(self.answers)
        shelf = self._shelf or self._books.fresh()
        self._versions.append(shelf.current().version)
        reads = self._steps[at].reads
        kept = [place for place, known in enumerate(self.answers) if known.data_ref or known.file_id]
        if reads and kept:
            self._read[at] = kept[-min(reads, len(kept))]
        if self._shelf:
            reply = self._asked(at, shelf)
        elif reads or self._loads:
            reply = self._alone(at, shelf)
        else:
            reply = answer_alone(self._books, self._steps[at])
        self.answers.append(reply)
        return reply

    def ask_all(self) -> list[CallAnswer]:
        """Ask all the calls, and return their answers."""
        return [self.ask() for _ in self._steps]

    def _asked(self, at: int, shelf: Shelf) -> CallAnswer:
        return self._send(at, shelf, self.answers[self._read[at]] if at in self._read else CallAnswer(b""))

    def _alone(self, at: int, shelf: Shelf) -> CallAnswer:
        """Return the answer of a step in fresh books, where what it reads is asked for first.

        What was kept of an earlier version cannot be asked for any more; it is read as it was kept.
        """
        source = self._read.get(at)
        if source is None:
            return self._send(at, shelf, CallAnswer(b""))
        is_current = self._versions[source] == self._versions[at]
        return self._send(at, shelf, self._alone(source, shelf) if is_current else self.answers[source])

    def _send(self, at: int, shelf: Shelf, kept: CallAnswer) -> CallAnswer:
        step = self._steps[at]
        arguments = with_reference(step, kept.data_ref or "", kept.file_id or "") if step.reads else step.call.arguments
        caller = self._books.caller(shelf, self._keeping, step.who, step.call.budget)
        return answer(caller, step.call.tool, arguments)


def hold(step: SequenceStep, here: CallAnswer, alone: CallAnswer) -> None:
    """Raise BrokenOrder where a step is not answered as alone."""
    if here.text != alone.text:
        at = next((at for at, pair in enumerate(zip(here.text, alone.text, strict=False)) if pair[0] != pair[1]), -1)
        around = slice(max(0, at - 200), at + 200)
        raise BrokenOrder(f"{step}\nis answered …{here.text[around]!r}…\nand alone …{alone.text[around]!r}…")


Between = Callable[[int], None]  # runs before the step of a number, and may load


def hold_in_turn(
    books: OrderedBooks, steps: Sequence[SequenceStep], budget: int | None = None, between: Between | None = None
) -> None:
    """Hold a sequence to the answers of its calls alone."""
    shared = CallSequence(books, steps, books.fresh())
    alone = CallSequence(books, steps, loads=between is not None)
    for at, step in enumerate(steps):
        if between:
            between(at)
        with memo_members(budget):
            here = shared.ask()
        hold(step, here, alone.ask())


def hold_fewest(books: OrderedBooks, steps: Sequence[SequenceStep], budget: int | None = None) -> None:
    """Hold a sequence to the answers of its calls alone; where it breaks the law, so do the fewest of its steps."""
    if not breaks(books, steps, budget):
        return
    fewest = list(steps)
    for step in reversed(steps):
        less = [other for other in fewest if other is not step]
        if breaks(books, less, budget):
            fewest = less
    try:
        hold_in_turn(books, fewest, budget)
    except Exception as fault:
        sequence = "\n".join(f"  {step}" for step in fewest)
        raise BrokenOrder(f"with {budget} members of memos,\n{sequence}\nis not answered as alone: {fault}") from fault


def breaks(books: OrderedBooks, steps: Sequence[SequenceStep], budget: int | None) -> bool:
    """Tell whether a sequence breaks the law, by another answer or by a fault."""
    try:
        hold_in_turn(books, steps, budget)
    except Exception:  # noqa: BLE001 - `hold_fewest` raises that of the fewest steps
        return True
    return False


@contextmanager
def turns_of(seconds: float) -> Iterator[None]:
    """Let threads take turns of so many seconds until the block ends."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def hold_at_once(books: OrderedBooks, sequences: Sequence[Sequence[SequenceStep]], budget: int | None = None) -> None:
    """Hold sequences that are asked from as many threads, step by step, and then once more in turn, to those alone."""
    alone = [[answer_alone(books, step) for step in steps] for steps in sequences]
    shelf, keeping = books.fresh(), books.keeping()
    answers: list[list[CallAnswer | Exception]] = [[] for _ in sequences]
    meeting = Barrier(len(sequences), timeout=PATIENCE)

    def ask(steps: Sequence[SequenceStep], into: list[CallAnswer | Exception]) -> None:
        for step in steps:
            meeting.wait()
            into.append(attempt(books, shelf, keeping, step))

    with memo_members(budget):
        with turns_of(INTERVAL):
            pairs = zip(sequences, answers, strict=True)
            threads = [Thread(target=ask, args=pair) for pair in pairs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        later = [[attempt(books, shelf, keeping, step) for step in steps] for steps in sequences]
    for known in (answers, later):
        for steps, here, expected in zip(sequences, known, alone, strict=True):
            for step, mine, right in zip(steps, here, expected, strict=True):
                if isinstance(mine, Exception):
                    raise BrokenOrder(f"{step}\nfails beside others") from mine
                hold(step, mine, right)


def attempt(books: OrderedBooks, shelf: Shelf, keeping: CallerStores, step: SequenceStep) -> CallAnswer | Exception:
    """Return what a step is answered, or the fault that ends it, which the law raises where it can name the step."""
    try:
        return answer_of(books, shelf, keeping, step)
    except Exception as fault:  # noqa: BLE001 - any fault breaks the law
        return fault


def answer_of(books: OrderedBooks, shelf: Shelf, keeping: CallerStores, step: SequenceStep) -> CallAnswer:
    """Return what a step that reads nothing is answered from the books of a shelf."""
    caller = books.caller(shelf, keeping, step.who, step.call.budget)
    return answer(caller, step.call.tool, step.call.arguments)


def answer_alone(books: OrderedBooks, step: SequenceStep) -> CallAnswer:
    """Return what a step that reads nothing is answered alone; of the same books, it is asked once."""
    key = encode([step.who.subject, step.call.tool, step.call.arguments, step.call.budget])
    known = books.alone.get(key)
    if known is None:
        known = books.alone[key] = answer_of(books, books.fresh(), books.keeping(), step)
    return known
