"""Texts that came from elsewhere, written where control characters and ends of lines would do something."""


def escape_controls(text: str, *, spared: str = "") -> str:
    r"""Return a text whose characters that cannot be printed are written as \x1b or \u2028; some are spared."""
    if text.isprintable():
        return text
    return "".join(
        mark if mark.isprintable() or mark in spared else mark.encode("unicode_escape").decode("ascii") for mark in text
    )
