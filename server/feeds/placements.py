"""Where the rows of facts lie: the engine that `facts` of instance.yaml names."""

from enum import Enum

from msgspec import Struct

from engine.instance.read import InstanceDocuments
from engine.instance.schema.books import InstanceFile

MINUTE = 60


class WarehouseKind(Enum):
    """The kind of an engine."""

    CLICKHOUSE = "clickhouse"
    FLIGHTSQL = "flightsql"
    POSTGRESQL = "postgresql"
    DUCKDB = "duckdb"  # a file


class FactsPlacement(Struct, frozen=True, kw_only=True):
    """Where the rows of facts lie. Names the environment variables with the addresses, and holds no secret."""

    kind: WarehouseKind
    reader: str  # environment variable of the server, whose user may not write
    loader: str  # environment variable of loads
    cluster: str | None = None
    keeps_files: bool = False  # whether the files of the rows stay on this machine
    seconds: int = 20  # that a statement may take
    sessions: int = 8  # statements at once
    lease: int = 900  # seconds that a version stays once the next is published, for servers on other hosts


def read_placement(documents: InstanceDocuments) -> FactsPlacement | None:
    """Return the engine that `facts` names, None if the rows are files on this machine."""
    document, file = documents.one("instance.yaml", InstanceFile)
    if file is None or file.facts is None:
        return None
    part = file.facts
    kind = WarehouseKind(part.engine)
    loader = part.loader_url_env or part.url_env
    if loader == part.url_env and kind is not WarehouseKind.DUCKDB:
        valid = "give loader_url_env, the variable of a user who may write"
        document.fault(["facts"], f"loads would write to {part.engine} as the user who reads", valid)
    if part.cluster is not None and kind is not WarehouseKind.CLICKHOUSE:
        document.fault(["facts", "cluster"], f"{part.engine} has no named cluster", "leave cluster out")
    return FactsPlacement(
        kind=kind,
        reader=part.url_env,
        loader=loader,
        cluster=part.cluster,
        keeps_files=part.keep_here == "everything",
        seconds=seconds_of(part.timeout),
        sessions=part.sessions,
        lease=seconds_of(part.lease),
    )


def seconds_of(duration: str) -> int:
    """Return a duration, as 20s or 2m, in seconds."""
    return int(duration[:-1]) * (MINUTE if duration.endswith("m") else 1)
