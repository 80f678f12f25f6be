"""The bytes of a snapshot: an Arrow IPC stream with a JSON header in its schema's metadata, then a digest.

What may be long and is not always wanted is beside the header, so that it need not be read with it. Any Arrow reader
reads the stream and stops before the digest. The digest is what tells a damaged or foreign file from a snapshot before
anything of it is believed: Arrow itself would hand on a flipped bit as another figure.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pyarrow as pa
from pydantic_core import from_json, to_json

from engine.errors import BadArguments

HEADER = b"tieout"
ASIDE = b"tieout.aside"
PACKED = b".lz4"  # added to either where it is long, in base64: a report by many members names them all
LONG = 256 * 1024  # bytes above which each of them, and the columns, are compressed
CODEC = "lz4"
DIGEST = 32

Header = Mapping[str, Any]


def write(table: pa.Table, header: Header, aside: Header | None = None) -> bytes:
    """Return the bytes of a table, its header and what is beside it, as engine.snapshots.values reads them again."""
    metadata = {**described(HEADER, header), **(described(ASIDE, aside) if aside else {})}
    options = pa.ipc.IpcWriteOptions(compression=None)
    if table.nbytes > LONG:
        options.compression = CODEC
        table = with_each_text_once(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata), options=options) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream + sha256(stream).digest()


def read(data: bytes, *, whole: bool = True) -> tuple[Header, pa.Table]:
    """Return the header and the table of a snapshot; refuse bytes that are none, or no longer what was written.

    The header is the `whole` of it, or without what is beside it.
    """
    view = memoryview(data)
    stream, digest = view[:-DIGEST], view[-DIGEST:]
    if sha256(stream).digest() != digest:
        raise BadArguments("This is no kept report, or it is damaged. Run the report again and keep that.")
    table = pa.ipc.open_stream(stream).read_all()
    metadata = table.schema.metadata
    header = read_part(HEADER, metadata) | (read_part(ASIDE, metadata) if whole else {})
    return header, table.replace_schema_metadata(None)


def described(name: bytes, part: Header) -> dict[bytes, bytes]:
    """Return a part as metadata."""
    text = to_json(part)
    return {name: text} if len(text) <= LONG else {name + PACKED: packed(text)}


def read_part(name: bytes, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return a part of metadata, an empty one where it is not there."""
    packed_name = name + PACKED
    text = unpacked(metadata[packed_name]) if packed_name in metadata else metadata.get(name, b"{}")
    return dict(from_json(text))


def with_each_text_once(table: pa.Table) -> pa.Table:
    """Return a table whose texts are codes of a dictionary, but for digits, which hardly repeat."""
    for at, field in enumerate(table.schema):
        if pa.types.is_large_string(field.type) and field.name != "exact":
            table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    return table


def packed(text: bytes) -> bytes:
    """Return some text compressed, as text."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, CODEC) as compressed:
        compressed.write(text)
    return b64encode(sink.getvalue())


def unpacked(data: bytes) -> bytes:
    """Return compressed text as it was."""
    return bytes(pa.CompressedInputStream(pa.BufferReader(b64decode(data)), CODEC).read())
