"""The run of one script in its namespace, and the words for whatever goes wrong in it."""

from collections.abc import Mapping
from traceback import walk_tb

import polars as pl

from sandbox.facades import FACADES, offered
from sandbox.guards import Printed, Refused, hooks
from sandbox.job import Failure, FailureKind, Outcome
from sandbox.policy import FILE, compiled
from sandbox.table import SHAPES, NoTable, TooLarge, table_of

NOT_HERE: Mapping[str, str] = {
    "open": "a script opens no files: its data is df and frames",
    "np": "numpy is not here: use polars expressions, math or statistics",
    "pd": "pandas is not here: df is a polars DataFrame",
    "getattr": "write the attribute out",
    "hasattr": "look at df.columns or df.schema",
    "type": "use isinstance, or df.schema for the types of columns",
    "input": "a script asks nobody",
    "result": f"leave {SHAPES} in result",
}
OTHER = "a script has df, frames, pl, the usual builtins, and what it imports"
KINDS: Mapping[type[BaseException], FailureKind] = {Refused: "refused", TooLarge: "limit", MemoryError: "limit"}


def run(code: str, frames: list[pl.DataFrame]) -> Outcome:
    """Run a script over its frames and return the table that it leaves, or what went wrong."""
    printed = Printed()
    names: dict[str, object] = {"__builtins__": offered(), "__name__": "transform", **hooks(printed)}
    names |= {"pl": FACADES["polars"], "frames": frames}
    if frames:
        names["df"] = frames[0]
    try:
        exec(compiled(code), names)  # noqa: S102 - what this package is for; the process is in jail
        made = table_of(names.get("result"))
    except BaseException as fault:  # noqa: BLE001 - a script may raise anything, polars' panics included
        return Outcome(printed=printed.text(), failure=failure_of(fault))
    return Outcome(columns=made.columns, rows=made.rows, printed=printed.text())


def failure_of(fault: BaseException) -> Failure:
    """Tell line, cause and what to use instead."""
    kind = KINDS.get(type(fault), "failed")
    said = words_of(fault)
    lines = [number for frame, number in walk_tb(fault.__traceback__) if frame.f_code.co_filename == FILE]
    return Failure.of(kind, f"line {lines[-1]}: {said}" if lines else said)


def words_of(fault: BaseException) -> str:
    """Return the cause in words, and the way out where it is known."""
    if isinstance(fault, (Refused, NoTable, TooLarge)):
        return str(fault)
    if isinstance(fault, MemoryError):
        return "the script needs more memory than it may have: filter or aggregate earlier, make fewer copies"
    if isinstance(fault, NameError):
        return f"NameError: {first_of(fault)}; {NOT_HERE.get(fault.name or '', OTHER)}"
    if isinstance(fault, RecursionError):
        return "RecursionError: a function calls itself without end: use a loop"
    return f"{type(fault).__name__}: {first_of(fault)}"


def first_of(fault: BaseException) -> str:
    """Return what a fault says, if it is text that can be had."""
    said = next((part for part in fault.args if type(part) in (str, int, float)), "")
    return said[:400] if isinstance(said, str) else str(said)
