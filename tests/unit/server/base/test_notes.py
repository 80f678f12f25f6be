"""Notes of the service are joined, worded and told as those of figures are, and none has the code of another."""

from engine.model.notes import NOTES, notes_as_data
from server.base.notes import SERVER_NOTES, ServerNote


def test_notes_of_the_service_are_joined_and_told_as_others_are() -> None:
    notes = [ServerNote.of("not_drawn", reason=reason) for reason in ("too wide", "too long")]
    told = {"code": "not_drawn", "severity": "info", "message": "There is no picture: too wide and too long."}
    assert notes_as_data([notes[0].with_names(), *notes]) == [told]
    assert ServerNote.of("withheld").as_data() == {
        "code": "withheld",
        "severity": "info",
        "message": SERVER_NOTES["withheld"].sentence,
    }


def test_no_code_has_two_wordings() -> None:
    assert not NOTES.keys() & SERVER_NOTES.keys()
