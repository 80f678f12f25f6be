"""The scenarios of the conformance suite for skills (SEP-2640), over HTTP and through the bridge, in both eras.

`resources/directory/read`, the third scenario, is a method that a server may do without; ours does not declare it.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.running import RunningServer, conformance

SUITE = "conformance-2026"  # 0.2.0-alpha.12
SCENARIOS = {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6}  # and how many checks each has
ONLY_NEWER = {  # checks of what the older protocol does not have
    "sep-2640-skills-list-cache-attributes": "SKIPPED",
    "sep-2640-skills-get-cache-attributes": "SKIPPED",
}
SKIPPED: Mapping[tuple[str, str], Mapping[str, str]] = {("sep-2640-skills-enumeration", "2025-11-25"): ONLY_NEWER}


@pytest.mark.parametrize("served", ["real", "over_stdio"])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_of_skills_ends_as_expected(
    served: str, version: str, scenario: str, node: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: RunningServer = request.getfixturevalue(served)
    asked = ("--scenario", scenario, "--spec-version", version, "--force")
    checks = conformance(node, server, tmp_path, SUITE, *asked)[scenario]
    others = {check["id"]: check["status"] for check in checks if check["status"] != "SUCCESS"}
    told = {check["id"]: check.get("errorMessage") for check in checks}
    assert others == SKIPPED.get((scenario, version), {}), told
    assert len(checks) == SCENARIOS[scenario]
