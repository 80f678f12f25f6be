"""Script execution: its namespace, its importable facades, and the messages of its errors."""

import builtins
import collections
import datetime as dt
import decimal
import functools
import itertools
import math
import re
import statistics
from collections.abc import Iterable, Mapping
from importlib import import_module
from traceback import walk_tb
from types import ModuleType

import polars as pl

from sandbox.guards import POLARS, SELECTORS, SURFACE, Facade, PrintBuffer, UnsupportedFeature, hooks, resolve
from sandbox.job import Failure, FailureKind, JobResult
from sandbox.policy import FILE, compile_script
from sandbox.table import SHAPES, NotATable, TableTooLarge, read_table

# The namespace of a script: importable modules as facades, and builtins.


CHOSEN: Mapping[ModuleType, str] = {
    math: " ".join(name for name in dir(math) if not name.startswith("_")),
    dt: "MAXYEAR MINYEAR UTC date datetime time timedelta timezone",
    statistics: """NormalDist correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median
    median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance""",
    itertools: """accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse
    groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest""",
    collections: "Counter OrderedDict defaultdict deque",
    functools: "reduce",
    decimal: """Decimal DivisionByZero InvalidOperation Overflow ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN
    ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP""",
    re: """A ASCII DOTALL I IGNORECASE M MULTILINE S VERBOSE X compile escape findall finditer fullmatch match search
    split sub subn""",
}
BUILTINS = """abs all any bin bool chr dict divmod enumerate filter float format frozenset hex int isinstance iter len
list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple zip
ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError OverflowError
RuntimeError StopIteration TypeError UnicodeError ValueError ZeroDivisionError"""
IN_C = frozenset({"_strptime", "re", "time"})  # modules that C code imports in the frame of the script
for named in IN_C:
    import_module(named)  # imported now, because no file can be opened later


def make_facade(module: ModuleType, names: Iterable[str], **more: object) -> Facade:
    """Return the facade of a module."""
    return Facade(module.__name__, {name: getattr(module, name) for name in names} | more)


CHOSEN_SELECTORS = make_facade(resolve(SELECTORS), SURFACE[SELECTORS].allowed)
FACADES: Mapping[str, Facade] = {
    POLARS: make_facade(resolve(POLARS), SURFACE[POLARS].allowed, selectors=CHOSEN_SELECTORS),
    SELECTORS: CHOSEN_SELECTORS,
    **{module.__name__: make_facade(module, names.split()) for module, names in CHOSEN.items()},
}


def import_facade(
    name: str, _globals: object = None, _locals: object = None, asked: object = (), level: int = 0
) -> Facade | None:
    """Return the facade for an import statement."""
    if type(asked) is list and name in IN_C:
        return None
    if level or name not in FACADES:
        modules = ", ".join(FACADES)
        raise UnsupportedFeature(
            f"{name[:60] or '.'} cannot be imported; a script may import {modules}, and has df, frames and pl"
        )
    return FACADES[name if asked else name.partition(".")[0]]


def script_builtins() -> dict[str, object]:
    """Return the builtins of a script."""
    return {name: getattr(builtins, name) for name in BUILTINS.split()} | {"__import__": import_facade}


# Execution of a script, and the description of its errors.


NOT_HERE: Mapping[str, str] = {
    "open": "a script opens no files: its data is df and frames",
    "np": "numpy is not here: use polars expressions, math or statistics",
    "pd": "pandas is not here: df is a polars DataFrame",
    "getattr": "write the attribute out",
    "hasattr": "look at df.columns or df.schema",
    "type": "use isinstance, or df.schema for the types of columns",
    "input": "a script cannot ask for input",
    "result": f"leave {SHAPES} in result",
}
OTHER = "a script has df, frames, pl, the usual builtins, and what it imports"
KINDS: Mapping[type[BaseException], FailureKind] = {
    UnsupportedFeature: "refused",
    TableTooLarge: "limit",
    MemoryError: "limit",
}


def run(code: str, frames: list[pl.DataFrame]) -> JobResult:
    """Run a script on its frames. Return its table, or its failure."""
    printed = PrintBuffer()
    names: dict[str, object] = {"__builtins__": script_builtins(), "__name__": "transform", **hooks(printed)}
    names |= {"pl": FACADES["polars"], "frames": frames}
    if frames:
        names["df"] = frames[0]
    try:
        exec(compile_script(code), names)  # noqa: S102 - the purpose of this package; the process is jailed
        table = read_table(names.get("result"))
    except BaseException as fault:  # noqa: BLE001 - a script may raise anything, polars' panics included
        return JobResult(printed=printed.text(), failure=failure_of(fault))
    return JobResult(columns=table.columns, rows=table.rows, printed=printed.text())


def failure_of(fault: BaseException) -> Failure:
    """Return a failure with line, cause and what to use instead."""
    kind = KINDS.get(type(fault), "failed")
    cause = describe(fault)
    lines = [number for frame, number in walk_tb(fault.__traceback__) if frame.f_code.co_filename == FILE]
    return Failure.of(kind, f"line {lines[-1]}: {cause}" if lines else cause)


def describe(fault: BaseException) -> str:
    """Return the cause in words, with a remedy if one is known."""
    if isinstance(fault, (UnsupportedFeature, NotATable, TableTooLarge)):
        return str(fault)
    if isinstance(fault, MemoryError):
        return "the script exceeded its memory limit: filter or aggregate earlier, make fewer copies"
    if isinstance(fault, NameError):
        return f"NameError: {first_argument(fault)}; {NOT_HERE.get(fault.name or '', OTHER)}"
    if isinstance(fault, RecursionError):
        return "RecursionError: a function calls itself too deeply: use a loop"
    return f"{type(fault).__name__}: {first_argument(fault)}"


def first_argument(fault: BaseException) -> str:
    """Return the first argument of an exception as text; "" if none is text or a number."""
    first = next((part for part in fault.args if type(part) in (str, int, float)), "")
    return first[:400] if isinstance(first, str) else str(first)
