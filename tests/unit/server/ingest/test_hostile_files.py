"""Hostile files: what would take memory or time without end is refused by file and setting, in load and in init."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.model.extract_formats import CsvFormat, ExtractFormat, TableLayout
from server.ingest.files import WrittenFormat, file_rows
from server.ingest.findings import SampleFault
from server.ingest.rejects import LoadFailed
from server.ingest.sampling import sample_file

HEAD = "date,account,amount,memo\n"
LINE = "2026-01-05,4000,1.50,rent\n"


def load(path: Path, sheet: str | None = None) -> None:
    """Read every row of a file as a load reads them."""
    form = ExtractFormat(csv=CsvFormat(), sheet=TableLayout())
    for _ in file_rows(path, WrittenFormat(form), sheet):
        pass


def sample(path: Path) -> None:
    """Read a file as init reads it."""
    list(sample_file(path))


READERS = [pytest.param(load, LoadFailed, id="load"), pytest.param(sample, SampleFault, id="init")]
HOSTILE_TEXTS = {  # a CSV file, and the setting that refuses it
    "a field of 2 MB of digits": (f"{HEAD}{LINE}2026-01-05,4000,{'1' * (2 << 20)},x\n{LINE}", "SVC_FIELD_MEGABYTES"),
    "a field of 80,000 lines": (f'{HEAD}{LINE}2026-01-05,4000,1,"{LINE * 80_000}"\n', "SVC_FIELD_MEGABYTES"),
    "a heading of 2 MB": (f"date,{'x' * (2 << 20)}\n2026-01-05,1\n", "SVC_FIELD_MEGABYTES"),
    "a line of 24 MB": (f"{HEAD}{LINE}{',' * (24 << 20)}\n", "SVC_LINE_MEGABYTES"),
    "20,000 columns": (
        f"date,{','.join(f'c{at}' for at in range(20_000))}\n" + f"2026-01-05{',1' * 20_000}\n" * 2,
        "SVC_FILE_COLUMNS",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE_TEXTS)
@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_hostile_text_is_refused_by_file_and_setting(
    tmp_path: Path, kind: str, read: Callable[[Path], None], refusal: type[Exception]
) -> None:
    path = tmp_path / "gl.csv"
    text, setting = HOSTILE_TEXTS[kind]
    path.write_text(text)
    with pytest.raises(refusal, match=rf"gl\.csv.*{setting}"):
        read(path)


@pytest.mark.parametrize(("read", "refusal"), READERS)
def test_a_field_beyond_the_usual_limit_of_csv_is_read(
    tmp_path: Path, read: Callable[[Path], None], refusal: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gl.csv"
    path.write_text(f"{HEAD}{LINE}2026-01-05,4000,1.50,{'x' * 140_000}\n{LINE}")
    read(path)
    path.write_text(f"{HEAD}{LINE}2026-01-05,4000,1.50,{'x' * (3 << 20)}\n{LINE}")
    with pytest.raises(refusal):
        read(path)
    monkeypatch.setenv("SVC_FIELD_MEGABYTES", "4")
    read(path)
