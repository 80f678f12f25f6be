"""Messages on their way in: one JSON object each, read so that no two readers could take it for two things.

A call whose arguments cannot be read that way is still known as a call, so that whoever made it is told what to mend
and not merely that the body was bad.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.model.errors import BadArguments, Refusal, quoted
from server.wire.arguments import Json

DEEPEST = 32  # levels of arguments
OF_THE_ENVELOPE = 2  # levels of a message around them: its own, and its params
MOST_VALUES, LONGEST_TEXT, LONGEST_NAME, MOST_DIGITS = 25_000, 256 * 1024, 256, 400
MARKS, MOST_MARKS = ",[{", 2 * MOST_VALUES  # beyond it a body would take too long to read; nobody means so many
LAST_ID = 2**53  # beyond it, numbers are not the same to every reader
CALL = "tools/call"
STRINGS = re.compile(r'"(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z)', re.DOTALL)  # even one without an end
BRACKETS = re.compile(r"[\[\]{}]")
PARSE_ERROR, INVALID_REQUEST = -32700, -32600  # of JSON-RPC
NO_OBJECT = "The body is no JSON object. Send one JSON-RPC message as UTF-8."
TOO_MUCH = f"The body holds more than {MOST_MARKS} commas and brackets. Ask for less in one call, and nest it less."
NO_ARGUMENTS = 'The arguments of a call are a JSON object, as {"metrics": ["revenue"]}.'
TOO_DEEP = f"The arguments are nested deeper than {DEEPEST} levels. Nest them as the tool's schema does."
TOO_MANY = f"The arguments hold more than {MOST_VALUES} values. Ask for less in one call."
TOO_LONG = f"A text of the arguments has more than {LONGEST_TEXT} characters, or a name more than {LONGEST_NAME}."
NO_ADDRESS = (
    f"The id of a message is text of at most {LONGEST_NAME} characters or a whole number, its method text as long."
)
HALVES = "A text holds half a character (an unpaired surrogate). Send whole Unicode characters."


class UnreadableMessage(Exception):
    """A message that nobody can be answered by; `code` is that of JSON-RPC."""

    def __init__(self, words: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it goes on, and what is wrong with the arguments that stood in it."""

    body: bytes
    fault: Refusal | None = None


@dataclass(slots=True)
class MessageFault:
    """What is wrong with a text, found while it is read: the first thing."""

    fault: str | None = None

    def message(self, text: str) -> Json:
        """Return what a text stands for; Unreadable where it is no message, RecursionError where it is too deep."""
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
        """Return the members of an object; a name that stands twice is a fault."""
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # adds
            self.note(f"The name {quoted([name])} stands twice in one object. Give it once.")
        return found

    def whole(self, digits: str) -> int:
        """Return a whole number; one that is too long is a fault."""
        return int(digits) if self.fits(digits) else LAST_ID

    def fraction(self, digits: str) -> float:
        """Return a number with a fraction; one that is too long is a fault."""
        return float(digits) if self.fits(digits) else 0.0

    def fits(self, digits: str) -> bool:
        """Tell whether a number has no more digits than are read."""
        if len(digits) > MOST_DIGITS:
            self.note(f"A number has more than {MOST_DIGITS} digits. Give it with fewer.")
        return len(digits) <= MOST_DIGITS

    def note(self, words: str) -> None:
        """Take note of a fault."""
        self.fault = self.fault or words


def read_message(body: bytes) -> Message:
    """Return a message; Unreadable where it is none, or nobody could be told what is wrong with it."""
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
    return refused(tree, wrong) if wrong else Message(body)


def refused(tree: Json, wrong: str) -> Message:
    """Return a call without its arguments and with what is wrong with them; Unreadable for other messages."""
    asked = tree.get("params")
    if tree.get("method") != CALL or "id" not in tree or not isinstance(asked, dict) or not is_name(asked.get("name")):
        raise UnreadableMessage(wrong)
    kept = {name: value for name, value in asked.items() if name in ("name", "_meta")}
    whole = {"jsonrpc": "2.0", "id": tree["id"], "method": CALL, "params": {**kept, "arguments": {}}}
    body = json.dumps(whole).encode()
    if measured(whole) or has_halves(whole, body.decode()):
        raise UnreadableMessage(wrong)
    return Message(body, BadArguments(wrong, field="arguments"))


def is_id(request: object) -> bool:
    """Tell whether something is what an answer can name its request by."""
    return is_name(request) or (isinstance(request, int) and not isinstance(request, bool) and abs(request) < LAST_ID)


def is_name(name: object) -> bool:
    """Tell whether something is a name of a length that we repeat."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME


def misplaced(tree: Json) -> str | None:
    """Return what stands where the arguments of a call should, None where they do."""
    asked = tree.get("params")
    given = asked.get("arguments") if tree.get("method") == CALL and isinstance(asked, dict) else None
    return None if given is None or isinstance(given, dict) else NO_ARGUMENTS


def measured(tree: Json) -> str | None:
    """Return in what way a message is too large, None where it is not."""
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
    """Tell whether a text of a message holds half a character."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    try:
        json.dumps(tree, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def cut_at_depth(text: str) -> str:
    """Return a text of JSON with null in the place of whatever lies too deep."""
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
