"""What was sent, as errors repeat it: names in a sentence, values cut short, and the names that may have been meant."""

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

ECHO_CHARACTERS = 200
ECHO_NAMES = 30


def closest(got: str, names: Sequence[str]) -> list[str]:
    """Return up to three of `names` that `got` may have meant, best first."""
    by_fold = {name.casefold(): name for name in names}
    close = get_close_matches(got[:ECHO_CHARACTERS].casefold(), list(by_fold), n=3, cutoff=0.6)
    return [by_fold[fold] for fold in close]


def quoted(names: Iterable[str], most: int = ECHO_NAMES) -> str:
    """Return names as they stand in a sentence: 'a', 'b' or 'c', or the first of many."""
    named = [f"'{echo(name)}'" for name in names]
    if len(named) == 1 or len(named) > most:
        return first_of(named, most)
    return f"{', '.join(named[:-1])} or {named[-1]}"


def first_of(names: Sequence[str], most: int = ECHO_NAMES) -> str:
    """Return the first few names and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def echo(got: object) -> object:
    """Return what was sent, cut to a length that an error may carry."""
    if isinstance(got, str):
        return cut(got, ECHO_CHARACTERS)
    if isinstance(got, list | tuple):
        shown = [short(item) for item in got[:ECHO_NAMES]]
        return shown if len(got) <= ECHO_NAMES else [*shown, f"… ({len(got)} items)"]
    return short(got)


def short(got: object) -> object:
    """Return what was sent, as the beginning of its text where that is long."""
    text = got if isinstance(got, str) else as_text(got)
    return got if len(text) <= ECHO_CHARACTERS else cut(text, ECHO_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Return a text, or its beginning and how long it was."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def as_text(got: object) -> str:
    """Return what was sent as JSON text."""
    return json.dumps(got, ensure_ascii=False, default=str)
