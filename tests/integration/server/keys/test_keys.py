"""Every key of the published schemas: an instance with it is served over HTTP, and an answer differs without it."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.facts.load_modes import LoadMode
from engine.instance.documents import InstanceFaults
from engine.instance.read import STORE
from server.feeds.instance import ServedInstance, read_instance
from server.ingest.load import BindingFailed
from tests.integration.server.keys.asked import CALLS
from tests.integration.server.keys.keyed_instance import FILES, write_keyed
from tests.integration.server.keys.table import ELSEWHERE, NEEDED, SHOWN
from tests.integration.server.keys.walking import Place, keys_of, standing, without
from tests.support.answers.reader import filled_in
from tests.support.books.fed import Fed
from tests.support.books.loads import ROOT, load_feeds
from tests.support.service.servers import connected, serving

Json = dict[str, Any]
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (ROOT / "docs" / "schemas").glob("*.json")}
TREES = {file: yaml.safe_load(text) for file, text in FILES.items()}


def load(folder: Path, state: Path, *, but: str = "") -> None:
    """Load each feed but one by itself; one that fails leaves its rows out."""
    read = read_instance(folder)
    for key in filter(but.__ne__, read.bindings):  # those of members come first
        with suppress(BindingFailed):
            load_feed(folder, state, read, key)


def load_feed(folder: Path, state: Path, read: ServedInstance, key: str) -> None:
    """Load one feed. Raises BindingFailed."""
    periods = "2020-07..2021-06" if read.bindings[key].mode is LoadMode.REPLACE_PERIODS else ""
    load_feeds(folder, state, key, read=read, periods=periods)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the instance and its state, loaded."""
    folder = tmp_path_factory.mktemp("keyed")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KEYED_DROP", str(folder / "instance" / "data"))
        load(write_keyed(folder / "instance"), folder / "state")
        yield folder


@pytest.fixture(scope="module")
def served(keyed: Path) -> dict[str, Json]:
    """What the served instance answers to each call."""
    with serving(keyed / "instance", keyed / "state") as server, connected(server.url, "auto") as books:
        return {name: plain(books.call(tool, **asked).result) for name, (tool, asked) in CALLS.items()}


def loaded_copy(keyed: Path, state: Path) -> Path:
    """Return a state folder with a copy of what is loaded."""
    shutil.copytree(keyed / "state" / STORE, state / STORE)
    return state


@pytest.fixture(scope="module")
def reloads(keyed: Path, served: dict[str, Json], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bool]:
    """Tells whether a feed that is loaded once more changes no answer: then it may be loaded alone without a key."""

    @cache
    def changes_nothing(feed: str) -> bool:
        state = loaded_copy(keyed, tmp_path_factory.mktemp("again"))
        load_feed(keyed / "instance", state, read_instance(keyed / "instance"), feed)
        return asked_here(keyed / "instance", state, *CALLS) == served

    return changes_nothing


@pytest.fixture(scope="module")
def loaded_without(keyed: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a state folder in which one feed was never loaded."""

    @cache
    def load_others(feed: str) -> Path:
        state = tmp_path_factory.mktemp("without")
        load(keyed / "instance", state, but=feed)
        return state

    return load_others


def plain(result: Json) -> Json:
    """Return an answer without its reference, which no two calls share."""
    return {key: part for key, part in filled_in(result).items() if key != "data_ref"}


def asked_here(folder: Path, state: Path, *names: str) -> dict[str, Json]:
    """Return what an instance answers in this process."""
    fed = Fed(folder, state)
    return {name: plain(fed.call(CALLS[name][0], **CALLS[name][1])[1]) for name in names}


def place_of(written: str) -> tuple[str, Place]:
    """Return the file of an entry of the table, and the place in it."""
    file, _, place = written.partition(": ")
    return file, tuple(int(step) if step.isdigit() else step for step in place.split("/"))


def feed_of(written: str) -> str | None:
    """Return the feed that an entry of the table is a key of, None if it is one of several or of none."""
    file, place = place_of(written)
    return str(place[1]) if file == "integrations.yaml" and place[0] == "bindings" and len(place) > 2 else None


def without_key(keyed: Path, into: Path, written: str) -> Path:
    """Write the instance without a key."""
    file, place = place_of(written)
    shutil.copytree(keyed / "instance", into)
    (into / file).write_text(yaml.safe_dump(without(TREES[file], place), allow_unicode=True, sort_keys=False))
    return into


def test_every_key_of_the_schemas_is_in_the_table() -> None:
    keys = {f"{name} {key}" for name, schema in SCHEMAS.items() for key in keys_of(name, schema)}
    assert keys == {*SHOWN, *NEEDED, *ELSEWHERE}
    assert len(keys) == len(SHOWN) + len(NEEDED) + len(ELSEWHERE)


def test_every_key_stands_where_the_table_says() -> None:
    found = {
        (f"{name} {one.key}", file, one.place)
        for name, schema in SCHEMAS.items()
        for file, tree in TREES.items()
        if file.partition("/")[0].removesuffix(".yaml") == name
        for one in standing(name, schema, tree)
    }
    written = {key: place for key, (place, _) in SHOWN.items()} | NEEDED
    assert {(key, *place_of(place)) for key, place in written.items()} <= found
    assert not {key for key, _, _ in found} & ELSEWHERE.keys()


@pytest.mark.parametrize("name", CALLS)
def test_the_instance_answers_over_http_what_it_answers_here(keyed: Path, served: dict[str, Json], name: str) -> None:
    assert served[name] == asked_here(keyed / "instance", keyed / "state", name)[name]


@pytest.mark.parametrize("key", SHOWN)
def test_an_answer_differs_without_the_key(
    keyed: Path,
    served: dict[str, Json],
    reloads: Callable[[str], bool],
    loaded_without: Callable[[str], Path],
    tmp_path: Path,
    key: str,
) -> None:
    written, call = SHOWN[key]
    folder = without_key(keyed, tmp_path / "instance", written)
    if not key.startswith("integrations"):  # over the same rows, unless they are read in another way without the key
        answers = asked_here(folder, keyed / "state", call, "feeds")
        is_read_alike = "error" not in answers[call] and answers["feeds"] == served["feeds"]
        if is_read_alike or key.startswith("profiles"):  # no load reads profiles
            assert answers[call] != served[call]
            return
    if (feed := feed_of(written)) is not None and reloads(feed):  # a tenth of the time of all feeds
        state = loaded_copy(keyed, tmp_path / "reloaded")
        try:
            load_feed(folder, state, read_instance(folder), feed)
        except BindingFailed:
            state = loaded_without(feed)
        if asked_here(folder, state, call)[call] != served[call]:
            return
    load(folder, tmp_path / "state")
    assert asked_here(folder, tmp_path / "state", call)[call] != served[call]


@pytest.mark.parametrize("key", NEEDED)
def test_the_instance_is_refused_without_the_key(keyed: Path, tmp_path: Path, key: str) -> None:
    with pytest.raises(InstanceFaults):
        read_instance(without_key(keyed, tmp_path / "instance", NEEDED[key]))
