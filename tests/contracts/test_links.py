"""Every link of the documentation leads to a file, and to a heading that it has."""

import re
from pathlib import Path

from tests.support.books.loads import ROOT
from tests.support.checks.tracked import tracked

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


def leads_somewhere(page: str, file: str, heading: str) -> bool:
    """Tell whether a link has a file, and a heading of it where it names one."""
    target = (ROOT / page).parent / file if file else ROOT / page
    return target.exists() and (not heading or heading in anchors(target))


def test_every_link_leads_somewhere() -> None:
    assert LINKS
    assert [link for link in LINKS if not leads_somewhere(*link)] == []
