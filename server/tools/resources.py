"""Resources: what the books define, at addresses that hosts list, read and complete."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.books.reader import Reader
from engine.model.errors import BadArguments, ExpiredReference, quoted
from engine.model.requests import Request
from server.base.requests import EmptyRequest
from server.caller.caller import Caller
from server.tools.definitions import DATASET, DEFINITIONS, Json
from server.tools.examples import Example, no_example
from server.tools.orientation import svc_orientation
from server.tools.skills import SCHEME, entry_of, skills_of
from server.tools.tool import Tool
from server.wire.answers import Answer

ORIENTATION_URI = "tieout://orientation"
JSON_TYPE, MARKDOWN_TYPE = "application/json", "text/markdown"
FILE = {"mime_type", "text"}  # the fields of the answer of a read that is a text as it stands
URI = "uri"  # the argument of a read
PAGE = 200  # entries that one list holds
MAX_DIGITS = 9  # of a cursor


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


def list_resources(caller: Caller, asked: PageRequest) -> Answer:
    """List the orientation, each definition and each skill, by pages."""
    return page_of("resources", list(listing(caller.reader)), asked.cursor)


def page_of(name: str, listed: Sequence[Json], cursor: str | None) -> Answer:
    """Return a page of a list with the cursor of the next one. Refuses a cursor that no page returned."""
    first = int(cursor) if cursor and cursor.isdecimal() and len(cursor) <= MAX_DIGITS else 0
    if cursor is not None and not 0 < first < len(listed):
        raise BadArguments(f"This cursor is not that of a page. List the {name} without one.", field="cursor")
    after = {"next": str(first + PAGE)} if first + PAGE < len(listed) else {}
    return Answer({name: listed[first : first + PAGE], **after})


def listing(reader: Reader) -> Iterator[Json]:
    """Yield the address, name, title, description and type of each resource."""
    yield {
        "uri": ORIENTATION_URI,
        "name": "orientation",
        "title": "Orientation",
        "description": "What these books hold, and how to ask about them.",
        "mime_type": JSON_TYPE,
    }
    for kind in DEFINITIONS:
        for key, known in kind.of(reader).items():
            yield {
                "uri": kind.prefix + key,
                "name": key,
                "title": f"{kind.title} {known.label}",
                "description": kind.description,
                "mime_type": JSON_TYPE,
            }
    for skill in skills_of(reader):
        yield {
            "uri": skill.uri,
            "name": skill.name,
            "title": skill.title,
            "description": skill.description,
            "mime_type": MARKDOWN_TYPE,
        }


def read_resource(caller: Caller, asked: ResourceRequest) -> Answer:
    """Return what stands at an address. One that is hidden is refused as one that does not exist."""
    if asked.uri == ORIENTATION_URI:
        return svc_orientation(caller, EmptyRequest())
    for kind in DEFINITIONS:
        known = kind.of(caller.reader).get(asked.uri.removeprefix(kind.prefix))
        if asked.uri.startswith(kind.prefix) and known is not None:
            return Answer(dict(kind.define(known, caller.reader)))
    for skill in skills_of(caller.reader) if asked.uri.startswith(SCHEME) else ():
        if (text := skill.files.get(asked.uri)) is not None:
            return Answer({"mime_type": MARKDOWN_TYPE, "text": text})
    raise not_there(asked.uri)


def not_there(uri: str) -> BadArguments:
    """Return the refusal of an address at which nothing stands."""
    return BadArguments(
        f"There is no resource {quoted([uri])}. resources/list lists those that there are, skills/list the skills.",
        field=URI,
        got=uri,
    )


def read_dataset(caller: Caller, asked: ResourceRequest) -> Answer:
    """Return a kept result as an export of it as JSON holds it."""
    try:
        snapshot = caller.datasets.admit(asked.uri.removeprefix(DATASET))
    except ExpiredReference as expired:
        raise ExpiredReference.of(asked.uri, field=URI) from expired
    return Answer({"mime_type": JSON_TYPE, "text": caller.files.document(snapshot)})


def list_skills(caller: Caller, asked: PageRequest) -> Answer:
    """List the skills with the digest of each file, by pages."""
    return page_of("skills", [entry_of(skill) for skill in skills_of(caller.reader)], asked.cursor)


def get_skill(caller: Caller, asked: ResourceRequest) -> Answer:
    """Return what skills/list says of one skill. A file of a skill is none, as what does not exist is none."""
    for skill in skills_of(caller.reader):
        if skill.uri == asked.uri:
            return Answer({"skill": entry_of(skill)})
    raise not_there(asked.uri)


def skill_example(caller: Caller) -> Iterator[Example]:
    """Yield each skill."""
    yield from ({URI: skill.uri} for skill in skills_of(caller.reader))


LIST_RESOURCES = Tool(
    name="resources/list",
    title="List resources",
    description="List the orientation, the statements, the metrics and the skills as resources.",
    request=PageRequest,
    run=list_resources,
    example=no_example,
)
READ_RESOURCE = Tool(
    name="resources/read",
    title="Read a resource",
    description="Read the orientation, a definition or a file of a skill.",
    request=ResourceRequest,
    run=read_resource,
    example=lambda _: [{"uri": ORIENTATION_URI}],
)
READ_DATASET = Tool(
    name="resources/read/dataset",
    title="Read a result",
    description="Read a kept result as the JSON document that export_dataset makes.",
    request=ResourceRequest,
    run=read_dataset,
    example=no_example,  # a data_ref is of one call
    lane="exports",
)
LIST_SKILLS = Tool(
    name="skills/list",
    title="List skills",
    description="List the skills, their frontmatter and the digest of each file.",
    request=PageRequest,
    run=list_skills,
    example=no_example,
    is_memoised=True,
)
GET_SKILL = Tool(
    name="skills/get",
    title="Get a skill",
    description="Return the frontmatter of one skill and the digest of each file.",
    request=ResourceRequest,
    run=get_skill,
    example=skill_example,
)
