"""Trials: calls that are made to see whether an example is answered with data; they keep nothing and draw nothing."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from engine.plans.report_size import ReportSize
from engine.present.answers.budget import NOT_KEPT, DataRef
from engine.report.snapshots import Kept
from server.caller.caller import Admit, Caller, CallerDatasets

Answered = TypeVar("Answered")
Example = Mapping[str, Any]
MAX_BYTES = 3 << 20  # of a report that a trial makes; a larger one has figures
BOUNDS = ("period_start", "period_end")
DRAWN = ("picture",)  # arguments that make a call draw


class TooLargeToTry(Exception):
    """A call is too large for a trial. It has found members, periods and scenarios to show."""


class UnkeptDatasets(CallerDatasets, frozen=True):
    """The kept results of a caller, where nothing new is kept."""

    def keep(self, _: Kept, answer: Callable[[DataRef], Answered]) -> Answered:
        """Return the answer of a result that is not kept."""
        return answer(NOT_KEPT)


def admit_small(admit: Admit, size: ReportSize) -> None:
    """Raise TooLargeToTry for a report that a trial does not make.

    A small report whose windows are counted first may hold nothing: it counts where a call of that size does.
    """
    report = replace(size, counted=0)
    if report.bytes > MAX_BYTES or (size.counted and not size.places):
        raise TooLargeToTry
    admit(size)


def on_trial(caller: Caller) -> Caller:
    """Return a caller whose calls are trials."""
    kept = caller.datasets
    unkept = UnkeptDatasets(kept.owner, kept.snapshots, kept.reader)
    return replace(caller, datasets=unkept, admit=partial(admit_small, caller.admit))


def has_data(result: Example) -> bool:
    """Tell whether an answer has a figure, a row or a record."""
    if "rows" in result:
        cells = (cell for row in result["rows"] for cell in (row if isinstance(row, list) else row.get("values", ())))
        return any(cell is not None for cell in cells)
    if "lists" in result:
        return any(result.get(side) is not None for side in ("a", "b"))
    return any(part and isinstance(part, list | Mapping) for name, part in result.items() if name != "notes")


def mending(
    offered: Example, field: str | None, sent: Example, optional: set[str], examples: tuple[Example, Example]
) -> Iterator[Example]:
    """Yield arguments that may mend a refused call, those that change least first.

    `offered` are those that the refusal offers for its field, `examples` the call that the tool shows and values of
    other arguments. An argument that is None leaves out what was sent.
    """
    yield offered
    name = (field or "").partition(".")[0]
    yield from ({name: values[name]} for values in examples if name in values)
    whole = examples[0]
    yield {**offered, **{bound: whole[bound] for bound in BOUNDS if bound in whole}}
    left_out = dict.fromkeys(name for name in sent if name in optional and name not in whole)
    yield {**left_out, **whole, **{key: value for key, value in offered.items() if key in optional | whole.keys()}}
    yield {**left_out, **whole}
