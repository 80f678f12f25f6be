"""Each rule of docs/figures.md and each numbered case has tests, and what tests name as their rules is on the page."""

from scripts.rules_index import cases, index, sections

FINANCE, VARIANCES = 80, 15  # cases


def test_each_section_of_the_page_has_test_functions() -> None:
    found = index()
    assert [name for name in sections() if not any(found[name].values())] == []


def test_tests_name_sections_that_the_page_has() -> None:
    assert set(index()) == set(sections())


def test_each_numbered_case_has_a_test_function() -> None:
    numbers = [f"T{number:02}" for number in range(1, FINANCE + 1)]
    numbers += [f"V{number:02}" for number in range(1, VARIANCES + 1)]
    assert list(cases()) == numbers
