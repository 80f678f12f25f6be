"""Refusals of books with many names: the first that would be valid, and how many there are."""

from pathlib import Path

import pytest

from engine.door import open_books
from engine.model.errors import UnknownName
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance


@pytest.mark.parametrize(
    ("count", "said"), [(30, ""), (31, " Of the 31 that would be valid, 'valid' holds the first 30.")]
)
def test_of_many_names_the_first_are_valid_and_all_are_counted(tmp_path: Path, count: int, said: str) -> None:
    keys = [f"m{number:02}" for number in range(count)]
    metrics = "".join(f"  {key}: {{measure: amount}}\n" for key in keys)
    instance = write_instance(
        tmp_path / "books",
        facts={"gl": "date scenario amount\n2021-01-05 actual 1"},
        domains={
            "gl": f"time: {{column: date}}\ndimensions: {{}}\nmeasures: {{amount: {{places: 2}}}}\nmetrics:\n{metrics}"
        },
    )
    load_feeds(instance, tmp_path / "state")
    with pytest.raises(UnknownName) as refused:
        open_books(instance, state=tmp_path / "state").metric("none", scenarios={"A": "actual"}, period="2021")
    data = refused.value.as_data()
    assert data["valid"] == keys[:30]
    assert str(data["error"]).endswith(f"There is no metric 'none'. list_kpis lists the metrics.{said}")
