"""Encodings: in which a text file is written, proven by its words; two readings that both fit are told apart."""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from importlib import import_module
from typing import Final

from server.files.findings import Ambiguity, Finding, Reading

ENCODING: Final = "csv.encoding"
UTF8, UTF16, WESTERN = "utf-8", "utf-16", "windows-1252"
BOMS: Final = {b"\xef\xbb\xbf": UTF8, b"\xff\xfe": UTF16, b"\xfe\xff": UTF16}
FIRST: Final = 400  # bytes in which zeros tell UTF-16
WORDS: Final = 16 << 10  # bytes of lines beyond ASCII that are looked at
SHOWN: Final = 2  # readings that a question shows
SURER: Final = 0.1  # by which a reading must be more like a language than the others to be taken
WINDOWS: Final = (WESTERN, "cp1250", "cp1254")  # of Latin letters, tried whatever the library says
USUAL: Final = (
    *WINDOWS,
    "cp1251",
    "cp1253",
    "cp1257",
    "iso8859_15",
    "iso8859_2",
    "mac_roman",
    "cp850",
    "cp852",
    "cp437",
    "cp932",
)
WESTERN_ALPHABETS: Final = (
    "äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "æøåéü", "åäöéü", "éèëïöüáóíêâç", "àçéèíïòóúü"
)  # fmt: skip
ALPHABETS: Final = (
    *WESTERN_ALPHABETS, "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíľňóôšťúýž", "áéíóöőúüű", "ăâîșțşţ", "čćđšž",
    "çğıi\u0307öşüâî", "ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž",
)  # fmt: skip
INSIDE: Final = frozenset("’·–—")  # marks between letters
ANYWHERE: Final = INSIDE | frozenset("‘‚“”„«»‹›…\u00a0\u202f")  # marks before and behind words
BEHIND: Final = frozenset("²³ªº°™®©%€£¥")  # marks behind a word


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
    encoding, text = next(iter(texts.items()))
    if len(texts) == 1:
        named = "Windows-1252" if encoding == WESTERN else encoding
        shown = bytes([head[start]]).decode(encoding, "replace") if encoding == WESTERN else word_at(text, text)[0]
        return Finding(ENCODING, encoding, f"{evidence} and is '{shown}' in {named}")
    return Ambiguity(
        ENCODING,
        evidence,
        tuple(
            Reading({ENCODING: other}, f"'{word_at(found, text if found != text else second)[0]}'")
            for second in list(texts.values())[1:2]
            for other, found in list(texts.items())[:SHOWN]
        ),
    )


def readings(lines: bytes) -> Iterator[tuple[str, str]]:
    """Yield the encodings in which lines are words, each with another text, those alone that fit a language best."""
    detected = import_module("charset_normalizer").from_bytes(lines)  # for those alone that are not UTF-8
    matches: dict[str, float] = {match.encoding: match.coherence for match in detected}
    texts: dict[str, str] = {}
    for encoding in dict.fromkeys((*USUAL, *matches)):
        text = lines.decode(encoding, "replace")
        if text not in texts.values() and (encoding in matches or encoding in WINDOWS) and are_words(text):
            texts[encoding] = text
    fits = {encoding: alike(text) for encoding, text in texts.items()}
    best = [encoding for encoding in texts if fits[encoding] == max(fits.values())]
    if WESTERN in best:
        best = [encoding for encoding in best if encoding in WINDOWS]
    sure = {encoding: matches.get(encoding, 0.0) for encoding in best}
    surest = sorted(sure.values(), reverse=True)[:2]
    if len(surest) > 1 and surest[0] > surest[1] + SURER:
        best = [encoding for encoding in best if sure[encoding] == surest[0]]
    yield from ((encoding, texts[encoding]) for encoding in best)


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
    return not any(is_garbled(word) for word in re.findall(r"[^\s;,|\t\"]+", text) if not word.isascii())


def is_garbled(word: str) -> bool:
    """Tell whether a word mixes scripts, holds a symbol beside its letters, or turns to capitals inside."""
    scripts = {script(letter) for letter in word if letter.isalpha()}
    is_latin = any(letter.isascii() and letter.islower() for letter in word)
    if len(scripts) > 1 and (is_latin or not scripts <= {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "LATIN"}):
        return True
    for at, mark in enumerate(word):
        before, after = word[at - 1 : at] if at else "", word[at + 1 : at + 2]
        if mark.isascii():
            continue
        if unicodedata.category(mark) in ("Cc", "Cn", "Co", "So", "Sk") and mark not in BEHIND:
            return True
        if mark.isalpha():
            if mark.isupper() and (before.islower() or (before.isalpha() and after.islower())):
                return True
        elif (mark not in INSIDE and before.isalpha() and after.isalpha()) or (
            mark not in ANYWHERE
            and not (mark in "¿¡" and not before)
            and (after.isalpha() or (before.isalpha() and mark not in BEHIND))
        ):
            return True
    return False


def script(letter: str) -> str:
    """Return the script of a letter: LATIN, CYRILLIC."""
    return unicodedata.name(letter, "?").split()[0]


def word_at(text: str, other: str) -> tuple[str, str]:
    """Return the first word of a text that differs in another reading, or that has a letter beyond ASCII."""
    words, others = re.findall(r"[^\s;,|\"]+", text), re.findall(r"[^\s;,|\"]+", other)
    pairs = zip(words, others, strict=False)
    return next(((one, two) for one, two in pairs if one != two or not one.isascii()), (text[:20], other[:20]))


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
