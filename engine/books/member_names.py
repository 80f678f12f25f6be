"""Members by what people call them: id, then code, then name, without regard to case, accents and spaces."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from engine.books.folding import fold_whole
from engine.books.reader import Reader, code_of, label_of
from engine.books.search import closest_members, findable_members
from engine.books.terms import member_terms
from engine.model.catalogue import Dimension
from engine.model.errors import BadArguments, closest, echo, quoted
from engine.model.notes import NAMED, Note
from engine.model.stopping import watched

MOST_VALUES = 1000  # of an axis; names are not compared with more
OF_ROWS = "The rows without this filter show the ids."


class MemberNames(Struct, frozen=True):
    """The ids that names stand for, in the order asked; a name that nothing has stays as it is."""

    ids: tuple[str, ...]
    visible: tuple[str, ...]  # the ids that the reader sees
    notes: tuple[Note, ...]


def resolve_member_names(dimension: Dimension, names: Sequence[str], reader: Reader, field: str) -> MemberNames:
    """Return the ids of some names of members.

    Ids go first. The lookup finds what search_hierarchy returns to this reader, so hidden members are unknown. Notes
    say which names were read as ids and which are unknown. Raises BadArguments for a name of several members.
    """
    others = [name for name in watched(names) if not reader.sees(dimension.key, name)]
    candidates_by_name = {} if dimension.axis_only or not others else find_by_name(dimension.key, others, reader)
    for name, candidates in candidates_by_name.items():
        if len(candidates) > 1:
            raise several_members(dimension.key, name, candidates, reader, field)
    ids_by_name = {name: candidates[0] for name, candidates in candidates_by_name.items()}
    unknown = [name for name in others if name not in ids_by_name]
    notes = []
    if ids_by_name:
        words = [f"'{echo(name)}' as '{member}'" for name, member in ids_by_name.items()]
        notes.append(Note.of("resolved", dimension=dimension.key, members=first_words(words)))
    if unknown:
        about: dict[str, str | tuple[str, ...]] = {"dimension": dimension.key, "members": quoted(unknown, NAMED)}
        close = (near_values if dimension.axis_only else close_to)(dimension.key, unknown[:NAMED], reader)
        about["hint"] = OF_ROWS if dimension.axis_only else "search_hierarchy finds the ids."
        notes.append(Note.of("unknown_member", **about, **({"did_you_mean": close} if close else {})))
    ids = tuple(dict.fromkeys(ids_by_name.get(name, name) for name in watched(names)))
    hidden = set(unknown)
    return MemberNames(ids, tuple(member for member in watched(ids) if member not in hidden), tuple(notes))


def first_words(words: Sequence[str]) -> str:
    """Join the first words and append the number of the others."""
    more = len(words) - NAMED
    return ", ".join(words[:NAMED]) + (f" and {more} more" if more > 0 else "")


def find_by_name(dimension: str, names: Iterable[str], reader: Reader) -> Mapping[str, Sequence[str]]:
    """Return the visible members that each name stands for; names that nothing has are left out.

    Ids win over codes, codes over names and names over terms. Among several members of the same kind of name, one that
    is written the same letter for letter wins.
    """
    keys = {name: key for name in names if (key := fold_whole(name))}
    findable = findable_members(dimension, reader)
    rows = findable.index.named(set(keys.values()), findable.seen)
    members_by_name = {}
    for name, key in keys.items():
        members = [findable.index.rows["id"][row] for row in rows.get(key, ())]
        for called in (str, partial(code_of, dimension, reader=reader), partial(label_of, dimension, reader=reader)):
            texts = {member: text for member in members if (text := called(member)) and fold_whole(text) == key}
            exact = [member for member, text in texts.items() if text == name]
            if texts:
                members_by_name[name] = exact if len(exact) == 1 else list(texts)
                break
        if name not in members_by_name and (readings := member_terms(dimension, reader).get(key)):
            members_by_name[name] = list(dict.fromkeys(reading.key for reading in readings))
    return members_by_name


def close_to(dimension: str, names: Iterable[str], reader: Reader) -> tuple[str, ...]:
    """Return the visible members whose id, code or name is closest to some names."""
    return tuple(dict.fromkeys(member for name in names for member in closest_members(name, dimension, reader)))


def near_values(dimension: str, names: Iterable[str], reader: Reader) -> tuple[str, ...]:
    """Return the visible values of an axis that are spelled like some names, none of an axis of many values."""
    ids = sorted(islice(reader.visible_ids(dimension), MOST_VALUES + 1))
    near = (close for name in names for close in closest(name, ids))
    return tuple(dict.fromkeys(near)) if len(ids) <= MOST_VALUES else ()


def several_members(dimension: str, name: str, candidates: Sequence[str], reader: Reader, field: str) -> BadArguments:
    """Refuse a name of several members; list their ids."""
    means = {known.key: known.means for known in member_terms(dimension, reader).get(fold_whole(name), ())}
    labels = {member: means.get(member) or label_of(dimension, member, reader) for member in candidates[:NAMED]}
    words = ", ".join(f"'{member}' ({label})" for member, label in labels.items())
    more = f" and {len(candidates) - NAMED} more" if len(candidates) > NAMED else ""
    return BadArguments(
        f"{len(candidates)} members of {dimension} are called {quoted([name])}: {words}{more}. Give the id of one.",
        field=field,
        got=name,
        valid=candidates,
    )
