"""Writes the table of settings into docs/operations/install.md, from the docstrings of the settings."""

import ast
import inspect
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from server.base.settings import Settings, variable_of

PAGE = Path(__file__).parents[1] / "docs" / "operations" / "install.md"
BEGIN, END = "<!-- settings: make docs writes this table -->\n", "<!-- end of settings -->\n"


def described() -> Mapping[str, str]:
    """Return what stands below each field of the settings."""
    (settings,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(settings, ast.ClassDef)  # noqa: S101 - it is the source of a class
    pairs = zip(settings.body, settings.body[1:], strict=False)
    return {
        field.target.id: inspect.cleandoc(str(text.value.value))
        for field, text in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def table() -> str:
    """Return the table of settings as Markdown."""
    words = described()
    rows = (
        f"| `{variable_of(known.name)}` | {shown(known.default)} | {words[known.name]} |" for known in fields(Settings)
    )
    return "\n".join(("| Variable | Default | What it decides |", "|---|---|---|", *rows)) + "\n"


def shown(default: object) -> str:
    """Return a default as the table shows it."""
    if isinstance(default, bool):
        return f"`{default}`".lower()
    return "" if default in (None, "") else f"`{default}`"


def written(page: str) -> str:
    """Return the page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
