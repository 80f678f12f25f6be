"""Where the rows of facts lie. It stands alone because it is all that knows an engine of the instance's own."""

from engine.instance.documents import Document
from engine.instance.schema.books import InstanceFile
from engine.model.warehouses import FactsPlacement, WarehouseKind

MINUTE = 60


def build_placement(document: Document, file: InstanceFile) -> FactsPlacement | None:
    """Return the engine that `facts` names, None if the rows are files on this machine."""
    part = file.facts
    if part is None:
        return None
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
