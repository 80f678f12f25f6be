"""A newcomer with files of their own: `tieout init` without its stores, and the first statement of what it wrote."""

import argparse
from decimal import Decimal
from pathlib import Path
from typing import Any

from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.run.commands import init
from tests.support.books.fed import Fed
from tests.support.books.loads import load_feeds


def initialised(folder: Path, *files: Path | str, answers: str = "") -> int:
    """Write an instance from files, and return the status of the command; `load_feeds` loads it."""
    said = folder.with_suffix(".answers.yaml")
    if answers:
        said.write_text(answers, encoding="utf-8")
    given = said if answers else None
    asked = argparse.Namespace(folder=folder, files=list(files), answers=given, no_load=True, yes=False)
    return init.run(asked, Settings())


def first_statement(folder: Path, state: Path) -> dict[str, Decimal]:
    """Load an instance, and return the first column of its default report by label."""
    load_feeds(folder, state)
    instance = read_instance(folder)
    fed = Fed(folder, state, *instance.profiles.by_key.values())
    return by_label(fed.ask("run_statement_data"))


def by_label(answer: dict[str, Any]) -> dict[str, Decimal]:
    """Return the figures of the first column of a statement by their labels."""
    return {row["label"]: Decimal(str(row["values"][0])) for row in answer["rows"] if row["values"][0] is not None}
