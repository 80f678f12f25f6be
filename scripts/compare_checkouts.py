"""Compares two checkouts: the same calls over the same books, answered by each with its own interpreter.

`python -m scripts.compare_checkouts OLD NEW [--books 300] [--seed 1] [--list FILE]` asks the demo, AdventureWorks,
Oxford and drawn books for statements, metrics, rows, explanations and exported frames under up to three profiles each.
It prints the number and a digest of the answers of each checkout, how many figures they show, and the first difference;
1 if there is one. `--list` writes every difference.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from engine.instance.read import read_instance
from scripts.checkout_answers import CALLS
from tests.differential.books import FileBooks
from tests.differential.drawing import draw_instance
from tests.differential.questions import draw_question
from tests.support.books.loads import ADVENTUREWORKS, OXFORD

ANSWERS = Path(__file__).with_name("checkout_answers.py")
DEMO_ROWS = 60_000
AT_ONCE = 20  # books that one process answers; each keeps its threads
QUESTIONS = 12  # of each drawn book
PERIODS = {"demo": ("2025-01", "2025-06"), "adventureworks": ("2005-07", "2006-06"), "oxford": ("2016-01", "2016-12")}
DATA = {"adventureworks": ADVENTUREWORKS, "oxford": OXFORD}
PROFILES = {
    "all": {"operations": True, "scenarios": {"*": {}}},
    "part": {"scenarios": {"*": {"dimensions": {"product": {"allow": ["P", "Q", "R"]}}}}},
    "abroad": {"scenarios": {"*": {"dimensions": {"entity": {"deny": ["DE"]}}}}},
    "assign": [{"subject": "dev", "profile": "all"}],
}
Json = dict[str, Any]
Call = tuple[str, Json]


def main() -> int:
    """Compare; 1 if any answer differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--books", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        books = [Path(folder) / name for name in ("old", "new")]
        write_books(asked.old, books[0], asked.books, asked.seed)
        shutil.copytree(books[0], books[1])
        pairs = zip((asked.old, asked.new), books, strict=True)
        said = [answers_of(checkout, each, Path(folder) / f"{each.name}.jsonl") for checkout, each in pairs]
        differing = list(differences(*said))
        for name, path in zip(("old", "new"), said, strict=True):
            digest = sha256(path.read_bytes()).hexdigest()[:16]
            print(f"{name}: {len(lines(path))} answers, {sum(map(figures, lines(path))):,} figures, {digest}")
    if asked.list:
        asked.list.write_text("".join(f"{json.dumps(each)}\n" for each in differing), encoding="utf-8")
    print(f"{len(differing)} differ: {dict(Counter(each['book'].split('-')[0] for each in differing))}")
    if differing:
        print(json.dumps(differing[0], indent=1))
    return int(bool(differing))


# The books and the calls.


def write_books(old: Path, folder: Path, books: int, seed: int) -> None:
    """Write every book into a folder of its own, with its calls."""
    for name, period in PERIODS.items():
        if name in DATA and not DATA[name].is_dir():
            print(f"{name}: its rows are not on this machine", file=sys.stderr)
            continue
        shutil.copytree(old / "instances" / name, folder / name)
        if name == "demo":
            command = [sys.executable, "generate.py", "--into", "data", "--rows", str(DEMO_ROWS), "--seed", "1"]
            subprocess.run(command, cwd=folder / name, check=True, capture_output=True)
        (folder / name / CALLS).write_text(json.dumps(list(catalogue_calls(folder / name, period))), encoding="utf-8")
    for at in range(books):
        write_drawn(folder / f"drawn-{seed + at}", seed + at)


def write_drawn(folder: Path, seed: int) -> None:
    """Write one drawn book, and questions of it."""
    rng = Random(seed)
    folder.mkdir(parents=True)
    draw_instance(rng).write(folder)
    (folder / "profiles.yaml").write_text(json.dumps(PROFILES), encoding="utf-8")
    drawn = FileBooks(folder, "all")
    questions = [vars(draw_question(rng, drawn)) for _ in range(QUESTIONS)]
    calls = [call for question in questions for call in drawn_calls(question)]
    (folder / CALLS).write_text(json.dumps(calls), encoding="utf-8")


def drawn_calls(question: Mapping[str, Any]) -> Iterator[Call]:
    """Yield a drawn question, the rows behind its first metric, and an explanation of it."""
    period = dict(zip(("period_start", "period_end"), question["period"], strict=True))
    shared = {
        "scenarios": [{"scenario": name, "alias": f"c{at}"} for at, name in enumerate(question["scenarios"])],
        **period,
        "dimensions": question["dimensions"],
        "filters": question["filters"],
        **({"subtotals": True} if question["subtotals"] else {}),
    }
    if not question["metrics"]:
        yield "run_statement", {"statement": "all", **shared}
        return
    first = question["metrics"][0]
    ranking = {"order_by": f"{first}@c0", "top": question["top"]} if question["order_by"] and question["top"] else {}
    yield "run_metric", {"metrics": question["metrics"], **shared, "formulas": question["formulas"], **ranking}
    for source in ("gl", "people"):
        rows = {"source_key": source, "scenario_id": "actual", **period}
        yield "inspect_rows", {**rows, "filters": {"metric": first, **question["filters"]}}
    by = list(question["dimensions"][:1]) or ["entity"]
    yield "explain_variance", {"scenarios": ["actual", "budget"], **period, "metric": first, "by": by}


def catalogue_calls(folder: Path, period: tuple[str, str]) -> Iterator[Call]:
    """Yield calls of every statement, and of every metric in all and by each dimension that its domain has."""
    catalogue = read_instance(folder).catalogue
    days = dict(zip(("period_start", "period_end"), period, strict=True))
    names = list(catalogue.scenarios)[:2]
    shared = {"scenarios": [{"scenario": name} for name in names], **days}
    for statement in catalogue.statements:
        for by in ([], ["period"]):
            yield "run_statement", {"statement": statement, **shared, "dimensions": by}
    for key, metric in catalogue.metrics.items():
        leaves = set(catalogue.domains[metric.domain].dimensions)
        usable = [name for name, known in catalogue.dimensions.items() if known.leaf in leaves]
        for by in ([], ["period"], *([name] for name in usable)):
            yield "run_metric", {"metrics": [key], **shared, "dimensions": by}
        for name in names:
            rows = {"source_key": metric.domain, "scenario_id": name, **days, "limit": 20}
            yield "inspect_rows", {**rows, "filters": {"metric": key}}
        if len(names) > 1:
            yield "explain_variance", {"scenarios": names, **days, "metric": key, "by": usable[:1]}


# The answers.


def answers_of(checkout: Path, books: Path, into: Path) -> Path:
    """Return the file of the answers of a checkout to the calls of some books."""
    paths = {"ADVENTUREWORKS": str(ADVENTUREWORKS), "OXFORD_SPEND": str(OXFORD), "PYTHONPATH": str(checkout)}
    folders = sorted(str(path) for path in books.iterdir())
    with into.open("wb") as file:
        for first in range(0, len(folders), AT_ONCE):
            command = [str(checkout / ".venv" / "bin" / "python"), str(ANSWERS), *folders[first : first + AT_ONCE]]
            subprocess.run(command, cwd=checkout, env={**os.environ, **paths}, stdout=file, check=True)
    return into


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def figures(line: str) -> int:
    """Return how many figures an answer shows: the rows of the frame of a report, the numbers in other rows."""
    said = json.loads(line)[3]
    return len(said["frame"]) - 1 if "frame" in said else numbers(said["answer"].get("rows", ()))


def numbers(value: object) -> int:
    """Return how many numbers a value of JSON holds."""
    if isinstance(value, dict | list | tuple):
        return sum(map(numbers, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def differences(old: Path, new: Path) -> Iterator[Json]:
    """Yield the answers that differ: their book, profile and call, and the first part that differs in each."""
    for one, other in zip_longest(lines(old), lines(new)):
        if one != other:
            book, profile, call, _ = known = json.loads(one or other or "null")
            before, after = (json.loads(each)[3] if each else None for each in (one, other))
            yield {"book": book, "profile": profile, "call": call, **first_part(before, after, "")} if known else {}


def first_part(one: object, other: object, path: str) -> Json:
    """Return the first part in which two values of JSON differ, with its path."""
    if isinstance(one, dict) and isinstance(other, dict):
        at = next((key for key in sorted({*one, *other}) if one.get(key) != other.get(key)), None)
        if at is not None:
            return first_part(one.get(at), other.get(at), f"{path}.{at}")
    if isinstance(one, list) and isinstance(other, list):
        each = enumerate(zip_longest(one, other))
        position, pair = next((at, pair) for at, pair in each if pair[0] != pair[1])
        return first_part(*pair, f"{path}[{position}]")
    return {"part": path, "old": one, "new": other}


if __name__ == "__main__":
    sys.exit(main())
