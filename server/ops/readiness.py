"""Readiness: checks of the server's dependencies within time limits, and the listener for operators."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any, Protocol

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.base.interfaces import StoreDown
from server.ops.strict_http import HostMiddleware, StrictProtocol, is_private_name
from server.telemetry.metrics import CONTENT_TYPE, Metrics

LIMIT_SECONDS = 1.0
KEPT_SECONDS = 1.0  # that an answer stands for those who ask after it
EVERY_SECONDS, SOON_SECONDS = 5.0, 1.0  # between two rounds, whether or not anybody asks; where one found fault
STALE_SECONDS = 30.0  # after which the latest round says nothing any more
OK, UNAVAILABLE, STARTING = "ok", "unavailable", "starting"
Json = dict[str, Any]
log = logging.getLogger("tieout.ops")


class HealthCheck(Struct, frozen=True, kw_only=True):
    """One thing the server stands on; `run` uses it and returns a remark where there is one to make.

    It raises StoreDown with what is wrong, in words that an operator can act on and that hold no secret.
    """

    name: str
    run: Callable[[], str | None]
    limit: float = LIMIT_SECONDS


class CheckResult(Struct, frozen=True, kw_only=True):
    """The result of a check: the reason if it failed, and how long it took."""

    reason: str | None = None
    remark: str | None = None
    seconds: float = 0.0

    def as_data(self) -> Json:
        """Return it as /readyz shows it."""
        status = OK if self.reason is None else UNAVAILABLE
        said = {"reason": self.reason, "note": self.remark}
        return {"status": status, "ms": round(self.seconds * 1000, 1), **{k: v for k, v in said.items() if v}}


class CheckRunner:
    """Runs a check in its own thread, one run at a time.

    A run that hangs cannot be cancelled, so no second run starts until it ends.
    """

    def __init__(self, check: HealthCheck) -> None:
        self.check = check
        self._begun = 0.0
        self._running: Future[CheckResult] | None = None

    async def find(self) -> CheckResult:
        """Run the check, and wait for it no longer than its limit."""
        if self._running is not None and not self._running.done():
            waited = monotonic() - self._begun
            return CheckResult(reason=f"it does not answer, for {waited:.0f} s by now", seconds=waited)
        self._begun, self._running = monotonic(), Future()
        self._running.set_running_or_notify_cancel()  # so that giving up waiting does not cancel it
        Thread(target=self._run, args=(self._running,), name=f"check {self.check.name}", daemon=True).start()
        done, _ = await asyncio.wait({asyncio.wrap_future(self._running)}, timeout=self.check.limit)
        if not done:
            return CheckResult(reason=f"it did not answer within {self.check.limit:g} s", seconds=self.check.limit)
        return self._running.result()

    def _run(self, running: Future[CheckResult]) -> None:
        reason: str | None = "the check itself failed; the log of the server has the fault"
        remark = None
        try:
            remark = self.check.run()
            reason = None
        except StoreDown as fault:
            reason = str(fault)
        finally:  # any other fault is in the log by the hook for threads, and must not leave anybody waiting
            running.set_result(CheckResult(reason=reason, remark=remark, seconds=monotonic() - self._begun))


class ReadinessReport(Struct, frozen=True, kw_only=True):
    """The results of one round of all checks."""

    findings: dict[str, CheckResult]
    at: float

    @property
    def ready(self) -> bool:
        """Whether every check holds."""
        return all(finding.reason is None for finding in self.findings.values())

    def as_data(self) -> Json:
        """Return it as /readyz shows it."""
        checks = {name: finding.as_data() for name, finding in self.findings.items()}
        return {"status": OK if self.ready else UNAVAILABLE, "checks": checks}


class HealthSource(Protocol):
    """Reports the health of the service without waiting."""

    def health(self) -> Json:
        """Return whether all is well, as /health shows it."""


class Readiness:
    """The checks of one process and their latest results."""

    def __init__(
        self,
        checks: Sequence[HealthCheck],
        metrics: Metrics,
        beside: Sequence[HealthCheck] = (),
        post: Callable[[Json], None] = lambda _: None,
        details: Callable[[], Json] = dict,
        instant: Sequence[HealthCheck] = (),
    ) -> None:
        """`beside` is looked at as often and decides nothing; `post` is given the health after each round.

        `details` returns what /readyz shows beside the checks. `instant` are checks that wait for nothing: every
        answer of /readyz runs them anew, and the health is without them.
        """
        self._instant = instant
        self.details = details
        self._post = post
        self._watched = [CheckRunner(check) for check in checks]
        self._beside = [CheckRunner(check) for check in beside]
        self._metrics = metrics
        self._latest: ReadinessReport | None = None
        self._round = asyncio.Lock()

    def replace(self, name: str, checks: Sequence[HealthCheck]) -> None:
        """Look at some checks in place of those of a name."""
        others = [watched for watched in self._watched if watched.check.name != name]
        self._watched = [*others, *map(CheckRunner, checks)]
        with suppress(KeyError):  # which nobody has looked at
            self._metrics.ready.remove(name)

    async def verdict(self) -> ReadinessReport:
        """Return what a round found a moment ago, else now; several who ask at once share a round."""
        async with self._round:
            if self._latest is None or monotonic() - self._latest.at > KEPT_SECONDS:
                self._latest = await self._look()
                self._post(self.health())
            return self._latest

    async def answer(self) -> ReadinessReport:
        """Return the verdict with the checks that wait for nothing."""
        verdict = await self.verdict()
        return ReadinessReport(findings={**verdict.findings, **self._look_now()}, at=verdict.at)

    async def watch(self) -> None:
        """Make a round every few seconds, until cancelled."""
        while True:
            await asyncio.gather(self.verdict(), *(watched.find() for watched in self._beside))
            await asyncio.sleep(EVERY_SECONDS if self.health()["status"] == OK else SOON_SECONDS)

    def health(self) -> Json:
        """Return whether all is well by the latest round; never waits for anything."""
        latest = self._latest
        if latest is None:
            return {"status": STARTING}
        if monotonic() - latest.at > STALE_SECONDS:
            return {"status": UNAVAILABLE}
        checks = {name: OK if finding.reason is None else UNAVAILABLE for name, finding in latest.findings.items()}
        return {"status": OK if latest.ready else UNAVAILABLE, "checks": checks}

    async def _look(self) -> ReadinessReport:
        looked_at = self._watched
        found = await asyncio.gather(*(watched.find() for watched in looked_at))
        findings = {watched.check.name: finding for watched, finding in zip(looked_at, found, strict=True)}
        for name, finding in findings.items():
            self._metrics.ready.labels(name).set(finding.reason is None)
            self._metrics.check_seconds.labels(name).set(finding.seconds)
            self._tell(name, finding)
        return ReadinessReport(findings=findings, at=monotonic())

    def _look_now(self) -> dict[str, CheckResult]:
        findings = {}
        for check in self._instant:
            try:
                findings[check.name] = CheckResult(remark=check.run())
            except StoreDown as fault:
                findings[check.name] = CheckResult(reason=str(fault))
            self._metrics.ready.labels(check.name).set(findings[check.name].reason is None)
        return findings

    def _tell(self, name: str, finding: CheckResult) -> None:
        before = self._latest and self._latest.findings.get(name)
        was = before and before.reason
        said = {"check": name, "reason": finding.reason}
        if finding.reason and self._latest is None:
            log.info("waiting for %s", name, extra=said)
        elif finding.reason and not was:
            log.warning("%s is unavailable", name, extra=said)
        elif was and not finding.reason:
            log.info("%s is available", name, extra=said)


# The health file: the parent writes the health of the service, and workers serve it.


class HealthFile:
    """A small file that is replaced atomically; its times are those of the machine's monotonic clock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def post(self, health: Json) -> None:
        """Write how the service stands now."""
        new = self._path.with_suffix(".new")
        with suppress(OSError):  # no room for it: what stands there grows old, which says so
            new.write_text(json.dumps({"at": monotonic(), "health": health}), encoding="utf-8")
            new.replace(self._path)

    def health(self) -> Json:
        """Return how the service stood a moment ago."""
        try:
            posted = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"status": STARTING}
        if monotonic() - posted["at"] > STALE_SECONDS:
            return {"status": UNAVAILABLE}
        health: Json = posted["health"]
        return health


# The listener for operators: /readyz, /health and /metrics, in its own thread.


STOPPING_SECONDS = 2
NOT_STORED = {"Cache-Control": "no-store"}
Endpoint = Callable[[Request], Awaitable[Response]]


def health_endpoint(readiness: HealthSource) -> Endpoint:
    """Return the endpoint of /health: 200 while the stack is healthy, from memory alone."""

    async def health(_: Request) -> Response:
        found = readiness.health()
        return JSONResponse(found, status_code=200 if found["status"] == OK else 503, headers=NOT_STORED)

    return health


def ops_application(readiness: Readiness, metrics: Metrics) -> Starlette:
    """Return the application of the operators' port."""

    async def readyz(_: Request) -> Response:
        verdict = await readiness.answer()
        shown = {**verdict.as_data(), **readiness.details()}
        return JSONResponse(shown, status_code=200 if verdict.ready else 503, headers=NOT_STORED)

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.page(), media_type=CONTENT_TYPE, headers=NOT_STORED)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(readiness.watch())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    routes = [Route("/readyz", readyz), Route("/health", health_endpoint(readiness)), Route("/metrics", show_metrics)]
    named = Middleware(HostMiddleware, knows=is_private_name, instead="Name the server by its address.")
    return Starlette(routes=routes, middleware=[named], lifespan=lifespan)


@contextmanager
def serve_operators(listening: socket.socket, readiness: Readiness, metrics: Metrics) -> Iterator[None]:
    """Answer operators on a bound socket while the block runs."""
    config = uvicorn.Config(
        ops_application(readiness, metrics),
        http=StrictProtocol,
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, name="ops", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(2 * STOPPING_SECONDS)
