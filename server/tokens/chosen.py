"""The authority of a deployment: its key where it has one user, its identity provider where it has many."""

from collections.abc import Sequence

from server.settings import Settings
from server.tokens.authority import Authority
from server.tokens.bearer import Bearer
from server.tokens.dev import DevKey, dev_key


def own_key(settings: Settings) -> DevKey | None:
    """Return the key of the one user, made where there is none; None where there are many."""
    return None if settings.many_users else dev_key(settings.dev_key, settings.state_folder)


def authority_of(settings: Settings) -> Authority:
    """Return who says whose a token is."""
    return own_key(settings) or Bearer.by(settings)


def secrets_of(settings: Settings) -> Sequence[str]:
    """Return what no log may hold."""
    key = own_key(settings)
    return [key.key if key else "", settings.signing_key or "", settings.database_url or ""]
