"""The shape of a metric's over_members and over_time."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function

from engine.instance.files.parts import Key, Part

Said = TypeVar("Said", bound=Part)


class OverMembersPart(Part):
    """What is made of the rows of a metric."""

    how: Literal["sum", "count", "min", "max", "average"] | None = None
    """A word alone: sum; count of rows; min, max, average of amounts."""
    count_distinct: Key | None = None
    """Members of this leaf dimension or axis that rows have, each counted once; rows without one are not counted."""

    @model_validator(mode="after")
    def says_one(self) -> "OverMembersPart":
        """Hold it to one way."""
        return one_of(self)


class AveragePart(Part):
    """The mean of closings."""

    of: Literal["day", "week", "month", "quarter", "year"]
    """The periods whose closings are averaged; those without one do not count."""


class BackPart(Part):
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

    rule: Literal["sum", "closing", "opening"] | None = None
    """A word alone: sum, a flow; closing, a balance at its last close; opening, that of everything before."""
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
class Worded:
    """Lets a word alone stand for a mapping with one key."""

    key: str
    words: tuple[str, ...]

    def read(self, value: object) -> object:
        """Return the mapping that a word stands for; anything else stays."""
        if isinstance(value, str) and value not in self.words:
            raise ValueError(f"is none of {', '.join(self.words)}, and no mapping")
        return {self.key: value} if isinstance(value, str) else value

    def __get_pydantic_core_schema__(self, source: type[Part], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read words before the mapping."""
        return no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Tell editors of both."""
        return {"anyOf": [{"enum": list(self.words)}, handler(schema)]}


OverMembers = Annotated[OverMembersPart, Worded("how", ("sum", "count", "min", "max", "average"))]
OverTime = Annotated[OverTimePart, Worded("rule", ("sum", "closing", "opening"))]
SUM = OverMembersPart(how="sum")
FLOW = OverTimePart(rule="sum")
