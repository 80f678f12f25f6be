"""The count of long classes: one that grows, a new one and one that shrinks are told."""

from scripts.class_sizes import MAX_LINES, complaints, long_classes


def written(name: str, lines: int) -> str:
    """Return a class of some lines."""
    return "\n".join([f"class {name}:", *(f"    a{at} = {at}" for at in range(lines - 1))]) + "\n"


def test_a_class_above_the_bound_is_found_with_its_lines() -> None:
    files = {"a.py": written("Short", MAX_LINES) + written("Long", MAX_LINES + 1), "b.py": "x = 1\n"}
    assert dict(long_classes(files)) == {"a.py Long": MAX_LINES + 1}


def test_growth_and_a_new_long_class_fail_and_a_shorter_one_is_to_be_written_down() -> None:
    known = {"a.py A": 250, "a.py B": 250, "a.py C": 250}
    told = complaints({"a.py A": 251, "a.py B": 249, "a.py C": 250, "a.py D": 201}, known)
    assert told == [
        "a.py A: 251 lines, more than 250. Split it.",
        "a.py D: 201 lines, more than 200. Split it.",
        "a.py B: 249 lines now. Write that into scripts/class_sizes.py.",
    ]
    assert complaints(known, known) == []
