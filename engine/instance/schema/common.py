"""What the files of an instance have in common: references, labels, and the shape of over_members and over_time."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core.core_schema import CoreSchema, literal_schema, no_info_before_validator_function

from engine.model.aggregation import MemberAggregation
from engine.model.calendar.periods import Grain

# The pieces that the files of an instance are made of.


KEY = r"^[a-z][a-z0-9_]*$"
LIVE_TABLE = r"^live\.[a-z][a-z0-9_]*$"
QUOTE = r"^(none|[^\w\s])$"
PARAMETER = r"^[A-Za-z_][A-Za-z0-9_]*$"
Key = Annotated[str, Field(pattern=KEY)]
LiveTable = Annotated[str, Field(pattern=LIVE_TABLE)]
ParameterName = Annotated[str, Field(pattern=PARAMETER)]


def core_bool(text: object) -> object:
    """Read a truth value as YAML 1.2 writes it."""
    return {"true": True, "false": False}.get(text, text) if isinstance(text, str) else text


def as_list(value: object) -> object:
    """Let one id stand for a list of one."""
    return [value] if isinstance(value, str) else value


# An id or code: the text that was written. Editors read 0010 or NO as a number or a truth value; they may.
Id = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Flag = Annotated[bool, Field(strict=True), BeforeValidator(core_bool)]
Ids = Annotated[
    list[Id],
    BeforeValidator(as_list),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [{"type": ["string", "number", "boolean"]}, {"type": "array", "minItems": 1, "items": {}}]}
    ),
]
Where = dict[Key, Ids]


@dataclass(frozen=True)
class OneOf:
    """Holds a text to the keys of a table, as a Literal of them would."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        """Read no other text."""
        return literal_schema(list(self.names))


DAY = "day"  # what the files call the grain of dates
GrainName = Annotated[str, OneOf(tuple(DAY if grain is Grain.DATE else grain.value for grain in Grain))]


class SchemaPart(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# The shape of a metric's where, over_members and over_time.


class ExclusionPart(SchemaPart):
    """All members but some."""

    exclude: Ids
    """Members or nodes whose rows do not count; those of new members do."""


IDS: TypeAdapter[list[str]] = TypeAdapter(Ids)


def read_members(value: object, _: object) -> list[str] | ExclusionPart:
    """Read ids, or a mapping that excludes some."""
    return ExclusionPart.model_validate(value) if isinstance(value, dict) else IDS.validate_python(value)


WhereIds = Annotated[Ids | ExclusionPart, WrapValidator(read_members)]


PERCENT = {"type": "number", "minimum": 0, "maximum": 100}
Said = TypeVar("Said", bound=SchemaPart)
WITH_KEYS = (MemberAggregation.COUNT_DISTINCT, MemberAggregation.PERCENTILE)
HOW = tuple(each.value for each in MemberAggregation if each not in WITH_KEYS)


class OverMembersPart(SchemaPart):
    """What is made of the rows of a metric."""

    how: Annotated[str, OneOf(HOW)] | None = None
    """A word alone: sum; count of rows; min, max, average, median of amounts."""
    count_distinct: Key | None = None
    """Members of this leaf dimension or axis that rows have, each counted once; rows without one are not counted."""

    percentile: Annotated[Decimal | None, Field(ge=0, le=100, decimal_places=4), WithJsonSchema(PERCENT)] = None
    """Amount below which so many hundredths of the rows lie, between two amounts in proportion."""

    @model_validator(mode="after")
    def says_one(self) -> "OverMembersPart":
        """Hold it to one way."""
        return one_of(self)


class AveragePart(SchemaPart):
    """The mean of closings."""

    of: GrainName
    """The periods whose closings are averaged; those without one do not count."""


class BackPart(SchemaPart):
    """A balance that looks back from the end of the range."""

    last_known: Literal["always", "fiscal_year", "range"] | None = None
    """Each leaf's own last value, carried from whenever it was, within the fiscal year, or within the range."""
    to_date: Literal["books", "fiscal_year"] | None = None
    """All movements since the start of the books or of the fiscal year."""

    @model_validator(mode="after")
    def says_one(self) -> "BackPart":
        """Hold it to one rule."""
        return one_of(self)


class OverTimePart(BackPart):
    """How a metric adds up over time."""

    rule: Literal["sum", "closing", "opening", "lowest", "highest"] | None = None
    """A word alone: sum, a flow; closing, a balance at its last close; opening, that of everything before; lowest and
    highest, of the closes of the range."""
    average: AveragePart | None = None
    """The mean of the closings of periods."""
    opening: BackPart | None = None
    """A rule that looks back, applied to everything before the range."""


def one_of(part: Said) -> Said:
    """Return a part that says exactly one of its keys."""
    if len(part.model_fields_set) != 1:
        raise ValueError(f"says one of {', '.join(type(part).model_fields)}")
    return part


@dataclass(frozen=True)
class WordOrMapping:
    """Lets a word alone stand for a mapping with one key."""

    key: str
    words: tuple[str, ...]

    def read(self, value: object) -> object:
        """Return the mapping that a word stands for; anything else stays."""
        if isinstance(value, str) and value not in self.words:
            raise ValueError(f"is none of {', '.join(self.words)}, and no mapping")
        return {self.key: value} if isinstance(value, str) else value

    def __get_pydantic_core_schema__(self, source: type[SchemaPart], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read words before the mapping."""
        return no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Tell editors of both."""
        return {"anyOf": [{"enum": list(self.words)}, handler(schema)]}


OverMembers = Annotated[OverMembersPart, WordOrMapping("how", HOW)]
OverTime = Annotated[OverTimePart, WordOrMapping("rule", ("sum", "closing", "opening", "lowest", "highest"))]
SUM = OverMembersPart(how="sum")
FLOW = OverTimePart(rule="sum")
