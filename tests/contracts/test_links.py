"""Every link of the documentation leads to a file, and to a heading that it has."""

import re
from pathlib import Path

import pytest

from tests.support.books import ROOT
from tests.support.tracked import tracked

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
LINKS = [
    (page.relative_to(ROOT).as_posix(), file, heading)
    for page in tracked("*.md")
    for file, heading in LINK.findall(page.read_text(encoding="utf-8"))
]


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "file", "heading"), LINKS)
def test_a_link_leads_somewhere(page: str, file: str, heading: str) -> None:
    target = (ROOT / page).parent / file if file else ROOT / page
    assert target.exists()
    assert not heading or heading in anchors(target)
