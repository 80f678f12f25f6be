"""No secret is in the tree: what looks like one is either planted by a test, and known, or a mistake.

`make secrets` writes down what is known, after somebody has looked at it.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings

from tests.support.books import ROOT
from tests.support.tracked import tracked

KNOWN = ROOT / ".secrets.baseline"
NOT_OURS = ("constraints/", "package-lock.json", KNOWN.name)  # digests of packages, and of what is known


@cache
def found() -> Sequence[tuple[str, str, int]]:
    """Return what looks like a secret: its file, a digest of it, its line."""
    secrets = SecretsCollection(root=str(ROOT))
    with default_settings():
        for path in tracked():
            name = path.relative_to(ROOT).as_posix()
            if not any(part in name for part in NOT_OURS):
                secrets.scan_file(name)
    return [(file, secret.secret_hash, secret.line_number) for file, secret in secrets]


def known() -> set[tuple[str, str]]:
    """Return what was looked at: files with digests of what they hold."""
    listed = json.loads(KNOWN.read_text(encoding="utf-8"))
    return {(file, digest) for file, digests in listed.items() for digest in digests}


def test_what_looks_like_a_secret_is_known_to_be_none() -> None:
    strangers = [f"{file}:{line}" for file, digest, line in found() if (file, digest) not in known()]
    assert strangers == [], "take these out, or run `make secrets` once you have looked at them"


def test_what_is_known_is_still_there() -> None:
    assert known() <= {(file, digest) for file, digest, _ in found()}, "run `make secrets`"


@pytest.mark.parametrize("text", ["aws_key = 'AKIAIOSFODNN7EXAMPLE'", "-----BEGIN RSA PRIVATE KEY-----"])
def test_a_secret_would_be_found(text: str, tmp_path: Path) -> None:
    secrets = SecretsCollection(root=str(tmp_path))
    (tmp_path / "leak.py").write_text(text, encoding="utf-8")
    with default_settings():
        secrets.scan_file("leak.py")
    assert len(list(secrets)) == 1
