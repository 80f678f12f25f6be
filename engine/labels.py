"""Labels: what members and nodes are called, as far as a reader may know.

A node that has others below it may go by the name and the code of the leaf that posts on it. Where that leaf may not
be seen, the node is called by a name of its own, else by its id.
"""

from engine.members.memberset import MemberSet
from engine.reader import Reader


def label_of(dimension: str, member: str, reader: Reader) -> str:
    """Return the name of an id."""
    members = reader.members(dimension)
    return members.label(member) if sees_lender(members, member, reader) else members.bare_label(member)


def code_of(dimension: str, member: str, reader: Reader) -> str | None:
    """Return the code that an id is known by outside these books."""
    members = reader.members(dimension)
    return members.code(member) if sees_lender(members, member, reader) else None


def path_of(dimension: str, member: str, reader: Reader) -> tuple[str, ...]:
    """Return the names from the top down to an id's parent."""
    return tuple(label_of(dimension, above, reader) for above in reader.members(dimension).path(member))


def sees_lender(members: MemberSet, member: str, reader: Reader) -> bool:
    """Tell whether whatever an id takes its name and code from may be seen."""
    lender = members.lender(member)
    return lender is None or reader.sees(members.leaf, lender)
