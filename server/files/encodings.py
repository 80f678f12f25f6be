"""Encodings: in which a text file is written, proven by its words; two readings that both fit are told apart."""

import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Final

from server.files.findings import Ambiguity, Finding, Reading

ENCODING: Final = "csv.encoding"
UTF8, UTF16, WESTERN = "utf-8", "utf-16", "windows-1252"
BOMS: Final = {b"\xef\xbb\xbf": UTF8, b"\xff\xfe": UTF16, b"\xfe\xff": UTF16}
FIRST: Final = 400  # bytes in which zeros tell UTF-16
WORDS: Final = 16 << 10  # bytes of lines beyond ASCII that are looked at
SHOWN: Final = 4  # readings that a question shows
SURER: Final = 0.1  # by which a reading must be more like a language than the others to be taken
USUAL: Final = (  # tried whatever the library says
    WESTERN, "cp1250", "cp1254", "cp1251", "cp1253", "cp1257", "iso8859_15", "iso8859_2", "mac_roman", "cp850",
    "cp852", "cp437", "koi8_r", "cp866",
)  # fmt: skip
WESTERN_ALPHABETS: Final = (
    "äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "æøåéü", "åäöéü", "éèëïöüáóíêâç", "àçéèíïòóúü"
)  # fmt: skip
ALPHABETS: Final = (
    *WESTERN_ALPHABETS, "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíľňóôšťúýž", "áéíóöőúüű", "ăâîșțşţ", "čćđšž",
    "çğıi\u0307öşüâî", "ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž",
)  # fmt: skip
INSIDE: Final = frozenset("’–—")  # marks between letters
ANYWHERE: Final = INSIDE | frozenset("‘‚“”„«»‹›…\u00a0\u202f")  # marks before and behind words
PAIRS: Final = ("¡!", "¿?", "‹›", "„“", "«»")  # marks of which the first does not stand without the second
BEHIND: Final = frozenset("²³ªº°™®©%€£¥")  # marks behind a number
BEHIND_WORDS: Final = frozenset("²³™®")
ALONE: Final = frozenset("àáâèéêíòóôöåæøùúý")  # letters that are words
RARE: Final = frozenset("ΰΐ")  # letters that stand for others more often than for themselves
EAST: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL"})
SHARP_S: Final = re.compile(r"[aeiouyäöü]ß", re.IGNORECASE)
PLACES: Final = re.compile(r"\d[.,]\d")  # of an amount
WORD: Final = r"[^\s;,|\"]+"


def detect_encoding(head: bytes, *, whole: bool) -> Finding | Ambiguity:
    """Return the encoding of a file by its first bytes; `whole` says whether they are all of it."""
    for mark, encoding in BOMS.items():
        if head.startswith(mark):
            return Finding(ENCODING, encoding, f"the file begins with the mark of {encoding.upper()}")
    if head[:FIRST].count(0) > len(head[:FIRST]) // 4:
        return Finding(ENCODING, UTF16, "every second byte is zero")
    try:
        decode(head, UTF8, whole=whole)
    except UnicodeDecodeError as fault:
        return other_encoding(head, fault.start)
    return Finding(ENCODING, UTF8, "every byte is UTF-8")


def other_encoding(head: bytes, start: int) -> Finding | Ambiguity:
    """Return the encoding of bytes that are not UTF-8 from a place on, by the words that they make."""
    row = head.count(b"\n", 0, start) + 1
    evidence = f"row {row} has the byte {head[start]:#04x}, which is no UTF-8"
    lines = b"\n".join(line for line in head.split(b"\n") if not line.isascii())
    if len(lines) > WORDS:
        lines = lines[: lines.rfind(b"\n", 0, WORDS) + 1] or lines[:WORDS]
    texts = dict(readings(lines))
    if not texts:
        return Ambiguity(ENCODING, f"{evidence}, and no encoding makes words of it", ())
    words = differing_words(list(texts.values())[:SHOWN])
    encoding = next(iter(texts))
    if len(texts) == 1:
        named = "Windows-1252" if encoding == WESTERN else encoding
        shown = bytes([head[start]]).decode(encoding, "replace") if encoding == WESTERN else words[0]
        return Finding(ENCODING, encoding, f"{evidence} and is '{shown}' in {named}")
    readings_ = (Reading({ENCODING: one}, f"'{word}'") for one, word in zip(texts, words, strict=False))
    return Ambiguity(ENCODING, evidence, tuple(readings_))


def readings(lines: bytes) -> Iterator[tuple[str, str]]:
    """Yield the encodings in which lines are words, each with another text, those alone that fit a language best.

    One that is not usual counts where its words have no Latin letters, or where no usual one makes words.
    """
    detected = import_module("charset_normalizer").from_bytes(lines)  # for those alone that are not UTF-8
    matches: dict[str, float] = {match.encoding: match.coherence for match in detected}
    texts: dict[str, str] = {}
    for encoding in dict.fromkeys((*USUAL, *matches)):
        text = lines.decode(encoding, "replace")
        is_rare = encoding not in USUAL and bool(texts) and is_latin(text)
        if text not in texts.values() and not is_rare and are_words(text):
            texts[encoding] = text
    fits = {encoding: alike(text) for encoding, text in texts.items()}
    best = [encoding for encoding in texts if fits[encoding] == max(fits.values())]
    sure = {encoding: matches.get(encoding, 0.0) for encoding in best}
    surest = sorted(sure.values(), reverse=True)[:2]
    if len(surest) > 1 and surest[0] > surest[1] + SURER:
        best = [encoding for encoding in best if sure[encoding] == surest[0]]
    yield from ((encoding, texts[encoding]) for encoding in best)


def is_latin(text: str) -> bool:
    """Tell whether the letters beyond ASCII of a text are Latin ones."""
    return all(script(letter) == "LATIN" for letter in text if letter.isalpha() and not letter.isascii())


def alike(text: str) -> int:
    """Return how well the Latin letters of a text fit languages: 2 for those of one, 1 for several of the west."""
    letters = {letter for letter in text.lower() if letter.isalpha() and not letter.isascii() and letter not in "ªº"}
    if any(script(letter) != "LATIN" for letter in letters):
        return 2
    if any(letters <= set(alphabet) for alphabet in ALPHABETS):
        return 2
    return int(letters <= set("".join(WESTERN_ALPHABETS)))


def are_words(text: str) -> bool:
    """Tell whether the letters beyond ASCII of a text make words: of one script, without symbols inside them."""
    words = [word for word in re.findall(WORD, text, re.ASCII) if not word.isascii()]
    is_paired = all(before not in text or after in text for before, after in PAIRS)
    is_east = any(letter.isalpha() and script(letter) in EAST for word in words for letter in word)
    return is_paired and not any(map(is_garbled, words)) and (not is_east or any(map(is_eastern, words)))


def is_eastern(word: str) -> bool:
    """Tell whether a word has two letters of the east at least, as one alone is often two of the west."""
    return sum(letter.isalpha() and script(letter) in EAST for letter in word) > 1


def is_garbled(word: str) -> bool:
    """Tell whether a word mixes scripts, holds a symbol beside its letters, or turns to capitals inside."""
    letters = "".join(letter for letter in word if letter.isalpha() and letter not in "ªº")
    scripts = set(map(script, letters))
    latin = any(letter.isascii() and letter.islower() for letter in word)
    if len(scripts) > 1 and (latin or not scripts <= EAST | {"LATIN"}):
        return True
    if scripts == {"LATIN"} and not letters.isascii():
        is_foreign = letters.lower() not in ALONE if len(letters) == 1 else not re.search("[A-Za-z]", letters)
        if is_foreign or ("ß" in word and not SHARP_S.search(word)):
            return True
    return turns_to_capitals(letters) or any(
        is_out_of_place(word, at) for at, mark in enumerate(word) if not mark.isascii()
    )


def turns_to_capitals(letters: str) -> bool:
    """Tell whether a capital stands behind a small letter, one of both beyond ASCII, or two begin a word."""
    pairs = list(pairwise(letters))
    inside = any(one.islower() and two.isupper() and not (one + two).isascii() for one, two in pairs)
    return inside or (not letters[:2].isascii() and letters[:2].isupper() and letters[2:3].islower())


def is_out_of_place(word: str, at: int) -> bool:
    """Tell whether a mark or letter beyond ASCII stands where none of a word does."""
    mark, before, after = word[at], word[at - 1 : at] if at else "", word[at + 1 : at + 2]
    if unicodedata.category(mark) in ("Cc", "Cn", "Co", "So", "Sk") and mark not in BEHIND:
        return True
    if mark in "ªº":
        return not before.isdigit() or after.isalnum()
    if mark.isalpha():
        return (before.isdigit() and after.isdigit()) or mark in RARE or bool(PLACES.search(word))
    if unicodedata.category(mark) == "Mn":
        return not before.isalpha()
    if mark == "·":
        return (before.lower(), after.lower()) != ("l", "l")
    if mark in INSIDE or (mark in "¿¡" and not before):
        return False
    if before.isalpha() and after.isalpha():
        return True
    is_behind = mark in BEHIND_WORDS or not before.isalpha()
    return (after.isalpha() and (mark not in ANYWHERE or mark == "…")) or not (mark in ANYWHERE or is_behind)


def script(letter: str) -> str:
    """Return the script of a letter: LATIN, CYRILLIC."""
    return unicodedata.name(letter, "?").split()[0]


def differing_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first word of some texts in which they differ, in each; of one text that beyond ASCII."""
    words = zip(*(re.findall(WORD, text, re.ASCII) for text in texts), strict=False)
    return next((same for same in words if len(set(same)) == len(texts) and not same[0].isascii()), ("",) * len(texts))


def decode(data: bytes, encoding: str, *, whole: bool) -> str:
    """Return bytes as text, without a mark in front. A character that is cut at the end is left out of a part."""
    if encoding == UTF16:
        order = "utf-16-be" if data[:2] == b"\xfe\xff" or (data[:1] == b"\0" and data[1:2] != b"\0") else "utf-16-le"
        return data.decode(order, errors="strict" if whole else "ignore").removeprefix("\ufeff")
    if encoding != UTF8:
        return codecs.getincrementaldecoder(encoding)("replace").decode(data, final=whole)
    try:
        return data.decode(UTF8).removeprefix("\ufeff")
    except UnicodeDecodeError as fault:
        if whole or fault.end < len(data) - 3:
            raise
        return data[: fault.start].decode(UTF8).removeprefix("\ufeff")
