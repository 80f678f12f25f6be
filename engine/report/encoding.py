"""Snapshot encoding: an Arrow IPC stream with a JSON header and a digest, and values to and from JSON."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache, cached_property
from hashlib import sha256
from operator import attrgetter
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa
from pydantic_core import from_json, to_json

from engine.model.errors import BadArguments
from engine.model.stopping import watched

# The bytes of a snapshot: an Arrow IPC stream, then a digest. The schema's metadata holds the JSON header.
#
# Long parts that are rarely needed stand beside the header, so a reader can skip them. Any Arrow reader reads the
# stream and stops before the digest. The digest identifies damaged and foreign files, because Arrow does not detect a
# flipped bit.


HEADER = b"tieout"
ASIDE = b"tieout.aside"
PACKED = b".lz4"  # suffix of a header that is long: compressed, in base64
LONG = 256 * 1024  # bytes; longer headers and columns are compressed
CODEC = "lz4"
COLUMN_CODEC = "zstd"  # halves digits, which lz4 leaves as long as they are
DIGEST = 32
BATCH = 1 << 16  # rows of a batch; a reader of many rows holds one batch at a time

Header = Mapping[str, Any]


def write(table: pa.Table, header: Header, aside: Header | None = None) -> bytes:
    """Return the bytes of a snapshot: a table, its header, and the part beside the header."""
    metadata = {**described(HEADER, header), **(described(ASIDE, aside) if aside else {})}
    options = pa.ipc.IpcWriteOptions(compression=None)
    if table.nbytes > LONG:
        options.compression = COLUMN_CODEC
        table = with_each_text_once(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata), options=options) as writer:
        writer.write_table(table, max_chunksize=BATCH)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream + sha256(stream).digest()


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
    return stream


def read_header(stream: memoryview, *, whole: bool = True) -> Header:
    """Return the header of a stream without its table; if `whole`, with the part beside it."""
    return header_of(pa.ipc.open_stream(stream).schema, whole=whole)


def header_of(schema: pa.Schema, *, whole: bool) -> Header:
    """Return the header in the metadata of a schema; if `whole`, with the part beside it."""
    metadata = schema.metadata
    return read_part(HEADER, metadata) | (read_part(ASIDE, metadata) if whole else {})


def described(name: bytes, part: Header) -> dict[bytes, bytes]:
    """Return a part of the header as schema metadata."""
    text = b"{%b}" % b",".join(b'"%b":%b' % (field.encode(), text_of(value)) for field, value in part.items())
    return {name: text} if len(text) <= LONG else {name + PACKED: packed(text)}


def read_part(name: bytes, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return a part of schema metadata; empty if it is absent."""
    packed_name = name + PACKED
    text = unpacked(metadata[packed_name]) if packed_name in metadata else metadata.get(name, b"{}")
    return dict(from_json(text))


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


# Values to and from JSON, by their fields.


Json = Any
Decode = Callable[[Json], Any]
Encode = Callable[[Any], Json]
Kind = Any  # annotation of a field
PLAIN = frozenset({type(None), bool, int, str})


class TextKeeper:
    """A value that keeps its JSON text, because many results hold it."""

    @cached_property
    def json_text(self) -> bytes:
        """The value as JSON text."""
        return to_json(as_json(self))


def text_of(value: object) -> bytes:
    """Return a value as JSON text."""
    if isinstance(value, TextKeeper):
        return value.json_text
    if isinstance(value, tuple | list) and value and isinstance(value[0], TextKeeper):
        return b"[%b]" % b",".join(part.json_text for part in watched(value))
    return to_json(as_json(value))


def as_json(value: object) -> Json:
    """Return a value as JSON: dataclasses as objects, tuples as lists, enums by value, dates as ISO text."""
    kind: Kind = value.__class__
    return value if kind in PLAIN else encoder(kind)(value)


@cache
def encoder(kind: Kind) -> Encode:
    """Return the function that returns values of a type as JSON."""
    if issubclass(kind, (tuple, list)):
        return lambda value: [part if part.__class__ in PLAIN else as_json(part) for part in value]
    if issubclass(kind, dict):
        return lambda value: {key: part if part.__class__ in PLAIN else as_json(part) for key, part in value.items()}
    if issubclass(kind, Enum):
        return attrgetter("_value_")  # three times as fast as `value`
    if issubclass(kind, date):
        return date.isoformat
    names = compared(kind)
    return lambda value: {
        name: part if (part := getattr(value, name)).__class__ in PLAIN else as_json(part) for name in names
    }


def compared(kind: Kind) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass that a snapshot holds: those that its values are compared by."""
    return tuple(part.name for part in fields(kind) if part.compare)


def decoders(kind: type) -> Mapping[str, Decode]:
    """Return the decoder of each field of a dataclass."""
    hints = get_type_hints(kind)
    return {name: decoder(hints[name]) for name in compared(kind)}


def decoder(kind: Kind) -> Decode:
    """Return the decoder of a field's type. A decoder raises KeyError, TypeError or ValueError for other JSON."""
    shape = SHAPES.get(get_origin(kind))
    if shape is not None:
        return shape(*get_args(kind))
    if kind is date:
        return date.fromisoformat
    if isinstance(kind, type) and is_dataclass(kind):
        known = decoders(kind)
        return lambda found: kind(**{name: decode(found[name]) for name, decode in known.items()})
    return kind if isinstance(kind, type) and issubclass(kind, Enum) else lambda found: found


def either(*kinds: Kind) -> Decode:
    """Return the decoder of a union, which tells its types apart as JSON objects, lists and other values."""
    by_shape = {json_type(kind): decoder(kind) for kind in kinds if kind is not type(None)}
    return lambda found: None if found is None else by_shape[type(found) if type(found) in CONTAINERS else None](found)


CONTAINERS = (dict, list)


def json_type(kind: Kind) -> type | None:
    """Return the JSON container that a type is encoded as, None for other values."""
    shape = SHAPES.get(get_origin(kind))
    return dict if is_dataclass(kind) or shape is by_key else list if shape is sequence else None


def sequence(*kinds: Kind) -> Decode:
    """Return the decoder of a tuple, of any length or of one item."""
    if kinds[-1] is Ellipsis:
        each = decoder(kinds[0])
        return lambda found: tuple(map(each, found))
    parts = tuple(map(decoder, kinds))
    return lambda found: tuple(part(one) for part, one in zip(parts, found, strict=True))


def by_key(_key: Kind, value: Kind) -> Decode:
    """Return the decoder of a mapping."""
    each = decoder(value)
    return lambda found: {key: each(one) for key, one in found.items()}


SHAPES: Mapping[object, Callable[..., Decode]] = {UnionType: either, tuple: sequence, Mapping: by_key}
