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


def quoted(names: Iterable[str]) -> str:
    """Return names as they stand in a sentence: 'a', 'b' or 'c', or the first of many."""
    named = list(names)
    shown = [f"'{echo(name)}'" for name in named[:ECHO_NAMES]]
    if len(named) > ECHO_NAMES:
        return f"{', '.join(shown)} and {len(named) - ECHO_NAMES} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


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
