"""Cuts: restrictions of one dimension, as files and requests write them."""

from dataclasses import dataclass, field

UNASSIGNED = "(unassigned)"
OWN = "/(own)"
ALL = "(all)"


@dataclass(frozen=True, slots=True)
class Cut:
    """Members or nodes of one dimension, allowed (OR inside one cut) or denied.

    The null member is `(unassigned)`; the postings of a node itself, without what lies below it, are `NODE/(own)`; all
    members together, as the total of a breakdown counts them, are `(all)`.
    """

    dimension: str
    ids: tuple[str, ...]
    deny: bool = False
    location: str = field(default="", compare=False)  # in the files of an instance: the file and the line


Cuts = tuple[Cut, ...]  # joined by AND
