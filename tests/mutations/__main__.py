"""The mutation check: each rule of the figures broken on its own in a copy of the checkout, where a test must fail.

    python -m tests.mutations            every mutation of rules.toml
    python -m tests.mutations T25 blends those whose paragraph, cases or words hold one of these
    python -m tests.mutations --write    all of them, and their table in README.md

The test that README.md names as the killer of a mutation runs first, its other tests only if that one passes. The run
fails where a mutation survives, where it breaks more than a rule, where the text to change is not there once, and where
a test that killed a mutation fails without it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tests.support.books.loads import ROOT

RULES = Path(__file__).with_name("rules.toml")
PAGE = Path(__file__).with_name("README.md")
ROW = re.compile(r"^\| (?P<words>.+) \| \S+ \| (?P<test>\w+) \((?P<file>\S+)\) \|$", re.MULTILINE)
MARKER = "<!-- the last full run of make test-mutations -->\n"
PYTEST = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0")
FAILED = re.compile(r"^(FAILED|ERROR) (?P<test>tests/\S+?)(\[.*?\])?( - (?P<why>.*))?$", re.MULTILINE)
HUNG = 900  # seconds
PASSED, FAILING = 0, 1  # exit codes of pytest; any other is no verdict
SLIP = re.compile(r"NameError|UnboundLocalError|SyntaxError|ImportError|TypeError: .*\(\) (missing|takes|got)")


@dataclass(frozen=True, slots=True)
class Edit:
    """A text of a file and what stands in its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule, the edits that break it, and the test files that should fail then."""

    paragraph: str
    rule: str
    cases: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file where the rule stands."""
        return self.edits[0].file

    @property
    def words(self) -> str:
        """The rule with its cases."""
        return f"{self.rule} ({self.cases})" if self.cases else self.rule


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the tests: the first that failed and why; `is_sound` where they passed or the rule is broken."""

    is_sound: bool
    killer: str | None
    why: str

    @property
    def word(self) -> str:
        """The verdict on a mutation in one word."""
        return "broken" if not self.is_sound else "killed" if self.killer else "SURVIVED"


def read_mutations(path: Path) -> list[Mutation]:
    """Return the mutations of a file: a table of arrays, one for each paragraph."""
    return [
        Mutation(
            paragraph=paragraph,
            rule=part["rule"],
            cases=part.get("cases", ""),
            edits=tuple(Edit(edit["file"], edit["old"], edit["new"]) for edit in (part, *part.get("also", ()))),
            tests=tuple(f"tests/{name}" for name in part["tests"]),
        )
        for paragraph, parts in tomllib.loads(path.read_text(encoding="utf-8")).items()
        for part in parts
    ]


def chosen(mutations: Iterable[Mutation], words: Sequence[str]) -> list[Mutation]:
    """Return the mutations that hold one of some words, all where there are none."""
    return [
        known
        for known in mutations
        if not words or any(word.lower() in f"{known.paragraph} {known.words}".lower() for word in words)
    ]


@contextmanager
def scratch_copy() -> Iterator[Path]:
    """Copy the tracked files of the checkout to a folder that goes away."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, Path(folder) / name)
        yield Path(folder)


@contextmanager
def mutated(copy: Path, edits: Sequence[Edit]) -> Iterator[None]:
    """Apply some edits for a while; ValueError where a text is not there exactly once."""
    before = {edit.file: (copy / edit.file).read_text(encoding="utf-8") for edit in edits}
    after = dict(before)
    for edit in edits:
        if (count := after[edit.file].count(edit.old)) != 1:
            raise ValueError(f"{edit.file} has {count} times: {edit.old}")
        after[edit.file] = after[edit.file].replace(edit.old, edit.new)
    write(copy, after)
    try:
        yield
    finally:
        write(copy, before)


def write(copy: Path, texts: Mapping[str, str]) -> None:
    """Write some files of a copy, whose compiled code could pass for that of a text as long and as old."""
    for file, text in texts.items():
        (copy / file).write_text(text, encoding="utf-8")
        Path(cache_from_source(str(copy / file))).unlink(missing_ok=True)


def tested(copy: Path, tests: Iterable[str]) -> Verdict:
    """Run some tests of a copy against the engine of that copy."""
    known = {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "",  # compile each module once
        "COLUMNS": "400",
        "HYPOTHESIS_PROFILE": "thorough",
    }
    command = [sys.executable, "-m", "pytest", *PYTEST, *tests]
    environment = {**os.environ, **known}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=HUNG
        )
    except subprocess.TimeoutExpired:
        return Verdict(is_sound=False, killer=None, why="the tests hang")
    found = FAILED.search(ran.stdout)
    if ran.returncode == FAILING and found is not None:
        why = found["why"] or ""
        return Verdict(is_sound=not SLIP.match(why), killer=found["test"], why=why)
    return Verdict(is_sound=ran.returncode == PASSED, killer=None, why=(ran.stdout + ran.stderr)[-2000:])


def engine_of(copy: Path) -> Path:
    """Return the folder of the engine that tests of a copy import."""
    asked = [sys.executable, "-c", "import engine; print(engine.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    answer = subprocess.run(asked, cwd=copy, env=environment, capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip()).parent


def recorded_killers(text: str) -> dict[str, str]:
    """Return the test that each row of a page names, by the words of its mutation."""
    return {row["words"]: f"tests/{row['file']}::{row['test']}" for row in ROW.finditer(text)}


def verdicts(
    copy: Path, mutations: Sequence[Mutation], killers: Mapping[str, str]
) -> Iterator[tuple[Mutation, Verdict]]:
    """Yield what the tests say of each mutation, one after the other."""
    for mutation in mutations:
        killer = killers.get(mutation.words)
        try:
            with mutated(copy, mutation.edits):
                verdict = tested(copy, [killer]) if killer else None
                yield mutation, verdict if verdict and verdict.killer else tested(copy, mutation.tests)
        except ValueError as misfit:
            yield mutation, Verdict(is_sound=False, killer=None, why=str(misfit))


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def page(found: Sequence[tuple[Mutation, Verdict]]) -> str:
    """Return the verdicts as a table of a page."""
    rows = [f"{len(found)} mutations, one rule each.\n", "| Rule | Broken in | Killed by |", "|---|---|---|"]
    for mutation, verdict in found:
        file, _, test = (verdict.killer or verdict.word).removeprefix("tests/").partition("::")
        rows.append(f"| {mutation.words} | {mutation.file} | {test} ({file}) |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Run the mutations asked for and tell of each; 1 where one is not killed."""
    parser = ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("words", nargs="*", help="only mutations whose paragraph, cases or rule hold one of these")
    parser.add_argument("--write", action="store_true", help="write the table of README.md anew, below its marker")
    asked = parser.parse_args()
    mutations = chosen(read_mutations(RULES), asked.words)
    began = time.monotonic()
    found: list[tuple[Mutation, Verdict]] = []
    with scratch_copy() as copy:
        if copy.resolve() not in engine_of(copy).resolve().parents:
            say(f"the tests of a copy import {engine_of(copy)}")
            return 1
        head, _, table = PAGE.read_text(encoding="utf-8").partition(MARKER)
        for mutation, verdict in verdicts(copy, mutations, recorded_killers(table)):
            found.append((mutation, verdict))
            say(f"{verdict.word:9}{mutation.file:34}{mutation.words}")
            say(f"{'':9}{verdict.killer or ''} {verdict.why if verdict.word != 'SURVIVED' else ''}".rstrip())
        killers = sorted({verdict.killer for _, verdict in found if verdict.killer})
        without = tested(copy, killers) if killers else Verdict(is_sound=True, killer=None, why="")
        if not without.is_sound or without.killer:
            say(f"without any mutation the tests fail: {without.killer} {without.why}")
            return 1
    alive = sum(verdict.word != "killed" for _, verdict in found)
    say(f"{len(found)} mutations, {len(found) - alive} killed, {time.monotonic() - began:.0f} s")
    if asked.write and not asked.words:
        PAGE.write_text(f"{head}{MARKER}\n{page(found)}", encoding="utf-8")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
