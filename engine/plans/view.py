"""Views: what one column reads of a domain."""

from dataclasses import dataclass

from engine.scenarios import Portion


@dataclass(frozen=True, slots=True)
class View:
    """A scenario of a domain, or two that are blended, inside what may be seen of them and of those compared."""

    domain: str
    portions: tuple[Portion, ...]
    shared: frozenset[str] = frozenset()
