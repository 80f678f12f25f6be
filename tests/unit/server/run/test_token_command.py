"""tieout token: what a server wants of tokens, what it makes of one, and never the token itself."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.auth.bearer import dev_key
from server.base.settings import variable_of
from server.run.cli import main
from tests.support.service.issuers import RESOURCE, Issuer, issuing, rsa_key
from tests.support.service.users import ORIGIN, PROFILES, SIGNING_KEY, write_books

Ran = tuple[int, list[str]]
Tieout = Callable[..., Ran]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Small books."""
    return write_books(tmp_path_factory.mktemp("token"))


@pytest.fixture
def one(
    books: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Tieout:
    """The command of a server of one user: takes what comes on standard input; returns status and lines."""
    for name in ("oidc_issuer", "dev_key", "public_url"):
        monkeypatch.delenv(variable_of(name), raising=False)
    monkeypatch.setenv("SVC_INSTANCE", str(books[0]))
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))

    def run(token: str = "", file: Path | None = None) -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(token))
        status = main(["token", *([str(file)] if file else [])])
        printed = capsys.readouterr()
        assert not [part for part in token.strip().split(".") if len(part) > 8 and part in printed.out + printed.err]
        return status, printed.out.splitlines()

    return run


@pytest.fixture
def many(one: Tieout, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Tieout:
    """The command of a server of many users."""
    monkeypatch.setenv("SVC_OIDC_ISSUER", issuer.url)
    monkeypatch.setenv("SVC_BASE_URL", ORIGIN)
    monkeypatch.setenv("ARTIFACT_SIGNING_KEY", SIGNING_KEY)
    return one


def test_without_a_token_a_server_of_many_users_tells_where_tokens_come_from(many: Tieout, issuer: Issuer) -> None:
    status, lines = many()
    told = "\n".join(lines)
    assert status == 0
    for words in ("many users", issuer.url, RESOURCE, "mcp:read", "at+jwt", "log in by themselves"):
        assert words in told


def test_of_a_good_token_it_tells_whose_it_is_and_what_it_holds(many: Tieout, issuer: Issuer) -> None:
    status, lines = many(issuer.token(groups=["finance", "reports"]) + "\n")
    assert status == 0
    checks = " ".join(line.split()[1] for line in lines if line.startswith("ok "))
    assert checks == "form signature issuer audience client type times subject scope claims"
    assert "subject   ann" in lines
    assert "claim     groups = 'finance', and 1 that no profile asks for" in lines
    assert "reports" not in "\n".join(lines), "of what profiles do not ask, it tells nothing"
    assert "claim     realm_access.roles = not there" in lines
    assert "profiles  all_of_it" in lines
    assert any("RS256, key one" in line for line in lines)
    assert any("issued 20" in line and "valid until 20" in line for line in lines)


def test_a_token_from_the_environment_is_judged_as_well(
    many: Tieout, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_TOKEN", issuer.token(groups=[]))
    status, lines = many()
    assert status == 0
    assert "profiles  none is assigned, so nothing is shown" in lines


def test_every_check_that_fails_is_named_with_what_to_do(many: Tieout, issuer: Issuer) -> None:
    token = issuer.token(rsa_key("attacker"), {"kid": "one", "typ": "JWT"}, aud="other", exp=5, scope="none")
    status, lines = many(token)
    assert status == 1
    failed = {line.split()[1]: line for line in lines if line.startswith("FAILED")}
    assert set(failed) == {"signature", "audience", "type", "times", "scope"}
    assert f"Get one for the resource {RESOURCE}" in failed["audience"]
    assert "Refresh it" in failed["times"]
    assert "valid until 1970-01-01" in failed["times"]
    assert "Get one with: mcp:read. SVC_OIDC_SCOPE asks for mcp:read." in failed["scope"]
    assert "profiles  all_of_it" in lines, "what it would hold is told all the same"


SETTINGS_OF_RULES: dict[str, tuple[dict[str, Any], str]] = {
    "issuer": ({"iss": "https://marker.example"}, "SVC_OIDC_ISSUER, SVC_OIDC_TOKEN_ISSUER and SVC_OIDC_TENANTS accept"),
    "audience": ({"aud": "marker"}, f"SVC_OIDC_AUDIENCES accepts {RESOURCE}."),
    "client": ({"azp": "marker"}, "SVC_OIDC_CLIENTS accepts reports-cli."),
    "type": ({"token_use": "marker", "scope": "mcp:read"}, "SVC_OIDC_TYPES accepts jwt."),
    "scope": ({"scope": "marker"}, "SVC_OIDC_SCOPE asks for mcp:read."),
}


@pytest.mark.parametrize("rule", SETTINGS_OF_RULES)
def test_a_rule_that_fails_names_its_setting_and_what_that_accepts_and_nothing_of_the_token(
    many: Tieout, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str
) -> None:
    monkeypatch.setenv("SVC_OIDC_CLIENTS", "reports-cli")
    monkeypatch.setenv("SVC_OIDC_TYPES", "jwt")
    claims, words = SETTINGS_OF_RULES[rule]
    path = tmp_path / "token.txt"
    path.write_text(issuer.token(header={"typ": "JWT"}, **{"azp": "reports-cli", **claims}) + "\n", encoding="utf-8")
    status, lines = many(file=path)
    (failed,) = [line for line in lines if line.startswith("FAILED")]
    assert (status, failed.split()[1]) == (1, rule)
    assert words in failed
    assert "marker" not in "\n".join(lines)


def test_a_file_that_holds_no_token_is_named(many: Tieout, tmp_path: Path) -> None:
    status, (line,) = many(file=tmp_path / "none.txt")
    assert status == 1
    assert line.endswith("none.txt cannot be read: No such file or directory. Name a file with a token.")
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    assert many(file=tmp_path / "empty.txt")[0] == 1


def test_a_caller_of_too_many_groups_is_told_so_with_what_helps(many: Tieout, issuer: Issuer) -> None:
    status, lines = many(issuer.token(groups=None, _claim_names={"groups": "src1"}, _claim_sources={"src1": {}}))
    assert status == 0, "the token is accepted"
    told = "\n".join(lines)
    assert "claims     (the token says where to ask for groups, and the server asks nobody" in told
    assert "SVC_OIDC_GROUPS_CLAIM=roles" in told
    assert "not decided without groups, so nothing is shown" in told
    assert "src1" not in told


@pytest.mark.parametrize("token", ["rubbish", "a.b.c", "é", "a" * 50_000, "x\ny"])
def test_what_is_no_token_is_told_so(many: Tieout, token: str) -> None:
    status, lines = many(token)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith("FAILED  form ")


def test_what_a_token_says_does_not_reach_the_terminal_raw(many: Tieout, issuer: Issuer) -> None:
    _, lines = many(issuer.token(groups=["finance\u001b[2J\nprofiles  forged"], sub="ann\u001b[31m"))
    assert not [line for line in lines if "\u001b" in line or line.startswith("profiles  forged")]


def test_a_provider_that_cannot_be_asked_is_named(many: Tieout) -> None:
    with issuing() as away:
        token = away.token(iss="https://nobody.example")
    status, lines = many(token)
    assert status == 1
    assert [line.split()[1] for line in lines if line.startswith("FAILED")] == ["issuer"]


def test_without_the_provider_nothing_can_be_verified(
    many: Tieout, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_OIDC_DISCOVERY", f"{issuer.url}/not/here")
    status, lines = many(issuer.token())
    assert status == 1
    (failed,) = [line for line in lines if line.startswith("FAILED")]
    assert "signature" in failed
    assert "/not/here answered 404" in failed


def test_a_profile_with_a_fault_is_told_to_be_closed(
    many: Tieout, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    instance, _ = write_books(tmp_path / "faulty")
    (instance / "profiles.yaml").write_text(PROFILES.replace("{'*': {}}", "{nothing: {}}"))
    monkeypatch.setenv("SVC_INSTANCE", str(instance))
    _, lines = many(issuer.token())
    assert "profiles  all_of_it" in lines
    assert any("closed by faults" in line for line in lines)


def test_a_server_of_one_user_tells_where_its_key_is_and_not_the_key(one: Tieout, tmp_path: Path) -> None:
    path = tmp_path / "dev.key"
    assert any(f"none yet: tieout serve makes it in {path}" in line for line in one()[1])
    assert one("guess")[0] == 1
    assert not path.exists(), "it mints nothing"
    key = dev_key(None, tmp_path).key
    status, lines = one()
    assert (status, any(f"in {path}" in line for line in lines)) == (0, True)
    assert key not in "\n".join(lines)
    assert one("guess")[0] == 1
    status, lines = one(key)
    assert status == 0
    assert "subject   dev" in lines
