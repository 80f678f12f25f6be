"""Every report of these tests reads its figures, and what its ranking and its notes read besides, in one collect.

Others than these: the others of a ranking, whose members must be known first; the members below material lines, and
their others; the days before the close of a balance
that is blank there, which few reports ask; a count that decides whether a report is too large; and what freshness keeps
for a version.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import ParamSpec

import polars as pl
import pytest

from engine.books.reader import FactRead, Reader
from engine.model.stopping import Stop
from engine.plans.figures import FigurePlan, collect_together
from engine.report import explain, ranking, run

Parameters = ParamSpec("Parameters")
FIGURES, NOTES, OTHERS, BEFORE_CLOSE = "figures", "notes", "others of a ranking", "days before a close"
MEMBERS = "members of lines"
STAGES = {
    "collected": FIGURES,
    "report_table": NOTES,
    "blank_notes": NOTES,
    "report_notes": NOTES,
    "member_rows": MEMBERS,
    "notes_of": NOTES,
    "list_of": NOTES,
    "made_of": NOTES,
}


class Collects:
    """How many collects each stage of the reports of a test made, and how often each stage ran."""

    def __init__(self) -> None:
        self.made, self.ran = Counter[str](), Counter[str]()
        self._within: list[str] = []

    def of(self, stage: str, work: Callable[Parameters, object]) -> Callable[Parameters, object]:
        """Return a function that counts for a stage; what it yields is made at once."""

        @wraps(work)
        def collecting(*args: Parameters.args, **named: Parameters.kwargs) -> object:
            self._within.append(stage)
            self.ran[stage] += 1
            try:
                made = work(*args, **named)
                return list(made) if isinstance(made, Iterator) else made
            finally:
                self._within.pop()

        return collecting

    def watching(
        self, collect: Callable[[Reader, Sequence[FactRead], Stop], list[pl.DataFrame]]
    ) -> Callable[[Reader, Sequence[FactRead], Stop], list[pl.DataFrame]]:
        """Return `Reader.collect`, counted for the stage that runs."""

        def collected(reader: Reader, reads: Sequence[FactRead], stop: Stop) -> list[pl.DataFrame]:
            self.made.update(self._within[-1:])
            return collect(reader, reads, stop)

        return collected


@pytest.fixture(autouse=True)
def collects(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collects]:
    """Count the collects of every report that this process makes; fail for one too many."""
    found = Collects()
    monkeypatch.setattr(Reader, "collect", found.watching(Reader.collect))
    monkeypatch.setattr(ranking, "collect_together", found.of(OTHERS, collect_together))
    monkeypatch.setattr(FigurePlan, "collect", found.of(BEFORE_CLOSE, FigurePlan.collect))
    for module in (run, explain):
        for name, stage in STAGES.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, found.of(stage, getattr(module, name)))
    yield found
    assert found.made[FIGURES] == found.ran[FIGURES], "a report collects its figures once"
    assert found.made[NOTES] == 0, "notes and tables read nothing that was not planned"
    assert found.made[MEMBERS] <= 2 * found.ran[MEMBERS], "members of all lines are read together, then their others"
    assert found.made[OTHERS] <= found.ran[OTHERS], "the others of all groups of one depth are read together"
