"""The pre-commit configuration runs each command of `make lint`, on the whole tree, with our own programs."""

import re
from collections.abc import Sequence

import yaml

from tests.support.books.loads import ROOT

IF_NPM = re.compile(r"\$\(if \$\(NPM\),(.+)\)$")
HOOKS = [
    hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in repo["hooks"]
]


def lint_commands() -> Sequence[str]:
    """Return the recipe of `make lint` as a shell runs it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    return [plain(line.strip().lstrip("@-")) for line in recipe.splitlines()]


def plain(command: str) -> str:
    """Return a command with the variables of the Makefile replaced; one that needs npm runs where npm is."""
    needs_npm = IF_NPM.fullmatch(command)
    command = (needs_npm[1] if needs_npm else command).replace("$(BIN)", ".venv/bin").replace("$(NPM)", "npm")
    return f"sh -c 'if command -v npm; then {command}; fi'" if needs_npm else command


def test_pre_commit_runs_each_command_of_make_lint() -> None:
    commands = lint_commands()
    assert commands
    assert [hook["entry"] for hook in HOOKS] == commands


def test_each_hook_checks_the_whole_tree_and_downloads_nothing() -> None:
    assert {(hook["language"], hook["pass_filenames"], hook["always_run"]) for hook in HOOKS} == {
        ("system", False, True)
    }
