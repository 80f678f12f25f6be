"""From each of some mean files to a statement in two commands, whose figures an independent reading confirms."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.mean_files import MEAN_FILES, MeanFile
from tests.support.newcomer import initialised


@pytest.mark.parametrize("make", MEAN_FILES, ids=lambda make: make.__name__)
def test_the_keys_that_read_a_file_are_found_and_written(tmp_path: Path, make: Callable[[Path], MeanFile]) -> None:
    file = make(tmp_path)
    assert initialised(tmp_path / "books", *file.files, answers=file.answers) == 0
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "books").rglob("*.yaml"))
    assert [key for key in file.keys if key not in written] == []
