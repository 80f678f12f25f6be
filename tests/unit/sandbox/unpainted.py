"""The worker that draws, on a machine without the package for it."""

import sys

from sandbox import render_worker


def main() -> None:
    """Find no package."""
    sys.modules["vl_convert"] = None  # type: ignore[assignment]  # what makes an import fail
    render_worker.main()
