"""The mutation rules follow the code: a text that is broken on purpose stands where its rule says, once."""

import re
from collections.abc import Iterator

from tests.mutations.__main__ import RULES, Mutation, read_mutations
from tests.support.books.loads import ROOT


def faults(known: Mutation) -> Iterator[str]:
    """Yield the texts of a rule that are not in their file once, and its tests that do not exist."""
    texts = {edit.file: (ROOT / edit.file).read_text(encoding="utf-8") for edit in known.edits}
    for edit in known.edits:
        count = texts[edit.file].count(edit.old)
        if count != 1:
            yield f"{known.rule}: {count} times in {edit.file}: {edit.old}"
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    yield from (f"{known.rule}: {test} does not exist" for test in known.tests if not (ROOT / test).is_file())


def test_the_text_of_a_rule_is_in_its_file_once() -> None:
    rules = read_mutations(RULES)
    assert rules
    assert [fault for known in rules for fault in faults(known)] == []


def test_a_broken_rule_is_found_by_the_tests_of_make_test() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (beyond,) = re.findall(r"^BEYOND := ([^#\n]+)", makefile, re.MULTILINE)
    left_out = tuple(f"tests/{folder}/" for folder in beyond.split())
    assert all((ROOT / folder).is_dir() for folder in left_out)
    rules = read_mutations(RULES)
    assert [known.rule for known in rules if any(test.startswith(left_out) for test in known.tests)] == []
