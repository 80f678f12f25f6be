"""The service reads integrations.yaml with the other files; the books alone are read without it."""

from pathlib import Path

import pytest

from engine.door import open_books
from engine.instance import read
from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from tests.unit.engine.instance.test_instance_faults import FILES, instance

FAULTY = [
    "sources: {files: {kind: folder, path: data, sheet: A}}\n",  # an unknown key
    "bindings: {gl: {source: files, target: live.gll, file: gl.csv}}\n",  # no such table, and no such source
    "bindings: [\n",  # no YAML
]


@pytest.mark.parametrize("feeds", FAULTY)
def test_the_books_open_whatever_is_wrong_with_feeds(tmp_path: Path, feeds: str) -> None:
    folder = instance(tmp_path, integrations_yaml=feeds)
    assert open_books(folder).reader.catalogue.metrics.keys() == {"revenue", "costs", "profit"}
    with pytest.raises(InstanceFaults) as found:
        read_instance(folder)
    assert {fault.file for fault in found.value.faults} == {"integrations.yaml"}


def test_every_other_file_is_checked_without_feeds(tmp_path: Path) -> None:
    domain = FILES["domains/gl.yaml"].replace("revenue - costs", "revenue - cost")
    folder = instance(tmp_path, domains_gl_yaml=domain, integrations_yaml=FAULTY[0])
    (folder / "other.yaml").write_text("a: b\n")
    with pytest.raises(InstanceFaults) as found:
        open_books(folder)
    assert [fault.file for fault in found.value.faults] == ["domains/gl.yaml", "other.yaml"]


def test_books_have_the_same_version_with_feeds_and_without(tmp_path: Path) -> None:
    bare, fed = instance(tmp_path / "bare"), instance(tmp_path / "fed", integrations_yaml="sources: {}\n")
    versions = [read_instance(folder).catalogue.version for folder in (bare, fed)]
    assert versions == [read.read_instance(folder).catalogue.version for folder in (bare, fed)]
    assert len(set(versions)) == 2
