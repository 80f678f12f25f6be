"""Shapes of files: a small file of each with its figures, right at once, after its one question, or refused."""

import re
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import pytest
import yaml

from server.files.detection import FeedFormat
from server.ingest.load import BindingFailed
from tests.doors.case_books import CaseBooks
from tests.doors.shapes import ANSWERED, REFUSED, RIGHT, ShapedFile
from tests.support.books.loads import load_feeds
from tests.support.books.newcomer import initialised

DONE, REFUSES, ASKS = 0, 1, 3  # statuses of the command


def held(books: CaseBooks, shape: ShapedFile, scenario: str) -> dict[str, str]:
    """Return the figures of a scenario by member and period, as a shape writes them."""
    catalogue = books.fed.instance.catalogue
    leaves = list(dict.fromkeys(leaf for domain in catalogue.domains for leaf in catalogue.leaves_of(domain)))
    dimension = shape.dimension if shape.dimension in leaves else leaves[0]
    found = books.figures(shape.metric, shape.periods, scenario, dimensions=[dimension, "period"])
    return {"|".join(key): str(figure.normalize()) for key, figure in found.items() if figure and len(key) == 2}


def check(folder: Path, shape: ShapedFile) -> None:
    """Check that books hold the figures of a shape, and no others."""
    books = CaseBooks(folder)
    assert set(books.fed.instance.catalogue.scenarios) == set(shape.cells)
    for scenario, cells in shape.cells.items():
        assert held(books, shape, scenario) == {cell: str(Decimal(text).normalize()) for cell, text in cells.items()}


@pytest.mark.parametrize("name", RIGHT)
def test_a_shape_that_its_figures_decide_is_right_at_once(tmp_path: Path, name: str) -> None:
    assert initialised(tmp_path / "books", *RIGHT[name].write(tmp_path)) == DONE
    check(tmp_path / "books", RIGHT[name])


@pytest.mark.parametrize("name", RIGHT)
def test_a_feed_that_init_wrote_asks_no_detector(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key that a load needs is written, or is the plain form."""
    assert initialised(tmp_path / "books", *RIGHT[name].write(tmp_path)) == DONE

    def asked(*_: object) -> NoReturn:
        raise AssertionError("a load asked the detector")

    for method in ("of_file", "heading_rows", "of_rows"):
        monkeypatch.setattr(FeedFormat, method, asked)
    (*_, loaded) = load_feeds(tmp_path / "books", tmp_path / "state")
    assert loaded.rows_landed


LATER = {  # what a feed of days and amounts that init wrote refuses, and what it says of it
    "2026-03-31,1,1.230\n2026-03-31,2,1.218\n": "amount, row 2: '1.230' can be read in 2 ways",
    "01/02/2026,1,5\n": "date, row 2: '01/02/2026' can be read in 2 ways",
    "2026-03-31,Büro,5\n": "byte 0xfc, which is no UTF-8",
    "2026-03-31,1,(5)\n": 'numbers: {negative: "parentheses"}',
}


@pytest.mark.parametrize("rows", LATER)
def test_a_later_file_that_could_be_read_otherwise_is_refused(tmp_path: Path, rows: str) -> None:
    ledger = tmp_path / "gl.csv"
    ledger.write_text("date,account,amount\n2026-01-31,1,-10\n2026-02-28,2,40\n", encoding="utf-8")
    assert initialised(tmp_path / "books", ledger) == DONE
    load_feeds(tmp_path / "books", tmp_path / "state")
    ledger.write_bytes(f"date,account,amount\n{rows}".encode("cp1252"))
    with pytest.raises(BindingFailed, match=re.escape(LATER[rows])):
        load_feeds(tmp_path / "books", tmp_path / "state")


@pytest.mark.parametrize("period", ["H1 2026", "q3 2026", "Q3 2026 YTD", "2026 Q3", "Q5 2026"])
def test_a_later_period_in_another_form_is_rejected(tmp_path: Path, period: str) -> None:
    """The statement that init writes for quarters reads texts of their own layout alone."""
    ledger = tmp_path / "gl.csv"
    ledger.write_text("Period,Account,Amount\nQ1 2026,A,10.50\nQ2 2026,A,1.25\n", encoding="utf-8")
    assert initialised(tmp_path / "books", ledger) == DONE
    ledger.write_text(f"Period,Account,Amount\nQ3 2026,A,10.50\n{period},A,1.25\n", encoding="utf-8")
    with pytest.raises(BindingFailed, match=r"1 of 2 rows rejected.* no quarter of the calendar"):
        load_feeds(tmp_path / "books", tmp_path / "state")


@pytest.mark.parametrize("name", ANSWERED)
def test_a_shape_that_no_figure_decides_is_right_after_its_question(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = ANSWERED[name]
    files = shape.write(tmp_path)
    assert initialised(tmp_path / "books", *files) == ASKS
    told = capsys.readouterr().err
    assert not (tmp_path / "books").exists()
    assert shape.asks in told
    assert f"  #- {shape.answer}   # " in told
    said = yaml.safe_dump({"files": {shape.about or files[0].name: yaml.safe_load(shape.answer)}})
    assert initialised(tmp_path / "books", *files, answers=said) == DONE
    check(tmp_path / "books", shape)


@pytest.mark.parametrize("name", REFUSED)
def test_a_shape_that_is_not_read_is_refused_with_the_way_on(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert initialised(tmp_path / "books", *REFUSED[name].write(tmp_path)) == REFUSES
    assert re.search(REFUSED[name].asks, " ".join(capsys.readouterr().err.split()))
    assert not (tmp_path / "books").exists()
