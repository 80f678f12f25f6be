"""Folded texts: what a name, an id, a code or a query is compared by, without case, accents, width and look-alikes."""

import re
from unicodedata import combining, normalize

ALIKE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
    | dict.fromkeys("‘’‚ʼ′", "'")
    | dict.fromkeys("“”„«»″", '"')
    | dict.fromkeys("‐‒–—―−", "-")
)
BETWEEN_WORDS = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Return a text as it is compared: ＭÜLLER  Straße is muller strasse; one space between words, none around.

    Characters that nobody sees are left out, so that other texts can use them as marks.
    """
    folded = text.casefold()
    if not text.isascii():
        apart = normalize("NFKD", text.replace("´", "'"))
        folded = "".join(char for char in apart if not combining(char)).casefold().translate(ALIKE)
    if not folded.isprintable():
        folded = "".join(char for char in folded if char.isprintable() or char.isspace())
    return " ".join(folded.split())


def spaced(folded: str) -> str:
    """Return the letters and digits of a folded text, with one space wherever anything else stands between them."""
    return BETWEEN_WORDS.sub(" ", folded).strip()
