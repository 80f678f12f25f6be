"""Views: columns that are computed from the figures of other columns: shares, ranks, running sums, changes of shares.

Grammar: `share(of)` and `share(of,base)`, `rank(of)`, `running(of)` and `running(share(of))`, and `var(a,b)` and
`var_pct(a,b)` of two shares of scenarios. `of` is a scenario reference. A base is `parent`, the sub-total above, or the
key of a line of the statement. A caller sees a view only if they see every scenario in it.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from engine.model.scenarios import Reference, Scenario, Side, Variance, resolve

PARENT = "parent"
CALL = re.compile(r"\s*(share|rank|running|var|var_pct)\s*\((.*)\)\s*", re.DOTALL)
CHANGES = ("var", "var_pct")
SIDES = 2
MAX_ARGUMENTS = {"share": 2, "rank": 1, "running": 1, "var": 2, "var_pct": 2}


class Share(Struct, frozen=True):
    """A figure over the total of its column, over the sub-total above it, or over a line of the statement."""

    of: Reference
    base: str | None = None  # None: the total

    @property
    def key(self) -> str:
        """The reference as text."""
        return f"share({self.of.key},{self.base})" if self.base else f"share({self.of.key})"

    @property
    def operand(self) -> Reference:
        """What it is computed from."""
        return self.of


class Rank(Struct, frozen=True):
    """The position of a member among those that stand beside it: 1 is the largest, and equal figures share one."""

    of: Reference

    @property
    def key(self) -> str:
        """The reference as text."""
        return f"rank({self.of.key})"

    @property
    def operand(self) -> Reference:
        """What it is computed from."""
        return self.of


class Running(Struct, frozen=True):
    """The sum of a figure or a share and of those above it in its group."""

    of: Reference | Share

    @property
    def key(self) -> str:
        """The reference as text."""
        return f"running({self.of.key})"

    @property
    def operand(self) -> Reference:
        """What it is computed from."""
        return self.of.operand if isinstance(self.of, Share) else self.of


class ShareChange(Struct, frozen=True):
    """The difference of two shares of scenarios that divide alike, absolute or relative to the second."""

    a: Share
    b: Share
    relative: bool

    @property
    def key(self) -> str:
        """The reference as text."""
        return f"{'var_pct' if self.relative else 'var'}({self.a.key},{self.b.key})"

    @property
    def operand(self) -> Variance:
        """The variance of the figures that it is computed from."""
        return Variance(*self.operand_sides, relative=False)

    @property
    def operand_sides(self) -> tuple[Side, Side]:
        """The two scenarios. Raises TypeError for a share of a variance, of which there is no change."""
        a, b = self.a.of, self.b.of
        if not (isinstance(a, Side) and isinstance(b, Side)):
            raise TypeError(f"{self.a.key} and {self.b.key} are no shares of scenarios")
        return a, b


View = Share | Rank | Running | ShareChange


def operands_of(view: View) -> tuple[Reference, ...]:
    """Return what is read for a view: of a change of shares each side, within what may be seen of both."""
    if isinstance(view, ShareChange):
        return tuple(Variance(*view.operand_sides, relative=False, only=side) for side in (0, 1))
    return (view.operand,)


class ShownColumn(Struct, frozen=True):
    """A column as a request has it: a view of a column that is read, or without a view that column itself."""

    view: View | None
    heading: str
    read: int  # the position of the column that is read
    beside: int | None = None  # of a change of shares, the position of the column of its second side


def ranked_columns(columns: Sequence[ShownColumn]) -> tuple[int, ...]:
    """Return the positions of the columns that are read whose ranks some columns show."""
    return tuple(dict.fromkeys(shown.read for shown in columns if isinstance(shown.view, Rank)))


def has_running_sums(columns: Sequence[ShownColumn]) -> bool:
    """Tell whether one of some columns shows running sums."""
    return any(isinstance(shown.view, Running) for shown in columns)


def call_of(text: str) -> tuple[str, Sequence[str]] | None:
    """Return the name of a view and its arguments, as a text has them; None for a text of another form.

    A variance is one if it has a share among its arguments.
    """
    call = CALL.fullmatch(text)
    if call is None:
        return None
    arguments = arguments_of(call[2])
    if call[1] in CHANGES and not any(is_share(argument) for argument in arguments):
        return None
    return call[1], arguments


def is_share(text: str) -> bool:
    """Tell whether a text has the form of a share."""
    call = CALL.fullmatch(text)
    return call is not None and call[1] == "share"


def arguments_of(text: str) -> Sequence[str]:
    """Return the arguments of a call: what stands between the commas that lie in no parentheses."""
    arguments, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += character
    return [argument.strip() for argument in arguments]


def resolve_view(text: str, scenarios: Mapping[str, Scenario]) -> View | None:
    """Return the view that a text means among `scenarios`; None if a name in it is unknown, or if it is none.

    `scenarios` holds the visible ones, so that a hidden scenario is unknown too.
    """
    name, arguments = call_of(text) or ("", ())
    if not 0 < len(arguments) <= MAX_ARGUMENTS.get(name, 0):
        return None
    if name in CHANGES:
        shares = [resolve_view(argument, scenarios) for argument in arguments if is_share(argument)]
        return change_of(shares, relative=name == "var_pct") if len(shares) == len(arguments) else None
    if name == "running" and call_of(arguments[0]):
        share = resolve_view(arguments[0], scenarios)
        return Running(share) if isinstance(share, Share) else None
    of = resolve(arguments[0], scenarios)
    if of is None:
        return None
    if name == "share":
        base = arguments[1] if len(arguments) > 1 else None
        return None if base == "" else Share(of, base)
    return Rank(of) if name == "rank" else Running(of)


def change_of(shares: Sequence[View | None], *, relative: bool) -> ShareChange | None:
    """Return the change of two shares; None where one is unknown, is of a variance, or they divide differently."""
    pair = [share for share in shares if isinstance(share, Share) and isinstance(share.of, Side)]
    if len(shares) != SIDES or len(pair) < SIDES or pair[0].base != pair[1].base:
        return None
    return ShareChange(pair[0], pair[1], relative)
