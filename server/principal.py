"""Principals: who a token says is calling."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DEVELOPER = "dev"  # subject of the single-user server's key


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller's subject and the claims that profiles are assigned by."""

    subject: str
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
