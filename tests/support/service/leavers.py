"""Clients that leave: a `stop` that raises once it has looked often enough."""


class ClientGone(Exception):
    """Raised by a `stop`: nobody waits for the answer."""


class LeavingClient:
    """A client who waits through some looks of a call and is gone at the next."""

    def __init__(self, waits: int) -> None:
        self.waits = waits
        self.looks = 0

    def __call__(self) -> None:
        """Count a look. Raises ClientGone past those that the client waits through."""
        self.looks += 1
        if self.looks > self.waits:
            raise ClientGone
