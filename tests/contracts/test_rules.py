"""The mutation rules follow the code: a text that is broken on purpose stands where its rule says, once."""

import pytest

from tests.mutations.__main__ import RULES, Mutation, read_mutations
from tests.support.books import ROOT


@pytest.mark.parametrize("known", read_mutations(RULES), ids=lambda known: known.rule)
def test_the_text_of_a_rule_is_in_its_file_once(known: Mutation) -> None:
    texts = {edit.file: (ROOT / edit.file).read_text(encoding="utf-8") for edit in known.edits}
    for edit in known.edits:
        assert texts[edit.file].count(edit.old) == 1, f"{edit.file}: {edit.old}"
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    assert all((ROOT / test).is_file() for test in known.tests)
