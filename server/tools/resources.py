"""Resources: what the books define, at addresses that hosts list, read and complete."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.errors import BadArguments, quoted
from engine.model.requests import Request
from engine.present.answers.catalogue import metric_json, statement_json
from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.examples import no_example
from server.tools.orientation import svc_orientation
from server.tools.tool import Tool
from server.wire.answers import Answer

ORIENTATION_URI = "tieout://orientation"
JSON_TYPE = "application/json"
URI = "uri"  # the argument of a read
PAGE = 200  # resources that one list holds
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest(Request):
    """A page of a list."""

    cursor: str | None = None
    """What the page before says of the next one. Left out: the first page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest(Request):
    """One resource."""

    uri: str
    """Its address, as a list or a template gives it."""


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


def list_resources(caller: Caller, asked: PageRequest) -> Answer:
    """List the orientation and each definition, by pages."""
    listed = list(listing(caller.reader))
    first = int(asked.cursor) if asked.cursor and asked.cursor.isdecimal() else 0
    if asked.cursor is not None and not 0 < first < len(listed):
        raise BadArguments("This cursor is not that of a page. List the resources without one.", field="cursor")
    after = {"next": str(first + PAGE)} if first + PAGE < len(listed) else {}
    return Answer({"resources": listed[first : first + PAGE], **after})


def listing(reader: Reader) -> Iterator[Json]:
    """Yield the address, name, title and description of each resource."""
    yield {
        "uri": ORIENTATION_URI,
        "name": "orientation",
        "title": "Orientation",
        "description": "What these books hold, and how to ask about them.",
    }
    for kind in DEFINITIONS:
        for key, known in kind.of(reader).items():
            yield {
                "uri": kind.prefix + key,
                "name": key,
                "title": f"{kind.title} {known.label}",
                "description": kind.description,
            }


def read_resource(caller: Caller, asked: ResourceRequest) -> Answer:
    """Return what stands at an address. One that is hidden is refused as one that does not exist."""
    if asked.uri == ORIENTATION_URI:
        return svc_orientation(caller, EmptyRequest())
    for kind in DEFINITIONS:
        known = kind.of(caller.reader).get(asked.uri.removeprefix(kind.prefix))
        if asked.uri.startswith(kind.prefix) and known is not None:
            return Answer(dict(kind.define(known, caller.reader)))
    raise BadArguments(
        f"There is no resource {quoted([asked.uri])}. resources/list lists those that there are.",
        field=URI,
        got=asked.uri,
    )


LIST_RESOURCES = Tool(
    name="resources/list",
    title="List resources",
    description="List the orientation, the statements and the metrics as resources.",
    request=PageRequest,
    run=list_resources,
    example=no_example,
)
READ_RESOURCE = Tool(
    name="resources/read",
    title="Read a resource",
    description="Read the orientation or a definition.",
    request=ResourceRequest,
    run=read_resource,
    example=lambda _: [{"uri": ORIENTATION_URI}],
)
