"""The image for one user on a machine: its own database and cache store, and the playground in a browser."""

import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.integration.stack.containers import books
from tests.integration.stack.containers.checks import COMING_BACK
from tests.integration.stack.containers.deployment import CACHE, InstalledStack
from tests.support.machine.browsers import WIDGETS
from tests.support.machine.programs import mark, needs_program
from tests.support.service.servers import DEADLINE, KEY, connected, wait_for

BROWSER = pytest.mark.program("chromium")
ADDRESS = "http://127.0.0.1:8768"
OPERATORS = "127.0.0.1:9769"  # the stack has the usual one
HARDENED = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges:true")
PHOTOGRAPH = """
import { chromium } from "playwright-core";
const [program, address, figure, path] = process.argv.slice(1);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
await page.goto(address);
const shows = (frame) => frame.getByText(figure).first().waitFor({ timeout: 60_000 });
const look = () => Promise.any(page.frames().slice(1).map(shows));
await page.locator("iframe").first().waitFor();
await look();
await page.screenshot({ path });
await browser.close();
"""


def playground(stack: InstalledStack) -> str:
    """The image serves one user in the network of its host; the playground shows the statement in a browser."""
    settings = {
        "SVC_INSTANCE": "/srv/instance",
        "SVC_STATE_DIR": "/var/lib/tieout/state",
        "SVC_OPS_BIND": OPERATORS,
        "MCP_DEV_KEY": KEY,
    }
    container = stack.docker(
        *("run", "--detach", "--network=host", "--init", *HARDENED, "--entrypoint=sh"),
        *(f"--env={name}={value}" for name, value in settings.items()),
        *(f"--volume={stack.instance}:/srv/instance:ro", "--volume=one_user:/var/lib/tieout/state"),
        *(f"tieout:{stack.setting('SVC_MCP_TAG')}", "-c", "tieout load && exec tieout serve"),
    )
    try:
        wait_for(healthy, COMING_BACK)
        with connected(f"{ADDRESS}/mcp", "auto", KEY) as caller:
            actual, budget = books.figures(caller)
            assert budget == books.expected()[1]
        picture = photographed(stack.work, f"{actual:,}")
    finally:
        (stack.work / "playground.log").write_text(stack.docker("logs", container), encoding="utf-8")
        stack.docker("rm", "--force", container)
    return f"{picture}, {picture.stat().st_size:,} bytes"


def healthy() -> bool:
    """Tell whether the server answers."""
    try:
        return httpx2.get(f"{ADDRESS}/health", timeout=DEADLINE).status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False


def photographed(folder: Path, figure: str) -> Path:
    """Open the playground in a browser, wait until its view shows a figure, and keep a picture."""
    mark(BROWSER.args)
    browser, path = needs_program("chromium"), folder / "playground.png"
    command = [needs_program("node"), "--input-type=module", "--eval", PHOTOGRAPH]
    words: list[str | Path] = [browser, f"{ADDRESS}/#key={KEY}", figure, path]
    ran = subprocess.run([*command, *words], cwd=WIDGETS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return Path(shutil.copy(path, CACHE / path.name))
