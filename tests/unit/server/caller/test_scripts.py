"""Scripts in the service: what they leave is typed, what they try is told, and nobody waits for one in vain."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.model.errors import Refusal, Unavailable
from sandbox.job import JobResult, OutputColumn
from sandbox.pool import Pool
from sandbox.render import Renderer
from server.base.errors import Busy, TransformFailed, TransformForbidden, TransformLimit
from server.base.interfaces import Principal
from server.base.settings import Settings
from server.caller import scripts
from server.caller.scripts import CallerScripts, ScriptRunner, frame_of
from server.tools.tool import Deployment
from server.tools.toolbox import TOOLS
from tests.support.service.servers import wait_for
from tests.unit.sandbox.test_pool import children_of, server_of
from tests.unit.server.http.test_dispatch import DEADLINE, dispatch_of

DEV = Principal("dev")
FRAME = pl.DataFrame({"month": ["2026-01", "2026-02"], "value": [1.5, None]})
ENDLESS = "while True: pass"
AHEAD = "import datetime as dt\nahead = dt.timedelta(hours=14)"
SPEC = {"chart_type": "bar", "title": "A chart"}
METRIC = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}


@pytest.fixture(scope="module")
def workshop() -> Iterator[ScriptRunner]:
    """A place for one script at once."""
    with closing(ScriptRunner(Pool(1))) as opened:
        assert opened.pool.trouble() is None
        yield opened


def scripts_in(workshop: ScriptRunner, stop: Any = lambda: None) -> CallerScripts:
    """Return what a caller can have run."""
    return CallerScripts("ann", workshop, stop)


def test_what_a_script_leaves_is_typed_as_it_left_it(workshop: ScriptRunner) -> None:
    code = """
import datetime as dt
result = {
    'whole': [1, None], 'number': [1, 2.5], 'text': ['=1', None], 'flag': [True, None],
    'day': [dt.date(2026, 1, 31), None], 'at': [dt.datetime(2026, 1, 31, 12), None], 'clock': [dt.time(12), None],
    'wholes': [[1, None], []], 'numbers': [[1, 2.5], None], 'texts': [['a'], None], 'flags': [[True], None],
    'none': [None, None], 'large': [2**60, None],
}
"""
    left = scripts_in(workshop).run("tool", code, [FRAME])
    assert left.frame.to_dict(as_series=False) == {
        "whole": [1, None],
        "number": [1.0, 2.5],
        "text": ["=1", None],
        "flag": [True, None],
        "day": [date(2026, 1, 31), None],
        "at": [datetime.fromisoformat("2026-01-31T12:00"), None],
        "clock": [time(12), None],
        "wholes": [[1, None], []],
        "numbers": [[1.0, 2.5], None],
        "texts": [["a"], None],
        "flags": [[True], None],
        "none": [None, None],
        "large": ["1152921504606846976", None],
    }
    assert list(left.frame.dtypes) == [
        *(pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Datetime("us"), pl.Time),
        *(pl.List(pl.Int64), pl.List(pl.Float64), pl.List(pl.String), pl.List(pl.Boolean), pl.String, pl.String),
    ]


def test_a_frame_comes_through_as_it_is(workshop: ScriptRunner) -> None:
    assert scripts_in(workshop).run("tool", "result = df", [FRAME]).frame.equals(FRAME)
    empty = scripts_in(workshop).run("tool", "result = df.head(0)", [FRAME]).frame
    assert empty.schema == FRAME.schema


def test_an_outcome_that_was_forged_makes_a_table_or_none_but_never_a_fault() -> None:
    odd = ((1, "x", None, True), None, (), (1.5, 2))
    forged = JobResult(
        columns=(OutputColumn("l", "list"), OutputColumn("n", "number")), rows=tuple((cell, 1) for cell in odd)
    )
    assert frame_of(forged)["l"].to_list() == [["1", "x", None, "true"], None, [], ["1.5", "2"]]
    zoned = JobResult(columns=(OutputColumn("t", "datetime"),), rows=(("2026-01-01T01:00:00+02:00",),))
    assert frame_of(zoned)["t"].to_list() == [datetime(2025, 12, 31, 23, tzinfo=UTC).replace(tzinfo=None)]
    assert frame_of(JobResult(rows=((), ()))).shape == (0, 0)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("result = [{'': 1}]", "a column of result has no name: give every column a name"),
        ("result = df.rename({'value': ''})", "a column of result has no name: give every column a name"),
        ("result = {'a\\0b': [1]}", "result has a column named 'a\\x00b': leave the NUL character out"),
        ("result = df.rename({'value': 'a\\0b'})", "result has a column named 'a\\x00b': leave the NUL character out"),
        ("result = [{'\\ud800': 1}]", "result has a column named '\\ud800', which is half a character"),
        (
            f"{AHEAD}\nresult = [{{'at': dt.datetime.min.replace(tzinfo=dt.timezone(ahead))}}]",
            "column at of result holds a time outside the years 1 to 9999 in UTC: leave it out",
        ),
        (
            f"{AHEAD}\nresult = [{{'at': dt.datetime.max.replace(tzinfo=dt.timezone(-ahead))}}]",
            "column at of result holds a time outside the years 1 to 9999 in UTC: leave it out",
        ),
    ],
)
def test_what_no_frame_can_hold_is_the_failure_of_the_script(workshop: ScriptRunner, code: str, told: str) -> None:
    with pytest.raises(TransformFailed) as failed:
        scripts_in(workshop).run("tool", code, [FRAME])
    assert told in failed.value.error


def test_what_no_script_may_is_told_to_operators_without_the_script(caplog: pytest.LogCaptureFixture) -> None:
    code = "import socket\nsocket.socket()\nresult = {'FIGURE': [1234567890123]}"
    with (
        closing(ScriptRunner(Pool(1, "tests.unit.sandbox.plain"))) as unruly,  # jailed scripts that have all of Python
        caplog.at_level(logging.WARNING, logger="tieout.security"),
        pytest.raises(TransformForbidden) as refused,
    ):
        scripts_in(unruly).run("eval_chart_transform", code, [FRAME])
    assert refused.value.as_data() == {
        "error": "The script was ended: the script tried to reach files, the network or other processes, which no "
        "script may do.",
        "error_type": "transform_forbidden",
        "field": "transform_code",
    }
    (line,) = caplog.records
    told = vars(line)
    assert (told["subject"], told["tool"]) == ("ann", "eval_chart_transform")
    assert "which no script may do" in told["what"]
    assert "socket" not in str(told)
    assert "1234567890123" not in str(told)


def test_results_larger_than_a_script_is_given_are_refused_before_it_runs(workshop: ScriptRunner) -> None:
    large = pl.DataFrame({"value": pl.int_range(7_000_000, eager=True)})
    with pytest.raises(TransformLimit, match="53 MB together; a script is given 50 MB") as refused:
        scripts_in(workshop).run("tool", ENDLESS, [large])
    assert refused.value.field == "data_refs"


def test_no_further_result_is_written_once_they_are_too_large_together(
    workshop: ScriptRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[str]()
    small = pl.DataFrame({"value": [1]})
    monkeypatch.setattr(scripts, "MOST_FRAME_BYTES", 3 * len(scripts.stream_of(small)))
    called = CallerScripts("ann", workshop, lambda: looks.append("look"))
    with pytest.raises(TransformLimit, match="together"):
        called.run("tool", ENDLESS, [small] * 8)
    assert len(looks) == 4


def test_where_every_place_is_taken_a_script_is_refused_at_once(workshop: ScriptRunner) -> None:
    server = server_of(workshop.pool)
    refused: list[Refusal] = []

    class Interruption(Exception):
        pass

    def while_it_runs() -> None:
        if children_of(server):
            with pytest.raises(Busy) as busy:
                scripts_in(workshop).run("tool", "result = df", [FRAME])
            refused.append(busy.value)
            raise Interruption

    with pytest.raises(Interruption):
        scripts_in(workshop, while_it_runs).run("tool", ENDLESS, [FRAME])
    assert refused[0].as_data()["retryable"] is True
    assert refused[0].retry_after_ms
    assert "Every place for scripts is taken" in refused[0].error


def test_a_fork_server_that_died_is_unavailable_once_and_then_there_again(workshop: ScriptRunner) -> None:
    server = server_of(workshop.pool)

    def end_it() -> None:
        if children_of(server):
            assert workshop.pool._server is not None
            workshop.pool._server.process.kill()

    with pytest.raises(Unavailable, match="call again shortly"):
        scripts_in(workshop, end_it).run("tool", ENDLESS, [FRAME])
    assert scripts_in(workshop).run("tool", "result = df", [FRAME]).frame.equals(FRAME)


async def chart_of(dispatch: Any, code: str, **spec: Any) -> Any:
    """Draw a chart of a metric."""
    reference = (await dispatch.call("run_metric_data", METRIC, DEV)).result["data_ref"]
    asked = {"data_refs": [reference], "transform_code": code, "chart_spec": SPEC | spec}
    return await dispatch.call("eval_chart_transform", asked, DEV)


def test_the_job_of_a_call_that_is_late_or_left_is_ended(
    small_instance: tuple[Path, Path], workshop: ScriptRunner
) -> None:
    server = server_of(workshop.pool)
    late = dispatch_of(small_instance, TOOLS, workshop=workshop, deadline_seconds=4)
    outcome = asyncio.run(chart_of(late, ENDLESS))
    assert outcome.result["error_type"] == "timeout"
    wait_for(lambda: not children_of(server))

    async def leave() -> None:
        left = asyncio.create_task(chart_of(dispatch_of(small_instance, TOOLS, workshop=workshop), ENDLESS))
        await asyncio.to_thread(wait_for, lambda: bool(children_of(server)), DEADLINE)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left

    asyncio.run(leave())
    wait_for(lambda: not children_of(server))


def test_where_no_picture_can_be_drawn_the_chart_is_there_with_a_note(small_instance: tuple[Path, Path]) -> None:
    with closing(ScriptRunner(Pool(1), Renderer(worker="tests.unit.sandbox.nothing"))) as without:
        dispatch = dispatch_of(small_instance, TOOLS, workshop=without)
        outcome = asyncio.run(chart_of(dispatch, "result = df", render="artifact", x="label", y="value"))
    assert not outcome.is_error, outcome.result
    assert outcome.result["rows"]
    assert "artifact" not in outcome.result
    (note,) = [note for note in outcome.result["notes"] if note["code"] == "not_drawn"]
    assert note["message"].startswith("There is no picture: the render worker ended")


def test_without_a_jail_the_tool_is_withheld() -> None:
    with closing(ScriptRunner(Pool(1, "tests.unit.sandbox.unjailed"))) as unjailed:
        deployment = Deployment(settings=Settings(), workshop=unjailed)
        reason = TOOLS["eval_chart_transform"].withheld(deployment)
        assert reason is not None
        assert "the jail does not hold" in reason
        with pytest.raises(Unavailable):
            scripts_in(unjailed).run("tool", "result = df", [FRAME])
