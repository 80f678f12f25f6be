"""Drivers that are not installed: the packages that bring them, and the command that installs them here.

It stands alone because loads and warehouses say it alike.
"""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import requires
from importlib.util import find_spec
from shlex import quote
from typing import Final

EXTRA: Final = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")


def packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra of this distribution, such as `duckdb<3,>=2`; none if it has no such extra.

    The distribution is on no index, so a command names the packages and not the extra.
    """
    split = (line.partition(";") for line in requires("tieout") or ())
    return [requirement.strip() for requirement, _, marker in split if extra in EXTRA.findall(marker)]


def install_command(packages: Sequence[str]) -> str:
    """Return the command that installs packages beside this interpreter: by its pip, by uv where it has none."""
    python, listed = quote(sys.executable), " ".join(map(quote, packages))
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {listed}"
    return f"{python} -m pip install {listed}"
