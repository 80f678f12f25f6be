"""The token budget of an answer: how long one is, the longest that fits, lists cut to fit, and parts of all answers."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from engine.model.calendar.fiscal import plain_period
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.notes import Note, notes_as_data
from engine.model.stopping import Stop, never

# Token estimates. Tokenizers spend about one token on four characters of words, but on two characters of short numbers.
# Digits cost most, and letters of ids that mix them with digits, such as UUIDs, as much. The rest is mostly repeated
# keys and punctuation.


Json = dict[str, Any]
DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KINDS = bytes.maketrans(DIGITS + LETTERS, b"0" * len(DIGITS) + b"a" * len(LETTERS))
MIXED = re.compile(rb"(?<![0-9A-Za-z])(?:[A-Za-z]++[0-9]|[0-9]++[A-Za-z])[0-9A-Za-z]*+")
FEW_MIXED = 50  # letters after digits, which are not looked at
TOKENS_PER_DIGIT = 0.75
TOKENS_PER_BYTE = 0.3  # of anything else; together 8 to 39 % above what o200k takes: docs/tokens.md
TOKENS_PER_VALUE = 0.9  # least tokens of a value in an array, with its comma


def tokens(result: Json) -> int:
    """Return the estimated number of tokens of a result as JSON text."""
    return tokens_of(encode(result))


def tokens_of(text: bytes) -> int:
    """Return the estimated number of tokens of a text, rounded high."""
    plain = MIXED.sub(b"", text) if text.translate(KINDS).count(b"0a") > FEW_MIXED else text
    rest = len(plain.translate(None, DIGITS))
    return int((len(text) - rest) * TOKENS_PER_DIGIT + rest * TOKENS_PER_BYTE)


def most_entries(budget: int, values: int, least: int = 0) -> int:
    """Return how many entries of so many values fit a budget, by the least tokens of a value and of an entry."""
    return int(budget / (least + TOKENS_PER_VALUE * max(1, values)))


# The longest answer that fits.


LeftOut = Mapping[str, int]  # by axis: how many entries are left out, counted from the end
Build = Callable[[LeftOut], Json]
FEW = 4  # entries of an axis that is tried in between before it is used up


class Attempt(Struct, frozen=True):
    """An answer without some entries, and its tokens."""

    entries: int
    result: Json
    tokens: int


def fitted(build: Build, axes: Mapping[str, int], budget: int, stop: Stop = never, least: int = 0) -> Json | None:
    """Return the answer that leaves out the fewest entries within the budget; None if even the shortest is too long.

    `build` makes the answer, given how many entries of each axis are left out. `axes` holds the number of entries of
    each axis, in the order in which they are cut: an axis is used up before the next one is cut. At least `least`
    entries are left out. Each attempt calls `stop` first. Two attempts in three aim at the budget between two known
    lengths, the third halves the entries between them, so that few suffice even where entries differ in length.
    """

    def attempt(entries: int) -> Attempt:
        stop()
        result = build(spread(entries, axes))
        return Attempt(entries, result, tokens(result))

    long = short = attempt(least)
    for end in accumulate(axes.values()):
        few = 0 < end - short.entries <= FEW
        aim = end - int((end - short.entries) * budget / short.tokens) if few else end
        for entries in sorted({aim, end}):
            if short.tokens > budget and entries > short.entries:
                long, short = short, attempt(entries)
    if short.tokens > budget:
        return None
    turn = 0
    while (between := short.entries - long.entries) > 1:
        turn += 1
        share = (long.tokens - budget) / (long.tokens - short.tokens) if turn % 3 else 0.5
        tried = attempt(long.entries + min(ceil(between * share), between - 1))
        long, short = (long, tried) if tried.tokens <= budget else (tried, short)
    return short.result


def spread(entries: int, axes: Mapping[str, int]) -> LeftOut:
    """Return how many entries each axis leaves out if `entries` are left out of the first, then of the next."""
    before = accumulate(axes.values(), initial=0)
    return {axis: min(max(entries - used, 0), size) for (axis, size), used in zip(axes.items(), before, strict=False)}


# Lists cut to the budget. Details go before keys, and entries go from the end, so that a model can still ask for an
# entry whose details are missing.


def cut_list(build: Build, axes: Mapping[str, int], rest: str, budget: int, stop: Stop) -> Json:
    """Return a result that leaves out no more than its budget requires; the shortest one even if it is too long.

    A note and `agent_truncated` count the entries left out; `rest` tells how to get them.
    """

    def told(left: LeftOut) -> Json:
        return with_cuts(build(left), left, rest)

    return fitted(told, axes, budget, stop) or told(axes)


def cut_lists(result: Json, lists: Sequence[str], rest: str, budget: int, stop: Stop) -> Json:
    """Return a result whose lists are cut to the same length, at least 1; a note and `more_` fields say so."""
    longest = max(len(result[name]) for name in lists)
    axes = {"entries": max(longest - 1, 0)}

    def told(left: LeftOut) -> Json:
        kept = {name: result[name][: longest - left["entries"]] for name in lists}
        cuts = {name: len(result[name]) - len(kept[name]) for name in lists}
        return with_cuts(result | kept | {f"more_{name}": True for name in lists if cuts[name]}, cuts, rest)

    return fitted(told, axes, budget, stop) or told(axes)


def with_cuts(result: Json, left: LeftOut, rest: str) -> Json:
    """Return a result with the counts and the note of what was left out, if anything was."""
    cuts = {axis: entries for axis, entries in left.items() if entries}
    if not cuts:
        return result
    words = ", ".join(f"{entries} {axis.replace('_', ' ')}" for axis, entries in cuts.items())
    note = Note.of("shortened", left_out=words, rest=rest).as_data()
    return {**result, "notes": [*result.get("notes", ()), note], "agent_truncated": cuts}


def axes_of(**lists: Sequence[Json]) -> dict[str, int]:
    """Return the axes of lists: the details of their entries, then the entries themselves."""
    details = {f"{name}_details": len(entries) for name, entries in lists.items()}
    return details | {f"{name}s": len(entries) for name, entries in lists.items()}


def list_fields(name: str, entries: Sequence[Json], key: str, left: LeftOut) -> Json:
    """Return a list as fields of a result: entries with details, then the keys of further entries."""
    shown = len(entries) - left[f"{name}s"]
    detailed = min(shown, len(entries) - left[f"{name}_details"])
    more = [entry[key] for entry in entries[detailed:shown]]
    return {f"{name}s": list(entries[:detailed]), **({f"more_{name}s": more} if more else {})}


def split(left: int, sizes: Sequence[int]) -> list[int]:
    """Return how many entries each of several consecutive lists loses when `left` are cut from the end of the last."""
    shares = []
    for size in reversed(sizes):
        shares.append(min(left, size))
        left -= shares[-1]
    return shares[::-1]


# Parts that answers share.


class DataRef(Struct, frozen=True):
    """The reference to a stored result, or a note on why it is not stored."""

    reference: str | None = None
    note: Note | None = None

    def as_data(self) -> Json:
        """Return the reference as fields of an answer."""
        return {"dataset_available": False} if self.reference is None else {"data_ref": self.reference}

    def notes(self, notes: Sequence[Note]) -> list[Json]:
        """Return the notes of an answer as JSON, with the reference's own note."""
        return notes_as_data((*notes, *([self.note] if self.note else ())))


NOT_KEPT = DataRef()


class UncutAnswer(Struct, frozen=True):
    """An answer of any length: the result object without its rows, and the rows as an iterator."""

    result: Json
    rows: Iterator[Json | list[Any]]


def period_json(period: PeriodRange) -> Json:
    """Return a period range: its codes, and its days where these depend on the calendar or are those of weeks."""
    bounds = (period.start, period.end)
    plain = [plain_period(bound.code) for bound in bounds]
    is_plain = all(known and known.span == bound.span for known, bound in zip(plain, bounds, strict=True))
    if period.is_undated or (is_plain and period.grain is not Grain.WEEK):
        return {"start": period.start.code, "end": period.end.code}
    days = {"first_day": period.span.first.isoformat(), "last_day": period.span.last.isoformat()}
    return {"start": period.start.code, "end": period.end.code, **days}


def without_defaults(said: Json, defaults: Json) -> Json:
    """Return the fields that differ from their defaults."""
    return {key: value for key, value in said.items() if key not in defaults or value != defaults[key]}
