"""Tools: the arguments, function and description of each, and the widget that shows its result."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.requests import Request
from server.base.settings import Settings
from server.caller.caller import Caller
from server.caller.scripts import ScriptRunner
from server.tools.examples import Example, argument_examples
from server.wire.answers import Answer
from server.wire.arguments import Json, Shape

# Widgets: views of results that MCP hosts show beside the answer, each one self-contained file, where it is built.


DIST = Path(__file__).parents[2] / "widgets" / "dist"  # where `make widgets` builds them
PLAYGROUND = "playground.html"  # which shows them to the one user of a machine


class Widget(Struct, frozen=True, kw_only=True):
    """One view: its name, and what a host lists it as."""

    name: str
    title: str
    description: str

    @property
    def uri(self) -> str:
        """The address under which hosts read it."""
        return f"ui://tieout/{self.name}"


FINANCIAL_TABLE = Widget(
    name="financial-table",
    title="Financial table",
    description="A statement or metrics as a table: lines that collapse, scenarios and variances side by side.",
)
INSPECTION_GRID = Widget(
    name="inspection-grid",
    title="Inspection grid",
    description="The rows behind a figure: the first 50, with what each contributes to it.",
)
WIDGETS = (FINANCIAL_TABLE, INSPECTION_GRID)


def built(widgets: Sequence[Widget] = WIDGETS, folder: Path = DIST) -> Mapping[Widget, str]:
    """Return the page of each widget that is built."""
    pages = {widget: folder / f"{widget.name}.html" for widget in widgets}
    return {widget: page.read_text() for widget, page in pages.items() if page.is_file()}


# Tools: the arguments, function and description of each.


LaneName = Literal["heavy", "light", "scripts", "exports"]
JSON_OF_A_MEMBER = 16  # bytes of JSON that, with its objects, take at most as much memory as a member of a memo


class Effect(Enum):
    """The side effect of a call; no call changes the books."""

    NONE = "none"
    FILE = "file"  # of the caller's own, for a while


class Deployment(Struct, frozen=True, kw_only=True):
    """The parts of a deployment that decide whether a tool is offered."""

    settings: Settings
    workshop: ScriptRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: its arguments, function, description and limits."""

    name: str
    title: str
    description: str
    request: type[Request]
    run: Callable[[Caller, Any], Answer]
    example: Callable[[Caller], Example]  # a call that answers this caller, of names of the catalogue alone
    lane: LaneName = "light"  # where it waits its turn: heavy where it plans over facts, scripts where it runs one
    effect: Effect = Effect.NONE
    widget: Widget | None = None  # shows the result; what it renders goes out beside the answer, built or not
    withheld: Callable[[Deployment], str | None] = lambda _: None  # why it is not offered, for operators; may wait
    attachments: Sequence[str] = ()  # arguments that a host fills with files of the conversation
    takes_files: bool = False  # of a caller's: no local caller needs that
    local_description: str = ""  # for local callers, where it differs
    is_twin: bool = False  # of the tool listed before, which describes the arguments
    is_memoised: bool = False  # whether a version of the books and a permission have one answer; it is never withheld
    shape: Shape[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", Shape.of(self.request))

    def answer(self, caller: Caller, asked: Request) -> Answer:
        """Return the answer of a call. The books memoise it where it is the same each time; nobody changes it."""
        if not self.is_memoised:
            return self.run(caller, asked)
        key = self._key(asked, caller.answer_tokens)
        return caller.reader.memo_as_seen(key, lambda: self.run(caller, asked), size_of)

    def answer_at_hand(self, reader: Reader, answer_tokens: int, asked: Request) -> Answer | None:
        """Return the answer that the books memoise, None if there is none."""
        known = reader.kept_as_seen(self._key(asked, answer_tokens))
        return known if isinstance(known, Answer) else None

    def _key(self, asked: Request, answer_tokens: int) -> Hashable:
        return "answer", self.name, asked, answer_tokens

    @property
    def schema(self) -> Json:
        """The JSON Schema of the arguments."""
        return undescribed(self.shape.schema) if self.is_twin else self.shape.schema

    def example_for(self, caller: Caller) -> Example:
        """Return an example call, empty if there is none. The books memoise it."""
        return caller.reader.memo_as_seen(("example", self.name), lambda: self.example(caller))

    def examples(self, caller: Caller) -> Sequence[Example]:
        """Return the values of arguments that a refusal can offer, those of the example call first."""
        return self.example_for(caller), argument_examples(caller)

    def described(self, example: Example) -> str:
        """Return the description with an example call, as models read it."""
        return f"{self.description} Example: {json.dumps(example)}" if example else self.description


def size_of(answer: Answer) -> int:
    """Return how many members take as much memory as an answer with its JSON."""
    return len(answer.json) // JSON_OF_A_MEMBER


def undescribed(schema: Json) -> Json:
    """Return a schema without the descriptions of its arguments."""
    fields = {
        name: {key: part for key, part in known.items() if key != "description"}
        for name, known in schema["properties"].items()
    }
    return {**schema, "properties": fields}
