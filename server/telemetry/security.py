"""Security events as operators see them: who tried what no script may; never the script, a figure or a token."""

import logging

log = logging.getLogger("tieout.security")


def forbidden(subject: str, tool: str, what: str) -> None:
    """Tell of a script that was ended for what it tried."""
    log.warning("a script tried what none may", extra={"subject": subject, "tool": tool, "what": what})
