"""The image for one user on a machine: its own database and cache store, and the playground in a browser."""

import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.integration.stack.containers import books
from tests.integration.stack.containers.checks import COMING_BACK
from tests.integration.stack.containers.deployment import CACHE, InstalledStack
from tests.support.programs import mark, needs_program
from tests.support.serving import DEADLINE, KEY, connected, wait_for

BROWSER = pytest.mark.program("chromium")
ADDRESS = "http://127.0.0.1:8768"
OPERATORS = "127.0.0.1:9769"  # the stack has the usual one
HARDENED = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges:true")
HEADLESS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,1000", "--virtual-time-budget=20000")


def playground(stack: InstalledStack) -> str:
    """The image serves one user in the network of its host; the playground shows the tools in a browser."""
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
            assert books.figures(caller)[1] == books.expected()[1]
        picture = photographed(stack.work)
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


def photographed(folder: Path) -> Path:
    """Open the playground in a browser, hold it to the tools that it shows, and keep a picture."""
    mark(BROWSER.args)
    browser = [needs_program("chromium"), *HEADLESS, f"--user-data-dir={folder / 'browser'}"]
    page = f"{ADDRESS}/#key={KEY}"
    shown = subprocess.run([*browser, "--dump-dom", page], capture_output=True, text=True, check=True).stdout
    assert "run_statement" in shown, shown[:2000]
    subprocess.run([*browser, f"--screenshot={folder / 'playground.png'}", page], capture_output=True, check=True)
    kept = Path(shutil.copy(folder / "playground.png", CACHE / "playground.png"))
    assert kept.read_bytes().startswith(b"\x89PNG")
    return kept
