"""The pre-commit configuration runs each command of `make lint`, on the whole tree, with our own programs."""

import re
from collections.abc import Sequence

import yaml

from tests.support.books.loads import ROOT

OF_VIEWS = "cd widgets && npm run --silent check"
HOOKS = [
    hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in repo["hooks"]
]


def recipe(target: str) -> list[str]:
    """Return the lines of a recipe of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    return [line.strip().lstrip("@-") for line in lines.splitlines()]


def lint_commands() -> Sequence[str]:
    """Return the commands of `make lint` as a shell runs them; one that needs npm runs where npm is."""
    (both,) = recipe("lint")
    assert both.endswith(" lint-python $(if $(NPM),widgets/dist/checked)")
    assert recipe("widgets/dist/checked")[0] == OF_VIEWS
    python = [line.replace("$(BIN)", ".venv/bin") for line in recipe("lint-python")]
    return [*python, f"sh -c 'if command -v npm; then {OF_VIEWS}; fi'"]


def test_pre_commit_runs_each_command_of_make_lint() -> None:
    commands = lint_commands()
    assert commands
    assert [hook["entry"] for hook in HOOKS] == commands


def test_each_hook_checks_the_whole_tree_and_downloads_nothing() -> None:
    assert {(hook["language"], hook["pass_filenames"], hook["always_run"]) for hook in HOOKS} == {
        ("system", False, True)
    }
