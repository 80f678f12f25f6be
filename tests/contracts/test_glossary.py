"""docs/glossary.md is the whole vocabulary: fewer than 60 terms, each once, on one line."""

import re

from tests.support.books.loads import ROOT

TERMS = re.findall(
    r"^\| (?!Term \|)([^|]+) \| ([^|]+\.) \|$",
    (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_the_vocabulary_is_short_and_names_each_term_once() -> None:
    names = [term.lower() for term, _ in TERMS]
    assert 0 < len(names) < 60
    assert len(set(names)) == len(names)
