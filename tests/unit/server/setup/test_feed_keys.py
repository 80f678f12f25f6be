"""Keys are written into integrations.yaml as a person writes them: comments, order and line ends stay."""

from pathlib import Path

import pytest
import yaml

from server.setup.feed_keys import FeedKeys, UnwritableKeys, with_keys, written_instance
from tests.support.books.small import write_ledger

KEYS: FeedKeys = {"gl": {"csv.separator": ";", "csv.header_row": 3, "dates.format": "%d.%m.%Y"}}
LINES = ('csv: {separator: ";", header_row: 3}', 'dates: {format: "%d.%m.%Y"}')


BLOCK = """
bindings:
  # ours
  gl:   # the ledger
    source: files   # here
    file: gl.csv
{}    map:
      a: b

# end
sources: {{}}
"""
FLOW = """
bindings:
  gl: {{source: files, file: gl.csv{}}}   # one line
"""
PART = """
bindings:
  gl:
    csv: {{quote: none{}}}
    source: files{}"""
BLOCK_PART = """
bindings:
  gl:
    csv:
      quote: none   # of it
{}    source: files
{}""".replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (BLOCK, [f"    {LINES[0]}\n    {LINES[1]}\n"]),
        (FLOW, [f", {LINES[0]}, {LINES[1]}"]),
        (PART, [', separator: ";", header_row: 3', f"\n    {LINES[1]}"]),
        (BLOCK_PART, ['      separator: ";"\r\n      header_row: 3\r\n', f"    {LINES[1]}\r\n"]),
    ],
    ids=["block", "flow", "part", "block part"],
)
def test_keys_stand_beside_those_that_are_there(text: str, added: list[str]) -> None:
    assert with_keys(text.format(*[""] * len(added)), KEYS) == text.format(*added)


def test_a_file_of_an_instance_says_what_it_said_and_the_keys(tmp_path: Path) -> None:
    instance = write_ledger(tmp_path, "2026-01-31 actual 5\n")
    path = instance / "integrations.yaml"
    before = yaml.safe_load(path.read_text())
    path.write_text(f"# ours\n{path.read_text()}")
    path.chmod(0o640)
    keys = {"gl": {"csv.separator": "\t", "csv.encoding": "cp1250", "numbers.none": ["-", 'say "n\\a"']}}
    with written_instance(instance, keys) as read:
        assert read.bindings["gl"].format.csv.separator == "\t"
        assert yaml.safe_load(path.read_text()) == before, "nothing is written before the block ends"
    after = yaml.safe_load(path.read_text())
    assert after["bindings"]["gl"] == {
        **before["bindings"]["gl"],
        "csv": {"separator": "tab", "encoding": "cp1250"},
        "numbers": {"none": ["-", 'say "n\\a"']},
    }
    assert path.read_text().startswith("# ours\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in instance.glob("*integrations*")) == ["integrations.yaml"]


def test_what_a_program_cannot_write_is_left_as_it_is(tmp_path: Path) -> None:
    instance = write_ledger(tmp_path, "2026-01-31 actual 5\n")
    path = instance / "integrations.yaml"
    feed = "{source: files, target: live.gl, file: gl.csv, csv: &part {quote: none}}"
    other = "{source: files, target: live.gl, file: other.csv, csv: *part}"
    path.write_text(f"sources: {{files: {{kind: folder, path: data}}}}\nbindings:\n  gl: {feed}\n  more: {other}\n")
    before = path.read_text()
    with pytest.raises(UnwritableKeys, match="repeats a part of a feed by an alias"), written_instance(instance, KEYS):
        raise AssertionError
    odd: FeedKeys = {"gl": {"dates.format": "%Q"}}
    with pytest.raises(UnwritableKeys, match="'%Q' is no format of days"), written_instance(instance, odd):
        raise AssertionError
    days = {"gl": {"dates.format": "%d/%m/%Y"}}
    with pytest.raises(UnwritableKeys, match="was changed meanwhile"), written_instance(instance, days):
        path.write_text(before + "# changed\n")
    assert path.read_text() == before + "# changed\n"
