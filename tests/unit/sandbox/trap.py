"""What stands outside the jail for attacks to reach: a file, a secret, a listener; and whether they did."""

import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from time import monotonic

from sandbox.job import Job, JobLimits, JobResult
from sandbox.pool import Pool
from tests.unit.sandbox.legit import CASES, FRAMES, streamed

FOLDER, PORT = "/tmp/tieout-jail-test", "18999"  # noqa: S108 - as the scripts of the corpus name them
CANARY, OF_THE_SERVICE = "CANARYVALUE_88", "SBX-ENVIRONMENT-77"
PLACES = 3
BOUND = 1.0  # seconds that an attack on time or memory gets
LIMITS = {"bounded": JobLimits(wall=BOUND), "whole": JobLimits(wall=60, cpu=60)}


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile script and how it must end: rejected, bounded, harmless, or whole, however slow the machine is."""

    id: str
    code: str
    expected: str


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """How an attack ended, and when."""

    outcome: JobResult
    seconds: float

    @property
    def kind(self) -> str:
        """The kind of its failure; empty where it has a table."""
        return "" if self.outcome.failure is None else self.outcome.failure.kind

    @property
    def told(self) -> str:
        """Everything that the service is told."""
        failure = self.outcome.failure
        return f"{self.outcome.rows}{self.outcome.printed}{'' if failure is None else failure.message}"


@dataclass(frozen=True, slots=True)
class Trap:
    """The place that attacks aim at."""

    folder: Path
    tcp: socket.socket
    udp: socket.socket

    def spring(self, attacks: list[Attack], worker: str) -> Mapping[str, AttackOutcome]:
        """Run attacks, several at once."""
        frames = streamed([FRAMES["pnl"], FRAMES["fx"]])

        def attack(one: Attack) -> AttackOutcome:
            port = str(self.tcp.getsockname()[1])
            code = one.code.replace(FOLDER, str(self.folder)).replace(PORT, port)
            limits = LIMITS.get(one.expected, JobLimits())
            begun = monotonic()
            return AttackOutcome(pool.run(Job(code=code, frames=frames, limits=limits)), monotonic() - begun)

        with Pool(PLACES, worker) as pool, ThreadPoolExecutor(PLACES) as threads:
            assert pool.trouble() is None
            return dict(zip([one.id for one in attacks], threads.map(attack, attacks), strict=True))

    def reached(self) -> list[str]:
        """Return what attacks left behind or got through to."""
        found = [path.name for path in self.folder.iterdir() if path.name != "canary_secret.txt"]
        for listener, receive in ((self.tcp, self.tcp.accept), (self.udp, lambda: self.udp.recv(1))):
            try:
                receive()
            except BlockingIOError:
                continue
            found.append(str(listener))
        return found


@contextmanager
def trap() -> Iterator[Trap]:
    """Set a trap; anybody may read and write in it, so that nothing but the jail keeps an attack out."""
    with ExitStack() as held:
        folder = Path(tempfile.mkdtemp())
        held.callback(rmtree, folder)
        folder.chmod(0o777)
        (folder / "canary_secret.txt").write_text(CANARY, encoding="ascii")
        os.environ["SBX_SECRET"] = OF_THE_SERVICE
        held.callback(os.environ.pop, "SBX_SECRET")
        tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        for listener in (tcp, udp):
            held.callback(listener.close)
            listener.setblocking(False)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(tcp.getsockname())
        yield Trap(folder, tcp, udp)


ATTACKS = [
    Attack(case["id"], case["code"], case["expected"])
    for case in json.loads((CASES / "attacks.json").read_text(encoding="utf-8"))
]
