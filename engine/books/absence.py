"""Absence of a search: what was looked through where nothing has a name, and the notes of a search."""

from collections.abc import Iterator

from engine.books.folding import fold, spaced
from engine.books.reader import Reader
from engine.model.errors import first_of
from engine.model.notes import NAMED, Note, Severity, Wording
from engine.model.stopping import watched

PLACES = "dimension, member, node, metric, statement or column"
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


def absence_note(name: str, dimension: str | None, reader: Reader) -> Note:
    """Return the note on a name that a search does not find: what else it names, or what was looked through."""
    if dimension is not None:
        return SearchNote.of("nothing_found", names=(name,), places=f"member of {dimension}", texts="")
    columns = list(text_columns(reader))
    words = [f"the column {column} of {domain}" for column, domain in columns]
    called = [text for text, (column, _) in zip(words, columns, strict=True) if is_called(name, column)]
    if named := [*dimensions_called(name, reader), *called]:
        return SearchNote.of("named_elsewhere", names=(name,), what=first_of(named, NAMED))
    texts = f" Texts of rows were not searched: inspect_rows takes text for {first_of(words, NAMED)}." if words else ""
    return SearchNote.of("nothing_found", names=(name,), places=PLACES, texts=texts)


def not_held_notes(name: str, reader: Reader) -> tuple[Note, ...]:
    """Return the note on words of a name that the instance says its books do not hold, if there are any."""
    words = {*spaced(fold(name)).split()}
    lacking = [word for word in reader.catalogue.vocabulary.not_held if {*spaced(fold(word)).split()} <= words]
    return (SearchNote.of("not_held", names=tuple(lacking)),) if lacking else ()


def dimensions_called(name: str, reader: Reader) -> Iterator[str]:
    """Yield the visible dimensions with a name, in words."""
    for key, dimension in watched(reader.dimensions.items()):
        if is_called(name, key) or is_called(name, dimension.label):
            yield f"the dimension {key}"


def text_columns(reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the text columns of the visible sources of rows, each with the key of its source."""
    for key, domain in reader.domains.items():
        if domain.inspect_enabled:
            yield from ((column, key) for column in domain.texts)


def is_called(name: str, text: str) -> bool:
    """Tell whether each word of a name begins a word of a text."""
    words = f" {spaced(fold(text))}"
    return all(f" {word}" in words for word in spaced(fold(name)).split() or [name])
