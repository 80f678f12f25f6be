"""Verifies a running stack after an upgrade: make verify-upgrade prints each step as ok, FAILED or not applicable."""

import argparse
import os
import shlex
import ssl
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
import httpx2
from mcp.shared.exceptions import MCPError

from scripts.verification import Credentials, NotApplicable, StepFailure, Verification
from server.auth.bearer import KEY_FILE
from server.base.settings import BadSetting, Settings, read_settings

STATUS = (sys.executable, str(Path(__file__).with_name("migrate.py")), "--scope", "open", "--status")
SECRETS = (
    "The token comes from SVC_TOKEN or MCP_DEV_KEY, else from the state folder of a single-user server. For OAuth name "
    "SVC_OIDC_TOKEN_URL, SVC_CLIENT_ID and SVC_CLIENT_SECRET of a client that gets tokens in its own name."
)
OK, FAILED = "ok", "FAILED"


def steps(verification: Verification) -> Sequence[tuple[str, Callable[[], Awaitable[str]]]]:
    """Return the steps in their order."""
    return (
        ("readiness", verification.readiness),
        ("migrations", verification.migrated),
        ("tools", verification.listed),
        ("query", verification.queried),
        ("export to json", partial(verification.exported, "json")),
        ("export to xlsx", partial(verification.exported, "xlsx")),
        ("renewed link", verification.renewed),
        ("chart", verification.charted),
        ("uploads disabled", verification.closed_to_uploads),
        ("exports and downloads enabled", verification.open_to_downloads),
        ("expired access token", verification.outlives_a_token),
    )


async def outcome(step: Callable[[], Awaitable[str]]) -> tuple[str, str]:
    """Run a step and return its result and message."""
    try:
        return OK, await step()
    except NotApplicable as reason:
        return "not applicable", str(reason)
    except (StepFailure, httpx2.HTTPError, MCPError) as fault:
        return FAILED, str(fault)
    except (ValueError, KeyError) as fault:
        return FAILED, f"the answer is not as it should be ({type(fault).__name__}: {fault})"
    except ExceptionGroup as faults:  # the SDK's client wraps whatever its connection met
        first: BaseException = faults
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        return FAILED, f"no answer: {first}"


async def verify(verification: Verification) -> int:
    """Print the result of each step and return the number of failures."""
    failed = 0
    for title, step in steps(verification):
        how, told = await outcome(step)
        failed += how == FAILED
        print(f"{how:<16}{title}: {told}", flush=True)
    return failed


def token_of(environment: Mapping[str, str], settings: Settings) -> str:
    """Return the token that the environment gives, or the key that a single-user server keeps."""
    kept = settings.state_folder / KEY_FILE
    given = environment.get("SVC_TOKEN") or settings.dev_key
    return given or (kept.read_text(encoding="ascii").strip() if kept.exists() else "")


def credentials_of(environment: Mapping[str, str], scope: str) -> Credentials | None:
    """Return the client of the identity provider that the environment names, and the scope that it asks for."""
    names = ("SVC_OIDC_TOKEN_URL", "SVC_CLIENT_ID", "SVC_CLIENT_SECRET")
    token_url, client_id, secret = (environment.get(name, "") for name in names)
    if not token_url:
        return None
    return Credentials(token_url=token_url, client_id=client_id, secret=secret, scope=scope)


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify one stack; return 1 if a step failed."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=SECRETS)
    try:
        settings = read_settings()
    except BadSetting as fault:
        parser.error(str(fault))
    parser.add_argument("--base-url", default=os.environ.get("SVC_BASE_URL") or settings.base_url)
    parser.add_argument("--ops-url", default=f"http://{settings.ops_bind}", help="where /readyz is")
    parser.add_argument("--migrations", default=shlex.join(STATUS), help="the command that lists migrations")
    parser.add_argument("--lenience", type=int, default=60, help="seconds that an expired token may still be taken")
    parser.add_argument("--ca", help="a PEM file with the authority of the stack's certificate")
    asked = parser.parse_args(arguments)
    credentials = credentials_of(os.environ, settings.asked_scope)
    verification = Verification(
        base_url=asked.base_url.rstrip("/"),
        ops_url=asked.ops_url.rstrip("/"),
        migrations=shlex.split(asked.migrations),
        token="" if credentials else token_of(os.environ, settings),
        credentials=credentials,
        lenience=asked.lenience,
        trust=ssl.create_default_context(cafile=asked.ca) if asked.ca else True,
    )
    failed = anyio.run(verify, verification)
    print(f"{failed} of {len(steps(verification))} steps failed" if failed else "The stack is verified.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
