"""The health board: where one process writes how the service stands, for others that serve it to tell."""

import json
from contextlib import suppress
from pathlib import Path
from time import monotonic

from server.ops.readiness import STALE_SECONDS, STARTING, UNAVAILABLE, Json


class HealthBoard:
    """A small file that is always whole; its times are those of the machine's clock since it started."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def post(self, health: Json) -> None:
        """Write how the service stands now."""
        new = self._path.with_suffix(".new")
        with suppress(OSError):  # no room for it: what stands there grows old, which says so
            new.write_text(json.dumps({"at": monotonic(), "health": health}), encoding="utf-8")
            new.replace(self._path)

    def health(self) -> Json:
        """Return how the service stood a moment ago."""
        try:
            posted = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"status": STARTING}
        if monotonic() - posted["at"] > STALE_SECONDS:
            return {"status": UNAVAILABLE}
        health: Json = posted["health"]
        return health
