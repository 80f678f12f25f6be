"""Scripts in jail: the fork server's start, a warm job, a frame of 10 MB; beside the same work in this process.

A start of its own for each job would be the other way to have a clean process; it stands beside the warm job.
"""

import io
import json
import subprocess
import sys
from functools import partial

import polars as pl

from benches.timing import Work, in_turns, report
from sandbox.job import Job, JobResult
from sandbox.pool import Pool
from sandbox.script import run

ROUNDS = 41
STARTS = 7
ROWS = 208_000  # about 10 MB of the columns below
GROUPED = "result = df.group_by('line').agg(pl.col('amount').sum()).sort('line')"
LOOPED = "result = [{'n': len(df)}]"


def frame_of(rows: int) -> pl.DataFrame:
    """Return a frame of `rows` rows of at least 48 bytes each."""
    at = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "line": (at % 97).cast(pl.String),
            "day": at,
            "amount": at * 0.25,
            "budget": at * 0.5,
            "units": at % 13,
            "n": at,
        }
    )


def streamed(frame: pl.DataFrame) -> bytes:
    """Return a frame as an Arrow IPC stream."""
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer)
    return buffer.getvalue()


def start() -> None:
    """Start a pool, probe its jail, and end it."""
    with Pool() as pool:
        worked(pool.run(Job(code=LOOPED, frames=(streamed(frame_of(1)),))))


def done(pool: Pool, job: Job) -> None:
    """Run a job in jail."""
    worked(pool.run(job))


def worked(outcome: JobResult) -> None:
    """Stop the bench at a failure."""
    if outcome.failure is not None:
        sys.exit(outcome.failure.message)


def main(_rows: int) -> None:
    """Measure and print."""
    small, large = frame_of(100), frame_of(ROWS)
    frames = {"100 rows": (streamed(small),), f"{ROWS:,} rows": (streamed(large),)}
    print(json.dumps({name: f"{len(stream[0]) / 1e6:.1f} MB" for name, stream in frames.items()}))
    interpreter = [sys.executable, "-I", "-c", "import polars"]
    starts: dict[str, Work] = {
        "cold: pool, probes, first job": start,
        "an interpreter with polars": partial(subprocess.run, interpreter, check=True),
    }
    report(in_turns(starts, STARTS), "an interpreter with polars")
    with Pool() as pool:
        jobs = {
            f"{name}, {size}": Job(code=code, frames=stream)
            for size, stream in frames.items()
            for name, code in (("Python only", LOOPED), ("group_by and sort", GROUPED))
        }
        contestants: dict[str, Work] = {name: partial(done, pool, job) for name, job in jobs.items()}
        beside: dict[str, Work] = {"in this process, 100 rows": lambda: worked(run(GROUPED, [small]))}
        report(in_turns(contestants | beside, ROUNDS), "in this process, 100 rows")
