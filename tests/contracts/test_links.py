"""Every link of the pages in docs/ leads to a file, and to a heading that it has."""

import re
from pathlib import Path

import pytest

from tests.support.books import ROOT

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
LINKS = [
    (page.name, file, heading)
    for page in sorted((ROOT / "docs").glob("*.md"))
    for file, heading in LINK.findall(page.read_text(encoding="utf-8"))
]


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "file", "heading"), LINKS)
def test_a_link_leads_somewhere(page: str, file: str, heading: str) -> None:
    target = ROOT / "docs" / (file or page)
    assert target.exists()
    assert not heading or heading in anchors(target)
