"""Docker Engine in namespaces of its own: what it starts, mounts and listens on ends with them.

`run_inside` starts a module of Python in new namespaces, with a way to the network that leaves the machine's own as it
is (slirp4netns). `docker_engine` starts the engine there.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from tests.support.machine.programs import find_program
from tests.support.service.servers import wait_for

PROGRAMS = ("dockerd", "docker", "debootstrap", "slirp4netns", "unshare", "ip", "iptables")
NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
GATE = "TIEOUT_STACK_GATE"
RESOLVER = "10.0.2.3"  # slirp4netns answers it as the machine's own resolver does
CGROUPS = "tieout-stack"
STARTING = 60.0  # seconds of the engine
SOCKET = "docker.sock"


class NoEngine(Exception):
    """No engine can start on this machine; the message is its own words."""


def last_line(text: str) -> str:
    """Return the last line of a program's output that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it says nothing")


def refuse_without_engine() -> None:
    """Raise NoEngine where a program is missing or the machine refuses namespaces."""
    if absent := [name for name in PROGRAMS if find_program(name) is None]:
        raise NoEngine(f"not installed: {', '.join(absent)}; run: make ci-deps")
    tried = subprocess.run(["unshare", *NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoEngine(last_line(tried.stderr))


def run_inside(module: str, arguments: Sequence[str]) -> int:
    """Run a module in new namespaces, once these reach the network; return its exit status."""
    refuse_without_engine()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    entered, enter = os.pipe()
    gate, open_gate = os.pipe()
    reaping = ["bash", "-c", '"$@"; exit $?', "bash"]  # the first process of the namespace reaps what containers leave
    child = subprocess.Popen(
        ["unshare", *NAMESPACES, *reaping, sys.executable, "-m", module, *arguments],
        pass_fds=(enter, gate),
        env={**os.environ, GATE: f"{enter} {gate}"},
    )
    os.close(enter)
    os.close(gate)
    try:
        if os.read(entered, 1):
            with network(child.pid):
                os.write(open_gate, b".")
                return child.wait()
        return child.wait()
    finally:
        child.kill()
        child.wait()
        remove_cgroups()


@contextmanager
def network(process: int) -> Iterator[None]:
    """Give the network namespace of a process a way out until the block ends."""
    ready, tell = os.pipe()
    command = ["slirp4netns", "--configure", "--mtu=1400", "--disable-host-loopback", f"--ready-fd={tell}"]
    with subprocess.Popen(
        [*command, str(process), "tap0"], pass_fds=(tell,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as way:
        os.close(tell)
        try:
            if not os.read(ready, 1):
                assert way.stderr is not None
                raise NoEngine(last_line(way.stderr.read()))
            yield
        finally:
            way.kill()


def wait_at_gate() -> None:
    """Tell the process outside that the namespaces are there, and wait until they reach the network."""
    enter, gate = map(int, os.environ.pop(GATE).split())
    os.write(enter, b".")
    if not os.read(gate, 1):
        raise NoEngine("the namespace got no network")


def remove_cgroups() -> None:
    """Remove the groups of processes that the engine made, which are empty now."""
    for root in Path("/sys/fs/cgroup").glob(f"**/{CGROUPS}"):
        for folder, _, _ in os.walk(root, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


def mounted_over(path: Path, text: str, folder: Path) -> None:
    """Let a file have another text in these namespaces."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    written = folder / path.name
    written.write_text(text, encoding="utf-8")
    subprocess.run(["mount", "--bind", written, target], check=True)


def lay_out_machine(folder: Path, hosts: Sequence[str]) -> None:
    """Give these namespaces a /run, a resolver and names of this machine of their own."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    mounted_over(Path("/etc/resolv.conf"), f"nameserver {RESOLVER}\n", folder)
    mounted_over(Path("/etc/hosts"), "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *hosts)), folder)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@contextmanager
def docker_engine(folder: Path, data: Path) -> Iterator[None]:
    """Run the engine until the block ends, its socket in one folder and its images in another."""
    log, socket = folder / "dockerd.log", folder / SOCKET
    command = ["dockerd", f"--host=unix://{socket}", f"--data-root={data}", f"--exec-root={folder / 'exec'}"]
    command += [f"--pidfile={folder / 'docker.pid'}", f"--cgroup-parent=/{CGROUPS}"]
    with log.open("wb") as told:
        engine = subprocess.Popen(command, stdout=told, stderr=told)

    def refuse() -> NoReturn:
        raise NoEngine(last_line(log.read_text(encoding="utf-8", errors="replace")))

    def answers() -> bool:
        if engine.poll() is not None:
            refuse()
        asked = ["docker", f"--host=unix://{socket}", "version"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    try:
        wait_for(answers, STARTING)
        yield
    finally:
        engine.terminate()
        try:
            engine.wait(STARTING)
        except subprocess.TimeoutExpired:
            engine.kill()
