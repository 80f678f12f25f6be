"""The shape of statements/*.yaml."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from engine.instance.schema.common import Id, Key, SchemaPart


class HeaderPart(SchemaPart):
    """A line of words."""

    header: str
    """The words."""


class MetricLinePart(SchemaPart):
    """A metric's line."""

    metric: str
    """Metric key."""
    label: str | None = None
    """Heading instead of the metric's."""
    style: Literal["plain", "subtotal", "total", "ratio"] = "plain"
    """How the line is set."""


class RollupPart(SchemaPart):
    """A node of a tree with the levels below it."""

    metric: str | None = None
    """Metric whose figures the nodes show; left out, the only measure of the only domain with the dimension."""
    dimension: Key
    """Ragged dimension."""
    node: Id
    """Node id."""
    depth: Annotated[int, Field(ge=0, le=99)] = 99
    """Levels below the node to show."""


class RollupLinePart(SchemaPart):
    """A subtree as lines that foot to their node."""

    rollup: RollupPart
    """The subtree."""
    key: Key | None = None
    """Name by which formulas of this statement know the node's line."""
    label: str | None = None
    """Heading of the node's line."""
    sign: Literal["keep", "negate"] = "keep"
    """negate: show the opposite."""
    favourable: Literal["up", "down", "none"] | None = None
    """Which direction is good; left out, the metric's."""
    style: Literal["plain", "subtotal", "total", "ratio"] = "plain"
    """How the node's line is set."""


class FormulaPart(SchemaPart):
    """A formula of metrics and lines."""

    key: Key
    """Name of the line."""
    label: str
    """Heading."""
    is_: Annotated[str, Field(alias="is")]
    """Metrics, lines, and lines of other statements as pnl.gross, in a formula such as (a - b) / max(a, c)."""
    format: Literal["currency", "number", "percent"] | None = None
    """How it is shown."""
    favourable: Literal["up", "down", "none"] = "none"
    """Which direction is good."""


class FormulaLinePart(SchemaPart):
    """A computed line."""

    formula: FormulaPart
    """The formula."""
    style: Literal["plain", "subtotal", "total", "ratio"] = "plain"
    """How the line is set."""


class IncludePart(SchemaPart):
    """Another statement's lines."""

    include: Key
    """Statement key."""


LINE_KINDS = {
    "header": HeaderPart,
    "metric": MetricLinePart,
    "rollup": RollupLinePart,
    "formula": FormulaLinePart,
    "include": IncludePart,
}


def line_kind(line: Any) -> str | None:  # noqa: ANN401 - a discriminator is handed whatever the file holds
    """Tell the kind of a line by the key it has."""
    keys = line.keys() if isinstance(line, dict) else line.model_fields_set if isinstance(line, SchemaPart) else ()
    return next((f"{kind} line" for kind in LINE_KINDS if kind in keys), None)


LinePart = Annotated[
    Annotated[HeaderPart, Tag("header line")]
    | Annotated[MetricLinePart, Tag("metric line")]
    | Annotated[RollupLinePart, Tag("rollup line")]
    | Annotated[FormulaLinePart, Tag("formula line")]
    | Annotated[IncludePart, Tag("include line")],
    Discriminator(line_kind, custom_error_type="line_kind", custom_error_message="is no line"),
]


class StatementFile(SchemaPart):
    """statements/*.yaml: lines in order."""

    statement: Key
    """Key."""
    label: str | None = None
    """Heading."""
    lines: Annotated[list[LinePart], Field(min_length=1)]
    """Lines."""
    covers: dict[Key, Id] = Field(default_factory=dict)
    """Ragged dimension to the node whose leaves the lines should all reach; notes name the others."""
