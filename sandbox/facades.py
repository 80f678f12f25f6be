"""The names of a script: the modules that it may import, as facades, and its builtins."""

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
from types import ModuleType

from sandbox.guards import Facade, Refused
from sandbox.surface import POLARS, SELECTORS, SURFACE, found

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
IN_C = frozenset({"_strptime", "re", "time"})  # modules that C code asks for by the importer of the frame it runs in
for named in IN_C:
    import_module(named)  # it finds them there; no file can be opened later


def facade(module: ModuleType, names: Iterable[str], **more: object) -> Facade:
    """Return what a script sees of a module."""
    return Facade(module.__name__, {name: getattr(module, name) for name in names} | more)


CHOSEN_SELECTORS = facade(found(SELECTORS), SURFACE[SELECTORS].allowed)
FACADES: Mapping[str, Facade] = {
    POLARS: facade(found(POLARS), SURFACE[POLARS].allowed, selectors=CHOSEN_SELECTORS),
    SELECTORS: CHOSEN_SELECTORS,
    **{module.__name__: facade(module, names.split()) for module, names in CHOSEN.items()},
}


def importing(
    name: str, _globals: object = None, _locals: object = None, asked: object = (), level: int = 0
) -> Facade | None:
    """Return the facade that an import statement gets."""
    if type(asked) is list and name in IN_C:
        return None
    if level or name not in FACADES:
        there = ", ".join(FACADES)
        raise Refused(f"{name[:60] or '.'} cannot be imported; a script may import {there}, and has df, frames and pl")
    return FACADES[name if asked else name.partition(".")[0]]


def offered() -> dict[str, object]:
    """Return the builtins of a script."""
    return {name: getattr(builtins, name) for name in BUILTINS.split()} | {"__import__": importing}
