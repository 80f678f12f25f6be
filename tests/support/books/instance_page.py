"""The instance that docs/instance.md is: its blocks as files, its tables, and the section of each file."""

import re
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import polars as pl

from tests.support.books.loads import ROOT

PAGE = ROOT / "docs" / "instance.md"
MAIN, REST = PAGE.read_text(encoding="utf-8").split("\n## calendar.csv\n")
SECOND, RECIPES = REST.split("\n## Recipes\n")
BLOCK = re.compile(r"^([^\n]+)\n\n```(?:yaml|csv)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"([\w{}/-]+\.(?:yaml|csv|xlsx))`?(?:, sheet `(\w+)`)?:?$")
LEDGER = "The table `ledger`, in the database:"
SECTIONS = {
    heading.partition("/")[0].removesuffix(".yaml"): text
    for heading, text in re.findall(r"^## (\S+\.yaml)\n(.*?)(?=^## |\Z)", MAIN, re.MULTILINE | re.DOTALL)
}


@dataclass(frozen=True)
class PageBlock:
    """A block of the page under the line that names its file."""

    named: str
    text: str

    @property
    def file(self) -> str:
        """The file it is, or a part of it."""
        found = FILE.search(self.named)
        assert found, f"no file is named above the block under {self.named!r}"
        return found[1]


def blocks(text: str) -> list[PageBlock]:
    """Return the blocks of a part of the page."""
    return [PageBlock(named, block) for named, block in BLOCK.findall(text)]


def write(folder: Path, text: str) -> None:
    """Write the files of a part of the page, blocks of one file after each other, in place of those that are there."""
    files: dict[str, str] = {}
    for block in blocks(text):
        if block.named != LEDGER:
            files[block.file] = files.get(block.file, "") + block.text
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".xlsx"):
            sheet = next(FILE.search(block.named) for block in blocks(text) if block.file == name)
            assert sheet
            pl.read_csv(StringIO(content), infer_schema=False).write_excel(folder / name, sheet[2])
        else:
            (folder / name).write_text(content, encoding="utf-8")


def table(text: str) -> list[list[str]]:
    """Return the rows of the table in a text, its heading first."""
    lines = re.findall(r"^\|(.+)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines if not set(line) <= set("|-: ")]
