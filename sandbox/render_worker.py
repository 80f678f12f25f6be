"""The render worker, `python -I -c … FOLDER MODULE LINK`: receives charts and returns pictures, one at a time."""

import json
import re
import resource
import socket
import sys
from importlib import import_module
from math import ceil
from types import ModuleType

from sandbox.jail import PR_SET_NO_NEW_PRIVS, READING, JailUnavailable, Kernel, landlock, require
from sandbox.render import DRAWN, FAILED, LENGTH

MEMORY = 2 << 30  # bytes
SCALE, LEAST_SCALE = 2, 0.5  # PNG pixels per chart pixel: for a sharp print, and as few as can be read
SMALLER = 0.75  # of the scale, where a PNG has too many bytes
MOST_PIXELS = 4000  # limit of each side of a chart
SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)"[^>]*? height="([\d.]+)"')
SMALL = b'"form": "png", "widest": 100, "most_bytes": 100000'
FIRST = b'{%b, "spec": {"mark": "text", "encoding": {"text": {"datum": "Fonts"}}}}' % SMALL  # loads fonts at start
MISSING = "this machine cannot draw pictures; the chart itself is complete"


def main() -> None:
    """Draw pictures until the socket closes."""
    with socket.socket(fileno=int(sys.argv[3])) as link:
        try:
            drop_rights()
            converter = import_module("vl_convert")
        except (ImportError, JailUnavailable) as fault:
            link.sendall(message(FAILED, f"{MISSING} ({fault})".encode()))
            return
        answer(converter, FIRST)
        link.sendall(message(DRAWN, b""))
        while (asked := request(link)) is not None:
            link.sendall(answer(converter, asked))


def drop_rights() -> None:
    """Drop the rights that drawing does not need: writing, network, starting programs, excess memory."""
    kernel = Kernel()
    require(kernel, PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")
    landlock(kernel, READING)
    for kind, most in (
        (resource.RLIMIT_DATA, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        resource.setrlimit(kind, (most, most))


def request(link: socket.socket) -> bytes | None:
    """Return the next request; None if the socket is closed."""
    head = read(link, LENGTH)
    return None if head is None else read(link, int.from_bytes(head, "big"))


def read(link: socket.socket, size: int) -> bytes | None:
    """Return exactly `size` bytes; None if the socket is closed."""
    parts = bytearray()
    while len(parts) < size:
        part = link.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def answer(converter: ModuleType, asked: bytes) -> bytes:
    """Return a message with the picture, or with the reason for its absence."""
    order = json.loads(asked)
    try:
        svg = converter.vegalite_to_svg(order["spec"], allowed_base_urls=[])
    except ValueError as fault:
        return message(FAILED, str(fault)[:300].encode())
    size = SIZE.search(svg)
    if size is None or max(float(size[1]), float(size[2])) > MOST_PIXELS:
        return message(FAILED, f"the picture is larger than {MOST_PIXELS} pixels: draw fewer rows".encode())
    most = order["most_bytes"]
    if order["form"] == "svg":
        picture = svg.encode()
    else:
        picture = png(converter, svg, min(SCALE, order["widest"] / ceil(float(size[1]))), most)
    if len(picture) > most:
        return message(FAILED, f"the picture has {len(picture):,} bytes, {most:,} are the most".encode())
    return message(DRAWN, picture)


def png(converter: ModuleType, svg: str, scale: float, most_bytes: int) -> bytes:
    """Return a PNG at a scale, or at smaller ones until it has few enough bytes or can hardly be read."""
    picture: bytes = converter.svg_to_png(svg, scale=scale)
    while len(picture) > most_bytes and scale * SMALLER >= LEAST_SCALE:
        scale *= SMALLER
        picture = converter.svg_to_png(svg, scale=scale)
    return picture


def message(kind: bytes, content: bytes) -> bytes:
    """Return a message: kind, length, content."""
    return kind + len(content).to_bytes(LENGTH, "big") + content
