"""Every note code and error type is told by docs/tools.md and held by a test that names it."""

from engine.books.absence import SEARCH_NOTES
from engine.model.notes import NOTES
from scripts.tools_page import PAGE, error_types
from server.base.notes import SERVER_NOTES
from tests.support.checks.tracked import tracked


def test_each_note_and_error_is_in_a_test_and_on_the_page() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in tracked("tests/**/test_*.py"))
    page = PAGE.read_text(encoding="utf-8")
    names = {code: {f'"{code}"'} for code in {**NOTES, **SEARCH_NOTES, **SERVER_NOTES}}
    names |= {kind: {f'"{kind}"', *(each.__name__ for each in refusals)} for kind, refusals in error_types().items()}
    assert [name for name, written in names.items() if not any(each in tests for each in written)] == []
    assert [name for name in names if f"| `{name}` |" not in page] == []
