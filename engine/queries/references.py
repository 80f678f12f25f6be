"""Resolves scenario references among those visible: unknown names get a note, what is no reference is refused."""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import digits

from engine.books.reader import Reader
from engine.model.calendar.families import TRADING
from engine.model.calendar.steps import COUNTED, shift_of, shifts_of
from engine.model.errors import ECHO_CHARACTERS, BadArguments, closest, guess, quoted
from engine.model.notes import NAMED, Note
from engine.model.scenarios import WELL_FORMED_SIDE, Reference, Scenario, live, resolve
from engine.model.stopping import watched
from engine.model.views import call_of, resolve_view

ECHO = 100  # characters of a name in a note
MAX_NAMES = 4  # in a reference: those of a variance of two blends
NAME = re.compile(r"(?<![@\w])[^\s@(),+/]++(?:/[^\s@(),+/]++)?(?!\()")  # of a scenario, in a reference of any kind
OPERATORS = frozenset("@(),+")
CALL = re.compile(r"([^()]*)\((.*)\)", re.DOTALL)
VARIANCES = ("var", "var_pct")
SIDES = 2
COMPARED = re.compile(
    r"\s*[-\u2212\u2013/]\s*|\s+(?:vs\.?|versus|minus|less|against|to)\s+"
)  # as people write variances


def resolve_reference(text: str, field: str, reader: Reader) -> Reference | None:
    """Return what a reference means, or None if a name in it is unknown; BadArguments if it is none by its grammar.

    `field` is the argument that holds the text: `scenarios.0.scenario`, `scenarios.0`, `scenario_id` and the like.
    """
    reference = resolve(text, reader.scenarios)
    if reference is None and (fault := fault_of(text, reader)):
        refuse_malformed(text, fault, field, reader)
    return reference


def unknown_scenarios(names: Sequence[str], reader: Reader) -> list[Note]:
    """Return one note for names that no scenario has, with visible ones that are spelled like the first of them."""
    if not names:
        return []
    close = tuple(dict.fromkeys(near for name in names[:NAMED] for near in nearest(name, reader.scenarios)))
    about = {"scenarios": tuple([name[:ECHO] for name in names]), **({"did_you_mean": close} if close else {})}
    return [Note.of("unknown_scenario", **about), *nothing_visible(reader)]


def nothing_visible(reader: Reader) -> list[Note]:
    """Return the note for a caller who sees no scenario, and so nothing; none for others."""
    return [] if reader.scenarios else [Note.of("nothing_visible")]


def refuse_malformed(text: str, fault: str, field: str, reader: Reader) -> None:
    """Raise BadArguments for a text that is no reference, with what it may mean and with forms that work."""
    forms = reference_forms(reader)
    meant = [form for form in meanings(text, reader) if resolve(form, reader.scenarios)]
    close = list(dict.fromkeys(meant)) or nearest(text, reader.scenarios)
    works = f" These work: {quoted(forms)}." if forms else ""
    examples = (*close, *forms)
    raise BadArguments(
        f"{quoted([text])} is no scenario reference: {fault}.{guess(close)}{works}",
        field=field,
        got=text,
        valid=forms,
        did_you_mean=close,
        example=example_of(examples[0], field, reader) if examples else None,
    )


def example_of(reference: str, field: str, reader: Reader) -> dict[str, object]:
    """Return the argument that `field` lies in, with one reference, or with its scenario where no view of it fits."""
    argument, *inner = field.split(".")
    if not inner:
        meant = resolve(reference, reader.scenarios)
        return {argument: meant.sides[0].terms[0].key if meant else reference}
    if argument == "filters":
        return {argument: {inner[0]: reference}}
    return {argument: [{"scenario": reference} if inner[-1] == "scenario" else reference]}


def reference_forms(reader: Reader) -> list[str]:
    """Return a working reference of each form: a visible scenario, views of it, a blend, variances."""
    scenarios = list(live(reader.scenarios).values())
    if not scenarios:
        return []
    first, *others = scenarios
    other = others[0].id if others else f"{first.id}@py"
    ends = all(first.open_after(domain) for domain in reader.domains)
    blends = [f"{first.id}+{known.id}" for known in others[:1] if ends]
    variances = [f"{name}({first.id},{other})" for name in VARIANCES]
    return [first.id, f"{first.id}@py", f"{first.id}@ytd", *blends, *variances]


# What is wrong with a text, and what it may mean.


def fault_of(text: str, reader: Reader) -> str | None:
    """Return what makes an unresolved text no reference; None if it is one of names that are unknown.

    A comparison such as `actual-budget` is none where both its sides are visible; else it is a name like any other.
    """
    folded = text.strip().casefold()
    if any(True for _ in compared(folded, reader)):
        return "a difference is written var(a,b), a relative one var_pct(a,b)"
    if not OPERATORS.intersection(folded):
        return None
    if call_of(folded):
        return (
            "share( ), rank( ), running( ) and changes of shares are columns of a report, in scenarios of "
            "run_statement and run_metric"
        )
    sides = [folded]
    if call := CALL.fullmatch(folded):
        sides = call[2].split(",")
        if call[1] not in VARIANCES or len(sides) != SIDES:
            return "var( ) and var_pct( ) take two references, with a comma between"
    faults = (fault_of_side(side.strip(), reader) for side in sides)
    return next((fault for fault in faults if fault), None)


def fault_of_side(side: str, reader: Reader) -> str | None:
    """Return what makes a text no side of a reference; None if its names alone decide."""
    if side.count("+") > 1:
        return "a blend is made of two scenarios"
    if not WELL_FORMED_SIDE.fullmatch(side):
        return "it is an id, with @ and a shift behind it, without blanks or brackets, or var( ) of two such"
    unknown = next((step for step in side.split("@")[1:] if shift_of(step) is None), None)
    return None if unknown is None else f"there is no shift @{unknown[:ECHO]}; {shifts_like(unknown, reader)}"


def shifts_like(step: str, reader: Reader) -> str:
    """Return in words the numbers that a shift of this name takes, or the shifts that there are."""
    if named := COUNTED.get(step.rstrip(digits)):
        counts = named.counts
        return f"@{step.rstrip(digits)} takes a number from {counts.start} to {counts.stop - 1}"
    return f"shifts are {', '.join(f'@{shift}' for shift in usable_shifts(reader))}"


def usable_shifts(reader: Reader) -> list[str]:
    """Return the names of the shifts that some visible domain answers."""
    return shifts_of(trading=any(domain.carries(TRADING.year) for domain in reader.domains.values()))


def meanings(text: str, reader: Reader) -> Iterator[str]:
    """Yield what a malformed text may mean, best first; not all of it resolves."""
    folded = text.strip().casefold()
    if len(folded) > ECHO_CHARACTERS:
        return
    yield from compared(folded, reader)
    if view := resolve_view(folded, reader.scenarios):
        yield view.operand.key
        return
    yield "".join(folded.split())
    for step in folded.rstrip(")").split("@")[1:]:
        for close in closest(step, usable_shifts(reader)):
            yield folded.replace(f"@{step}", f"@{close}")
    if (call := CALL.fullmatch(folded)) and (given := [side.strip() for side in call[2].split(",") if side.strip()]):
        name = "var_pct" if "pct" in call[1] or "%" in call[1] else "var"
        base = NAME.match(given[0])
        others = (*given[1:2], *(key for key in reader.scenarios if not base or key != base[0]), f"{given[0]}@py")
        yield from (f"{name}({given[0]},{other})" for other in others[:2])


def compared(folded: str, reader: Reader) -> Iterator[str]:
    """Yield the variance that a text with a minus, a slash or a word between two visible references means."""
    if len(folded) > ECHO_CHARACTERS:
        return
    names = names_of(reader.scenarios)
    for match in COMPARED.finditer(folded):
        sides = [names.get(side, side) for side in (folded[: match.start()], folded[match.end() :])]
        if all(resolve(side, reader.scenarios) for side in sides):
            yield f"{'var_pct' if '/' in match[0] else 'var'}({','.join(sides)})"


def nearest(text: str, scenarios: Mapping[str, Scenario]) -> list[str]:
    """Return references spelled like an unknown one, best first; they name what is in `scenarios` by id or alias.

    Of a shifted view, blend or variance that is the same one of the names that are nearest.
    """
    names = names_of(scenarios)

    def alike(name: str) -> list[str]:
        return list(dict.fromkeys(names[close] for close in closest(name, list(names))))

    folded = text.strip().casefold()
    parts = NAME.findall(folded) if len(folded) <= ECHO_CHARACTERS else []
    if not 0 < len(parts) <= MAX_NAMES:
        return []
    if not OPERATORS.intersection(folded):
        return alike(folded)
    meant = NAME.sub(lambda name: (alike(name[0]) or [name[0]])[0], folded)
    return [meant] if resolve(meant, scenarios) or resolve_view(meant, scenarios) else []


def names_of(scenarios: Mapping[str, Scenario]) -> dict[str, str]:
    """Return the ids that scenarios and variants have, by id and by alias, without case."""
    names = {scenario.alias.casefold(): scenario.id for scenario in scenarios.values()}
    for scenario in scenarios.values():
        ids = (scenario.id, *(f"{scenario.id}/{variant.key}" for variant in scenario.variants))
        names |= {name.casefold(): name for name in watched(ids)}
    return names
