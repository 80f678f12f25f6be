"""Settings: what the environment decides, read once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.door import STATE, STORE

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_KEY = 32
SHORTEST_ANSWER = 2000  # what tools say of themselves takes about half of it


class BadSetting(ValueError):
    """A setting that does not hold; names the environment variable and what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the environment decides."""

    instance: Path = Path("instances/demo")
    """SVC_INSTANCE: folder of the instance to serve."""
    state: Path | None = None
    """SVC_STATE_DIR: folder of the fact store and the dev key; left out, .tieout in the instance."""
    host: str = "127.0.0.1"
    """SVC_HOST: address to listen on; the single-user server refuses any but loopback."""
    port: int = 8768
    """SVC_PORT: port to listen on."""
    dev_key: str | None = None
    """MCP_DEV_KEY: the key of the single-user server, at least 32 characters; left out, made once and kept."""
    answer_tokens: int = 10_000
    """SVC_ANSWER_TOKENS: about how many tokens of text an answer may have, at least 2,000."""
    row_cap: int = 10_000
    """INSPECTION_ROW_CAP: at most so many rows does an inspection show."""
    calls_per_caller: int = 16
    """SVC_CALLS_PER_CALLER: calls of one caller in flight at once."""
    calls: int = 64
    """SVC_CALLS: calls of all callers in flight at once."""
    deadline_seconds: int = 60
    """SVC_DEADLINE_SECONDS: how long a call may take, waiting included."""

    @property
    def state_folder(self) -> Path:
        """The folder of what is not written by hand."""
        return self.state or self.instance / STATE

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state_folder / STORE

    @property
    def base_url(self) -> str:
        """The origin that clients reach."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


VARIABLES = {
    "instance": "SVC_INSTANCE",
    "state": "SVC_STATE_DIR",
    "host": "SVC_HOST",
    "port": "SVC_PORT",
    "dev_key": "MCP_DEV_KEY",
    "answer_tokens": "SVC_ANSWER_TOKENS",
    "row_cap": "INSPECTION_ROW_CAP",
    "calls_per_caller": "SVC_CALLS_PER_CALLER",
    "calls": "SVC_CALLS",
    "deadline_seconds": "SVC_DEADLINE_SECONDS",
}
WHOLE_NUMBERS = {"port", "answer_tokens", "row_cap", "calls_per_caller", "calls", "deadline_seconds"}
PATHS = {"instance", "state"}


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of an environment; BadSetting names the first that does not hold."""
    read: dict[str, object] = {}
    for name, variable in VARIABLES.items():
        text = environment.get(variable, "").strip()
        if not text:
            continue
        if name in WHOLE_NUMBERS:
            if not text.isascii() or not text.isdigit() or int(text) < 1:
                raise BadSetting(f"{variable} is '{text}'; it takes a whole number above 0")
            read[name] = int(text)
        else:
            read[name] = Path(text) if name in PATHS else text
    settings = Settings(**read)  # type: ignore[arg-type]  # each value was made of its field's type above
    if settings.host not in LOOPBACK:
        raise BadSetting(f"SVC_HOST is '{settings.host}'; the single-user server listens on loopback only")
    if settings.answer_tokens < SHORTEST_ANSWER:
        raise BadSetting(f"SVC_ANSWER_TOKENS is '{settings.answer_tokens}'; it takes at least {SHORTEST_ANSWER}")
    if settings.dev_key is not None and len(settings.dev_key) < SHORTEST_KEY:
        raise BadSetting(f"MCP_DEV_KEY has {len(settings.dev_key)} characters; it takes at least {SHORTEST_KEY}")
    return settings
