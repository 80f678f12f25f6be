"""Headings inside a table hold for the rows below them, from one piece of a file to the next and no further."""

import polars as pl

from server.feeds.extract_formats import ExtractFormat, FillDown, RowSkip
from server.files.rejects import FILE, ROW
from server.files.reshape import UnloadedRows, reshape

FORMAT = ExtractFormat(
    fill_down=FillDown(column="A", into="account", blank=["amount"]), skip=RowSkip(equals={"A": ["Opening"]})
)


def piece(*rows: tuple[str | None, str | None]) -> pl.DataFrame:
    """Return rows of a file with a text and an amount each."""
    frame = pl.DataFrame(rows, schema={"A": pl.String, "amount": pl.String}, orient="row")
    return frame.with_row_index(ROW).select(pl.lit("gl.csv").alias(FILE), pl.all())


def filled(counts: UnloadedRows, name: str, *rows: tuple[str | None, str | None]) -> list[tuple[str | None, str]]:
    """Return the accounts and amounts of a piece."""
    (made,) = reshape(piece(*rows), FORMAT, name, counts)
    return made.select("account", "amount").rows()


def test_a_heading_holds_for_the_pieces_of_its_file() -> None:
    counts = UnloadedRows()
    assert filled(counts, "gl.csv", ("Bank", None), ("Opening", None), (None, "1")) == [("Bank", "1")]
    assert filled(counts, "gl.csv", (None, "2"), (" ", "3"), (" Rent ", ""), (None, "4")) == [
        ("Bank", "2"), ("Bank", "3"), ("Rent", "4")
    ]  # fmt: skip
    assert filled(counts, "other.csv", (None, "5")) == [(None, "5")]
    assert counts.skipped == 3


def test_a_text_beside_an_amount_is_no_heading() -> None:
    rows = (("Bank", None), ("Total", "1"), (None, "2"))
    assert filled(UnloadedRows(), "gl.csv", *rows) == [("Bank", "1"), ("Bank", "2")]
