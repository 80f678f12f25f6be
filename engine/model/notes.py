"""Notes: what a result says about itself besides its figures.

A note has a stable code for programs, a message that a model can act on, and the names in the message. Like an error, a
note names only what its caller may see. An answer has one note of each code.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from engine.model.errors import first_of, quoted
from engine.model.stopping import watched

NAMED = 5  # names in a message; the rest are counted
MOST_NAMED = 20  # names in the message of notes that are joined in one
MOST_SENTENCES = 4  # of one code in an answer

# The notes on blanks: each null of an answer is covered by the first in this order whose cause holds. Each names the
# lines, scenarios and members that it covers, or covers them all; `no_rows` covers every null that no other one does.

BLANKS = (
    "unavailable",
    "not_computable",
    "no_window",
    "outside_books",
    "not_loaded",
    "open_period",
    "incomplete_close",
    "no_share",
    "no_rank",
    "no_others",
    "no_divisor",
    "no_rows",
)
OF_BLANKS = ("lines", "scenarios", "members")


class Severity(Enum):
    """How much a note matters to the reader of the figures."""

    INFO = "info"
    CAUTION = "caution"


class Wording(Struct, frozen=True):
    """The message of one kind of note, with names in braces."""

    severity: Severity
    sentence: str
    fields: tuple[str, ...] = ()  # the names that a program reads; the others stand in the message alone
    of_operands: str = ""  # the message where the note names operands of a formula


NOTES: dict[str, Wording] = {
    "unknown_scenario": Wording(
        Severity.CAUTION,
        "There is no scenario {scenarios}, so it was left out. list_scenarios names those that exist.",
    ),
    "nothing_visible": Wording(
        Severity.CAUTION, "Nothing of these books is visible to this caller. svc_orientation says who can change that."
    ),
    "no_base_scenario": Wording(
        Severity.CAUTION, "'{scenario}' is a variant or view of {bases}. Ask for the variants of that."
    ),
    "unknown_member": Wording(
        Severity.CAUTION,
        "No member of {dimension} has the id {members}; it matches nothing. {hint}",
        ("dimension", "members"),
    ),
    "resolved": Wording(Severity.INFO, "Names of {dimension} were read as ids: {members}.", ("dimension", "members")),
    "default_period": Wording(Severity.INFO, "No period was asked for, so this shows {period}.", ("period",)),
    "undated": Wording(
        Severity.INFO,
        "These are rows without a date. They are in no figure of a period; balances, shifts and blends have none.",
    ),
    "default_scenarios": Wording(Severity.INFO, "No scenario was asked for: this shows {scenarios}.", ("scenarios",)),
    "rows_not_summed": Wording(Severity.CAUTION, "More than {maximum} rows match, so they are not added up."),
    "header_member": Wording(
        Severity.CAUTION,
        "{members} of {dimension} carries no rows but heads a subtree. Filter {hierarchy} by {nodes} for what lies "
        "below.",
    ),
    "balances_summed": Wording(
        Severity.CAUTION,
        "{lines} adds up balances of {domain} ({group}) over several periods in {scenario}. Ask for one period, or for "
        "a metric that closes.",
    ),
    "leap_day": Wording(Severity.INFO, "{scenario}: {window} {differs} 29 February beside {period}."),
    "shared_rows": Wording(
        Severity.CAUTION,
        "Rows of {dimension} share members below them, such as {sharing}, so they do not add up to the total{says}.",
        ("dimension", "sharing"),
    ),
    "weighted_rows": Wording(Severity.CAUTION, "{dimensions} weighs: {says}."),
    "sign_reversed": Wording(Severity.INFO, "{metric} has the other sign in {lines}."),
    "coarser_postings": Wording(
        Severity.CAUTION,
        "{scenario} posts {domain} on one day of each month, so its figures by {grain} lie on these days alone.",
    ),
    "window_replaces_range": Wording(
        Severity.INFO, "{scenario} shows {window} whatever the range: its window depends on the last period only."
    ),
    "range_overlaps": Wording(
        Severity.CAUTION, "{scenario} shows {window}, which shares days with {period}.{instead}", ("scenario",)
    ),
    "short_window": Wording(
        Severity.CAUTION, "{scenario} of {domain} begins before the books: {parts}.", ("scenario", "parts")
    ),
    "own_windows": Wording(
        Severity.INFO,
        "Each period of the breakdown has a window of its own in {scenario}; the total is that of {window}, not their "
        "sum.",
    ),
    "blend_switches": Wording(
        Severity.INFO, "{scenario} of {domain} has {first} through {last} and {second} after it.", ("scenario", "last")
    ),
    "open_in_range": Wording(
        Severity.CAUTION,
        "{scenario} of {domain}: {open} is open, so figures that read it may still change.",
        ("scenario", "open"),
    ),
    "anchor": Wording(
        Severity.INFO, "Balances of {domain} ({group}) in {scenario} are those at the close of {anchor}."
    ),
    "anchors_differ": Wording(Severity.CAUTION, "Balances have different dates: {anchors}. Compare them with care."),
    "unavailable": Wording(Severity.CAUTION, "{where} cannot be asked this way: {reason}."),
    "not_computable": Wording(
        Severity.CAUTION, "{where} cannot be computed here, because {operand} is not available: {reason}."
    ),
    "no_window": Wording(
        Severity.INFO, "{where} is blank: the window that is shifted to lies outside the calendar or does not exist."
    ),
    "outside_books": Wording(
        Severity.CAUTION,
        "{where} is blank: it lies outside the loaded periods of {scenario} in {domain}, {first} to {last}.",
        of_operands="{where} is blank: {operands} lies outside the loaded periods of {scenario} in {domain}, {first} "
        "to {last}.",
    ),
    "not_loaded": Wording(
        Severity.CAUTION,
        "{where} is blank: {scenario} has no rows of {domain} in any period.",
        of_operands="{where} is blank: {operands} is unknown, for {scenario} has no rows of {domain} in any period.",
    ),
    "open_period": Wording(
        Severity.CAUTION,
        "{where} is blank: unknown, not zero, for {scenario} is open or not loaded to its end there ({domain}).",
        of_operands="{where} counts {operands} as 0, which may change: {scenario} is open and has no rows of it yet "
        "({domain}).",
    ),
    "operand_partial": Wording(
        Severity.CAUTION,
        "{lines} in {scenario} counts {operands} for {part}: {domain} is loaded from {first} to {last} alone. Not "
        "loaded: {lacks}.",
        ("lines", "operands"),
    ),
    "operand_unassigned": Wording(
        Severity.CAUTION,
        "{lines} counts nothing of {operand} there: {amount} of it in {scenario} has no {dimension}.",
        ("lines", "operand", "amount", "dimension"),
    ),
    "incomplete_close": Wording(
        Severity.CAUTION, "{where} is blank: there are rows in the range but none at the close of {anchor}."
    ),
    "no_divisor": Wording(
        Severity.INFO,
        "{where} is blank: what it divides by is 0.",
        of_operands="{lines} has no mix and price: {operands} of {scenarios} is 0.",
    ),
    "no_share": Wording(
        Severity.INFO,
        "{where} is blank: these figures do not add up over the rows, or have another unit than the line that they are "
        "divided by, so none is a share.",
    ),
    "no_rank": Wording(Severity.INFO, "{where} is blank: members have ranks, sub-totals, others and totals have none."),
    "no_others": Wording(Severity.INFO, "{where} is blank: balances and windows do not add up over periods."),
    "no_rows": Wording(
        Severity.INFO,
        "Blanks that no other note explains have no rows.",
        of_operands="{where} is blank: {operands}, by which it divides, has no rows.",
    ),
    "rows_elsewhere": Wording(
        Severity.CAUTION, "{scenario} of {domain} has no rows of {what} in {range}{loaded}. {periods}", ("what",)
    ),
    "members_without_rows": Wording(
        Severity.CAUTION, "Members of {dimension} without rows of {scenario} in {range}{loaded}: {periods}."
    ),
    "condition_unmet": Wording(
        Severity.CAUTION,
        "{lines} uses {metrics}, whose condition no member meets that you see. It may have another name since the last "
        "load; `tieout check --data` says what it names.",
        ("lines", "metrics"),
    ),
    "not_summed": Wording(
        Severity.INFO, "{lines} is worked out from the figures of the whole: it is not the sum of its {parts}."
    ),
    "mix_inside": Wording(
        Severity.INFO,
        "{lines} by {by}: {amount} of the price is mix of {finer} inside the rows. Ask by {finer} to see it apart.",
        ("lines", "by", "amount", "finer"),
    ),
    "aggregate": Wording(
        Severity.INFO, "{domain} has no {dimensions}: {lines} repeat their aggregate in every member's column."
    ),
    "whole": Wording(
        Severity.INFO,
        "{domain} has no {dimensions}: {lines} uses the whole of {operands}, the same for every member.",
        ("lines", "operands"),
    ),
    "scenario_partial": Wording(Severity.CAUTION, "{scenario}: {says}."),
    "scope_differs": Wording(
        Severity.CAUTION,
        "The variance of {sides} compares only what you may see of both; a column of one alone may show more.",
        of_operands="{lines} is computed only of what you may see in all of {operands}; one alone may show more.",
    ),
    "variant_untouched": Wording(
        Severity.INFO,
        "{scenario} adjusts by {dimensions}, which {domain} does not have: that adjustment leaves it as it is.",
    ),
    "shortened": Wording(Severity.INFO, "This is longer than an answer may be: {left_out} left out. {rest}"),
    "mixed_currency": Wording(
        Severity.CAUTION,
        "Amounts in several currencies ({currencies}) are added up in {scenario}: {lines}. Such a sum is an amount in "
        "none of them. Break down by {dimension} to see them apart, or use a converted metric.",
        of_operands="{operands} of the script may add up amounts in several currencies ({currencies}). Such a sum is "
        "an amount in none of them: compute within each unit, or from a converted metric.",
    ),
    "outside_tree": Wording(
        Severity.CAUTION,
        "{scenario}: no line reaches {count} members below {node} of {dimension} that have rows, {total} in sum. The "
        "largest: {members}.",
    ),
    "mixed_units": Wording(
        Severity.CAUTION,
        "{lines} adds up several units ({units}) in {scenario}. Break down by {dimension} to see them apart.",
    ),
    "foreign_currency": Wording(
        Severity.CAUTION, "Amounts in {scenario} are in {currencies}, not in the currency of the books: {lines}."
    ),
    "newer_data": Wording(
        Severity.CAUTION,
        "{domain} ({scenarios}) was loaded again after these figures were read. Run the report again for the latest.",
    ),
    "script_figures": Wording(
        Severity.INFO,
        "A script worked these figures out in floating point, so the last digits may differ from exact figures. Quote "
        "exact ones from the results it was given.",
    ),
    "not_finite": Wording(
        Severity.CAUTION,
        "Figures of the script that are NaN or infinite, as after a division by 0, are blank: {count} in {columns}.",
        ("columns", "count"),
    ),
    "other_units": Wording(
        Severity.CAUTION,
        "A chart shows figures of one unit, here {unit}. Left out: {left}. Draw them by chart_spec.unit: {others}.",
        ("unit", "left", "others"),
    ),
    "top_reduced": Wording(Severity.INFO, "top {got} is above the maximum; {maximum} was used."),
    "largest_kept": Wording(
        Severity.CAUTION,
        "{left} members are left out: those kept are the largest by amount of {line}{then} in {scenario}, in the order "
        "of their ids. {rest}",
        ("left", "line", "scenario"),
    ),
    "first_kept": Wording(
        Severity.CAUTION, "{left} members are left out: those kept are the first by id, not the largest. {rest}"
    ),
    "latest_kept": Wording(Severity.INFO, "{left} members are left out: the oldest periods. {rest}"),
    "limit_reduced": Wording(Severity.INFO, "limit {got} is above the maximum; {maximum} was used."),
}

Name = str | tuple[str, ...]
Json = dict[str, str | list[str]]


class Note(Struct, frozen=True):
    """One note of a result. A result lists equal notes once."""

    code: str
    about: tuple[tuple[str, Name], ...]

    @classmethod
    def of(cls, code: str, **about: Name) -> "Note":
        """Make a note of a kind in NOTES with the names for its message."""
        return cls(code, tuple(about.items()))

    def with_names(self, **about: Name) -> "Note":
        """Return the note with more names."""
        return replace(self, about=(*self.about, *about.items()))

    @property
    def wording(self) -> Wording:
        """Its severity and message."""
        return NOTES[self.code]

    @property
    def message(self) -> str:
        """The message with its names filled in."""
        return self.sentence(MOST_NAMED)

    def sentence(self, most: int) -> str:
        """Return the message with at most `most` names of each list."""
        names = {key: quoted(value, most) if isinstance(value, tuple) else value for key, value in self.about}
        wording = self.wording
        sentence = wording.of_operands if wording.of_operands and "operands" in names else wording.sentence
        return sentence.format(**names, where=blanks_named(names))

    def as_data(self) -> Json:
        """Return the keys code, severity and message, then the names that a program reads."""
        return as_data([self])


def blanks_named(names: Mapping[str, str]) -> str:
    """Return the lines, scenarios and members of blanks in words."""
    lines, scenarios, members = (names.get(key, "") for key in ("lines", "scenarios", "members"))
    found = " in ".join(part for part in (lines, scenarios) if part)
    return " at ".join(part for part in (found, members) if part)


def notes_as_data(notes: Iterable[Note]) -> list[Json]:
    """Return the notes of an answer as JSON: one of each code, those on blanks first, then by code."""
    return [as_data(found) for found in by_code(notes).values()]


def messages(notes: Iterable[Note]) -> list[str]:
    """Return the message of each code of some notes."""
    return [message_of(found) for found in by_code(notes).values()]


def by_code(notes: Iterable[Note]) -> dict[str, list[Note]]:
    """Return notes by code, those of a code that differ in one name joined in one.

    The codes of blanks come first, in the order of `BLANKS`, then the others in the order of their letters.
    """
    found: dict[str, list[Note]] = {}
    for note in dict.fromkeys(notes):
        found.setdefault(note.code, []).append(note)
    of_blanks = [code for code in BLANKS if code in found]
    others = sorted(code for code in found if code not in BLANKS)
    return {code: joined(found[code]) for code in (*of_blanks, *others)}


def joined(notes: Sequence[Note]) -> list[Note]:
    """Join notes of one code that differ in one name only."""
    if len(notes) == 1:
        return list(notes)
    for key in dict.fromkeys(key for note in watched(notes) for key, _ in note.about):
        apart = [tuple([pair for pair in note.about if pair[0] != key]) for note in watched(notes)]
        if len(set(apart)) == len(notes):
            continue  # no two of them differ in this name alone
        alike: dict[tuple[tuple[str, Name], ...], list[Name]] = {}
        places: dict[tuple[tuple[str, Name], ...], tuple[str, ...]] = {}
        for note, others in zip(notes, apart, strict=True):
            places.setdefault(others, tuple(name for name, _ in note.about))
            alike.setdefault(others, []).extend(value for name, value in note.about if name == key)
        first = notes[0]
        notes = [
            replace(
                first, about=tuple((name, {**dict(others), key: together(values)}[name]) for name in places[others])
            )
            if values
            else replace(first, about=others)
            for others, values in watched(alike.items())
        ]
    return list(notes)


def together(values: Sequence[Name]) -> Name:
    """Return one name, or several joined."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return distinct[0]
    if all(isinstance(value, tuple) for value in distinct):
        return tuple(dict.fromkeys(name for value in distinct for name in value))
    words = [value for value in distinct if isinstance(value, str)]
    return first_of(words, MOST_NAMED) if len(words) > MOST_NAMED else f"{', '.join(words[:-1])} and {words[-1]}"


def message_of(notes: Sequence[Note]) -> str:
    """Return the message of some notes of one code."""
    if len(notes) == 1:
        return notes[0].message
    more = len(notes) - MOST_SENTENCES
    sentences = dict.fromkeys(note.sentence(NAMED) for note in notes[:MOST_SENTENCES])
    return " ".join([*sentences, *([f"And {more} more of the kind."] if more > 0 else ())])


def as_data(notes: Sequence[Note]) -> Json:
    """Return some notes of one code as one: code, severity and message, then the names that a program reads."""
    code, wording = notes[0].code, notes[0].wording
    found: dict[str, list[Name]] = {}
    for note in watched(notes):
        for key, value in note.about:
            if key in wording.fields or (f"{{{key}}}" not in wording.sentence and key not in OF_BLANKS):
                found.setdefault(key, []).append(value)
    names = {key: together(values) for key, values in found.items()}
    data: Json = {"code": code, "severity": wording.severity.value, "message": message_of(notes)}
    return data | {key: value if isinstance(value, str) else list(value) for key, value in names.items()}
