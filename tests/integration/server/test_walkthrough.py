"""From each of ten mean files to a statement in two commands, whose figures an independent reading confirms."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.books.mean_files import MEAN_FILES, MeanFile, levels, semicolons
from tests.support.books.newcomer import by_label, first_statement, initialised
from tests.support.service.forks import tieout
from tests.support.service.servers import connected, serving

Make = Callable[[Path], MeanFile]


@pytest.mark.parametrize("make", MEAN_FILES, ids=lambda make: make.__name__)
def test_the_first_statement_of_a_mean_file_has_the_figures_of_the_file(tmp_path: Path, make: Make) -> None:
    file = make(tmp_path)
    assert initialised(tmp_path / "books", *file.files, answers=file.answers) == 0
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "books").rglob("*.yaml"))
    assert [key for key in file.keys if key not in written] == []
    figures = first_statement(tmp_path / "books", tmp_path / "state")
    assert {label: figures.get(label) for label in file.figures} == file.figures


@pytest.mark.parametrize("make", [levels, semicolons], ids=lambda make: make.__name__)
def test_two_commands_lead_to_a_statement_over_the_wire(tmp_path: Path, make: Make) -> None:
    file, state = make(tmp_path), tmp_path / "state"
    made = tieout("init", tmp_path / "books", "--from", *file.files, SVC_STATE_DIR=str(state))
    assert made.returncode == 0, made.stderr
    shown, _, ends = made.stdout.partition("Serve it: tieout serve --instance ")
    assert ends
    for label in file.figures:
        assert f"{label} " in shown.rpartition("Written to ")[2], "the first statement is printed"
    with serving(tmp_path / "books", state) as server, connected(server.url, "auto") as client:
        figures = by_label(client.ask("run_statement_data"))
    assert {label: figures.get(label) for label in file.figures} == file.figures
