"""Definitions: the kinds of what the books define, at addresses of which a key is a part."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from engine.books.reader import Reader
from engine.present.answers.catalogue import metric_json, statement_json

DATASET = "tieout://dataset/"  # what the address of a kept result begins with
Json = Mapping[str, Any]


class Definitions(Struct, frozen=True, kw_only=True):
    """One kind of definition: its name and words, its keys, and the definition of a key."""

    name: str
    title: str
    description: str
    of: Callable[[Reader], Mapping[str, Any]]  # by key; each has a label
    define: Callable[[Any, Reader], Json]

    @property
    def prefix(self) -> str:
        """What the addresses of the kind begin with."""
        return f"tieout://{self.name}/"

    @property
    def template(self) -> str:
        """The template of the addresses."""
        return f"{self.prefix}{{{self.name}}}"


DEFINITIONS = (
    Definitions(
        name="statement",
        title="Statement",
        description="The lines of a statement, in order, and what each shows.",
        of=lambda reader: reader.statements,
        define=statement_json,
    ),
    Definitions(
        name="metric",
        title="Metric",
        description="A metric: its formula or the rows it counts, and how it adds up.",
        of=lambda reader: reader.metrics,
        define=metric_json,
    ),
)
