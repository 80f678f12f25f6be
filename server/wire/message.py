"""Incoming messages: one JSON object each, read so strictly that no two parsers can disagree about it.

A call with unreadable arguments is still recognised as a call, so that its caller gets an error that says what to fix.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from engine.model.errors import BadArguments, Refusal, quoted
from server.wire.arguments import Json

MOST_BYTES = 4 * 1024 * 1024  # as many as the SDK takes
DEEPEST = 32  # levels of arguments
OF_THE_ENVELOPE = 2  # levels around the arguments: the message and its params
MOST_VALUES, LONGEST_TEXT, LONGEST_NAME, MOST_DIGITS = 25_000, 256 * 1024, 256, 400
MARKS, MOST_MARKS = ",[{", 2 * MOST_VALUES  # a longer body takes too long to read
LAST_ID = 2**53  # parsers disagree about larger numbers
CALL = "tools/call"
STRINGS = re.compile(r'"(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z)', re.DOTALL)  # unterminated strings too
BRACKETS = re.compile(r"[\[\]{}]")
PARSE_ERROR, INVALID_REQUEST = -32700, -32600  # of JSON-RPC
NO_OBJECT = "The body is no JSON object. Send one JSON-RPC message as UTF-8."
TOO_MUCH = f"The body holds more than {MOST_MARKS} commas and brackets. Ask for less in one call, and nest it less."
NO_ARGUMENTS = 'The arguments of a call are a JSON object, as {"limit": 20}.'
TOO_DEEP = f"The arguments are nested deeper than {DEEPEST} levels. Nest them as the tool's schema does."
TOO_MANY = f"The arguments hold more than {MOST_VALUES} values. Ask for less in one call."
TOO_LONG = f"A text of the arguments has more than {LONGEST_TEXT} characters, or a name more than {LONGEST_NAME}."
NO_ADDRESS = (
    f"The id of a message is text of at most {LONGEST_NAME} characters or a whole number, its method text as long."
)
HALVES = "A text holds half a character (an unpaired surrogate). Send whole Unicode characters."


class UnreadableMessage(Exception):
    """A message that cannot be answered; `code` is the JSON-RPC error code."""

    def __init__(self, words: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(words)
        self.code = code


class IncomingMessage(Struct, frozen=True):
    """A message to pass on, as bytes and parsed, and the error in its arguments, which are then removed."""

    body: bytes
    tree: Json
    fault: Refusal | None = None


@dataclass(slots=True)
class MessageFault:
    """Parses JSON and records the first fault in it."""

    fault: str | None = None

    def message(self, text: str) -> Json:
        """Parse a message; raises UnreadableMessage if it is none, RecursionError if it is too deep."""
        try:
            tree = json.loads(
                text,
                object_pairs_hook=self.members,
                parse_int=self.whole,
                parse_float=self.fraction,
            )
        except ValueError as fault:
            raise UnreadableMessage(NO_OBJECT, PARSE_ERROR) from fault
        if not isinstance(tree, dict):
            raise UnreadableMessage(NO_OBJECT)
        if not is_id(tree.get("id", 0)) or not is_name(tree.get("method", CALL)):
            raise UnreadableMessage(NO_ADDRESS)
        return tree

    def members(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """Return the members of an object; a duplicate name is a fault."""
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # adds
            self.note(f"The name {quoted([name])} stands twice in one object. Give it once.")
        return found

    def whole(self, digits: str) -> int:
        """Return a whole number; too many digits are a fault."""
        return int(digits) if self.fits(digits) else LAST_ID

    def fraction(self, digits: str) -> float:
        """Return a number with a fraction; too many digits are a fault."""
        return float(digits) if self.fits(digits) else 0.0

    def fits(self, digits: str) -> bool:
        """Tell whether a number is within the limit on digits."""
        if len(digits) > MOST_DIGITS:
            self.note(f"A number has more than {MOST_DIGITS} digits. Give it with fewer.")
        return len(digits) <= MOST_DIGITS

    def note(self, words: str) -> None:
        """Record a fault, if it is the first."""
        self.fault = self.fault or words


def read_message(body: bytes) -> IncomingMessage:
    """Read a message; raises UnreadableMessage if it is none, or is wrong and cannot be answered as a call."""
    reading = MessageFault()
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise UnreadableMessage(NO_OBJECT, PARSE_ERROR) from fault
    if sum(map(text.count, MARKS)) > MOST_MARKS:
        raise UnreadableMessage(TOO_MUCH)
    try:
        tree = reading.message(text)
    except RecursionError:
        return refused(reading.message(cut_at_depth(text)), TOO_DEEP)
    wrong = reading.fault or measured(tree) or misplaced(tree) or (HALVES if has_halves(tree, text) else None)
    return refused(tree, wrong) if wrong else IncomingMessage(body, tree)


def refused(tree: Json, wrong: str) -> IncomingMessage:
    """Return a call with its arguments replaced by an error; raises UnreadableMessage for other messages."""
    asked = tree.get("params")
    if tree.get("method") != CALL or "id" not in tree or not isinstance(asked, dict) or not is_name(asked.get("name")):
        raise UnreadableMessage(wrong)
    kept = {name: value for name, value in asked.items() if name in ("name", "_meta")}
    whole = {"jsonrpc": "2.0", "id": tree["id"], "method": CALL, "params": {**kept, "arguments": {}}}
    body = json.dumps(whole).encode()
    if measured(whole) or has_halves(whole, body.decode()):
        raise UnreadableMessage(wrong)
    return IncomingMessage(body, whole, BadArguments(wrong, field="arguments"))


def is_id(request: object) -> bool:
    """Tell whether a value is valid as the id of a request."""
    return is_name(request) or (isinstance(request, int) and not isinstance(request, bool) and abs(request) < LAST_ID)


def is_name(name: object) -> bool:
    """Tell whether a value is text short enough to repeat in an answer."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME


def misplaced(tree: Json) -> str | None:
    """Return the fault of a call whose arguments are no object, None if they are one or absent."""
    asked = tree.get("params")
    given = asked.get("arguments") if tree.get("method") == CALL and isinstance(asked, dict) else None
    return None if given is None or isinstance(given, dict) else NO_ARGUMENTS


def measured(tree: Json) -> str | None:
    """Return which limit on size a message exceeds, None if it exceeds none."""
    level: Sequence[Json | list[object]] = [tree]
    values = 0
    for _ in range(OF_THE_ENVELOPE + DEEPEST):
        held = [value for part in level for value in (part.values() if isinstance(part, Mapping) else part)]
        values += len(held)
        if values > MOST_VALUES:
            return TOO_MANY
        names = (name for part in level if isinstance(part, Mapping) for name in part)
        texts = (value for value in held if isinstance(value, str))
        if any(len(name) > LONGEST_NAME for name in names) or any(len(text) > LONGEST_TEXT for text in texts):
            return TOO_LONG
        level = [value for value in held if isinstance(value, dict | list)]
        if not level:
            return None
    return TOO_DEEP


def has_halves(tree: Json, text: str) -> bool:
    """Tell whether any text of a message holds an unpaired surrogate."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    try:
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def cut_at_depth(text: str) -> str:
    """Return JSON text with null in place of every value that is nested too deep."""
    bare = STRINGS.sub(lambda string: "_" * len(string[0]), text)
    kept, depth, taken = [], 0, 0
    for bracket in BRACKETS.finditer(bare):
        opens = bracket[0] in "[{"
        depth += 1 if opens else -1
        if opens and depth == DEEPEST + OF_THE_ENVELOPE + 1:
            kept += [text[taken : bracket.start()], "null"]
        elif not opens and depth == DEEPEST + OF_THE_ENVELOPE:
            taken = bracket.end()
    return "".join((*kept, text[taken:]))
