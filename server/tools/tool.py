"""Tools: the arguments, function and description of each, and the widget that shows its result."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.errors import MOST_CHARACTERS, BadArguments, Refusal, as_text
from engine.model.requests import Request
from server.base.settings import Settings
from server.caller.caller import Caller
from server.caller.scripts import ScriptRunner
from server.tools.examples import Example, argument_examples
from server.tools.trials import DRAWN, TooLargeToTry, has_data, mending, on_trial
from server.wire.answers import Answer
from server.wire.arguments import Json, Shape, read_request

# Widgets: views of results that MCP hosts show beside the answer, each one self-contained file, where it is built.


DIST = Path(__file__).parents[2] / "widgets" / "dist"  # where `make widgets` builds them
PLAYGROUND = "playground.html"  # which shows them to the one user of a machine


def way_to_build(folder: Path = DIST) -> str:
    """Return what to do where the views are not built: a checkout builds them, a wheel comes with them or without."""
    if (folder.parent / "build.mjs").is_file():
        return "run `make widgets`, which takes Node, then start the server again"
    return "install a wheel that was built where Node is"


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
MAX_TRIED = 24  # calls until one is answered with data
TOO_LARGE: Mapping[str, Any] = {"rows": [[True]]}  # stands for the answer of a call that is too large to try
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
    example: Callable[[Caller], Iterable[Example]]  # calls that may answer, of names of the catalogue alone, best first
    lane: LaneName = "light"  # where it waits its turn: heavy where it plans over facts, scripts where it runs one
    effect: Effect = Effect.NONE
    hint: str = ""  # what hosts that defer tools search, in the words of users
    is_always_loaded: bool = False  # whether such hosts are asked to load it at once
    widget: Widget | None = None  # shows the result; what it renders goes out beside the answer, built or not
    withheld: Callable[[Deployment], str | None] = lambda _: None  # why it is not offered, for operators; may wait
    attachments: Sequence[str] = ()  # arguments that a host fills with files of the conversation
    takes_files: bool = False  # of a caller's: no local caller needs that
    local_description: str = ""  # for local callers, where it differs
    is_twin: bool = False  # of the tool listed before, which describes the arguments
    described_elsewhere: Sequence[str] = ()  # arguments whose inner form is the one that run_metric describes
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
        schema = self.shape.schema
        if self.is_twin:
            return {**schema, "properties": {name: outline(form) for name, form in schema["properties"].items()}}
        elsewhere = {name: described_outline(schema["properties"][name]) for name in self.described_elsewhere}
        return {**schema, "properties": {**schema["properties"], **elsewhere}}

    def call(self, caller: Caller, sent: Mapping[str, Any]) -> Answer:
        """Return the answer of a call as it was sent; the example of a refusal is one that was tried."""
        try:
            return self.answer(caller, read_request(self.shape, sent, partial(self.examples, caller)))
        except Refusal as refused:
            if isinstance(refused.example, dict) and self._is_tried:
                refused.example = self._mended(refused.example, refused.field, caller, sent)
            elif isinstance(refused.example, dict) and self.lane == "scripts" and isinstance(refused, BadArguments):
                refused.example = self._followed(refused.example, caller, sent)
            raise

    def _mended(self, offered: Example, field: str | None, caller: Caller, sent: Mapping[str, Any]) -> Example:
        """Return the first arguments that mend a refused call, those that the refusal offers if none do."""
        fields, required = self.shape.schema["properties"], self.shape.schema.get("required", ())
        known = {name: value for name, value in sent.items() if name in fields}
        tried = mending(offered, field, known, fields.keys() - set(required), self.examples(caller))
        fit = (example for example in tried if example and len(as_text(example)) <= MOST_CHARACTERS)
        return self._answered(fit, caller, known) or offered

    def _followed(self, offered: Example, caller: Caller, sent: Mapping[str, Any]) -> Example:
        """Return the arguments that a refusal offers with those that mend them, where a script decides what fits."""
        try:
            self.answer(on_trial(caller), read_request(self.shape, {**sent, **offered}))
        except TooLargeToTry:
            return offered
        except Refusal as refused:
            return {**offered, **refused.example} if isinstance(refused.example, dict) else offered
        return offered

    def _answered(self, examples: Iterable[Example], caller: Caller, sent: Mapping[str, Any]) -> Example:
        """Return the first example with which a call is answered with data, else the first that is no report."""
        answered: Example = {}
        for example in islice(examples, MAX_TRIED):
            result = self._tried(caller, {**sent, **example})
            if result is None or not has_data(result):
                answered = answered or (example if result is not None and self.lane != "heavy" else {})
                continue
            return example
        return answered

    def _tried(self, caller: Caller, sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what a call answers, None for a refusal; what is too large to try counts as answered with data."""
        undrawn = {name: value for name, value in sent.items() if name not in DRAWN or value is not True}
        try:
            return self.answer(on_trial(caller), read_request(self.shape, undrawn)).result
        except TooLargeToTry:
            return TOO_LARGE
        except Refusal:
            return None

    @property
    def _is_tried(self) -> bool:
        return self.lane in ("heavy", "light") and self.effect is Effect.NONE

    def example_for(self, caller: Caller) -> Example:
        """Return an example call that is answered with data, empty if there is none. The books memoise it."""
        key = "example", self.name, caller.answer_tokens
        return caller.reader.memo_as_seen(key, lambda: self._find_example(caller))

    def _find_example(self, caller: Caller) -> Example:
        examples = self.example(caller)
        return self._answered(examples, caller, {}) if self._is_tried else next(iter(examples), {})

    def examples(self, caller: Caller) -> tuple[Example, Example]:
        """Return the values of arguments that a refusal can offer, those of the example call first."""
        return self.example_for(caller), argument_examples(caller)

    def described(self, example: Example) -> str:
        """Return the description with an example call, as models read it; the schema is example enough of one value."""
        return f"{self.description} Example: {json.dumps(example)}" if len(example) > 1 else self.description


def size_of(answer: Answer) -> int:
    """Return how many members take as much memory as an answer with its JSON."""
    return len(answer.json) // JSON_OF_A_MEMBER


def outline(form: Json) -> Json:
    """Return the schema of an argument by its type alone: of a list also that of its items."""
    types: Json = {key: value for key, value in form.items() if key in {"type", "enum", "anyOf"}}
    if "items" in form:
        types["items"] = {"type": form["items"]["type"]}
    return types


def described_outline(form: Json) -> Json:
    """Return the outline of an argument with its description."""
    return {**outline(form), "description": form["description"]}
