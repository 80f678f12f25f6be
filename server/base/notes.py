"""The notes of the service on its answers; it stands alone because every room above adds some."""

from engine.model.notes import Note, Severity, Wording

SERVER_NOTES: dict[str, Wording] = {
    "not_drawn": Wording(Severity.INFO, "There is no picture: {reason}."),
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
}


class ServerNote(Note, frozen=True):
    """A note of a kind in SERVER_NOTES."""

    @property
    def wording(self) -> Wording:
        """Its severity and message."""
        return SERVER_NOTES[self.code]
