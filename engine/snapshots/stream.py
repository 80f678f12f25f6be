"""The bytes of a snapshot: an Arrow IPC stream with a JSON header in its schema's metadata, then a digest.

Any Arrow reader reads the stream and stops before the digest. The digest is what tells a damaged or foreign file from
a snapshot before anything of it is believed: Arrow itself would hand on a flipped bit as another figure.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pyarrow as pa
from pydantic_core import from_json, to_json

from engine.errors import BadArguments

HEADER = b"tieout"
PACKED = b"tieout.lz4"  # the header where it is long, in base64: a report by many members names them all
LONG = 256 * 1024  # bytes above which the header, and the columns, are compressed
CODEC = "lz4"
DIGEST = 32

Header = Mapping[str, Any]


def write(table: pa.Table, header: Header) -> bytes:
    """Return the bytes of a table and its header, whose values are such as engine.snapshots.values reads again."""
    text = to_json(header)
    metadata = {HEADER: text} if len(text) <= LONG else {PACKED: packed(text)}
    options = pa.ipc.IpcWriteOptions(compression=None)
    if table.nbytes > LONG:
        options.compression = CODEC
        table = with_each_text_once(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata), options=options) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream + sha256(stream).digest()


def read(data: bytes) -> tuple[Header, pa.Table]:
    """Return the header and the table of a snapshot; refuse bytes that are none, or no longer what was written."""
    view = memoryview(data)
    stream, digest = view[:-DIGEST], view[-DIGEST:]
    if sha256(stream).digest() != digest:
        raise BadArguments("This is no kept report, or it is damaged. Run the report again and keep that.")
    table = pa.ipc.open_stream(stream).read_all()
    metadata = table.schema.metadata
    text = metadata[HEADER] if HEADER in metadata else unpacked(metadata[PACKED])
    return from_json(text), table.replace_schema_metadata(None)


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
