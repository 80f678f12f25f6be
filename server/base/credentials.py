"""Credentials: keys that are made once, and texts without the secrets of sources."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from secrets import token_hex, token_urlsafe
from urllib.parse import quote, unquote

from server.base.folders import naming_state
from server.base.interfaces import StoreDown
from server.feeds.feeds import FeedSource


def read_or_create_key(path: Path) -> str:
    """Return the key in a file, created if there is none. Concurrent callers get the same key.

    Raises StoreDown if it cannot be made or read, or if it is one that can be guessed.
    """
    with naming_state(path):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_name(f".{path.name}.{token_hex(4)}")
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(token_urlsafe(32))
            with suppress(FileExistsError):
                os.link(made, path)  # whole, or not at all
            made.unlink()
        return read_key(path)


def read_key(path: Path) -> str:
    """Return the key in a file. Raises StoreDown if it can be guessed, OSError if it cannot be read."""
    key = path.read_bytes().decode("ascii", errors="replace").strip()
    if fault := key_fault(key):
        raise StoreDown(f"{path} holds no key that is safe to use: {fault}. Delete the file, and a new one is made")
    return key


SHORTEST_KEY, FEWEST_CHARACTERS = 32, 8  # of a key: its length, and how many of its characters differ


def key_fault(key: str) -> str | None:
    """Return why a key can be guessed or cannot be sent in a header; None if it is random enough."""
    if len(key) < SHORTEST_KEY:
        return f"it has {len(key)} characters, and takes at least {SHORTEST_KEY}"
    if not all("!" <= character <= "~" for character in key):
        return "it has blanks, line ends or characters that are not ASCII"
    if len(set(key)) < FEWEST_CHARACTERS:
        return f"it repeats {len(set(key))} characters, and is not random"
    return None


# Redaction: remove known secrets, and whatever looks like a credential, from texts.


MARK = "…"  # stands where a credential stood
SHORT = 4  # a secret of fewer characters is part of many words, so it is taken out only where it stands alone
NAME = (
    r"(?:password|passwd|passphrase|passcode|secret|token|credential"
    r"|(?:api|access|account|private|secret|signing|shared|encryption)[_-]?(?:access[_-]?)?key"
    r"|(?<![a-z])(?:pass|pwd|pw))s?\d*"
)
QUOTED = r"[en]?'(?:[^'\\]|\\.|'')*'?"
VALUE = "|".join(
    (
        rf"{MARK}(?!\w)",  # taken out already
        QUOTED,
        r"\"(?:[^\"\\]|\\.|\"\")*\"?",
        r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$",
        r"\{[^{}]*\}",
        r"(?:\\.|[^\s&'\"\\])+",
    )
)
FLAGS = re.IGNORECASE | re.DOTALL
OPTION = rf"{NAME}|uri$|user|account|auth|header|host"  # names of options whose values are secret
NAMED = re.compile(rf"(?P<kept>{NAME}[\"'\])]?\s*(?:!=|<>|:=|=>|==?|:(?!:))\s*)(?P<value>{VALUE})", FLAGS)
CREDENTIALS = (
    re.compile(r"(?P<kept>)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", FLAGS),
    re.compile(r"(?P<kept>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", FLAGS),
    re.compile(r"(?P<kept>)\beyJ[\w-]+\.[\w-]+\.[\w-]*"),  # a JSON web token
    re.compile(r"(?P<kept>://)\S{0,500}(?=@)"),  # of a URI: whoever logs in, and with what
    re.compile(r"(?P<kept>(?<![\w/.+-]))[\w.+-]+:[^\s:@/]+(?=@[\w\[])"),  # the same without a scheme
    re.compile(rf"(?P<kept>\b(?:password|identified\s+by)\s+){QUOTED}", FLAGS),
    NAMED,
)
URI = re.compile(r"[a-z][\w+.-]*://(?P<rest>.*)", FLAGS)


def secrets_of(sources: Iterable[FeedSource], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the connection URIs and paths of some sources from the environment."""
    held = {environment.get(source.environment, "") for source in sources if source.environment}
    return tuple(sorted(filter(str.strip, held)))


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without some secrets, whole or by their passwords, and without what looks like a credential."""
    known = secrets_pattern(tuple(secrets))
    text = known.sub(MARK, text) if known else text
    for credential in CREDENTIALS:
        text = credential.sub(rf"\g<kept>{MARK}", text)
    return text


def redact_value(name: str, value: str, secrets: Iterable[str] = ()) -> str:
    """Return the value of a name without secrets; nothing of one that is named as a credential."""
    return MARK if re.search(rf"{NAME}$", name, FLAGS) else redact(value, secrets)


@lru_cache(maxsize=64)
def secrets_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that matches secrets in every spelling, the longest first; None if there are none."""
    written = {form for secret in secrets for part in (secret, *passwords(secret)) for form in spellings(part)}
    found = [
        re.escape(form) if len(form) >= SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"
        for form in sorted(written, key=len, reverse=True)
        if form.strip()
    ]
    return re.compile("|".join(found)) if found else None


def passwords(secret: str) -> Iterator[str]:
    """Yield the passwords in a connection URI, in a list of `keyword=value`, or in JSON options of a driver."""
    with suppress(ValueError, AttributeError):
        yield from (str(value) for name, value in json.loads(secret).items() if re.search(OPTION, name, FLAGS))
    if uri := URI.match(secret):
        rest = uri["rest"]
        ends = (at.start() for at in re.finditer("@", rest))  # which of them ends the password, a URI may leave open
        yield from (rest[:end].partition(":")[2] for end in ends)
    for named in NAMED.finditer(secret):
        yield named["value"]
        yield re.sub(r"\\(.)|''", lambda escaped: escaped[1] or "'", named["value"].strip("'\"{}"))


def spellings(secret: str) -> set[str]:
    """Return the ways in which a secret is written: as it stands, percent-decoded and encoded, its quotes doubled."""
    both = {secret, unquote(secret)}
    encoded = {quote(form, safe="") for form in both}
    return both | encoded | {form.replace("'", "''") for form in both} | {form.replace("\\", r"\\") for form in both}
