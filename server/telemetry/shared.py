"""Metrics that several processes count in files of one folder, each in its own, and one process adds up.

prometheus_client counts there where a variable of the environment names the folder. What a process counted outlives it:
it is added to the files of those that are gone, so that there are never more files than processes.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "counts"
GONE = "gone"  # stands in file names where others have a process id


def environment(run_folder: Path) -> Mapping[str, str]:
    """Return the environment of a process that counts in a folder."""
    folder = run_folder / FOLDER
    folder.mkdir(exist_ok=True)
    return {"PROMETHEUS_MULTIPROC_DIR": str(folder)}


class Added:
    """What the processes of a folder counted, added up."""

    def __init__(self, run_folder: Path, registry: CollectorRegistry) -> None:
        self._folder = Path(environment(run_folder)["PROMETHEUS_MULTIPROC_DIR"])
        self._files = MultiProcessCollector(None, path=str(self._folder))
        self._adding = Lock()
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return the sums."""
        with self._adding:
            return list(self._files.collect())

    def ended(self, process: int) -> None:
        """Add what a process counted to what those before it did; what it had in hand is forgotten."""
        with self._adding:
            for path in self._folder.glob(f"*_{process}.db"):
                kind = path.name.removesuffix(f"_{process}.db")
                if not kind.startswith("gauge"):
                    add(path, path.with_name(f"{kind}_{GONE}.db"))
                path.unlink()


def add(counted: Path, to: Path) -> None:
    """Add the values of one file to those of another."""
    if not counted.stat().st_size:  # it was killed before it could begin
        return
    total = MmapedDict(str(to))
    for key, value, _, _ in MmapedDict.read_all_values_from_file(str(counted)):
        total.write_value(key, total.read_value(key)[0] + value, 0.0)
    total.close()
