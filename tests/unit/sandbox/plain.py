"""A worker without the language of scripts: everything that Python has, so that only the jail stands in the way."""

import polars as pl

from sandbox.job import Failure, JobResult
from sandbox.table import read_table
from sandbox.worker import serve


def run(code: str, frames: list[pl.DataFrame]) -> JobResult:
    """Run anything."""
    names: dict[str, object] = {"pl": pl, "frames": frames, "df": frames[0] if frames else None}
    try:
        exec(code, names)  # noqa: S102 - an attack, in jail
        return read_table(names.get("result"))
    except BaseException as fault:  # noqa: BLE001 - an attack may raise anything
        return JobResult(failure=Failure.of("failed", f"{type(fault).__name__}: {fault}"))


def main() -> None:
    """Serve anything."""
    serve(run)
