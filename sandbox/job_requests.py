"""Job requests: the pool sends its fork server a job's limits as JSON, and its code and frames as descriptors."""

import array
import fcntl
import json
import os
import socket
from dataclasses import dataclass

from sandbox.job import Job, JobLimits

HEADER = 1024  # bytes
MOST_DESCRIPTORS = 32


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job as the fork server receives it; the numbers are file descriptors."""

    limits: JobLimits
    probe: str  # name of a probe to run instead of a script
    done: int  # a socket: carries the child's pidfd, then its exit
    reply: int  # a pipe
    code: int
    frames: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """The descriptors that the child keeps open."""
        return (self.reply, self.code, *self.frames)


def seal(content: bytes) -> int:
    """Write bytes to sealed (immutable) memory, and return its descriptor."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def read_sealed(descriptor: int) -> bytes:
    """Return the content of sealed memory."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    parts, at = [], 0
    while at < size:
        parts.append(os.pread(descriptor, size - at, at))
        at += len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def send(control: socket.socket, job: Job, probe: str, done: int, reply: int) -> None:
    """Send a job to a fork server."""
    limits = job.limits
    header = json.dumps([[limits.wall, limits.cpu, limits.memory, limits.output], probe]).encode()
    sealed: list[int] = []
    try:
        sealed.extend(map(seal, (job.code.encode(), *job.frames)))
        socket.send_fds(control, [header], [done, reply, *sealed])
    finally:
        for descriptor in sealed:
            os.close(descriptor)


def receive(control: socket.socket) -> JobRequest | None:
    """Return the next request; None if the pool is gone."""
    header, descriptors, _, _ = socket.recv_fds(control, HEADER, MOST_DESCRIPTORS)
    if not header:
        return None
    (wall, cpu, memory, output), probe = json.loads(header)
    done, reply, code, *frames = array.array("i", descriptors)
    return JobRequest(
        JobLimits(wall=wall, cpu=cpu, memory=memory, output=output), probe, done, reply, code, tuple(frames)
    )
