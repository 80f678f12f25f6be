"""Names in faults and headings."""

from collections.abc import Iterable

from engine.quoting import closest, first_of, quoted


def known(name: str, names: Iterable[str]) -> str:
    """Return what a name may have meant, and the names there are."""
    listed = sorted(names)
    close = closest(name, listed)
    guess = f"did you mean {quoted(close)}? " if close else ""
    return f"{guess}known: {first_of(listed) or 'none'}"


def words(key: str) -> str:
    """Return a key in words: gross_margin as Gross margin."""
    return key.replace("_", " ").capitalize()
