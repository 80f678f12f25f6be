"""The guards: what a restricted script may do with an object, by the object's exact type."""

import datetime as dt
import json
import operator
import re
import statistics
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from importlib import import_module
from importlib.resources import files
from string import Formatter
from types import MappingProxyType
from typing import Any, NoReturn

import polars as pl
from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence

from sandbox.job import MOST_PRINTED

# The polars surface. surface.json lists every public name of the installed polars, allowed, or denied with a reason. A
# test fails if polars has a name that the file lacks.


POLARS = "polars"
SELECTORS = "polars.selectors"


@dataclass(frozen=True, slots=True)
class NameReview:
    """The public names of one type or module: those allowed, and the reason for denying each other."""

    allowed: frozenset[str]
    denied: Mapping[str, str]  # name -> kind

    @staticmethod
    def of(listed: Mapping[str, list[str]]) -> "NameReview":
        """Read one entry of the file."""
        names = {kind: " ".join(lines).split() for kind, lines in listed.items()}
        allowed = frozenset(names.pop("allowed"))
        return NameReview(allowed, MappingProxyType({name: kind for kind, some in names.items() for name in some}))


def resolve(place: str) -> Any:  # noqa: ANN401 - a module or a class
    """Return the module or class that an entry of the file names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


SURFACE: Mapping[str, NameReview] = {
    place: NameReview.of(listed)
    for place, listed in json.loads(files("sandbox").joinpath("surface.json").read_text(encoding="utf-8")).items()
}


DEPTH = 2  # levels of nested format fields


class UnsupportedFeature(Exception):
    """A script uses a feature that its language lacks; the message says what to use instead."""


class Facade:
    """A stand-in for a module that exposes only chosen names, without a reference to the module."""

    __slots__ = ("_offered", "_title")

    def __init__(self, title: str, offered: Mapping[str, Any]) -> None:
        self._title, self._offered = title, dict(offered)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name in self._offered:
            return self._offered[name]
        kind = denial_kind(self._title, name)
        near = [] if kind else get_close_matches(name, self._offered, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else INSTEAD.get(kind, OTHERS)
        raise (AttributeError if near else UnsupportedFeature)(
            f"{self._title}.{name} is not available to a script; {hint}"
        )


def denial_kind(title: str, name: str) -> str:
    """Return the reason why a polars name is denied; "" if it is allowed."""
    return SURFACE[POLARS].denied.get(name, "") if title == POLARS else ""


OTHERS = "use polars expressions or plain Python on df and frames, and leave the table in result"
INSTEAD: Mapping[str, str] = {
    "io": "a script reads and writes nothing: its data is df and frames, its answer is left in result",
    "code": "write it as polars expressions: filter, group_by, join, with_columns",
    "callback": "use expressions, or map_elements for one value at a time",
    "foreign": "stay in polars, or take plain values with to_list() and to_dicts()",
    "mutate": "make a new frame with with_columns, select, filter or pl.concat",
}

TEXT = """capitalize casefold center count endswith expandtabs find format index isalnum isalpha isascii isdecimal
isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition
removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
swapcase title translate upper zfill"""
DICT = "clear copy get items keys pop popitem setdefault update values"
LIST = "append clear copy count extend index insert pop remove reverse sort"
FROZEN = "copy difference intersection isdisjoint issubset issuperset symmetric_difference union"
DAY = "ctime day isocalendar isoformat isoweekday month replace strftime timetuple toordinal weekday year"
CLOCK = "hour isoformat microsecond minute replace second strftime tzinfo utcoffset"
DECIMAL = """adjusted as_integer_ratio compare copy_abs copy_negate copy_sign is_finite is_infinite is_nan is_signed
is_zero ln log10 max min normalize quantize remainder_near scaleb sqrt to_integral_value"""
DTYPE = """inner is_decimal is_float is_integer is_nested is_numeric is_signed_integer is_temporal is_unsigned_integer
precision scale time_unit time_zone"""
OF_TYPE: Mapping[type, str] = {
    str: TEXT,
    int: "as_integer_ratio bit_count bit_length conjugate denominator imag numerator real",
    float: "as_integer_ratio conjugate imag is_integer real",
    list: LIST,
    tuple: "count index",
    dict: DICT,
    defaultdict: DICT,
    OrderedDict: f"{DICT} move_to_end",
    Counter: f"{DICT} elements most_common subtract total",
    deque: f"{LIST} appendleft extendleft maxlen popleft rotate",
    set: f"{FROZEN} add clear difference_update discard intersection_update pop remove update",
    frozenset: FROZEN,
    range: "count index start step stop",
    dt.date: DAY,
    dt.datetime: f"{DAY} {CLOCK} astimezone date time timestamp timetz",
    dt.time: CLOCK,
    dt.timedelta: "days microseconds seconds total_seconds",
    dt.timezone: "utcoffset",
    type(dt.date.min.isocalendar()): "week weekday year",
    Decimal: DECIMAL,
    re.Pattern: "findall finditer flags fullmatch groupindex groups match pattern search split sub subn",
    re.Match: "end expand group groupdict groups lastgroup lastindex pos re regs span start string",
    statistics.LinearRegression: "intercept slope",
    statistics.NormalDist: "cdf inv_cdf mean median mode overlap pdf quantiles samples stdev variance zscore",
}
OF_CLASS: Mapping[type, str] = {
    str: TEXT.replace(" format ", " "),
    dict: "fromkeys",
    dt.date: f"{DAY} fromisocalendar fromisoformat fromordinal fromtimestamp max min today",
    dt.datetime: f"{DAY} {CLOCK} combine fromisocalendar fromisoformat fromtimestamp max min now strptime today",
    dt.time: "fromisoformat max min",
    dt.timedelta: "max min",
    dt.timezone: "utc",
    float: "fromhex",
    statistics.NormalDist: "from_samples",
}
DTYPES = [
    named for name in SURFACE[POLARS].allowed if isinstance(named := getattr(pl, name), pl.datatypes.DataTypeClass)
]
NAMES: Mapping[type, frozenset[str]] = {
    **{kind: frozenset(names.split()) for kind, names in OF_TYPE.items()},
    **{resolve(place): reviewed.allowed for place, reviewed in SURFACE.items() if ":" in place},
    **dict.fromkeys(DTYPES, frozenset(DTYPE.split())),
}
CLASS_NAMES: Mapping[type, frozenset[str]] = {
    **{kind: frozenset(names.split()) for kind, names in OF_CLASS.items()},
    **dict.fromkeys(DTYPES, frozenset(DTYPE.split())),
}
WHY: Mapping[type, Mapping[str, str]] = {resolve(place): some.denied for place, some in SURFACE.items() if ":" in place}
WRITABLE = frozenset({list, dict, defaultdict, OrderedDict, Counter, deque})
HIDDEN = frozenset({"post_opt_callback"})
IN_PLACE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "|=": operator.ior,
    "^=": operator.ixor,
    "&=": operator.iand,
    "@=": operator.imatmul,
}


def get_attribute(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever the attribute is
    """Return an attribute that the object's exact type allows."""
    kind = type(thing)
    if kind is Facade or (kind is type(pl.col) and not name.startswith("_")):
        return getattr(thing, name)
    if isinstance(thing, BaseException) and name == "args":
        return thing.args
    names = CLASS_NAMES.get(thing, frozenset()) if isinstance(thing, type) else NAMES.get(kind, frozenset())
    if name not in names:
        refuse_attribute(thing, name, names)
    if kind is str and name == "format":
        return safe_format(str(thing))
    return getattr(thing, name)


def refuse_attribute(thing: object, name: str, names: frozenset[str]) -> NoReturn:
    """Raise the error for a missing or denied attribute, with what to use instead."""
    title = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    denied = {} if isinstance(thing, type) else WHY.get(type(thing), {})
    if name in denied:
        raise UnsupportedFeature(f"{title}.{name} is not available to a script; {INSTEAD.get(denied[name], OTHERS)}")
    near = get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else OTHERS
    raise AttributeError(f"{title} has no {name} that a script may use; {hint}")


def safe_format(template: str) -> Callable[..., str]:
    """Return a str.format whose fields are whole arguments, without attributes or items."""

    def formatted(*values: object, **named: object) -> str:
        check_fields(template, DEPTH)
        return template.format(*values, **named)

    return formatted


def check_fields(template: str, depth: int) -> None:
    """Refuse a template that reads attributes or items of its arguments."""
    for _, field, spec, _ in Formatter().parse(template):
        if field is None:
            continue
        if not (field == "" or field.isdecimal() or (field.isidentifier() and not field.startswith("_"))):
            raise UnsupportedFeature(
                f"the format field {{{field[:40]}}} reaches into its argument: take the value out first"
            )
        if spec and depth:
            check_fields(spec, depth - 1)


def get_item(thing: Any, key: object) -> Any:  # noqa: ANN401 - whatever the item is
    """Return an item of an object; classes are refused."""
    if isinstance(thing, type):
        raise UnsupportedFeature(f"{thing.__name__}[…] makes a type: leave annotations out")
    return thing[key]


def get_writable(thing: object) -> object:
    """Return an object if a script may set its items."""
    if type(thing) not in WRITABLE:
        raise UnsupportedFeature(
            f"items of a {type(thing).__name__} cannot be set: use with_columns, or build a list or a dict"
        )
    return thing


def assign_in_place(sign: str, left: object, right: object) -> object:
    """Return the value of an augmented assignment."""
    return IN_PLACE[sign](left, right)


def call_function(function: Callable[..., Any], *values: object, **named: object) -> Any:  # noqa: ANN401 - whatever it returns
    """Call a function with `*` and `**` arguments."""
    if hidden := [name for name in named if name.startswith("_") or name in HIDDEN]:
        raise UnsupportedFeature(f"{hidden[0]} cannot be passed as a keyword")
    return function(*values, **named)


class PrintBuffer:
    """Collects the text that a script prints, up to a limit."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = MOST_PRINTED

    def _call_print(self, *values: object, sep: str | None = " ", end: str | None = "\n") -> None:
        line = (" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end)
        self._parts.append(line[: self._left])
        self._left -= len(self._parts[-1])

    def text(self) -> str:
        """Return the text, with lone surrogates replaced."""
        return "".join(self._parts).encode("utf-8", "replace").decode("utf-8")


def hooks(printed: PrintBuffer) -> dict[str, object]:
    """Return the functions that a compiled script calls in place of guarded operations."""
    return {
        "_getattr_": get_attribute,
        "_getitem_": get_item,
        "_getiter_": get_iterator,
        "_write_": get_writable,
        "_inplacevar_": assign_in_place,
        "_apply_": call_function,
        "_print_": lambda _: printed,
        "_unpack_sequence_": guarded_unpack_sequence,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
    }


def get_iterator(thing: object) -> object:
    """Return a loop's object unchanged, because a script may iterate every object it holds."""
    return thing
