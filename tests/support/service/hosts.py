"""Hosts on the network as an importer meets them: TLS with certificates of an authority of the test, and any answer."""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HERE = "127.0.0.1"
INSIDE = "127.0.0.2"  # stands for an address of a private network
YEAR = timedelta(days=365)


@dataclass
class RunningHost:
    """A host that runs: its port, what it was asked, and whether anybody connected to it at all."""

    port: int
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    ends: threading.Event = field(default_factory=threading.Event)


Answers = Callable[[socket.socket, RunningHost], None]


class Authority:
    """An authority whose certificates the importer of a test trusts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Authority of a test")])
        own = self._signed(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))
        self.file = folder / "authority.pem"
        self.file.write_bytes(own.public_bytes(serialization.Encoding.PEM))
        self.trust = ssl.create_default_context(cafile=self.file)

    def _signed(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        dated = made.serial_number(x509.random_serial_number()).not_valid_before(now - YEAR).not_valid_after(now + YEAR)
        return dated.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())

    def shows(self, *names: str) -> ssl.SSLContext:
        """Return how a server of some names proves to be theirs."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(x509.Name([]), key, x509.SubjectAlternativeName([x509.DNSName(n) for n in names]))
        path = self._folder / f"{names[0]}.pem"
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
        shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown.load_cert_chain(path)
        return shown


@contextmanager
def hosting(answers: Answers, shows: ssl.SSLContext | None, address: str = HERE) -> Iterator[RunningHost]:
    """Run a host that answers every connection with a function until the block ends; `shows` None is without TLS."""
    with socket.create_server((address, 0)) as listening:
        hosted = RunningHost(listening.getsockname()[1])
        threads: list[threading.Thread] = []

        def serve(plain: socket.socket) -> None:
            plain.settimeout(10.0)
            with contextlib.suppress(OSError), plain:
                if shows is None:
                    answers(plain, hosted)
                    return
                with shows.wrap_socket(plain, server_side=True) as connection:
                    hosted.heard.append(read_head(connection))
                    answers(connection, hosted)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    plain, _ = listening.accept()
                    hosted.connections += 1
                    threads.append(threading.Thread(target=serve, args=(plain,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield hosted
        finally:
            hosted.ends.set()
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


def sends(body: bytes, *headers: str, status: str = "200 OK") -> Answers:
    """Return an answer with a body, and the length of it unless a header tells another."""
    told = any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers)
    lines = [f"HTTP/1.1 {status}", *headers, *(() if told else (f"Content-Length: {len(body)}",)), "", ""]
    return lambda connection, _: connection.sendall("\r\n".join(lines).encode() + body)


def leads_to(location: str, status: str = "302 Found") -> Answers:
    """Return an answer that leads to another place."""
    return sends(b"", f"Location: {location}", status=status)


def drips(first: bytes, drop: bytes, seconds: float = 0.05) -> Answers:
    """Return an answer that begins, then sends drops one by one without an end."""

    def answer(connection: socket.socket, hosted: RunningHost) -> None:
        connection.sendall(first)
        while not hosted.ends.wait(seconds):
            connection.sendall(drop)

    return answer


def tunnels(connection: socket.socket, hosted: RunningHost) -> None:
    """Answer as a proxy does: connect to the port that CONNECT asks for, on this machine whatever the name."""
    request = read_head(connection)
    hosted.heard.append(request)
    port = int(request.split(b" ")[1].rpartition(b":")[2])
    with socket.create_connection((HERE, port), timeout=10.0) as beyond:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        ways = {connection: beyond, beyond: connection}
        while not hosted.ends.is_set():
            for ready in select.select([*ways], [], [], 0.05)[0]:
                came = ready.recv(65536)
                if not came:
                    return
                ways[ready].sendall(came)


def keeps_out(status: str) -> Answers:
    """Return the answer of a proxy that connects to nothing."""

    def answer(connection: socket.socket, hosted: RunningHost) -> None:
        hosted.heard.append(read_head(connection))
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    return answer


def read_head(connection: socket.socket) -> bytes:
    """Return what comes up to the end of the headers."""
    head = b""
    while b"\r\n\r\n" not in head and (came := connection.recv(65536)):
        head += came
    return head
