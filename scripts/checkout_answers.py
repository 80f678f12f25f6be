"""What a checkout answers: `CHECKOUT/.venv/bin/python checkout_answers.py FOLDER…` prints a line of JSON for each call.

Another checkout may run it, so that it uses only what both have. A line has the book, the profile, the call, and what
is said: whether it is refused, the answer, its notes and drills, and of a report the frame that an export writes.
"""

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from engine.door import open_books
from engine.instance.read import read_instance
from tests.support.books.fed import Fed
from tests.support.books.loads import load_feeds

CALLS = "calls.json"
MAX_PROFILES = 3
UNCUT = 10**9  # tokens of an answer
OF_A_RUN = {"data_ref", "freshness", "versions", "data_version", "catalogue_version", "cursor", "next_cursor"}
Json = dict[str, Any]


def main() -> None:
    """Answer the calls of the books in some folders."""
    for book in map(Path, sys.argv[1:]):
        state = book / ".state"
        load_feeds(book, state)
        for line in answers(book, state):
            print(json.dumps(line, sort_keys=True))


def answers(book: Path, state: Path) -> Iterator[tuple[str, str, list[Any], Json]]:
    """Yield what each profile is told of each call."""
    profiles = dict(list(read_instance(book).profiles.by_key.items())[:MAX_PROFILES])
    calls = json.loads((book / CALLS).read_text(encoding="utf-8"))
    tools = {key: Fed(book, state, profile, answer_tokens=UNCUT) for key, profile in profiles.items()}
    doors = {key: open_books(book, profile=key, state=state) for key in profiles}
    for profile, (tool, arguments) in product(profiles, calls):
        refused, answer, _ = tools[profile].call(tool, **arguments)
        said: Json = {"refused": refused, "answer": without_run(answer)}
        if not refused and tool in ("run_metric", "run_statement"):
            asked = dict(arguments)
            name = asked.pop("statement", None)
            asked["scenarios"] = {each.get("alias", each["scenario"]): each["scenario"] for each in asked["scenarios"]}
            asked["period"] = (asked.pop("period_start"), asked.pop("period_end"))
            door = doors[profile]
            report = door.statement(name, **asked) if name else door.metric(*asked.pop("metrics"), **asked)
            said["frame"] = report.frame.write_csv().splitlines()
        yield book.name, profile, [tool, arguments], said


def without_run(value: object) -> object:
    """Return a value of JSON without what differs between two runs."""
    if isinstance(value, dict):
        return {key: without_run(part) for key, part in value.items() if key not in OF_A_RUN}
    return [without_run(part) for part in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
