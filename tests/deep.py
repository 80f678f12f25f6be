"""The deep tests: `python -m tests.deep MINUTES [PART …]` runs each named part for so many minutes.

    laws        every law on random books, round after round, each round with a fresh seed that is printed
    differential  drawn instances, whose figures an oracle that reads their files says too; it prints every difference
    scope       every tool on two thousand random books held to the law of scope, from a fresh seed that is printed
    memos       the laws of figures, of scope and of shared books; each value that is kept is made anew and compared
    digits      the law of digits: 20,000 rows a kind of source, from a fresh seed that is printed with the counts
    looks       500 large calls and every attacker of the bench crowd: how long they compute between two looks at `stop`
    order       thousands of sequences of calls held to the law of order, from fresh seeds that are printed
    large-load  a load of ten million rows
    examples    the example of each tool and of refusals, over the wire, on fifty drawn books with drawn profiles
    rows        the rows behind every cell of the cases of inspection
    kills       a loader killed at ten random moments
    leaks       a thousand calls searched for hidden words, also in exports
    warehouses  the contract of facts, the laws and the questions of small books, in ClickHouse (chdb) and in Sail with
                two workers; it installs both (830 MB)
    spark       the same contract, laws and questions in Spark with two workers; it installs Spark (450 MB that pip
                builds), and takes Java
    drivers     the drivers of Snowflake and BigQuery against their protocol on this machine, and the contract, the laws
                and the questions of books that attach tables of both
    install     the wheel and the bundle installed as by a user, with every package from the index
    pythons     make serve, the wheel, the jail, the demo's digest and the cases under each newer Python that is here
    stack       the image and compose.yaml in containers, installed as the page says; as root, with what make ci-deps
                installs (docker.io, debootstrap, slirp4netns)
    attacks     every attack on the jail, with the language of scripts and with the jail alone
    fuzz        twenty thousand calls with mutated arguments, as many mutated instance files, and ten thousand charts of
                random results
    flakes      the suite three times in random order beside eight busy processes, then fifty times the tests that start
                processes, open sockets or wait; the seed of each order is printed
    mutations   each rule of the figures broken on its own; a test must fail

A round that has begun is finished. A failing round prints the command that repeats it; turn the book that it found into
a test with a name.
"""

import os
import random
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.mutations.__main__ import RULES, read_mutations
from tests.support.machine.programs import find_program

PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
UNITS = "tests/unit/server/warehouses"
OF_ENGINES = (
    *map(str, sorted(Path(UNITS).glob("test_*.py"))),  # beside their folder, pytest would pass over the files deep_*.py
    "tests/unit/engine/facts/test_store.py",
    "tests/unit/engine/facts/test_grouped_questions.py",
    "tests/unit/engine/facts/test_parts.py",
    "tests/oracles/test_differences.py",
    "tests/unit/engine/books/test_backends.py",
    "tests/laws/test_warehouses.py",
)
MEMOS = "memos"
PARTS: Mapping[str, Sequence[str]] = {
    "laws": ("tests/laws",),
    MEMOS: ("tests/laws/test_interleaved.py", "tests/laws/test_scope.py", "tests/laws/test_figures.py"),
    "digits": ("-s", "tests/laws/test_digits.py"),  # prints its counts
    "looks": ("tests/laws/test_look_gaps.py",),
    "order": ("tests/laws/test_order.py",),
    "large-load": ("tests/integration/faults/test_large_load.py",),
    "examples": ("tests/laws/test_examples.py", "tests/integration/server/test_examples_of_books.py"),
    "rows": ("tests/spec/test_cases_inspection.py",),
    "kills": ("tests/integration/faults/test_killed_loader.py",),
    "leaks": ("tests/integration/server/test_leaks.py",),
    "fuzz": (
        "tests/integration/server/test_mutated_calls.py",
        "tests/unit/server/feeds/test_mutated_files.py",
        "tests/unit/engine/present/test_random_charts.py",
    ),
    "warehouses": (
        *OF_ENGINES,
        f"{UNITS}/deep_failures.py",
        f"{UNITS}/deep_lakes.py",
    ),
    "spark": (*OF_ENGINES, f"{UNITS}/deep_spark.py"),
    "attacks": ("tests/unit/sandbox/test_attacks.py", "tests/integration/server/test_chart_refusals.py"),
}
MUTATIONS, SCOPE = "mutations", "scope"
INSTALL, DRIVERS, PYTHONS, STACK = "install", "drivers", "pythons", "stack"
MODULES = {
    INSTALL: "tests.support.machine.fresh_install",
    DRIVERS: "tests.support.machine.fresh_drivers",
    PYTHONS: "tests.support.machine.other_pythons",
    STACK: "tests.integration.stack.containers",
}
DIFFERENTIAL = "differential"
FLAKES = "flakes"
WHOLE_SUITE, WAITING_TESTS = 3, 50  # rounds of flakes
WAITING = ("tests/integration", "tests/identity", "tests/unit/server")  # start processes, open sockets or wait
WAREHOUSES, SPARK = "warehouses", "spark"
INSTALLING = ("pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r")
ENGINES = {  # of a part: the file that pins them, and their modules
    WAREHOUSES: ("constraints/deep.txt", ("chdb", "pysail", "deltalake")),
    SPARK: ("constraints/spark.txt", ("pyspark", "grpc_status")),
}
CHOSEN = {  # tests of a part
    WAREHOUSES: "clickhouse or flightsql or deep_failures or deep_lakes or laws",
    SPARK: "spark or laws",
}
ASKED = {  # environment of a part
    WAREHOUSES: {"WAREHOUSES": "clickhouse flightsql"},
    SPARK: {"WAREHOUSES": "spark"},
    MEMOS: {"CHECK_MEMOS": "1"},
    "looks": {"LOOKS": "500"},
    "order": {"CHECK_MEMOS": "7"},  # each seventh read
}
PROFILES = {  # of Hypothesis, in tests/conftest.py; else `deep`
    "fuzz": "fuzz",
    "order": "order",
    WAREHOUSES: "whole",
    DRIVERS: "whole",
    FLAKES: "whole",
    SPARK: "few",
}
JAVA = "Spark runs on Java, which is not installed: apt-get install default-jre-headless"
SEARCHED = 2000  # books of a round of scope
AT_ONCE = 10  # mutations of a round
ROUND = 300  # seconds of a round of the differential


def rounds(part: str) -> list[list[str]]:
    """Return the commands of one pass over a part, in random order."""
    if part == MUTATIONS:
        rules = [mutation.rule for mutation in read_mutations(RULES)]
        random.shuffle(rules)
        batches = [rules[begin : begin + AT_ONCE] for begin in range(0, len(rules), AT_ONCE)]
        return [[sys.executable, "-m", "tests.mutations", *batch] for batch in batches]
    seed = random.SystemRandom().randrange(2**32)
    if part == SCOPE:
        return [[sys.executable, "-m", "tests.laws.scoped.law", str(seed), str(SEARCHED)]]
    if part == DIFFERENTIAL:
        return [[sys.executable, "-m", "tests.differential", str(ROUND), str(seed)]]
    if part == FLAKES:
        searched = [("tests",)] * WHOLE_SUITE + [WAITING] * WAITING_TESTS
        return [
            [sys.executable, "-m", "tests.support.checks.flakes", str(seed + n), *of] for n, of in enumerate(searched)
        ]
    if part in MODULES:
        return [[sys.executable, "-m", MODULES[part]]]
    if part in ENGINES:
        asked = [*PYTEST, f"--hypothesis-seed={seed}", "-k", CHOSEN[part], *PARTS[part]]
        if part == SPARK and not (find_program("java") or os.environ.get("JAVA_HOME")):
            return [[sys.executable, "-c", f"raise SystemExit({JAVA!r})"]]
        pinned, modules = ENGINES[part]
        here = all(map(find_spec, modules))
        return [asked] if here else [[sys.executable, "-m", *INSTALLING, pinned], asked]
    return [[*PYTEST, f"--hypothesis-seed={seed}", *PARTS[part]]]


def run(part: str, minutes: float) -> bool:
    """Run rounds of a part until its minutes are over; return whether all passed."""
    ends = time.monotonic() + 60 * minutes
    passed, number = True, 0
    while number == 0 or time.monotonic() < ends:
        for command in rounds(part):
            number += 1
            profile = PROFILES.get(part, "deep")
            sys.stdout.write(f"{part}, round {number}: HYPOTHESIS_PROFILE={profile} {' '.join(command[1:])}\n")
            sys.stdout.flush()
            done = subprocess.run(
                command, env={**os.environ, **ASKED.get(part, {}), "HYPOTHESIS_PROFILE": profile}, check=False
            )
            passed = passed and done.returncode == 0
            if not passed or time.monotonic() >= ends:
                break
        if not passed:
            break
    sys.stdout.write(f"{part}: {number} rounds, {'all passed' if passed else 'FAILED'}\n")
    return passed


def main() -> int:
    """Run the parts that are asked for, all of them where none is; 1 where one fails."""
    parser = ArgumentParser(prog="python -m tests.deep")
    parser.add_argument("minutes", type=float)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, SCOPE, DIFFERENTIAL, *MODULES, FLAKES, MUTATIONS, []])
    asked = parser.parse_args()
    passed = [run(part, asked.minutes) for part in asked.parts or [*PARTS, SCOPE, DIFFERENTIAL, MUTATIONS]]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
