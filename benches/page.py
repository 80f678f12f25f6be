"""The tables that benches write into pages of the documentation."""

from collections.abc import Sequence
from pathlib import Path

README = Path(__file__).with_name("README.md")


def marks(bench: str) -> tuple[str, str]:
    """Return the lines between which a bench writes."""
    return f"<!-- python -m benches {bench} writes what follows -->\n", f"<!-- end of {bench} -->\n"


def write_block(page: Path, bench: str, lines: Sequence[str]) -> None:
    """Replace what stands between the marks of a bench. A page without them stays as it is, and the user is told so."""
    begin, end = marks(bench)
    above, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, below = rest.partition(end)
    if found and closed:
        page.write_text(above + begin + "\n".join([*lines, ""]) + end + below, encoding="utf-8")
    else:
        print(f"{page.name} has no place for {bench}")
