"""docs/operations/identity.md: each block of settings starts a server, each other block says why no test runs it."""

import re

import pytest

from server.base.providers import PRESETS
from server.base.settings import read_settings
from tests.support.books.loads import ROOT
from tests.support.service.users import SIGNING_KEY

PAGE = (ROOT / "docs" / "operations" / "identity.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^([^\n]*)\n```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [(before, language, block) for before, language, block in BLOCK.findall(PAGE)]
SETTINGS = [block for _, language, block in BLOCKS if language == "sh"]
SERVED = {"SVC_BASE_URL": "https://reports.example.com", "ARTIFACT_SIGNING_KEY": SIGNING_KEY}


def read(block: str) -> dict[str, str]:
    """Return the settings of a block, with names in place of those in capitals."""
    found = dict(re.findall(r"^(SVC_\w+)=(\S+)", block, re.MULTILINE))
    return {name: re.sub(r"\b[A-Z]{3,}\b", "name", text) for name, text in found.items()}


@pytest.mark.parametrize("block", SETTINGS)
def test_a_block_of_settings_is_taken(block: str) -> None:
    settings = read_settings({**SERVED, **read(block)})
    assert settings.oidc_issuer is not None


def test_every_preset_that_can_be_used_has_a_block() -> None:
    named = set(re.findall(r"SVC_OIDC_PROVIDER=([\w-]+)", PAGE))
    assert named == PRESETS.keys()


def test_a_block_of_another_kind_says_why_no_test_runs_it() -> None:
    others = [before for before, language, _ in BLOCKS if language != "sh"]
    assert all(before.startswith("Not run by a test, ") for before in others)
