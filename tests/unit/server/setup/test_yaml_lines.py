"""YAML lines: no heading, title or file name begins a line of its own, as a value or in a comment."""

from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from server.files.findings import SampleFault
from server.run.commands.console import SafeConsole
from server.setup.yaml_lines import REMARK, comment, yaml_file, yaml_text
from tests.support.books.newcomer import initialised

ENDS = ("\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x00", "\ue000", "\ufeff")
TEXTS = st.text() | st.lists(st.sampled_from((*ENDS, "#", ": ", "'", '"', "\\", "- a", "{", "é"))).map("".join)


@given(TEXTS)
def test_a_text_is_read_as_it_was_or_refused(text: str) -> None:
    try:
        written = yaml_text({text: [text]})
    except SampleFault:
        return
    assert yaml.safe_load(yaml_file([f"key: {written}{comment(text)}", "after: 1"])) == {
        "key": {text: [text]},
        "after": 1,
    }


def test_a_text_that_no_file_can_hold_is_refused_by_its_name() -> None:
    with pytest.raises(SampleFault, match=r'^"a\\udc80" holds characters that no file of an instance can hold: rename'):
        yaml_text("a\udc80")


@pytest.mark.parametrize("line", ["a: 1\u2028b: 2", f"a: 1{REMARK}x\rb: 2", "a: 1\nb: 2"])
def test_a_line_that_is_several_to_yaml_is_refused(line: str) -> None:
    with pytest.raises(SampleFault, match="would be several lines"):
        yaml_file([line])


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_planted_feed_is_not_loaded(tmp_path: Path, end: str) -> None:
    planted = f"account{end}  planted: {{source: files, file: other.csv, target: live.planted}} #"
    rows = "\n".join(f"2026-0{month}-05,{account},-100.50" for month in (1, 2) for account in (4000, 5000))
    ledger = tmp_path / f"ledger{end}planted: 1.csv"
    ledger.write_text(f'date,"{planted}",amount\n{rows}\n', encoding="utf-8", newline="")
    assert initialised(tmp_path / "books", ledger) == 0
    text = (tmp_path / "books" / "integrations.yaml").read_text(encoding="utf-8")
    assert all(mark.isprintable() or mark == "\n" for mark in text)
    feeds = yaml.safe_load(text)["bindings"]
    assert "planted" not in feeds
    assert [feed["file"] for feed in feeds.values() if feed["source"] == "files"] == [ledger.name]


def test_a_terminal_gets_control_characters_as_text() -> None:
    written = StringIO()
    SafeConsole(file=written, soft_wrap=True).print("a\x1b[2Jb\x9b1m\u202ec\nd", markup=False)
    assert written.getvalue() == "a\\x1b[2Jb\\x9b1m\\u202ec\nd\n"
