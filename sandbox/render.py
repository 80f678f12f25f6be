"""The renderer: draws Vega-Lite charts in one worker process, which it watches and replaces.

with Renderer() as renderer:
    renderer.render(chart.vega_lite, "svg")

Specifications come from the engine's templates, which hold no address, image or expression of a caller. The worker has
an empty environment and limits. Where the kernel has Landlock, the worker writes no file, opens no TCP connection and
starts no program. It does not run in the scripts' jail, which refuses two things that it needs: its JavaScript engine
writes machine code, and it reads fonts on demand.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from threading import Lock
from time import monotonic
from typing import Any, Literal, Self

from sandbox.server import STARTING, spawn

WORKER = "sandbox.render_worker"
WALL = 20.0  # seconds of one picture
MOST_SPEC = 1 << 20  # bytes of a specification
MOST_PICTURE = 1 << 20  # bytes of a picture
LIFE = 500  # pictures per worker, which bounds memory leaks
LENGTH = 8  # bytes of a message's length
DRAWN, FAILED = b"+", b"-"


@dataclass(frozen=True, slots=True)
class PictureBounds:
    """How large a picture may be: the width of a PNG in pixels, and the bytes of any picture."""

    widest: int
    most_bytes: int


OF_FILES = PictureBounds(widest=8000, most_bytes=MOST_PICTURE)
IN_ANSWERS = PictureBounds(widest=1200, most_bytes=500_000)


class RenderError(Exception):
    """A picture could not be drawn; the message says why."""


class RenderWorkerLost(RenderError):
    """The worker died or timed out while it drew a picture."""


class Renderer:
    """Draws with at most one worker process. Starts it on first use, and restarts it after it ends."""

    def __init__(self, wall: float = WALL, worker: str = WORKER) -> None:
        """`worker` is the module whose main() draws."""
        self._wall, self._module = wall, worker
        self._drawing = Lock()
        self._worker: RenderWorker | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def render(
        self, vega_lite: Mapping[str, Any], form: Literal["svg", "png"], bounds: PictureBounds = OF_FILES
    ) -> bytes:
        """Return the picture. Draws one at a time. Raises RenderError if the wait for earlier ones takes too long."""
        request = json.dumps({"spec": vega_lite, "form": form, **asdict(bounds)}, ensure_ascii=True).encode()
        if len(request) > MOST_SPEC:
            raise RenderError(f"the chart has {len(request):,} bytes, {MOST_SPEC:,} are the most: draw fewer points")
        if not self._drawing.acquire(timeout=self._wall):
            raise RenderError("other pictures are being drawn: try again shortly")
        try:
            return self._ready().draw(request, self._wall)
        except RenderWorkerLost:
            self._end()
            raise
        finally:
            self._drawing.release()

    def close(self) -> None:
        """Stop the worker."""
        with self._drawing:
            self._end()

    def _ready(self) -> "RenderWorker":
        if self._worker is None or not self._worker.alive():
            self._end()
            self._worker = RenderWorker(self._module)
        return self._worker

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None


class RenderWorker:
    """A running worker process and the socket to it."""

    def __init__(self, module: str) -> None:
        """Start the worker. Raises RenderError if it does not come up."""
        self._drawn = 0
        self._link, theirs = socket.socketpair()
        self.process = spawn(module, theirs)
        try:
            self._answer(monotonic() + STARTING)
        except RenderError:
            self.close()
            raise

    def alive(self) -> bool:
        """Tell whether the worker can draw another picture."""
        return self.process.poll() is None and self._drawn < LIFE

    def draw(self, request: bytes, wall: float) -> bytes:
        """Return the picture of a request."""
        self._drawn += 1
        deadline = monotonic() + wall
        self._link.settimeout(wall)
        try:
            self._link.sendall(len(request).to_bytes(LENGTH, "big") + request)
        except OSError as fault:
            raise RenderWorkerLost("the render worker ended") from fault
        return self._answer(deadline)

    def close(self) -> None:
        """Stop the process."""
        self._link.close()
        self.process.kill()
        self.process.wait()

    def _answer(self, deadline: float) -> bytes:
        head = self._read(1 + LENGTH, deadline)
        size = int.from_bytes(head[1:], "big")
        if size > MOST_PICTURE:
            raise RenderWorkerLost(f"the picture has {size:,} bytes, {MOST_PICTURE:,} are the most: draw fewer points")
        body = self._read(size, deadline)
        if head[:1] != DRAWN:
            raise RenderError(body.decode(errors="replace"))
        return body

    def _read(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            self._link.settimeout(max(0.001, deadline - monotonic()))
            try:
                part = self._link.recv(size - len(parts))
            except TimeoutError as late:
                raise RenderWorkerLost("the picture took too long: draw fewer points") from late
            except OSError as fault:
                raise RenderWorkerLost("the render worker ended") from fault
            if not part:
                raise RenderWorkerLost("the render worker ended: draw fewer points")
            parts += part
        return bytes(parts)
