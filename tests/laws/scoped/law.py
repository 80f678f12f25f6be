"""The law of scope: what a tool answers through profiles is what it answers to everyone on books cut to them.

`python -m tests.laws.scoped.law SEED BOOKS` holds every tool to it on so many random books, and prints each call that
breaks it with its books.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.facts.backend import ArrowVersions
from engine.model.fact_store import Versions
from server.tools.toolbox import REQUESTS
from tests.laws.oracle.replay import from_seed
from tests.laws.scoped.answering import asked, compared_alike
from tests.laws.scoped.books import ScopedBooks, random_books
from tests.laws.scoped.calls import EVERYTHING_LISTED, LARGE, BudgetedCall, calls, calls_of, comparing
from tests.laws.scoped.cutting import Sight, cut
from tests.laws.scoped.profiles import ProfileSpec, profiles_asked
from tests.laws.scoped.writing import EVERYTHING, ScopedTools
from tests.support.engines.memory import folder_in_memory

BOOKS_OF_A_SEED = 20  # the later books of a seed vary the earlier ones
NEARLY = range(-60, 61)  # tokens of budget: ids of loads and versions are not of the same digits


@dataclass(frozen=True, slots=True)
class BrokenCall:
    """A call whose answer through profiles is not that of books cut to them."""

    call: BudgetedCall
    seen: Any
    expected: Any


@st.composite
def seen_books(draw: st.DrawFn) -> tuple[ScopedBooks, tuple[ProfileSpec, ...]]:
    """Draw books and the profiles that they are seen through."""
    books = draw(random_books())
    return books, draw(profiles_asked(books.world))


def seen_apart(books: ScopedBooks, profiles: Sequence[ProfileSpec]) -> list[tuple[str, str]]:
    """Return the pairs of scenarios of which profiles show other parts."""
    sight = Sight(books, profiles)
    scenarios = sorted(sight.scenarios)
    return [(a, b) for a in scenarios for b in scenarios if a != b and not sight.alike([a, b])]


def same(call: BudgetedCall, seen: ScopedTools, whole: ScopedTools) -> bool:
    """Tell whether a call is answered alike; what is cut to a budget, as by nearly the same budget."""
    mine = asked(call, seen)
    return mine == asked(call, whole) or (
        call.budget < LARGE and any(mine == asked(call, whole, call.budget + more) for more in NEARLY)
    )


def explained_scenarios(call: BudgetedCall) -> list[str]:
    """Return the names of the scenarios that an explained variance may read."""
    sides = call.arguments["scenarios"]
    return [term.split("/")[0].strip() for side in sides for term in side.split("@")[0].split("+")]


def compares(call: BudgetedCall, sight: Sight) -> bool:
    """Tell whether a call compares what is not seen alike: as a default column, or as the variance it explains."""
    if call.tool == "explain_variance":
        return not sight.alike([name for name in explained_scenarios(call) if name in sight.scenarios])
    if not sight.alike(sorted(scenarios_computed(call, sight.books) & sight.scenarios)):
        return True
    columns = [] if "scenarios" in call.arguments else sight.books.default.get("scenarios", ())
    return any("var" in column["scenario"] for column in columns) and not sight.alike(["actual", "budget"])


def scenarios_computed(call: BudgetedCall, books: ScopedBooks) -> set[str]:
    """Return the scenarios that formulas of a report read together, in their columns and by operands of their own."""
    if not call.tool.startswith(("run_metric", "run_statement")):
        return set()
    parts = {key: part for metrics in books.metrics.values() for key, part in metrics.items()}
    own = [part for name, part in parts.items() if part.scenarios and name in str(call.arguments.get("metrics"))]
    if call.tool.startswith("run_statement"):
        own = [line for line in books.statements["gaps"] if "gaps" in str(call.arguments.get("statement"))]
    if not own and "[" not in str(call.arguments.get("formulas", "")).replace("['", "").replace('["', ""):
        return set()
    told = str([call.arguments, books.default if "scenarios" not in call.arguments else ()])
    return {key for key in books.scenarios if key in told or any(key in part.scenarios for part in own)}


def without_example(call: BudgetedCall, answer: Any) -> Any:
    """Return an answer without its examples: where scenarios are seen apart, these compare what is seen of both."""
    if call.tool == "tools/list":
        return None
    return answer if "shown" in answer else {key: part for key, part in answer.items() if key != "example"}


def broken_calls(
    books: ScopedBooks,
    profiles: Sequence[ProfileSpec],
    drawn: Sequence[BudgetedCall],
    versions: Callable[[Path], Versions] = ArrowVersions,
) -> Iterator[BrokenCall]:
    """Yield the calls, and those that list everything, whose answers are not those of books cut to the profiles.

    The books that profiles restrict are opened by `versions`, those that are cut from files.
    """
    sight = Sight(books, profiles)
    with folder_in_memory() as folder:
        seen = ScopedTools(books, profiles, folder / "seen", versions)
        whole = ScopedTools(cut(books, sight), [EVERYTHING], folder / "cut")
        apart = bool(seen_apart(books, profiles))
        for call in (*EVERYTHING_LISTED, *drawn):
            if compares(call, sight) or same(call, seen, whole):
                continue
            mine, theirs = asked(call, seen), asked(call, whole)
            if not apart or without_example(call, mine) != without_example(call, theirs):
                yield BrokenCall(call, mine, theirs)


def broken_comparisons(
    books: ScopedBooks, profiles: Sequence[ProfileSpec], pair: tuple[str, str], drawn: Sequence[BudgetedCall]
) -> Iterator[BrokenCall]:
    """Yield the calls whose variances are not those of books with both scenarios cut to what is seen of both."""
    with folder_in_memory() as folder:
        seen = ScopedTools(books, profiles, folder / "seen")
        both = ScopedTools(cut(books, Sight(books, profiles), pair), [EVERYTHING], folder / "both")
        for call in (each for each in drawn if others_read(each, books) <= {*pair}):
            mine, theirs = asked(call, seen), asked(call, both)
            if others_read(call, books):  # by operands, whose rows are one call only where cells are the same
                mine, theirs = without_drill(mine), without_drill(theirs)
            if (mine := compared_alike(mine)) != (theirs := compared_alike(theirs)):
                yield BrokenCall(call, mine, theirs)


def without_drill(answer: Any) -> Any:
    """Return an answer without the calls for the rows behind its figures."""
    if isinstance(answer, dict):
        return {key: without_drill(part) for key, part in answer.items() if key not in ("drill", "operands")}
    return [without_drill(part) for part in answer] if isinstance(answer, list | tuple) else answer


def others_read(call: BudgetedCall, books: ScopedBooks) -> set[str]:
    """Return the scenarios that the metrics and statements of a call read besides its columns."""
    told = str([call.arguments.get(key) for key in ("metric", "metrics")])
    parts = [part for metrics in books.metrics.values() for name, part in metrics.items() if name in told]
    if "gaps" in str([told, call.arguments.get("statement")]):
        parts += books.statements["gaps"]
    return {key for part in parts for key in part.scenarios}


def differences(mine: Any, theirs: Any, at: str = "") -> Iterator[str]:
    """Yield the places in which two answers differ, with what each says there."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted({*mine, *theirs}):
            yield from differences(mine.get(key, "nothing"), theirs.get(key, "nothing"), f"{at}.{key}")
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from differences(one, other, f"{at}[{place}]")
    elif mine != theirs:
        yield f"{at}: {mine} instead of {theirs}"


def search(number: int, count: int) -> int:
    """Print each broken call of some random books, two of every tool for each, and return how many there are."""
    found = 0

    @from_seed(number, count)
    @given(data=st.data(), known=seen_books())
    def searched(data: st.DataObject, known: tuple[ScopedBooks, tuple[ProfileSpec, ...]]) -> None:
        nonlocal found
        drawn = [data.draw(calls_of(tool)) for tool in sorted(REQUESTS) for _ in range(2)]
        broken = [*broken_calls(*known, [*drawn, *data.draw(st.lists(calls(), min_size=4, max_size=8))])]
        if pairs := seen_apart(*known):
            pair = data.draw(st.sampled_from(pairs))
            broken += broken_comparisons(*known, pair, data.draw(st.lists(comparing(pair), min_size=4, max_size=8)))
        for each in broken:
            found += 1
            sys.stdout.write(f"seed {number}: {each.call}\nin {known[0]}\nthrough {known[1]}\n")
            sys.stdout.writelines(f"  {text}\n" for text in differences(each.seen, each.expected))

    searched()
    sys.stdout.write(f"seed {number}: {found} broken calls in {count} books\n")
    sys.stdout.flush()
    return found


def main() -> int:
    """Search the books of one seed after another; 1 if a call breaks the law."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    seeds = range(first, first + -(-count // BOOKS_OF_A_SEED))
    return int(sum([search(number, BOOKS_OF_A_SEED) for number in seeds]) > 0)


if __name__ == "__main__":
    sys.exit(main())
