"""The stack's reverse proxy in its own process, and servers behind it that record their requests."""

import json
import os
import pwd
import re
import signal
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

from tests.support.books.loads import ROOT
from tests.support.machine.programs import needs_program
from tests.support.service.servers import DEADLINE, free_port, wait_for

TEMPLATE = ROOT / "deploy" / "proxy" / "nginx.conf.template"


def unprivileged(folder: Path) -> dict[str, Any]:
    """Return how to start a process as nobody, who is given a folder, where this is root: as the stack does."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@dataclass(frozen=True)
class Heard:
    """A request that a server behind the proxy received."""

    method: str
    path: str
    headers: Mapping[str, str]
    size: int


@dataclass(frozen=True)
class RequestRecorder:
    """A server that answers every request with 200 and records it."""

    port: int
    heard: list[Heard] = field(default_factory=list)


@contextmanager
def recording(host: str = "127.0.0.1", port: int = 0) -> Iterator[RequestRecorder]:
    """Run a recorder until the block ends; port 0 chooses one that is free."""
    heard: list[Heard] = []

    class RecordedAnswers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            heard.append(Heard(self.command, self.path, dict(self.headers), len(self.body())))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"ok")

        do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the library's names

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((host, port), RecordedAnswers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield RequestRecorder(server.server_port, heard)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs."""

    port: int
    trust: ssl.SSLContext
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def folder(self) -> Path:
        """The folder of its configuration and its certificate."""
        return self.log.parent

    def renew(self) -> None:
        """Give it a new certificate in the place of the old one, and tell it."""
        certify(self.folder)
        self.process.send_signal(signal.SIGHUP)

    def certificate(self) -> bytes:
        """Return the certificate that it shows to a new connection."""
        unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE) as plain,
            unchecked.wrap_socket(plain) as shown,
        ):
            return shown.getpeercert(binary_form=True) or b""

    def client(self) -> httpx2.Client:
        """Return a client that trusts the proxy's certificate."""
        return httpx2.Client(base_url=f"https://127.0.0.1:{self.port}", verify=self.trust, timeout=DEADLINE)

    def send(self, request: bytes) -> bytes:
        """Send raw bytes; return the start of the response, empty if the proxy closed the connection first."""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE) as plain,
            self.trust.wrap_socket(plain, server_hostname="127.0.0.1") as sent,
            suppress(ssl.SSLEOFError, ConnectionError),
        ):
            sent.sendall(request)
            return sent.recv(64)
        return b""

    def lines(self) -> list[dict[str, Any]]:
        """Return the access log."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


def certify(folder: Path) -> None:
    """Write a new key and its certificate over those that the proxy has."""
    openssl = needs_program("openssl")
    pair: list[str | Path] = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", *names]
    subprocess.run([*made, *pair], check=True, capture_output=True)


@contextmanager
def naming(addresses: Mapping[str, str]) -> Iterator[str]:
    """Run a name server until the block ends; it answers with what `addresses` says at that moment.

    A name with several addresses has them with spaces between.
    """

    class NameAnswers(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked, sender = self.request
            labels, at = [], 12
            while size := asked[at]:
                labels.append(asked[at + 1 : at + 1 + size].decode())
                at += 1 + size
            found = [socket.inet_aton(address) for address in addresses.get(".".join(labels), "").split()]
            head = asked[:2] + (b"\x81\x80\x00\x01\x00" if found else b"\x81\x83\x00\x01\x00")
            answers = b"".join(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04" + address for address in found)
            sender.sendto(head + bytes([len(found)]) + bytes(4) + asked[12 : at + 5] + answers, self.client_address)

    with socketserver.ThreadingUDPServer(("127.0.0.1", 0), NameAnswers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def proxying(server: int, identity: int, host: str = "127.0.0.1", resolver: str = "127.0.0.1") -> Iterator[Proxy]:
    """Run nginx with the template filled in as its image does, before servers on ports of this machine."""
    nginx = needs_program("nginx")
    with tempfile.TemporaryDirectory(
        prefix="tieout-proxy-"
    ) as name:  # not below a folder of pytest's: nginx drops root
        folder, port = Path(name), free_port()
        certify(folder)
        values = {
            "PROXY_LISTEN": f"127.0.0.1:{port}",
            "PROXY_CERTIFICATE": str(folder / "certificate.pem"),
            "PROXY_CERTIFICATE_KEY": str(folder / "key.pem"),
            "PROXY_SERVER": f"{host}:{server}",
            "PROXY_IDENTITY": f"127.0.0.1:{identity}",
            "PROXY_RESOLVER": resolver,
        }
        text = re.sub(r"\$\{(PROXY_\w+)\}", lambda name: values[name[1]], TEMPLATE.read_text(encoding="utf-8"))
        (folder / "nginx.conf").write_text(text, encoding="utf-8")
        log = folder / "log"
        log.touch()
        trust = ssl.create_default_context(cafile=folder / "certificate.pem")
        command: list[str | Path] = [nginx, "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"]
        with log.open("a") as sink:
            process = subprocess.Popen(
                [*command, "-g", "daemon off;"], stdout=sink, stderr=sink, **unprivileged(folder)
            )
        proxy = Proxy(port, trust, log, process)
        try:
            wait_for(lambda: listens(proxy))
            yield proxy
        finally:
            process.terminate()
            process.wait(timeout=DEADLINE)


def listens(proxy: Proxy) -> bool:
    """Tell whether the proxy answers; fail with its log where it ended."""
    assert proxy.process.poll() is None, proxy.log.read_text()
    try:
        with proxy.client() as client:
            client.get("/")
    except httpx2.TransportError:
        return False
    return True
