"""The notes of a search; it stands alone because several modules make them, and the page of tools lists them."""

from engine.model.notes import Note, Severity, Wording

SEARCH_NOTES: dict[str, Wording] = {
    "several_names": Wording(Severity.INFO, "Nothing is called '{query}'. This is what is called {names}.", ("names",)),
    "named_elsewhere": Wording(Severity.INFO, "{names} is no member, metric or statement, but {what}.", ("names",)),
    "not_held": Wording(Severity.CAUTION, "These books do not hold {names}: it is in no figure of them.", ("names",)),
    "nothing_found": Wording(Severity.CAUTION, "No {places} that this caller sees holds {names}.{texts}", ("names",)),
}


class SearchNote(Note, frozen=True):
    """A note of a kind in SEARCH_NOTES."""

    @property
    def wording(self) -> Wording:
        """Its severity and message."""
        return SEARCH_NOTES[self.code]
