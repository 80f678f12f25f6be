"""Tools: what one takes, what it does, and what a model is told of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from engine.requests import Request
from server.caller import Caller
from server.scripts import Workshop
from server.settings import Settings
from server.widgets import Widget
from server.wire.answer import Answer
from server.wire.schema import Json, Shape

LaneName = Literal["heavy", "light", "scripts"]


class Effect(Enum):
    """What a call leaves behind; never a change of what is reported on."""

    NONE = "none"
    FILE = "file"  # of the caller's own, for a while


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a tool may depend on to be there at all."""

    settings: Settings
    workshop: Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what it takes, what it does, and what a model is told of it."""

    name: str
    title: str
    description: str
    request: type[Request]
    run: Callable[[Caller, Any], Answer]
    example: Mapping[str, Any]
    lane: LaneName = "light"  # where it waits its turn: heavy where it plans over facts, scripts where it runs one
    effect: Effect = Effect.NONE
    widget: Widget | None = None  # shows the result; what it renders goes out beside the answer, built or not
    withheld: Callable[[Deployment], str | None] = lambda _: None  # why it is not offered, for operators; may wait
    attachments: Sequence[str] = ()  # arguments that a host fills with files of the conversation
    shape: Shape[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", Shape.of(self.request))

    @property
    def schema(self) -> Json:
        """The JSON Schema of its arguments."""
        return self.shape.schema

    @property
    def words(self) -> str:
        """Its description with a call that works, as models read it."""
        return f"{self.description} Example: {json.dumps(self.example)}" if self.example else self.description
