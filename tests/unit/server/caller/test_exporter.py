"""The exporter: files are made in processes of their own, which end with their jobs, their callers and their parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from engine.door import Door
from engine.model.errors import BadArguments, ExpiredReference, Unavailable
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.stopping import Stop
from engine.present.exports.about import ExportStamp
from engine.present.exports.json_document import write_document
from engine.present.exports.workbook import write_workbook
from engine.report.admission import Snapshot, admit, restore
from engine.report.encoding import BATCH
from engine.report.inspection import Inspection
from engine.report.snapshots import Kept, keep, opened
from engine.report.transform import ScriptOutput, transformed
from server.base.errors import QuotaExceeded
from server.base.interfaces import Principal
from server.caller.exporter import LARGE, Exporter, ExportJob, ExportLost, ExportProcess
from server.caller.files import CallerFiles, FileTerms
from server.stores.disk import FORGOTTEN, Volume
from tests.support.answers.workbooks import go_on, parts
from tests.support.books.fed import SOMEBODY
from tests.support.books.holders import TERMS, archive_in
from tests.support.books.small import small_books
from tests.support.service.leavers import ClientGone

MADE = ExportStamp(at=datetime(2026, 11, 21, 9, 30, tzinfo=UTC), subject="ann")
WRITERS: dict[str, Callable[[Any, ExportStamp, Path, Stop], None]] = {"xlsx": write_workbook, "json": write_document}
FACTS = {"gl": "date scenario product amount\n2021-01-05 actual P1 1.25\n2021-01-06 actual P2 -2.5"}
DOMAINS = {
    "gl": """
    time: {column: date}
    dimensions: {product: product}
    measures: {amount: {places: 2}}
    inspect_enabled: true
    metrics:
      revenue: {measure: amount}
      third: {formula: revenue / 3}
    """
}
DIMENSIONS = "product: {kind: leaf}"
ORPHAN = """
import sys
from pathlib import Path
from tests.unit.server.caller.test_exporter import job_of_bytes
from server.caller.exporter import Exporter
Exporter().export(job_of_bytes(Path(sys.argv[1]), Path(sys.argv[2])), lambda: None)
"""


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A ledger of a few postings."""
    return small_books(tmp_path_factory.mktemp("exporter"), facts=FACTS, domains=DOMAINS, dimensions=DIMENSIONS)


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    """An exporter whose processes end with the module."""
    with closing(Exporter()) as opened_exporter:
        yield opened_exporter


def rows_of(books: Door, count: int) -> Inspection:
    """Return so many rows, no two alike."""
    rows = books.rows("gl", scenario="actual")
    many = [("2021-01-05", f"P{at % 7}" if at % 5 else None, Exact(at * 7919 % 10**9, 100)) for at in range(count)]
    return replace(rows, rows=many)


def kept_of(books: Door, kind: str) -> Kept:
    """Return a result of each kind."""
    report = books.metric("revenue", "third", period="2021-01", scenarios={"A": "actual"}, dimensions=("product",))
    if kind == "transform":
        frame = pl.DataFrame({"name": ["a", None], "value": [0.1, None], "list": [[1], []]})
        return transformed(ScriptOutput(label="Made", code="result = df", chart={}, frame=frame), [report])
    return report if kind == "report" else rows_of(books, 500)


def job_of(snapshot: Snapshot, folder: Path, form: str = "xlsx") -> ExportJob:
    """Return the job of a file in a folder of its own."""
    folder.mkdir(exist_ok=True)
    return ExportJob(snapshot=snapshot, form=form, made=MADE, target=folder / "made")


def job_of_bytes(data: Path, folder: Path) -> ExportJob:
    """Return the job of a snapshot in a file."""
    job = ExportJob(snapshot=Snapshot(data.read_bytes(), "x", None, ()), form="xlsx", made=MADE, target=folder / "made")  # type: ignore[arg-type]  # nobody asks for the permission here
    folder.mkdir()
    return job


def process_of(exporter: Exporter, *, large: bool = False) -> ExportProcess:
    """Return a process of an exporter."""
    return exporter._processes[large]


def pid_of(process: ExportProcess) -> int:
    """Return the id of a process that runs."""
    assert process._process is not None
    return process._process.pid


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    for _ in range(600):
        if holds():
            return
        sleep(0.1)
    raise AssertionError("it never holds")


def is_running(pid: int) -> bool:
    """Tell whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("form", ["xlsx", "json"])
@pytest.mark.parametrize("kind", ["report", "rows", "transform"])
def test_a_process_makes_the_file_that_the_writer_makes(
    books: Door, exporter: Exporter, tmp_path: Path, form: str, kind: str
) -> None:
    data = keep(kept_of(books, kind))
    exporter.export(job_of(admit(data, books.reader), tmp_path / "job", form), go_on)
    WRITERS[form](opened(data, books.reader), MADE, tmp_path / "expected", go_on)
    if form == "json":
        assert (tmp_path / "job" / "made").read_bytes() == (tmp_path / "expected").read_bytes()
    else:
        assert parts(tmp_path / "job" / "made") == parts(tmp_path / "expected")
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["made", "source"]


def test_rows_are_restored_as_they_were_kept(books: Door) -> None:
    rows = rows_of(books, BATCH + 5)
    again = restore(keep(rows), ())
    assert isinstance(again, Inspection)
    assert len(again.rows) == BATCH + 5
    assert list(again.rows) == rows.rows
    assert (again.rows[BATCH + 1], again.rows[-1], again.rows[3:5]) == (
        rows.rows[BATCH + 1],
        rows.rows[-1],
        rows.rows[3:5],
    )
    assert [note.code for note in restore(keep(rows), kept_of(books, "transform").notes).notes][-1] == "script_figures"


def test_a_snapshot_of_other_books_is_not_admitted(books: Door, tmp_path: Path) -> None:
    data = keep(kept_of(books, "report"))
    other = small_books(
        tmp_path, domains={"people": DOMAINS["gl"]}, facts={"people": FACTS["gl"]}, dimensions=DIMENSIONS
    )
    with pytest.raises(ExpiredReference):
        admit(data, other.reader)
    with pytest.raises(BadArguments, match="damaged"):
        admit(data[:-1] + bytes([data[-1] ^ 1]), books.reader)


def test_a_refusal_of_the_writer_comes_through(books: Door, exporter: Exporter, tmp_path: Path) -> None:
    report = books.metric("revenue", period="2021-01", scenarios={f"{at}": "actual" for at in range(64)})
    wide = replace(
        report, columns=report.columns * 300, figures=FigureCube.of([[*line] * 300 for line in report.figures])
    )
    with pytest.raises(BadArguments, match="A sheet holds 16,384 columns and this has 19,20") as refused:
        exporter.export(job_of(admit(keep(wide), books.reader), tmp_path / "job"), go_on)
    assert refused.value.as_data()["valid"] == ["json"]
    exporter.export(job_of(admit(keep(report), books.reader), tmp_path / "next"), go_on)


def test_a_job_that_nobody_waits_for_ends_with_its_process_and_the_next_has_another(
    books: Door, tmp_path: Path
) -> None:
    snapshot = admit(keep(rows_of(books, 100_000)), books.reader)
    assert len(snapshot.data) > LARGE
    with closing(Exporter()) as exporter:
        job = job_of(snapshot, tmp_path / "job")

        def gone() -> None:
            if len(list(job.target.parent.iterdir())) > 1:  # it writes
                raise ClientGone

        with pytest.raises(ClientGone):
            exporter.export(job, gone)
        assert process_of(exporter, large=True)._process is None
        small = admit(keep(rows_of(books, 2)), books.reader)
        exporter.export(job_of(replace(snapshot, data=small.data), tmp_path / "next"), go_on)
        assert (tmp_path / "next" / "made").is_file()


def test_small_files_do_not_wait_for_a_large_one(books: Door, tmp_path: Path) -> None:
    large, done = admit(keep(rows_of(books, 100_000)), books.reader), Event()

    class Enough(Exception):
        pass

    def until_done() -> None:
        if done.is_set():
            raise Enough

    with closing(Exporter()) as exporter:
        ended: list[BaseException] = []

        def export_large() -> None:
            try:
                exporter.export(job_of(large, tmp_path / "large"), until_done)
            except Enough as enough:
                ended.append(enough)

        thread = Thread(target=export_large)
        thread.start()
        until(lambda: process_of(exporter, large=True)._process)
        exporter.export(job_of(admit(keep(rows_of(books, 2)), books.reader), tmp_path / "small"), go_on)
        done.set()
        thread.join()
        assert ended  # the large one still ran


def test_a_process_has_none_of_the_environment_and_goes_second(
    books: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://of-nobody-elses-business")
    with closing(Exporter()) as exporter:
        exporter.export(job_of(admit(keep(kept_of(books, "report")), books.reader), tmp_path / "job"), go_on)
        pid = pid_of(process_of(exporter))
        assert b"DATABASE_URL" not in Path(f"/proc/{pid}/environ").read_bytes()
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10
    assert not is_running(pid)


def test_a_process_ends_when_it_has_nothing_to_do(books: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.caller.exporter.IDLE", 0.01)
    snapshot = admit(keep(kept_of(books, "report")), books.reader)
    with closing(Exporter()) as exporter:
        exporter.export(job_of(snapshot, tmp_path / "job"), go_on)
        until(lambda: process_of(exporter)._process is None)
        exporter.export(job_of(snapshot, tmp_path / "next"), go_on)


def test_a_process_that_is_killed_is_lost_once_and_then_there_again(books: Door, tmp_path: Path) -> None:
    snapshot = admit(keep(rows_of(books, 100_000)), books.reader)
    with closing(Exporter()) as exporter:
        job = job_of(snapshot, tmp_path / "job")

        def kill() -> None:
            if len(list(job.target.parent.iterdir())) > 1:
                os.kill(pid_of(process_of(exporter, large=True)), signal.SIGKILL)

        with pytest.raises(ExportLost):
            exporter.export(job, kill)
        exporter.export(job_of(admit(keep(rows_of(books, 2)), books.reader), tmp_path / "next"), go_on)
        process = process_of(exporter)._process
        assert process is not None
        process.kill()
        process.wait()
        exporter.export(job_of(admit(keep(rows_of(books, 2)), books.reader), tmp_path / "third"), go_on)


def test_a_process_ends_with_its_parent_and_leaves_nothing(books: Door, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(keep(rows_of(books, 100_000)))
    folder = tmp_path / "job"
    command: list[str | Path] = [sys.executable, "-c", ORPHAN, tmp_path / "data", folder]
    with subprocess.Popen(command) as parent:
        until(lambda: folder.is_dir() and len(list(folder.iterdir())) > 1)
        pids = children_of(parent.pid)
        parent.kill()
    assert pids
    until(lambda: not any(map(is_running, pids)))
    until(lambda: not folder.exists())


def children_of(parent: int) -> list[int]:
    """Return the ids of the children of a process."""
    tasks = Path(f"/proc/{parent}/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text(encoding="ascii").split()]


def files_in(folder: Path, books: Door, terms: FileTerms = TERMS, who: Principal = SOMEBODY) -> CallerFiles:
    """Return the files of a caller."""
    return CallerFiles(who, archive_in(folder, terms), books.reader, go_on)


def test_temporary_files_count_in_the_quota(books: Door, tmp_path: Path) -> None:
    snapshot = admit(keep(replace(rows_of(books, 0), rows=[("2021-01-05", "P1", Exact(7))] * 20_000)), books.reader)
    files = files_in(tmp_path / "files", books, replace(TERMS, quota_megabytes=1))
    with pytest.raises(QuotaExceeded, match="more than 1 MB"):
        files.export(snapshot, "xlsx")
    assert list((tmp_path / "files").iterdir()) == []
    given = files_in(tmp_path / "files", books, replace(TERMS, quota_megabytes=100)).export(snapshot, "xlsx")
    assert given.file.size_bytes < 1 << 20  # the file alone has room
    assert [path.name for path in (tmp_path / "files").iterdir()] == [given.file.file_id]
    assert given.file.name == "gl.xlsx"


def test_a_file_that_the_volume_has_no_room_for_is_stopped(books: Door, tmp_path: Path) -> None:
    snapshot = admit(keep(kept_of(books, "report")), books.reader)
    archive = replace(archive_in(tmp_path / "files"), volume=Volume(tmp_path / "files", 1 << 40))
    with pytest.raises(Unavailable):
        CallerFiles(SOMEBODY, archive, books.reader, go_on).export(snapshot, "xlsx")
    assert list((tmp_path / "files").iterdir()) == []


def test_what_the_system_says_of_a_file_comes_through(books: Door, exporter: Exporter, tmp_path: Path) -> None:
    job = job_of(admit(keep(kept_of(books, "report")), books.reader), tmp_path / "job")
    job.target.mkdir()
    with pytest.raises(IsADirectoryError):
        exporter.export(job, go_on)


def test_what_a_killed_server_left_is_swept(books: Door, tmp_path: Path) -> None:
    files = files_in(tmp_path / "files", books)
    given = files.export(admit(keep(kept_of(books, "report")), books.reader), "json")
    for name, age in (("left.work", FORGOTTEN + 1), ("new.work", 0)):
        (tmp_path / "files" / name).mkdir()
        (tmp_path / "files" / name / "made").touch()
        then = datetime.now(UTC).timestamp() - age
        os.utime(tmp_path / "files" / name, (then, then))
    files.archive.sweep()
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == sorted([given.file.file_id, "new.work"])
