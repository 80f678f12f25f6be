"""Folded texts: names, ids, codes and queries without differences of case, accents, width and look-alikes."""

import re
from unicodedata import combining, normalize

import polars as pl

from engine.model.stopping import watched

LOOK_ALIKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
    | dict.fromkeys("‘’‚ʼ′", "'")
    | dict.fromkeys("“”„«»″", '"')
    | dict.fromkeys("‐‒–—―−", "-")
)
FIRST_COMBINING = "\u0300"
NO_WORD = re.compile(r"[\W_]+")
PLAIN = r"^[!-~]+( [!-~]+)*$"  # a text of ASCII that only its case tells from the folded one


def fold(text: str) -> str:
    """Return the folded text, with single spaces between words: ＭÜLLER  Straße becomes muller strasse.

    Removes invisible characters, so that the index can use them as marks.
    """
    folded = text.casefold()
    if not text.isascii():
        apart = normalize("NFKD", text.replace("´", "'"))
        letters = [char for char in apart if char < FIRST_COMBINING or not combining(char)]
        folded = "".join(letters).casefold().translate(LOOK_ALIKES)
    if not folded.isprintable():
        folded = "".join(char for char in folded if char.isprintable() or char.isspace())
    return " ".join(folded.split())


def fold_whole(text: str) -> str:
    """Return the folded text without spaces."""
    return fold(text).replace(" ", "")


def spaced(folded: str) -> str:
    """Return a folded text with one space in place of everything between letters and digits."""
    return NO_WORD.sub(" ", folded).strip()


def fold_each(texts: pl.Series) -> pl.Series:
    """Return the folded text of each text; most are plain and need no Python."""
    plain = texts.str.contains(PLAIN)
    others = texts.filter(~plain).unique()
    folded = pl.Series([fold(text) for text in watched(others.to_list())], dtype=pl.String)
    text = pl.col("text")
    column = pl.when("plain").then(text.str.to_lowercase()).otherwise(text.replace_strict(others, folded, default=None))
    return pl.DataFrame({"text": texts, "plain": plain}).select(column).to_series()
