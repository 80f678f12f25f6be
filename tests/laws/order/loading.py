"""Loads in between and at the same time: books that are asked load the tables of other books."""

from collections.abc import Sequence
from threading import Barrier, Thread

from msgspec import Struct

from tests.laws.order.answering import CallAnswer, OrderedBooks
from tests.laws.order.law import PATIENCE, BrokenOrder, CallSequence, attempt
from tests.laws.order.steps import SequenceStep
from tests.laws.scoped.books import ScopedBooks
from tests.laws.scoped.writing import table, tables
from tests.support.books.loads import load_feeds
from tests.support.books.small import csv

OF_LOADS = ("svc_orientation", "list_load_history", "get_load_status", "list_bindings", "get_binding", "resources/read")
READERS = 3


class Loading(Struct, frozen=True):
    """Books that are asked, and those whose tables are loaded into them."""

    books: OrderedBooks
    other: ScopedBooks

    def load(self, feed: str) -> None:
        """Load a feed as the other books have it; what does not fit is refused, and changes nothing."""
        text = tables(self.other).get(feed) or table(feed, self.other.rows)
        (self.books.folder / "data" / f"{feed}.csv").write_text(csv(text))
        load_feeds(self.books.folder, self.books.state, feed, loads=self.books.loads, read=self.books.instance)

    def hold_meanwhile(self, steps: Sequence[SequenceStep], feed: str) -> None:
        """Hold what threads are answered while a feed is loaded to what each call is alone, before it or after it."""
        steps = [step for step in steps if step.call.tool not in OF_LOADS]
        before = CallSequence(self.books, steps, loads=True).ask_all()
        shelf, keeping, begins = self.books.fresh(), self.books.keeping(), Barrier(READERS + 1, timeout=PATIENCE)
        heard: list[list[tuple[int, CallAnswer | Exception]]] = [[] for _ in range(READERS)]
        over: list[bool] = []

        def ask(into: list[tuple[int, CallAnswer | Exception]]) -> None:
            begins.wait()
            is_last = False
            while not is_last:
                is_last = bool(over)
                for at, step in enumerate(steps):
                    into.append((at, attempt(self.books, shelf, keeping, step)))

        threads = [Thread(target=ask, args=[into]) for into in heard]
        for thread in threads:
            thread.start()
        begins.wait()
        try:
            self.load(feed)
        finally:
            over.append(True)
            for thread in threads:
                thread.join()
        after = CallSequence(self.books, steps, loads=True).ask_all()
        for answers in heard:
            hold_versions(steps, answers, [before, after])


def hold_versions(
    steps: Sequence[SequenceStep],
    answers: Sequence[tuple[int, CallAnswer | Exception]],
    versions: Sequence[Sequence[CallAnswer]],
) -> None:
    """Raise BrokenOrder unless each answer is that of a version, and none of an earlier one than the answer before."""
    version = 0
    for at, known in answers:
        if isinstance(known, Exception):
            raise BrokenOrder(f"{steps[at]}\nfails while something is loaded") from known
        texts = [of_version[at].text for of_version in versions]
        if known.text not in texts[version:]:
            raise BrokenOrder(f"{steps[at]}\nis answered {known.text!r}\nand alone {texts[version:]!r}")
        version = texts.index(known.text, version)
