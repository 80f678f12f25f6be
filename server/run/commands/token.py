"""tieout token: show what a server requires of tokens, and check one; it never issues or prints a token."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import time

from engine.model.errors import quoted
from engine.model.profiles import Profiles
from server.auth.bearer import KEY_FILE, DevKey, place_of_key, read_dev_key
from server.auth.claims import Claims, TokenPolicy, claims_of
from server.auth.diagnosis import TokenFinding, examine_token
from server.auth.keys import Keys, OidcProvider, ProviderUnavailable
from server.auth.tokens import LONGEST, InvalidToken, Json, parse_object, split_token
from server.base.interfaces import DEVELOPER
from server.base.settings import Settings
from server.feeds.instance import read_instance
from server.run.commands.check import profiles_in_use
from server.run.commands.console import DONE, FAULTY, out, takes_instance
from server.telemetry.logs import printable

VARIABLE = "SVC_TOKEN"
TELL_WHOSE = ("form", "key", "subject", "claims")  # checks without which nobody can be named


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    takes_instance(parser)
    parser.add_argument("token", metavar="FILE", nargs="?", type=Path, help="file with the token to judge")
    parser.epilog = f"A token comes from FILE, {VARIABLE} or standard input, never from the command line itself."


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Say what is wanted, or what a token is found to be; status 1 where it would be refused."""
    try:
        token = read_token(asked.token)
    except OSError as fault:
        words = f"{asked.token} cannot be read: {fault.strerror}. Name a file with a token."
        print_lines(iter([f"FAILED  file       {words}"]))
        return FAULTY
    if asked.token and not token:
        print_lines(iter([f"FAILED  file       {asked.token} is empty. Write the access token into it."]))
        return FAULTY
    if not token:
        print_lines(describe_server(settings))
        return DONE
    found = list(by_provider(token, settings) if settings.many_users else by_key(token, settings))
    print_lines(
        f"{'ok    ' if each.fault is None else 'FAILED'}  {each.check:<10} {describe_finding(each)}" for each in found
    )
    failed = {each.check for each in found if each.fault}
    if failed.isdisjoint(TELL_WHOSE):
        claims = read_claims(token, settings) if settings.many_users else {}
        subject = claims["sub"][0] if claims else DEVELOPER
        print_lines(describe_profiles(subject, claims, profiles_in_use(read_instance(settings.instance), settings)))
    return FAULTY if failed else DONE


def read_token(path: Path | None) -> str:
    """Return the token to judge, nothing where there is none."""
    if path is not None:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(2 * LONGEST).strip()
    token = os.environ.get(VARIABLE, "") or ("" if sys.stdin.isatty() else sys.stdin.readline(2 * LONGEST))
    return token.strip()


def print_lines(lines: Iterator[str]) -> None:
    """Print lines, and nothing that a terminal would obey."""
    for line in lines:
        out.print(printable(line), markup=False)


def describe_server(settings: Settings) -> Iterator[str]:
    """Yield which kind of server this is, and where its tokens come from."""
    if settings.many_users:
        expected = TokenPolicy.by(settings)
        yield f"A server of many users: {settings.resource}"
        yield f"issuer    {' or '.join(sorted(expected.issuers))}, keys read at {settings.discovery}"
        yield f"audience  {' or '.join(sorted(expected.audiences))}"
        yield f"client    {' or '.join(sorted(expected.clients)) or 'every one'}"
        yield f"scope     {' '.join(sorted(expected.scopes))}, asked for as {settings.asked_scope}"
        yield f"type      {' or '.join(sorted(expected.types))}"
        yield f"groups    the claim {expected.groups}"
        yield "Clients learn this from the server and log in by themselves. To see what it makes of a token:"
    else:
        yield f"A server of one user: {settings.resource}"
        yield f"key       {place_of_key(settings)}"
        yield "Clients send the key as a bearer token. To see whether one is it:"
    yield "  tieout token FILE"


def by_key(token: str, settings: Settings) -> Iterator[TokenFinding]:
    """Yield what the server of one user makes of a token."""
    path = settings.state_folder / KEY_FILE
    if settings.dev_key is None and not path.exists():
        yield TokenFinding("key", f"There is {place_of_key(settings)}.")
        return
    key = read_dev_key(path) if settings.dev_key is None else DevKey(settings.dev_key)
    try:
        asyncio.run(key.principal(token))
        yield TokenFinding("key", remark=place_of_key(settings))
    except InvalidToken:
        yield TokenFinding("key", f"It is another one than the server's. Send the one {place_of_key(settings)}.")


def by_provider(token: str, settings: Settings) -> Iterator[TokenFinding]:
    """Yield what the server of many users makes of a token."""
    try:
        keys: Keys | str = asyncio.run(OidcProvider.by(settings).keys())
    except ProviderUnavailable as down:
        keys = str(down)
    yield from examine_token(token, keys, TokenPolicy.by(settings), time())


def describe_finding(finding: TokenFinding) -> str:
    """Return what is said of a finding: what to do first."""
    settings, remark = finding.settings and f"{finding.settings}.", finding.remark and f"({finding.remark})"
    return " ".join(part for part in (finding.fault, settings, remark) if part)


def read_claims(token: str, settings: Settings) -> Claims:
    """Return the claims of a token that every check found good."""
    payload: Json = parse_object(split_token(token).payload)
    return claims_of(payload, TokenPolicy.by(settings).groups)


def describe_claim(name: str, values: Sequence[str], profiles: Profiles) -> str:
    """Return the values of a claim that profiles ask for, and how many others there are, which are not told."""
    tested = profiles.values_asked
    asked = [value for value in values if (name, value) in tested]
    others = len(values) - len(asked)
    more = f"{others} that no profile asks for" if others else ""
    return ", and ".join(part for part in (quoted(asked) if asked else "", more) if part) or "not there"


def describe_profiles(subject: str, claims: Claims, profiles: Profiles) -> Iterator[str]:
    """Yield whose a token is, what profiles ask of it, and which it holds."""
    yield f"subject   {subject}"
    for name in profiles.claims_asked:
        yield f"claim     {name} = {describe_claim(name, claims.get(name, ()), profiles)}"
    assigned = profiles.assigned_to(subject, claims)
    yield f"profiles  {', '.join(assigned) or 'none is assigned, so nothing is shown'}"
    if undecided := profiles.undecided(claims):
        yield f"          not decided without {', '.join(undecided)}, so nothing is shown: the token leaves that out"
    elif assigned and not profiles.held_by(subject, claims):
        yield "          closed by faults, so nothing is shown: tieout check names them"
