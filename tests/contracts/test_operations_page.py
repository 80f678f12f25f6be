"""docs/operations says what is there: its settings, commands, services, variables and paths are the product's."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from scripts.settings_table import PAGE, described, written
from server.base.settings import Settings
from server.telemetry.metrics import Metrics
from tests.support.books.loads import ROOT

PAGES = sorted(PAGE.parent.glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
FAULTS = (PAGE.parent / "faults.md").read_text(encoding="utf-8")
STACK = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
EXAMPLE = (ROOT / "deploy" / ".env.example").read_text(encoding="utf-8")
PROXY = (ROOT / "deploy" / "proxy" / "nginx.conf.template").read_text(encoding="utf-8")


def section(heading: str) -> str:
    """Return what stands below a heading of one of the pages."""
    _, _, below = TEXT.partition(f"\n{heading}\n")
    assert below, heading
    return re.split(rf"\n#{{1,{len(heading.split(maxsplit=1)[0])}}} ", below)[0]


def test_the_table_of_settings_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run: make docs"


def test_every_setting_says_what_it_decides() -> None:
    assert {name for name, words in described().items() if words} == set(Settings.__dataclass_fields__)


def test_its_metrics_are_those_there_are() -> None:
    there = set(re.findall(r"^# TYPE (tieout_\w+)", Metrics().page().decode(), re.MULTILINE))
    table = section("## Metrics").partition("```")[0]
    assert set(re.findall(r"`(tieout_\w+)`", table)) == there


def test_its_make_commands_are_targets() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE)) <= targets


def test_its_services_are_those_of_the_stack() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", section("## Many users: the stack").partition("###")[0], re.MULTILINE)
    assert set(listed) == set(STACK["services"])


@pytest.mark.program("openssl")
def test_its_command_draws_every_secret_and_nothing_else(tmp_path: Path) -> None:
    (command,) = re.findall(r"^   (awk .+?) && chmod", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / ".env.example").write_text(EXAMPLE, encoding="utf-8")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)  # noqa: S602 - the page's own words
    before = dict(re.findall(r"^(\w+)=(.*)$", EXAMPLE, re.MULTILINE))
    after = dict(re.findall(r"^(\w+)=(.*)$", (tmp_path / ".env").read_text(encoding="utf-8"), re.MULTILINE))
    drawn = {name: value for name, value in after.items() if value != before[name]}
    assert set(drawn) == {name for name in before if name.endswith(("SIGNING_KEY", "PASSWORD"))}
    assert len(set(drawn.values())) == len(drawn)
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in drawn.values())


def test_every_variable_that_must_be_filled_in_is_named() -> None:
    named = section("### Install")
    for name in re.findall(r"^(\w+)=", EXAMPLE, re.MULTILINE):
        assert name in named or name.endswith("_PASSWORD"), name


def test_every_path_that_the_proxy_forwards_is_named() -> None:
    rules = section("## Ingress")
    for path in re.findall(r"location (?:= |\^~ )?(/\S+) \{", PROXY):
        stem = path.removesuffix("/mcp") if "protected-resource" in path else path
        assert f"`{stem}`" in rules, path


def test_the_tests_that_it_names_are_there() -> None:
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+\.py)`", TEXT))
    assert named
    assert named - there == set()


def test_every_fault_names_the_test_that_causes_it() -> None:
    caused, _, measured = FAULTS.partition("## Half an hour of faults")
    rows = re.findall(r"^\| (?!Fault \|)(.+) \|$", caused, re.MULTILINE)
    assert rows
    assert measured
    assert [row for row in rows if not re.fullmatch(r"(`test_\w+\.py`(, )?)+", row.rpartition(" | ")[2])] == []
