"""Previews: check --data says how the files that are there would be read, and loads nothing."""

from pathlib import Path

import pytest

from server.feeds.instance import read_instance
from server.ingest.folder import BooksFolder
from server.ingest.previews import FeedKeys, describe_files, lacking_keys
from tests.support.books.guessed_loads import load_by_guess
from tests.unit.server.files.test_formats import instance_of
from tests.unit.server.ingest.test_detection_at_load import HEAD, rewrite, written


def told(instance: Path, state: Path) -> list[str]:
    """Return what is said of the files of an instance."""
    read = read_instance(instance)
    place = BooksFolder(catalogue=read.catalogue, folder=instance, state=state)
    return list(describe_files(list(read.bindings.values()), place))


def test_each_file_is_told_with_its_keys(tmp_path: Path) -> None:
    text = "Journal\n\ndate;account;amount;text\n31.01.2026;4000;1.234,50;a\n01.02.2026;4000;-;b\nExported today;;;\n"
    keys = (
        'csv: {separator: ";", encoding: "utf-8", header_row: 3, skip_footer: 1}',
        'numbers: {decimal: ",", thousands: ".", none: ["-"]}',
        'dates: {format: "%d.%m.%Y"}',
    )
    instance = instance_of(tmp_path, text, map={})
    (said,) = told(instance, tmp_path / "state")
    assert said.startswith('gl: gl.csv shows csv: {separator: ";"} (row 3 has the columns of the feed), ')
    lines = [line.strip() for line in said.splitlines()[1:]]
    assert lines == [
        'csv: {separator: ";", header_row: 3, skip_footer: 1}',
        'numbers: {decimal: ",", thousands: ".", none: ["-"]}',
        'dates: {format: "%d.%m.%Y"}',
    ]
    written(instance, lines)
    (said,) = told(instance, tmp_path / "state")
    assert said == f"gl: gl.csv is read with {', '.join(keys)}"
    assert not (tmp_path / "state").exists(), "nothing is loaded"


def test_a_file_that_a_load_would_refuse_is_told_with_the_keys_that_decide(tmp_path: Path) -> None:
    instance, state = instance_of(tmp_path, f"{HEAD}01/02/2026,1,5\n"), tmp_path / "state"
    (said,) = told(instance, state)
    assert said.startswith("gl: gl.csv: date, row 2: '01/02/2026' can be read in 2 ways: ")
    assert said.endswith("; write one of them under gl in integrations.yaml")
    rewrite(instance, f"{HEAD}31/01/2026,1,5\n")
    load_by_guess(instance, state)
    rewrite(instance, f"{HEAD}01/31/2026,1,5\n")
    (said,) = told(instance, state)
    assert said.startswith('gl: gl.csv is written with dates: {format: "%m/%d/%Y"}')
    (instance / "data" / "gl.csv").unlink()
    assert told(instance, state) == ["gl: no file matches gl.csv here"]


@pytest.mark.parametrize(
    ("grain", "texts", "days"),
    [
        ("month", ("2026-01", "2026-02"), None),
        ("month", ("2026-01", "2026-02-28"), None),
        ("quarter", ("2026-Q1", ""), None),
        ("day", ("2026-01-31", "2026-02-28"), "%Y-%m-%d"),
        ("month", ("2026-01-31 00:00:00", "2026-02-28"), "%Y-%m-%d"),
        ("month", ("01/2026", "02/2026"), "%m/%Y"),
    ],
)
def test_codes_of_periods_are_told_without_a_format_that_would_refuse_them(
    tmp_path: Path, grain: str, texts: tuple[str, str], days: str | None
) -> None:
    text = HEAD + "".join(f"{day},1,5\n" for day in texts)
    (said,) = told(instance_of(tmp_path, text, grain, map={}), tmp_path / "state")
    assert said.startswith("gl: gl.csv shows " if days == "%m/%Y" else "gl: gl.csv is read with ")
    assert ("dates" in said) is (days is not None)
    assert days is None or f'dates: {{format: "{days}"}}' in said


def lacking(instance: Path, state: Path) -> list[FeedKeys]:
    """Return the keys that the feeds of an instance lack."""
    read = read_instance(instance)
    place = BooksFolder(catalogue=read.catalogue, folder=instance, state=state)
    return list(lacking_keys(list(read.bindings.values()), place))


def test_files_of_one_feed_that_need_other_keys_get_none(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\nExported today,,\n", file="gl_*.csv")
    (instance / "data" / "gl_2027.csv").write_text(f"{HEAD}2027-01-31,1,5\n")
    (found,) = lacking(instance, tmp_path / "state")
    says = "gl_2026.csv shows csv: {skip_footer: 1}, and gl_2027.csv nothing of it"
    assert found == FeedKeys("gl", {}, [f"{says}: give each a feed of its own, or have them written alike"])
    (instance / "data" / "gl_2027.csv").write_text(f"{HEAD}2027-01-31,1,n/a\nExported today,,\n")
    (instance / "data" / "gl_2026.csv").write_text(f"{HEAD}2026-01-31,1,-\nExported today,,\n")
    (found,) = lacking(instance, tmp_path / "state")
    assert found == FeedKeys("gl", {"csv.skip_footer": 1, "numbers.none": ["-", "n/a"]}, [])


def test_keys_of_the_last_load_are_lacking_though_no_file_is_there(tmp_path: Path) -> None:
    instance, state = instance_of(tmp_path, f"{HEAD}31/01/2026,1,(5)\n"), tmp_path / "state"
    load_by_guess(instance, state)
    (instance / "data" / "gl.csv").unlink()
    (found,) = lacking(instance, state)
    assert found == FeedKeys("gl", {"numbers.negative": "parentheses", "dates.format": "%d/%m/%Y"}, [])
