"""The requests that the service answers without the engine's queries: files, charts, feeds, loads and lists."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.model.requests import ChartSpec, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest(Request):
    """A result as a file."""

    data_ref: str
    """The data_ref of a result, such as ds_…"""
    format: Literal["json", "xlsx"]
    """json: with all metadata. xlsx: a workbook, laid out as the result was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest(Request):
    """A file made before."""

    file_id: str
    """The file_id that export_dataset returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest(Request):
    """A file that its caller is about to send."""

    filename: str
    """Its name, without folders, such as figures.xlsx."""
    mime_type: str
    """Its type, without parameters, such as text/csv."""
    size_bytes: int
    """Its exact size in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRequest(Request):
    """A file that was sent."""

    upload_id: str
    """The upload_id that begin_file_upload returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile(Request):
    """A file of the host, which says more of it in some places than in others."""

    __pydantic_config__: ClassVar = {"extra": "ignore", "strict": True}

    download_url: str
    """Where its bytes are, over https."""
    file_id: str | None = None
    """What the host calls it."""
    file_name: str | None = None
    """Its name."""
    mime_type: str | None = None
    """Its type, such as text/csv."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest(Request):
    """An attachment of the conversation."""

    file: HostFile
    """As the host describes it; other keys do no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRequest(Request):
    """A chart of results, of what a script makes of them, or the rows that it leaves."""

    data_refs: tuple[str, ...]
    """A list: ["ds_…"]. In the script frames[0] (also df), frames[1]…"""
    transform_code: str | None = None
    """Python that leaves a polars DataFrame, a dict of lists or a list of dicts in `result`, at most 5,000 rows. It has
    df, frames, pl, usual builtins, datetime, math, statistics, itertools, collections, decimal, re; no files or
    network, 5 seconds."""
    chart_spec: ChartSpec | None = None
    """How to draw."""
    picture: bool = False
    """Show the chart as a PNG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest(Request):
    """One inspection source."""

    source_key: str
    """A source key from list_inspection_sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantsRequest(Request):
    """The what-if variants of a scenario."""

    scenario_id: str
    """A scenario id from list_scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHistoryRequest(Request):
    """Attempts to load feeds; what is named is joined by AND."""

    binding_id: str | None = None
    """One feed: a binding_id from list_bindings."""
    dataset_id: str | None = None
    """One dataset across its sources: a dataset_id from list_bindings."""
    period: str | None = None
    """A period of any grain: loads that touched one of its days, or may have."""
    status: str | None = None
    """running, success, a failure such as failed_connect, or failed_* for every failure."""
    limit: int | None = None
    """At most so many, 200 at most; left out, 50."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest(Request):
    """One load."""

    load_id: str
    """A load_id from list_load_history, or from the freshness of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingsRequest(Request):
    """Feeds."""

    source_id: str | None = None
    """The feeds of one source: a source_id of list_bindings."""
    target: str | None = None
    """The feeds into one table: a target of list_bindings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingRequest(Request):
    """One feed."""

    binding_id: str
    """A binding_id from list_bindings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRequest(Request):
    """Metrics of all domains."""

    domain: str | None = None
    """One domain."""
    query: str | None = None
    """Name, or part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyRequest(Request):
    """A call without parameters."""
