"""No secret is in the tree: what looks like one is either planted by a test, and known, or a mistake.

`make secrets` writes down what is known, after somebody has looked at it.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from detect_secrets.core.secrets_collection import SecretsCollection
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
from detect_secrets.plugins.keyword import DENYLIST
from detect_secrets.settings import default_settings, get_plugins

from tests.support.books.loads import ROOT
from tests.support.checks.tracked import tracked

KNOWN = ROOT / ".secrets.baseline"
NOT_OURS = ("constraints/", "package-lock.json", KNOWN.name)  # digests of packages, and of what is known
PARSED = (".yaml", ".yml", ".ini", ".cfg", ".conf", ".toml", "Makefile")  # which may be read otherwise
NAMED = re.compile(r"(?i)pragma|" + "|".join(DENYLIST))


@cache
def found() -> Sequence[tuple[str, str, int]]:
    """Return what looks like a secret: its file, a digest of it, its line."""
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    return scanned(ROOT, [name for name in names if not any(part in name for part in NOT_OURS)])


def scanned(root: Path, names: Sequence[str]) -> Sequence[tuple[str, str, int]]:
    """Scan files for secrets, without the lines that no detector could find anything in, which are most."""
    with TemporaryDirectory() as folder, default_settings():
        secrets = SecretsCollection(root=folder)
        detectors = get_plugins()
        patterns = [
            re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
            for detector in detectors
            if isinstance(detector, RegexBasedDetector)
            for pattern in detector.denylist
        ]
        scales = [detector for detector in detectors if isinstance(detector, HighEntropyStringsPlugin)]
        kept = {}
        for name in names:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            whole = name.endswith(PARSED) or any(pattern.search(text) for pattern in patterns)
            lines = enumerate(text.split("\n"), 1)
            kept[name] = {number: line for number, line in lines if whole or is_suspicious(line, scales)}
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, name).write_text("\n".join(kept[name].values()), encoding="utf-8")
            secrets.scan_file(name)
        return [(name, found.secret_hash, [*kept[name]][found.line_number - 1]) for name, found in secrets]


def is_suspicious(line: str, scales: Sequence[HighEntropyStringsPlugin]) -> bool:
    """Tell whether a line names a secret, or quotes a word of enough letters to be as random as one."""
    return NAMED.search(line) is not None or any(
        len(set(word)) > 2**scale.entropy_limit for scale in scales for word in scale.analyze_string(line)
    )


def known() -> set[tuple[str, str]]:
    """Return what was looked at: files with digests of what they hold."""
    listed = json.loads(KNOWN.read_text(encoding="utf-8"))
    return {(file, digest) for file, digests in listed.items() for digest in digests}


def test_what_looks_like_a_secret_is_known_to_be_none() -> None:
    strangers = [f"{file}:{line}" for file, digest, line in found() if (file, digest) not in known()]
    assert strangers == [], "take these out, or run `make secrets` once you have looked at them"


def test_what_is_known_is_still_there() -> None:
    assert known() <= {(file, digest) for file, digest, _ in found()}, "run `make secrets`"


@pytest.mark.parametrize(
    "text",
    [
        "aws_key = 'AKIAIOSFODNN7EXAMPLE'",
        "-----BEGIN RSA PRIVATE KEY-----",
        "Password = 'c0rrect-horse'",  # pragma: allowlist secret
        "found = '0123456789ABCDEFGHIJKLMNOP+/qrstuvw'",  # pragma: allowlist secret
        "found = '0a1b2c3d4e5f6978'",  # pragma: allowlist secret
    ],
)
def test_a_secret_would_be_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(f"first = 1\n{text}  \nlast = 1\n", encoding="utf-8")
    assert [line for *_, line in scanned(tmp_path, ["leak.py"])] == [2]
