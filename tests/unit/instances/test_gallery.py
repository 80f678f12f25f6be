"""The gallery: the charts of instances/demo/charts.json are drawn on a demo of any size, and the page shows them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.door import Door, open_books
from engine.present.charts.charts import CHARTS
from sandbox.pool import Pool
from scripts.gallery import PAGE, PICTURES, Exhibit, drawn, exhibits
from tests.support.answers.charts import drawn as svg_of
from tests.support.answers.charts import texts


@pytest.fixture(scope="module")
def door(demo_folder: Path) -> Door:
    """The books of the demo."""
    return open_books(demo_folder)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Where the scripts run."""
    with Pool() as opened:
        yield opened


def test_the_gallery_shows_each_kind_of_chart_once() -> None:
    assert [exhibit.spec.chart_type for exhibit in exhibits()] == list(CHARTS)


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.spec.chart_type)
def test_a_chart_of_the_gallery_is_drawn_in_both_themes(exhibit: Exhibit, door: Door, pool: Pool) -> None:
    charts = drawn(exhibit, door, pool)
    assert exhibit.spec.title in texts(svg_of(charts["light"]))
    assert charts["light"].rows == charts["dark"].rows
    assert charts["light"].unit in ("EUR", "fraction")


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.spec.chart_type)
def test_the_page_has_what_the_gallery_asks(exhibit: Exhibit) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert exhibit.question in page
    assert f"```python\n{exhibit.transform_code}\n```" in page


def test_the_pictures_of_the_page_are_there_and_no_others() -> None:
    shown = re.findall(r"\]\(gallery/([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.name for path in PICTURES.iterdir())
