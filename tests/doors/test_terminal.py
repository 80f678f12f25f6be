"""A walkthrough at a terminal: `tieout init` with files of three kinds, questions answered, to a first statement."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doors.shapes import ANSWERED, RIGHT, ShapedFile
from tests.support.books.loads import ROOT

LONGEST = 120  # seconds without a word, after which the command hangs
PROMPT = "\n> "
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@dataclass
class Walk:
    """A file, the answers that somebody types at the questions about it, and lines of the first statement."""

    shape: ShapedFile
    typed: Mapping[str, str]  # words of a question to what is typed
    lines: Sequence[str]


WALKS = {  # statements show whole amounts
    "a workbook with a hidden sheet": Walk(
        ANSWERED["a hidden sheet"], {"the sheet is hidden": "1"}, ["4010 11", "4020 7", "Amount 18"]
    ),
    "a ledger of QuickBooks": Walk(
        RIGHT["a ledger of QuickBooks: accounts above their postings, openings, totals"],
        {},
        ["House bank 6", "Sales (11)", "Amount (4)"],
    ),
    "a letter that two encodings read apart": Walk(
        ANSWERED["a letter that two encodings read apart"], {"0x8e": "3"}, ["Ärzte 11", "Kasse 7", "Amount 18"]
    ),
    "a table without a heading": Walk(
        ANSWERED["no heading"], {"no row looks like a heading": "1"}, ["1200 18", "4010 (11)", "D 7"]
    ),
}


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, arguments: Sequence[str | Path], state: Path) -> None:
        self._end, theirs = pty.openpty()
        environment = {**os.environ, "SVC_STATE_DIR": str(state), "TERM": "dumb", "COLUMNS": "200"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "server", *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def until_prompt(self) -> bool:
        """Read until the command asks, which is true, or ends."""
        start = len(self.shown)
        while PROMPT not in self.shown[start:]:
            assert select.select([self._end], [], [], LONGEST)[0], self.shown
            try:
                self.shown += ANSI.sub("", os.read(self._end, 1 << 16).decode())
            except OSError:  # the command has ended
                return False
        return True

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._end, f"{text}\n".encode())

    def ended(self) -> int:
        """Return the status of the command, which has ended."""
        os.close(self._end)
        return self._process.wait(LONGEST)


@pytest.mark.parametrize("name", WALKS)
def test_a_terminal_leads_from_a_file_to_its_first_statement(tmp_path: Path, name: str) -> None:
    walk, asked = WALKS[name], []
    files = walk.shape.write(tmp_path)
    terminal = Terminal(["init", tmp_path / "books", "--from", *files], tmp_path / "state")
    while terminal.until_prompt():
        question = terminal.shown.rpartition(PROMPT)[0].rpartition("\n\n")[2]
        (words,) = [words for words in walk.typed if words in question]
        asked.append(words)
        terminal.type(walk.typed[words])
    assert terminal.ended() == 0, terminal.shown
    assert asked == list(walk.typed), "each question is asked once, and no other"
    told = " ".join(terminal.shown.partition("\nWritten to ")[2].partition("\nServe it: ")[0].split())
    for line in walk.lines:
        assert line in told, terminal.shown
