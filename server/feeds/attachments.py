"""Feeds that attach a table: which of their keys a table that is read in place can keep to, and the others refused.

It stands alone because an attached table takes other keys than an extract of the same source.
"""

import re
from collections.abc import Iterator
from typing import Final

from engine.model.catalogue import Domain
from server.feeds.extract_formats import CreditSign, DebitCreditSide, ExtractFormat
from server.feeds.feeds import Attachment, SourceKind
from server.feeds.integrations import BindingPart, ColumnPart, PinPart
from server.feeds.sources import FeedFault

TRAVELLING: Final = (SourceKind.SNOWFLAKE, SourceKind.BIGQUERY, SourceKind.FLIGHTSQL)  # read as they were
KINDS: Final = (SourceKind.POSTGRESQL, SourceKind.DUCKDB, *TRAVELLING)
TAKEN: Final = frozenset(
    {"source", "target", "attach", "pin", "scenario", "map", "amount", "constant", "numbers"}
    | {"schedule", "timezone", "allow_empty", "unknown_members"}
)
FOLDER: Final = (
    r"(iceberg[.])?([a-z0-9]+:/)?/[A-Za-z0-9\-._~/]+"  # Sail 0.7 escapes other characters, and finds no table then
)
TIME_TRAVEL: Final = "time_travel"
VIEW: Final = "make a view that does so, and attach the view"


def build_attachment(part: BindingPart, kind: SourceKind) -> Attachment | None:
    """Return the table that a feed attaches, None if it attaches none."""
    if part.attach is None:
        return None
    return Attachment(
        table=part.attach,
        change=part.pin.column if isinstance(part.pin, PinPart) else None,
        travels=part.pin == TIME_TRAVEL or (part.pin is None and kind in TRAVELLING),
    )


def attachment_faults(
    part: BindingPart, kind: SourceKind, domain: Domain | None, format_: ExtractFormat
) -> Iterator[FeedFault]:
    """Yield keys that an attached table cannot keep to: location within the feed, fault, and what would be valid."""
    if part.attach is None:
        if part.pin is not None:
            yield ["pin"], "the feed attaches no table, so there is nothing to pin", "give attach, or leave pin out"
        return
    if kind not in KINDS:
        known = ", ".join(known.value for known in KINDS)
        yield ["attach"], f"this release attaches no table of a {kind.value}", f"{known} take attach; load its rows"
    if part.pin == TIME_TRAVEL and kind not in TRAVELLING:
        yield ["pin"], f"a table of a {kind.value} cannot be read as it was", "rows, or {column: …}"
    if domain is None:
        yield ["attach"], f"{part.target} holds no facts", "members, nodes and rates are loaded; give file or extract"
    yield from name_faults(part.attach, kind)
    for key in sorted(part.model_fields_set - TAKEN):
        yield [key], f"an attached table is read as it is, so {key} says nothing", f"leave {key} out, or {VIEW}"
    for column, filling in part.map.items():
        yield from filling_faults(column, filling, domain)
    yield from format_faults(format_)
    if domain is not None and domain.time_column in part.constant:
        yield ["constant", domain.time_column], "the days of an attached table are a column of it", VIEW


def name_faults(table: str, kind: SourceKind) -> Iterator[FeedFault]:
    """Yield what is wrong with the name of a table; one in a lake may be named by its folder."""
    names = table.split(".")
    if kind is SourceKind.FLIGHTSQL and "/" in table:
        if not re.fullmatch(FOLDER, table):
            valid = "a whole path or URL of A-Z a-z 0-9 - . _ ~, such as s3://bucket/lines"
            yield ["attach"], f"'{table}' is no folder that Sail finds a table in", valid
    elif not all(names) or len(names) > 2:
        yield ["attach"], f"'{table}' is no name of a table", "TABLE or SCHEMA.TABLE"


def filling_faults(column: str, filling: str | ColumnPart, domain: Domain | None) -> Iterator[FeedFault]:
    """Yield what an attached table cannot fill a column with."""
    if isinstance(filling, str):
        return
    for key in ("values", "format", "product"):
        if getattr(filling, key):
            yield ["map", column, key], f"an attached table is read as it is, so {key} says nothing", VIEW
    if filling.constant is not None and domain is not None and column == domain.time_column:
        yield ["map", column, "constant"], "the days of an attached table are a column of it", VIEW


def format_faults(format_: ExtractFormat) -> Iterator[FeedFault]:
    """Yield what a feed or its source says about texts, where an attached table has types."""
    numbers = format_.numbers
    for key in ("decimal", "thousands", "negative", "factor", "none"):
        if getattr(numbers, key):
            yield ["numbers", key], "the amounts of an attached table are numbers", f"leave {key} out, or {VIEW}"
    if isinstance(format_.amount, DebitCreditSide):
        yield ["amount", "side"], "an attached table is read as it is, so side says nothing", VIEW
    elif format_.amount is not None and format_.amount.credits is CreditSign.NEGATIVE:
        yield ["amount", "credits"], "an attached table is read as it is, so its credits are positive", VIEW
