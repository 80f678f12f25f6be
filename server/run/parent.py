"""The parent process: reads the instance, keeps the embedded servers, answers operators and supervises workers."""

import logging
import os
import shutil
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from socket import socket

from server.base.folders import restrict
from server.base.interfaces import StoreDown
from server.base.settings import BadSetting, Settings, variable_of
from server.caller.profiles import LiveProfiles, followed
from server.feeds.placements import FactsPlacement
from server.ingest.folder import reload_files
from server.ingest.surveys import attached_faults
from server.ops.health_checks import (
    ArtifactsFolder,
    StoredBooks,
    check_attached,
    check_database,
    check_facts,
    report_backups,
    report_evictions,
    report_loads,
)
from server.ops.readiness import CheckResult, HealthCheck, HealthFile, Json, Readiness, serve_operators
from server.run.data_check import checked_data
from server.run.embedded.platform import Platform, hold_to_cache, platform
from server.run.workers.process import WorkerBrief, copy_instance
from server.run.workers.supervisor import Supervisor, SupervisorHooks
from server.stores.profiles import opened_to_one, source_of
from server.telemetry.calls import exports_spans
from server.telemetry.metrics import Metrics
from server.warehouses.lacks import refuse_writing_reader
from server.warehouses.warehouse import WarehouseDown

HEALTH = "health.json"
COPY = "instance-"  # and a number: the copies of the instance that were read
FACTS = "facts"  # the check of the engine that instance.yaml names
ATTACHED = "attached"  # the check of the sources of tables that bindings attach
NO_CACHE = (
    "there is none, for no Valkey can be embedded on this machine: the worker keeps results in its memory, and they "
    f"are gone with it; set {variable_of('cache_host')} to have one"
)
AHEAD = 60  # seconds that a file system may take to show a host the version that another published
log = logging.getLogger("tieout")


def refuse_short_lease(placement: FactsPlacement | None, settings: Settings) -> None:
    """Raise BadSetting if a call may run longer than the version of the books that it reads is kept."""
    least = settings.deadline_seconds + AHEAD
    if placement is not None and 0 < placement.lease < least:
        raise BadSetting(
            f"{variable_of('deadline_seconds')} is {settings.deadline_seconds}, and `lease` of `facts` in "
            f"instance.yaml keeps what calls read for {placement.lease} s; let it be {least}s or more, or 0s "
            "where every server runs on the host of the loads"
        )


class Parent:
    """The parent of the workers of one server."""

    def __init__(self, settings: Settings, folder: Path, supervisor: Supervisor) -> None:
        exports_spans(os.environ)  # raises BadSetting before any worker starts
        hold_to_cache(settings)
        self._settings = settings
        self._folder = folder
        self._supervisor = supervisor
        self._copies = 0
        self._taken = copy_instance(settings.instance, self._next_copy())
        refuse_short_lease(self._taken.instance.placement, settings)
        self._opening = opened_to_one(settings, folder)

    @property
    def name(self) -> str:
        """The name of the books."""
        return self._taken.instance.catalogue.name

    def run(self, for_operators: socket, announce: Callable[[], None]) -> int:
        """Serve until a signal stops it, and return the exit status; calls `announce` when a worker is ready."""
        release = version("tieout")
        metrics = Metrics(release, self._folder)
        metrics.watch(lambda: self._supervisor.processes)
        with platform(self._settings) as opened:
            opened.start()  # while the books are opened
            self._look_at_sources()
            profiles = LiveProfiles(
                source_of(self._settings, opened.database, self._opening), self._taken.instance.catalogue
            )
            readiness = self._readiness(opened, profiles, metrics)
            duties = SupervisorHooks(
                brief=self._brief(),
                reread=partial(self._reread, profiles, readiness),
                serving=announce,
                ended=metrics.ended,
            )
            taken, settings = self._taken, self._settings
            checked = checked_data(taken.files, settings.instance, settings.store)
            with checked, followed(profiles), serve_operators(for_operators, readiness, metrics):
                event = {"url": self._settings.base_url, "operators": self._settings.ops_bind, "release": release}
                log.info("serving", extra=event)
                try:
                    return self._supervisor.run(duties)
                finally:
                    log.info("stopped")

    def _next_copy(self) -> Path:
        self._copies += 1
        return self._folder / f"{COPY}{self._copies}"

    def _drop_copies(self) -> None:
        """Delete the copies of the instance that no process reads any more."""
        needed = {self._taken.files, *self._supervisor.starting_from}
        for copy in set(self._folder.glob(f"{COPY}*")) - needed:
            shutil.rmtree(copy, ignore_errors=True)

    def _brief(self) -> WorkerBrief:
        return WorkerBrief(
            settings=self._settings,
            files=self._taken.files,
            health=self._folder / HEALTH,
            opening=self._opening,
        )

    def _reread(self, profiles: LiveProfiles, readiness: Readiness) -> WorkerBrief | None:
        read = reload_files(self._settings.instance, partial(copy_instance, into=self._next_copy()))
        if read is not None:
            self._taken = read
        self._drop_copies()
        if read is None:
            return None
        profiles.fit(read.instance.catalogue)
        readiness.replace(FACTS, self._engine_checks())
        readiness.replace(ATTACHED, self._source_checks())
        log.info(
            "the files of %s were reloaded: catalogue %s", self._settings.instance, read.instance.catalogue.version
        )
        return self._brief()

    def _look_at_sources(self) -> None:
        """Refuse users of engines and sources who may write. Logs what attached tables lack."""
        instance = self._taken.instance
        try:
            if instance.placement is not None:
                refuse_writing_reader(instance.placement)
            for fault in attached_faults(instance.bindings, instance.catalogue, self._settings.instance):
                log.warning("%s", fault)
        except WarehouseDown as away:  # callers are told as well, until it answers
            log.warning("the engine of facts: %s", away)

    def _engine_checks(self) -> list[HealthCheck]:
        placement = self._taken.instance.placement
        return [] if placement is None else [HealthCheck(name=FACTS, run=partial(check_facts, placement))]

    def _source_checks(self) -> list[HealthCheck]:
        bindings = self._taken.instance.bindings.values()
        run = partial(check_attached, bindings, self._settings.instance)
        return [HealthCheck(name=ATTACHED, run=run)] if any(binding.attach for binding in bindings) else []

    def _readiness(self, opened: Platform, profiles: LiveProfiles, metrics: Metrics) -> Readiness:
        files = ArtifactsFolder(self._settings.files, self._settings.free_megabytes)
        books = StoredBooks(self._taken.instance.catalogue, self._settings.store, metrics.books)
        checks = [
            HealthCheck(name="relational_database", run=partial(check_database, opened.database)),
            HealthCheck(name="analytical_store", run=partial(self._use_books, books)),
            HealthCheck(name="cache_store", run=partial(self._use_cache, opened)),
            HealthCheck(name="artifacts", run=partial(self._use_files, files)),
            *self._engine_checks(),
            *self._source_checks(),
        ]
        tell = partial(report_loads, opened.loads, lambda: self._taken.instance.bindings, metrics)
        beside = [
            HealthCheck(name="load_history", run=tell),
            HealthCheck(name="backups", run=partial(report_backups, self._settings.state_folder, metrics)),
            HealthCheck(name="kept_results", run=partial(report_evictions, opened.results.evicted, metrics)),
            HealthCheck(name="profiles", run=lambda: metrics.profiles(len(profiles.faults), profiles.age)),
        ]
        post = HealthFile(self._folder / HEALTH).post
        instant = [HealthCheck(name="workers", run=self._refuse_no_worker)]
        return Readiness(checks, metrics, beside=beside, post=post, details=self._identity_provider, instant=instant)

    def _identity_provider(self) -> Json:
        """Return whether the workers read the identity provider's keys; nothing without one.

        It decides nothing: tokens of keys that are known are still accepted.
        """
        if not self._settings.many_users:
            return {}
        unread = self._supervisor.no_keys
        found = CheckResult(reason=unread[0] if unread else None)
        return {"identity_provider": found.as_data()}

    def _use_books(self, books: StoredBooks) -> str | None:
        return joined(books.use(), restrict(self._settings.state_folder), restrict(self._settings.store))

    def _use_cache(self, opened: Platform) -> str | None:
        if opened.results.cache is None:
            return NO_CACHE
        opened.results.cache.ping()
        alone = self._supervisor.counting_alone
        return (
            f"workers that still count calls by themselves, against their share of the caps: {alone}" if alone else None
        )

    def _refuse_no_worker(self) -> None:
        """Raise StoreDown while no worker accepts connections."""
        if not self._supervisor.serves:
            raise StoreDown("no worker serves yet; calls wait until one does")

    def _use_files(self, files: ArtifactsFolder) -> str | None:
        files.use()
        without = self._supervisor.no_scripts
        scripts = f"workers that do not offer eval_chart_transform: {len(without)}; {without[0]}" if without else None
        return joined(scripts, restrict(self._settings.files))


def joined(*remarks: str | None) -> str | None:
    """Return some remarks as one; None if there are none."""
    return "; ".join(filter(None, remarks)) or None
