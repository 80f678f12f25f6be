"""Lists on their way out: as much of them as an answer may hold, and what was left out, counted.

What goes first is what a model needs least: details of an entry before its key, entries from the end. An entry without
details is still named, so that it can be asked for.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.answers.budget import tokens
from engine.notes import Note

Json = dict[str, Any]
Left = Mapping[str, int]  # how much of each axis is left out, from its end


def fitted(build: Callable[[Left], Json], axes: Mapping[str, int], answer_tokens: int, rest: str) -> Json:
    """Return a result of which as little is left out as makes it fit its budget.

    `build` makes the result of how much is left out of each axis; `axes` says how much there is of each, in the order
    in which they go. `agent_truncated` counts what was left out, and a note says it with `rest`: how to get it.
    """

    def made(left: Left) -> Json:
        result, cut = build(left), {axis: count for axis, count in left.items() if count}
        return told(result, cut, rest) if cut else result

    def fits(left: Left) -> bool:
        return tokens(made(left)) <= answer_tokens

    left = dict.fromkeys(axes, 0)
    for axis, count in axes.items():
        if fits(left):
            break
        steps = [{**left, axis: fewer} for fewer in range(count + 1)]
        left = steps[bisect_left(steps, True, hi=count, key=fits)]
    return made(left)


def told(result: Json, cut: Left, rest: str) -> Json:
    """Return a result that says what was left out of it."""
    words = ", ".join(f"{count} {axis.replace('_', ' ')}" for axis, count in cut.items())
    note = Note.of("shortened", left_out=words, rest=rest).as_data()
    return {**result, "notes": [*result.get("notes", ()), note], "agent_truncated": dict(cut)}


def axes_of(**lists: Sequence[Json]) -> dict[str, int]:
    """Return what can be left out of some lists: the details of the entries of each, then the entries of each."""
    details = {f"{name}_details": len(entries) for name, entries in lists.items()}
    return details | {f"{name}s": len(entries) for name, entries in lists.items()}


def listed(name: str, entries: Sequence[Json], key: str, left: Left) -> Json:
    """Return a list as parts of a result: entries with their details, then only the keys of more."""
    shown = len(entries) - left[f"{name}s"]
    detailed = min(shown, len(entries) - left[f"{name}_details"])
    more = [entry[key] for entry in entries[detailed:shown]]
    return {f"{name}s": list(entries[:detailed]), **({f"more_{name}s": more} if more else {})}


def split(left: int, sizes: Sequence[int]) -> list[int]:
    """Return how much is left out of each of several lists in a row when so much is left out from their end."""
    shares = []
    for size in reversed(sizes):
        shares.append(min(left, size))
        left -= shares[-1]
    return shares[::-1]


def shortened(result: Json, lists: Sequence[str], answer_tokens: int, rest: str) -> Json:
    """Return a result whose lists are cut from their ends, each by as much; it says so, and that there are more."""
    shown = result
    while (excess := tokens(shown) / answer_tokens) > 1 and any(shown[name] for name in lists):
        kept = {name: shown[name][: int(len(shown[name]) / excess)] for name in lists}
        cut = {name: len(result[name]) - len(kept[name]) for name in lists if len(kept[name]) < len(result[name])}
        shown = told(result | kept | {f"more_{name}": True for name in cut}, cut, rest)
    return shown
