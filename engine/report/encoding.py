"""Snapshot encoding: an Arrow IPC stream with a JSON header and a digest."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pyarrow as pa
from msgspec import Raw
from msgspec.json import decode, encode

from engine.model.errors import BadArguments
from engine.model.stopping import look

# The bytes of a snapshot: an Arrow IPC stream, then a digest. The schema's metadata holds the JSON header.
#
# Most snapshots are short, and most of a short one are the keys of its header, which are the same in all: its stream is
# compressed whole, after a mark and its length. Of a long one, headers and columns are compressed each, so that a
# reader of many rows holds one batch at a time. Long parts that are rarely needed stand beside the header, so a reader
# can skip them. The digest identifies damaged and foreign files, because Arrow does not detect a flipped bit.


HEADER = b"tieout"
ASIDE = b"tieout.aside"
PACKED = b".lz4"  # suffix of a header that is long: compressed, in base64
LONG = 256 * 1024  # bytes; longer headers and columns are compressed
CODEC = "lz4"
COLUMN_CODEC = "zstd"  # halves digits, which lz4 leaves as long as they are
DIGEST = 32
SHORT = 2 * LONG  # bytes; a stream that is not longer is compressed whole
MARK = b"tieout.zstd."  # an Arrow stream begins with four bytes of 255
LENGTH = 4  # bytes of the length of the stream, the least first
STREAM_CODEC = pa.Codec("zstd", compression_level=1)  # level 9 takes six times as long for a tenth of the bytes
BATCH = 1 << 16  # rows of a batch; a reader of many rows holds one batch at a time

Header = Mapping[str, Any]


def write(table: pa.Table, header: Header, aside: Header | None = None) -> bytes:
    """Return the bytes of a snapshot: a table, its header, and the part beside the header.

    Each step is one call that takes as long as the result is large: the call that runs is looked at between them.
    """
    metadata = described(HEADER, header)
    look()
    metadata |= described(ASIDE, aside) if aside else {}
    look()
    options = pa.ipc.IpcWriteOptions(compression=None)
    if table.nbytes > LONG:
        options.compression = COLUMN_CODEC
        table = with_each_text_once(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata), options=options) as writer:
        writer.write_table(table, max_chunksize=BATCH)
    look()
    stream = with_mark(sink.getvalue())
    return stream + sha256(stream).digest()


def with_mark(stream: pa.Buffer) -> bytes:
    """Return a stream as it is stored: compressed after a mark and its length, or as it is if it is long."""
    if stream.size > SHORT:
        return bytes(stream)
    length: bytes = stream.size.to_bytes(LENGTH, "little")
    return MARK + length + bytes(STREAM_CODEC.compress(stream))


def read(data: bytes) -> tuple[Header, pa.Table]:
    """Return the whole header and the table of a snapshot. Raises BadArguments for foreign or damaged bytes."""
    stream = checked_stream(data)
    table = pa.ipc.open_stream(stream).read_all()
    return header_of(table.schema, whole=True), table.replace_schema_metadata(None)


def checked_stream(data: bytes | pa.Buffer) -> memoryview:
    """Return the stream of a snapshot. Raises BadArguments for foreign or damaged bytes."""
    view = memoryview(data).cast("B")
    stream, digest = view[:-DIGEST], view[-DIGEST:]
    if sha256(stream).digest() != digest:
        raise BadArguments("This is no kept report, or it is damaged. Run the report again and keep that.")
    if stream[: len(MARK)] != MARK:  # it is long, or an earlier release kept it
        return stream
    begin = len(MARK) + LENGTH
    length = int.from_bytes(stream[len(MARK) : begin], "little")
    return memoryview(STREAM_CODEC.decompress(stream[begin:], decompressed_size=length))


def read_header(stream: memoryview, *, whole: bool = True) -> Header:
    """Return the header of a stream without its table; if `whole`, with the part beside it."""
    return header_of(pa.ipc.open_stream(stream).schema, whole=whole)


def header_of(schema: pa.Schema, *, whole: bool) -> Header:
    """Return the header in the metadata of a schema; if `whole`, with the part beside it."""
    metadata = schema.metadata
    return read_part(HEADER, metadata) | (read_part(ASIDE, metadata) if whole else {})


def described(name: bytes, part: Header) -> dict[bytes, bytes]:
    """Return a part of the header as schema metadata."""
    text = encode(part)
    return {name: text} if len(text) <= LONG else {name + PACKED: packed(text)}


def read_part(name: bytes, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return a part of schema metadata; empty if it is absent."""
    packed_name = name + PACKED
    text = unpacked(metadata[packed_name]) if packed_name in metadata else metadata.get(name, b"{}")
    parts = decode(text, type=dict[str, Raw])
    return {name: decode(part, type=list[Raw]) if is_long_list(part) else decode(part) for name, part in parts.items()}


def is_long_list(text: Raw) -> bool:
    """Tell whether the JSON of a value is a long list, which is read as the texts of its items.

    A decode of all of it holds every thread until it is done, for seconds; those of its items do not.
    """
    return len(text) > LONG and bytes(memoryview(text)[:1]) == b"["


def with_each_text_once(table: pa.Table) -> pa.Table:
    """Return a table whose text columns are dictionary-encoded, except digits, which hardly repeat."""
    for at, field in enumerate(table.schema):
        if pa.types.is_large_string(field.type) and field.name != "exact":
            table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    return table


def packed(text: bytes) -> bytes:
    """Return text compressed, in base64."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, CODEC) as compressed:
        compressed.write(text)
    return b64encode(sink.getvalue())


def unpacked(data: bytes) -> bytes:
    """Return compressed text decompressed."""
    return bytes(pa.CompressedInputStream(pa.BufferReader(b64decode(data)), CODEC).read())
