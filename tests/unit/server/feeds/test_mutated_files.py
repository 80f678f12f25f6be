"""Instance files that were mutated: each is read, or refused with faults that name a file, and nothing else happens."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.instance.documents import Fault, InstanceFaults
from server.feeds.instance import read_instance
from tests.support.books.demo import DEMO
from tests.support.books.loads import edited_copy
from tests.support.checks.json_mutations import CASES, mutated

FILES = sorted(path.relative_to(DEMO).as_posix() for path in DEMO.rglob("*.yaml") if ".tieout" not in path.parts)
TEXTS = {name: (DEMO / name).read_text(encoding="utf-8") for name in FILES}
TREES = {name: yaml.load(text, yaml.BaseLoader) for name, text in TEXTS.items()}  # noqa: S506 - texts alone, our own files
MARKS = st.sampled_from(
    ("", " ", "\t", "- ", ": ", "{", "}", "[", "&a ", "*a ", "!!python/none ", "|", "%", "\x00", "é", "---\n")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo's files, which each example changes and puts back."""
    return edited_copy(DEMO, tmp_path_factory.mktemp("mutated"), {})


def wrong_lines(text: str) -> st.SearchStrategy[str]:
    """Return a strategy of texts of which one line is lost, doubled, moved in, or has a mark put in."""
    lines = text.splitlines(keepends=True)

    @st.composite
    def changed(draw: st.DrawFn) -> str:
        at = draw(st.integers(0, len(lines) - 1))
        line, column = lines[at], draw(st.integers(0, len(lines[at])))
        put_in = line[:column] + draw(MARKS) + line[column:]
        new = draw(st.sampled_from(("", line * 2, f"  {line}", line.lstrip(), put_in)))
        return "".join([*lines[:at], new, *lines[at + 1 :]])

    return changed()


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a file and its mutated text."""
    name = draw(st.sampled_from(FILES))
    if draw(st.booleans()):
        return name, draw(wrong_lines(TEXTS[name]))
    return name, yaml.safe_dump(draw(mutated(TREES[name])), allow_unicode=True)


def faults_of(folder: Path) -> list[Fault]:
    """Return the faults of an instance."""
    try:
        read_instance(folder)
    except InstanceFaults as refused:
        return refused.faults
    return []


@given(st.lists(changes(), min_size=CASES, max_size=CASES))
def test_a_mutated_file_is_read_or_its_faults_are_told(folder: Path, drawn: list[tuple[str, str]]) -> None:
    for name, text in drawn:
        (folder / name).write_text(text, encoding="utf-8")
        try:
            faults = faults_of(folder)
        finally:
            (folder / name).write_text(TEXTS[name], encoding="utf-8")
        for fault in faults:
            assert fault.line >= 1
            assert fault.file in {*FILES, "calendar.csv"}
            assert "Traceback" not in str(fault)
