"""Notes: what a result says about itself besides its figures.

A note has a stable code for programs, a message that a model can act on, and the names in the message. Like an error, a
note names only what its caller may see.
"""

from dataclasses import dataclass
from enum import Enum

NAMED = 5  # names in a message; the rest are counted


class Severity(Enum):
    """How much a note matters to the reader of the figures."""

    INFO = "info"
    CAUTION = "caution"


@dataclass(frozen=True, slots=True)
class Wording:
    """The message of one kind of note, with names in braces."""

    severity: Severity
    sentence: str


NOTES: dict[str, Wording] = {
    "unknown_scenario": Wording(
        Severity.CAUTION,
        "There is no scenario '{scenario}', so it was left out. list_scenarios names those that exist.",
    ),
    "unknown_member": Wording(
        Severity.CAUTION,
        "No member of {dimension} has the id {members}; it matches nothing. search_hierarchy finds the ids.",
    ),
    "resolved": Wording(Severity.INFO, "Names of {dimension} were read as ids: {members}."),
    "default_period": Wording(Severity.INFO, "No period was asked for, so this shows {period}."),
    "default_scenarios": Wording(Severity.INFO, "No scenario was asked for, so this shows {scenarios}."),
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
    "weighted_rows": Wording(Severity.CAUTION, "{dimensions} weighs: {says}."),
    "sign_reversed": Wording(Severity.INFO, "{lines} shows {metric} with the other sign."),
    "coarser_postings": Wording(
        Severity.CAUTION,
        "{scenario} posts {domain} on one day of each month, so its figures by {grain} lie on these days alone.",
    ),
    "no_rows": Wording(Severity.INFO, "{scenario} holds no rows of {domain}, so its figures there are blank."),
    "window_replaces_range": Wording(
        Severity.INFO, "{scenario} shows {window} whatever the range: its window depends on the last period only."
    ),
    "leap_period": Wording(
        Severity.INFO,
        "{scenario}: {periods} has no counterpart then. The range moves to periods that exist.",
    ),
    "no_window": Wording(
        Severity.INFO, "{scenario} is blank for {period}: its window lies outside the calendar or does not exist."
    ),
    "anchor": Wording(
        Severity.INFO, "Balances of {domain} ({group}) in {scenario} are those at the close of {anchor}."
    ),
    "anchors_differ": Wording(
        Severity.CAUTION, "Balances stand at different dates: {anchors}. Compare them with care."
    ),
    "incomplete_close": Wording(
        Severity.CAUTION, "{members} of {dimension} have rows in the range but none at the close of {anchor}: blank."
    ),
    "not_computable": Wording(
        Severity.CAUTION, "{lines} cannot be computed here, because {operand} is not available: {reason}."
    ),
    "unavailable": Wording(Severity.CAUTION, "{lines} cannot be asked this way: {reason}."),
    "aggregate": Wording(
        Severity.INFO, "{domain} has no {dimensions}: {lines} repeat their aggregate in every member's column."
    ),
    "open_period": Wording(
        Severity.CAUTION,
        "{scenario} is open or not loaded to the end of {window} ({domain}), so a missing figure there is unknown, "
        "not zero.",
    ),
    "coverage_differs": Wording(
        Severity.CAUTION,
        "{sides} do not cover the same in {domain}: {a} against {b} {periods} hold rows.",
    ),
    "scope_differs": Wording(
        Severity.CAUTION,
        "The variance of {sides} compares only what you may see of both; a column of one alone may show more.",
    ),
    "variant_untouched": Wording(
        Severity.INFO,
        "{scenario} adjusts by {dimensions}, which {domain} does not have: that adjustment leaves it as it is.",
    ),
    "shortened": Wording(Severity.INFO, "This is longer than an answer may be: {left_out} left out. {rest}"),
    "mixed_currency": Wording(
        Severity.CAUTION,
        "Amounts in several currencies ({currencies}) are added up in {scenario}: {lines}. Such a sum is an amount in "
        "none of them, whatever unit is shown. Break down by {dimension} to see them apart, or use a converted metric.",
    ),
    "foreign_currency": Wording(
        Severity.CAUTION, "Amounts in {scenario} are in {currencies}, whatever unit is shown: {lines}."
    ),
    "newer_data": Wording(
        Severity.CAUTION,
        "{domain} ({scenarios}) was loaded again after these figures were read. Run the report again for the latest.",
    ),
    "computed": Wording(
        Severity.INFO,
        "A script worked these figures out in floating point, so the last digits may differ from exact figures. Quote "
        "exact ones from the results it was given.",
    ),
    "not_drawn": Wording(Severity.INFO, "The chart was not made into a file: {reason}."),
    "snapshot_too_large": Wording(
        Severity.INFO,
        "This result is larger than what can be kept ({limit}), so it has no data_ref. Ask for less of it.",
    ),
    "snapshot_unavailable": Wording(
        Severity.INFO, "This result could not be kept just now, so it has no data_ref. Call again later to have one."
    ),
    "withheld": Wording(
        Severity.INFO,
        "Extracts, constants, row counts and messages are left out where a dataset holds more than you may see.",
    ),
    "history_unavailable": Wording(
        Severity.CAUTION,
        "The history of loads cannot be read just now, so the last loads are left out. Call again shortly.",
    ),
    "type_differs": Wording(
        Severity.CAUTION,
        "The file was said to be {said} and came as {sent}: a page that asks for a login may have come in its place.",
    ),
    "top_reduced": Wording(Severity.INFO, "top {got} is above the maximum; {maximum} was used."),
    "largest_kept": Wording(
        Severity.CAUTION,
        "{left} members are left out: those kept are the largest by amount of {line} in {scenario}, in the order of "
        "their ids. {rest}",
    ),
    "first_kept": Wording(
        Severity.CAUTION, "{left} members are left out: those kept are the first by id, not the largest. {rest}"
    ),
    "latest_kept": Wording(Severity.INFO, "{left} members are left out: the oldest periods. {rest}"),
    "limit_reduced": Wording(Severity.INFO, "limit {got} is above the maximum; {maximum} was used."),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One note of a result. A result lists equal notes once."""

    code: str
    about: tuple[tuple[str, str | tuple[str, ...]], ...]

    @classmethod
    def of(cls, code: str, **about: str | tuple[str, ...]) -> "Note":
        """Make a note of a kind in NOTES with the names for its message."""
        return cls(code, tuple(about.items()))

    @property
    def message(self) -> str:
        """The message with its names filled in."""
        return NOTES[self.code].sentence.format(**dict(self.about))

    def as_data(self) -> dict[str, str | list[str]]:
        """Return the keys code, severity and message, then the names."""
        names = {key: value if isinstance(value, str) else list(value) for key, value in self.about}
        return {"code": self.code, "severity": NOTES[self.code].severity.value, "message": self.message, **names}
