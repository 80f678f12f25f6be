"""Feed keys: keys of feeds written into integrations.yaml, whose comments and order stay as they are."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

import yaml

from engine.instance.documents import InstanceFaults, parse_document
from engine.instance.read import INTEGRATIONS, instance_files
from server.feeds.instance import ServedInstance, read_instance
from server.files.findings import nested, written_keys, written_value

FeedKeys = Mapping[str, Mapping[str, Any]]  # by feed; keys as `csv.separator`


class UnwritableKeys(Exception):
    """Keys cannot be written into integrations.yaml by a program; the message says why."""


@contextmanager
def written_instance(folder: Path, keys: FeedKeys) -> Iterator[ServedInstance]:
    """Hand out an instance as it is with keys in its feeds, and write them when the block ends.

    The text is parsed and compared with what it should say before the block begins. Raises UnwritableKeys.
    """
    keys = {feed: {key: "tab" if one == "\t" else one for key, one in flat.items()} for feed, flat in keys.items()}
    path = (folder / INTEGRATIONS).resolve()
    content = path.read_bytes()
    text = with_keys(content.decode(), keys)
    expected = expected_tree(parse_document(INTEGRATIONS, content).tree, keys)
    if parse_document(INTEGRATIONS, text.encode()).tree != expected:
        raise UnwritableKeys(f"{INTEGRATIONS} repeats a part of a feed by an alias, or is written in another way")
    with TemporaryDirectory() as beside:
        for name in instance_files(folder):
            copy = Path(beside, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, copy)
        Path(beside, INTEGRATIONS).write_bytes(text.encode())
        try:
            instance = read_instance(Path(beside))
        except InstanceFaults as faults:
            raise UnwritableKeys(str(faults)) from faults
    yield instance
    if path.read_bytes() != content:
        raise UnwritableKeys(f"{INTEGRATIONS} was changed meanwhile")
    with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}-", delete=False) as beside_it:
        beside_it.write(text.encode())
    shutil.copymode(path, beside_it.name)
    Path(beside_it.name).replace(path)


def expected_tree(tree: Any, keys: FeedKeys) -> Any:  # noqa: ANN401 - what YAML holds
    """Return the tree of integrations.yaml with keys in its feeds, as texts."""
    merged = deepcopy(tree)
    for feed, flat in keys.items():
        for part, value in nested(flat).items():
            held = merged["bindings"][feed]
            held[part] = {**held.get(part, {}), **as_texts(value)} if isinstance(value, dict) else as_texts(value)
    return merged


def as_texts(value: Any) -> Any:  # noqa: ANN401 - what YAML holds
    """Return a value as an instance reads it: every scalar is a text."""
    if isinstance(value, dict):
        return {key: as_texts(held) for key, held in value.items()}
    return [as_texts(one) for one in value] if isinstance(value, list | tuple) else str(value)


def with_keys(text: str, keys: FeedKeys) -> str:
    """Return the text of integrations.yaml with keys in its feeds. Raises UnwritableKeys."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    bindings = entry(root, "bindings")
    inserts: list[tuple[int, str]] = []
    for feed, flat in keys.items():
        node = entry(bindings, feed)
        if not isinstance(node, yaml.MappingNode):
            raise UnwritableKeys(f"{feed} is no feed that is written out in {INTEGRATIONS}")
        for part, value in nested(flat).items():
            held = entry(node, part)
            if isinstance(held, yaml.MappingNode) and isinstance(value, dict):
                inserts += [insert(text, held, f"{key}: {written_value(one)}") for key, one in value.items()]
            elif held is None:
                line = written_keys({part: value}) if isinstance(value, dict) else f"{part}: {written_value(value)}"
                inserts.append(insert(text, node, line))
            else:
                raise UnwritableKeys(f"{feed} says {part} already")
    whole, done = "", 0
    for at, more in sorted(inserts, key=lambda pair: pair[0]):
        whole, done = whole + text[done:at] + more, at
    return whole + text[done:]


def entry(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Return the value of a key of a mapping; None if it has none."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in pairs if name.value == key), None)


def insert(text: str, node: yaml.MappingNode, more: str) -> tuple[int, str]:
    """Return where entries come into a mapping, and the text that brings them there."""
    if node.flow_style:
        if not node.value:
            raise UnwritableKeys("a part of a feed is empty")
        return node.value[-1][1].end_mark.index, f", {more}"
    indent = " " * node.start_mark.column
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{indent}{more}"
    plain = [value for name, value in node.value if is_short(name, value)]
    if not plain:
        return node.start_mark.index, f"{more}{newline}{indent}"
    end = text.find("\n", plain[-1].end_mark.index)
    return (len(text), f"{newline}{line}") if end < 0 else (end + 1, f"{line}{newline}")


def is_short(name: yaml.Node, value: yaml.Node) -> bool:
    """Tell whether an entry is one line, behind which another may stand."""
    is_block = isinstance(value, yaml.ScalarNode) and value.style in ("|", ">")
    return not is_block and name.start_mark.line == value.end_mark.line
