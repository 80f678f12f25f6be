"""The renderer: one worker that draws, bounded, replaced where it died, hung or answered too much."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from sandbox.jail import ASK_VERSION, NETWORK, Kernel
from sandbox.render import IN_ANSWERS, MOST_SPEC, PictureBounds, Renderer, RenderError, RenderWorkerLost
from tests.support.answers.charts import CASES, size_of

PNG = b"\x89PNG\r\n\x1a\n"
LANDLOCK = Kernel().call("landlock_create_ruleset", None, 0, ASK_VERSION)
CHART = dict(CASES["bar"].chart().vega_lite)


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    """A renderer with its worker."""
    with Renderer() as opened:
        yield opened


def worker_of(renderer: Renderer) -> int:
    """Return the process id of the worker."""
    assert renderer._worker is not None
    return renderer._worker.process.pid


@pytest.mark.parametrize(("form", "begins"), [("svg", b"<svg"), ("png", PNG)])
@pytest.mark.parametrize("kind", CASES)
def test_every_kind_of_chart_is_drawn(
    renderer: Renderer, kind: str, form: Literal["svg", "png"], begins: bytes
) -> None:
    assert renderer.render(CASES[kind].chart().vega_lite, form).startswith(begins)


def test_what_is_no_chart_is_said_and_the_worker_lives_on(renderer: Renderer) -> None:
    renderer.render(CHART, "svg")
    before = worker_of(renderer)
    with pytest.raises(RenderError, match="conversion failed"):
        renderer.render({**CHART, "layer": [{"mark": "bar"}, 7]}, "svg")
    renderer.render(CHART, "svg")
    assert worker_of(renderer) == before


def test_a_chart_of_too_many_bytes_or_pixels_is_refused(renderer: Renderer) -> None:
    with pytest.raises(RenderError, match="1,048,576 are the most"):
        renderer.render({**CHART, "description": "x" * MOST_SPEC}, "svg")
    with pytest.raises(RenderError, match="larger than 4000 pixels"):
        renderer.render({**CHART, "width": 9000}, "png")


def test_a_picture_of_an_answer_is_drawn_smaller_until_it_fits(renderer: Renderer) -> None:
    whole = renderer.render(CHART, "png")
    narrow = renderer.render(CHART, "png", replace(IN_ANSWERS, widest=600))
    small = renderer.render(CHART, "png", PictureBounds(widest=1200, most_bytes=len(narrow)))
    assert size_of(narrow)[0] <= 600 < size_of(whole)[0]
    assert len(small) <= len(narrow)
    with pytest.raises(RenderError, match="100 are the most"):
        renderer.render(CHART, "png", PictureBounds(widest=1200, most_bytes=100))


def test_a_worker_that_was_killed_is_replaced(renderer: Renderer) -> None:
    renderer.render(CHART, "svg")
    before = worker_of(renderer)
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert renderer.render(CHART, "svg").startswith(b"<svg")
    assert worker_of(renderer) != before


def test_a_worker_that_hangs_is_ended_and_replaced() -> None:
    with Renderer() as renderer:
        renderer.render(CHART, "svg")
        before, wall = worker_of(renderer), renderer._wall
        os.kill(before, signal.SIGSTOP)
        renderer._wall = 0.3
        with pytest.raises(RenderWorkerLost, match="took too long"):
            renderer.render(CHART, "svg")
        assert renderer._worker is None
        assert not Path(f"/proc/{before}").exists()
        renderer._wall = wall
        assert renderer.render(CHART, "svg").startswith(b"<svg")


def test_pictures_asked_for_at_once_are_drawn_one_after_the_other(renderer: Renderer) -> None:
    charts = [dict(case.chart().vega_lite) for case in CASES.values()]
    alone = [renderer.render(chart, "svg") for chart in charts]
    with ThreadPoolExecutor(len(charts)) as threads:
        assert list(threads.map(lambda chart: renderer.render(chart, "svg"), charts)) == alone


def test_the_worker_sees_nothing_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFACT_SIGNING_KEY", "not for others")
    books = tmp_path / "books"
    with books.open("w") as opened, Renderer() as renderer:
        os.set_inheritable(opened.fileno(), True)
        renderer.render(CHART, "svg")
        process = Path(f"/proc/{worker_of(renderer)}")
        assert b"ARTIFACT" not in (process / "environ").read_bytes()
        assert books not in [entry.readlink() for entry in (process / "fd").iterdir()]


def test_an_address_in_a_chart_is_never_fetched(renderer: Renderer) -> None:
    asked: dict[str, Any] = {**CHART, "data": {"url": "http://127.0.0.1:9/figures.json"}}
    with pytest.raises(RenderError):
        renderer.render(asked, "svg")


def test_without_the_package_a_picture_is_refused_with_its_name() -> None:
    with Renderer(worker="tests.unit.sandbox.unpainted") as renderer:
        for _ in range(2):
            with pytest.raises(RenderError, match=r"the chart itself is complete .*vl_convert"):
                renderer.render(CHART, "svg")


@pytest.mark.skipif(LANDLOCK < NETWORK, reason="this kernel's Landlock knows no network")
@pytest.mark.parametrize(
    "tried",
    [
        "open('/tmp/from-a-picture', 'w')",
        "__import__('subprocess').run(['/bin/true'])",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
    ],
)
def test_what_a_picture_does_not_need_is_taken_away(tried: str) -> None:
    with (
        Renderer(worker="tests.unit.sandbox.probing") as renderer,
        pytest.raises(RenderError, match="PermissionError"),
    ):
        renderer.render({"tried": tried}, "svg")


def test_closing_ends_the_worker() -> None:
    renderer = Renderer()
    renderer.render(CHART, "svg")
    ended = worker_of(renderer)
    renderer.close()
    assert not Path(f"/proc/{ended}").exists()
