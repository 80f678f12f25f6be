"""The errors that a caller can cause. Each one says what to try next."""

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

# Quoting and shortening the caller's input in errors, and suggesting names.


ECHO_CHARACTERS = 200
NONE_VISIBLE = "None is visible to this caller; svc_orientation says what is."
ECHO_NAMES = 30


def closest(got: str, names: Sequence[str]) -> list[str]:
    """Return up to three of `names` that are spelled like `got`, best first."""
    by_fold = {name.casefold(): name for name in names}
    close = get_close_matches(got[:ECHO_CHARACTERS].casefold(), list(by_fold), n=3, cutoff=0.6)
    return [by_fold[fold] for fold in close]


def guess(close: Sequence[str]) -> str:
    """Return the sentence that asks whether names were meant, after a space; nothing if there are none."""
    return f" Did you mean {quoted(close)}?" if close else ""


def quoted(names: Iterable[str], most: int = ECHO_NAMES) -> str:
    """Join names for a sentence: 'a', 'b' or 'c'. Truncates long lists."""
    known = list(names)
    named = [f"'{echo(name)}'" for name in known[:most]]
    if len(known) == 1 or len(known) > most:
        return more_than(named, len(known) - most)
    return f"{', '.join(named[:-1])} or {named[-1]}"


def first_of(names: Sequence[str], most: int = ECHO_NAMES) -> str:
    """Join the first names and append the number of the others."""
    return more_than(names[:most], len(names) - most)


def more_than(names: Sequence[str], more: int) -> str:
    """Join names and append the number of the others, if there are any."""
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def echo(got: object) -> object:
    """Return the caller's input, truncated to the length that an error may carry."""
    if isinstance(got, str):
        return cut(got, ECHO_CHARACTERS)
    if isinstance(got, list | tuple):
        shown = [short(item) for item in got[:ECHO_NAMES]]
        return shown if len(got) <= ECHO_NAMES else [*shown, f"… ({len(got)} items)"]
    return short(got)


def short(got: object) -> object:
    """Return a value, or the beginning of its text if the text is long."""
    text = got if isinstance(got, str) else as_text(got)
    return got if len(text) <= ECHO_CHARACTERS else cut(text, ECHO_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Return a text, or its beginning and its length if it is longer than `most`."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def as_text(got: object) -> str:
    """Return a value as JSON text."""
    return json.dumps(got, ensure_ascii=False, default=str)


# The tree of refusals.
#
# Refusal
# ├── BadArguments            bad_arguments            the arguments are invalid
# ├── UnknownName             unknown_name             no such tool, statement, metric, dimension (for this caller)
# ├── BadPeriod               bad_period               a period code or range that is invalid or empty
# │   └── MixedGrains         mixed_grains             the two bounds of a range differ in grain
# ├── GrainUnavailable        grain_unavailable        the data is coarser than the period asked for
# ├── MixedDomains            mixed_domains            metrics of several domains in one metric call
# ├── DimensionUnavailable    dimension_unavailable    a dimension that this query cannot use
# ├── ColumnUnavailable       column_unavailable       a column that a source does not show
# ├── AmbiguousWeight         ambiguous_weight         one leaf filtered with two different weights
# ├── ExpiredReference        expired_reference        a kept report that can no longer be opened
# ├── UnknownFile             unknown_file             a file that does not exist or that the caller may not open
# ├── QuotaExceeded           quota_exceeded           no room for another file, until others are deleted
# │   └── LargerThanQuota     quota_exceeded           a file that never has room
# ├── UploadIncomplete        upload_incomplete        an announced file that has not arrived
# ├── HostNotAllowed          host_not_allowed         a host from which files may not be imported
# ├── ChartInvalid            chart_invalid            a chart whose data or spec is invalid
# ├── TransformRefused        transform_refused        a script that uses an unsupported construct
# ├── TransformFailed         transform_failed         a script that raised an error or returned no table
# ├── TransformLimit          transform_limit          a script that exceeded a limit
# ├── TransformForbidden      transform_forbidden      a script that tried a forbidden operation
# ├── ToolDisabled            tool_disabled            a tool that this deployment has turned off
# ├── Busy                    busy                     more calls in flight than the cap; retry shortly
# ├── DeadlineExceeded        timeout                  the call exceeded its deadline
# └── Unavailable             unavailable              the data cannot be read at the moment
#
def escape_controls(text: str, *, spared: str = "") -> str:
    r"""Return a text whose characters that cannot be printed are written as \x1b or \u2028; some are spared."""
    if text.isprintable():
        return text
    return "".join(
        mark if mark.isprintable() or mark in spared else mark.encode("unicode_escape").decode("ascii") for mark in text
    )


# A refusal is an answer: it says what is wrong, echoes the input and names valid values, each in the form in which the
# call takes it. It names only what the caller may see: pass visible names only.


MOST_CHARACTERS = 2000  # of a message


class Refusal(Exception):
    """A call that has no answer. The caller reads `as_data()`."""

    error_type: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        error: str,
        *,
        field: str | None = None,
        got: object = None,
        valid: Iterable[Any] = (),
        did_you_mean: Sequence[str] = (),
        example: object = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.field = field
        self.got = got
        self.valid = list(valid)
        self.did_you_mean = list(did_you_mean)
        self.example: Any = example
        self.retry_after_ms = retry_after_ms

    def as_data(self) -> dict[str, Any]:
        """Return the error object of the service: JSON-ready, bounded in size, without empty keys but an empty `got`.

        `valid` and `did_you_mean` hold values for `field`. `retryable` is there if the same call may succeed later.
        """
        few = len(self.valid) <= ECHO_NAMES
        said = "" if few else f" Of the {len(self.valid)} that would be valid, 'valid' holds the first {ECHO_NAMES}."
        parts: dict[str, Any] = {
            "error": cut(self.error, MOST_CHARACTERS) + said,
            "error_type": self.error_type,
            "retryable": self.retryable or None,
            "field": echo(self.field),
            "got": echo(self.got),
            "valid": [echo(name) for name in self.valid[:ECHO_NAMES]],
            "did_you_mean": self.did_you_mean,
            "example": self.example if len(as_text(self.example)) <= MOST_CHARACTERS else None,
            "retry_after_ms": self.retry_after_ms,
        }
        return {key: part for key, part in parts.items() if part is not None and (part != [] or key == "got")}


class BadArguments(Refusal):
    """The arguments are invalid."""

    error_type = "bad_arguments"


class UnknownName(Refusal):
    """No object that the caller may see has this name."""

    error_type = "unknown_name"

    @classmethod
    def of(
        cls, kind: str, got: str, visible: Iterable[str], *, field: str, hint: str, close: list[str] | None = None
    ) -> "UnknownName":
        """Refuse the name `got` of a `kind` and suggest visible names. `hint` says which call lists them."""
        names = sorted(visible)
        close = closest(got, names) if close is None else close
        said = f"There is no {kind} {quoted([got])}.{guess(close)} {hint if names else NONE_VISIBLE}"
        return cls(said, field=field, got=got, valid=names, did_you_mean=close)


class BadPeriod(Refusal):
    """The period code or range is invalid or empty."""

    error_type = "bad_period"


class MixedGrains(BadPeriod):
    """The two bounds of a range differ in grain."""

    error_type = "mixed_grains"


class GrainUnavailable(Refusal):
    """The data is coarser than the period asked for."""

    error_type = "grain_unavailable"


class MixedDomains(Refusal):
    """One metric call names metrics of several domains."""

    error_type = "mixed_domains"


class DimensionUnavailable(Refusal):
    """The dimension exists, but this query cannot use it."""

    error_type = "dimension_unavailable"


class ColumnUnavailable(Refusal):
    """The source does not show this column."""

    error_type = "column_unavailable"


class AmbiguousWeight(Refusal):
    """Two filters give one leaf different weights."""

    error_type = "ambiguous_weight"


class ExpiredReference(Refusal):
    """The kept report has expired, or its caller may no longer see all of it. Never says which."""

    error_type = "expired_reference"

    @classmethod
    def of(cls, reference: str | None = None, *, field: str | None = None) -> "ExpiredReference":
        """Refuse without saying why; a tool names the reference and its field."""
        return cls(
            "This result can no longer be opened as it was kept. Run the report again.", field=field, got=reference
        )


class ChartInvalid(Refusal):
    """The data or the spec of a chart is invalid."""

    error_type = "chart_invalid"


class Unavailable(Refusal):
    """The data cannot be read at the moment."""

    error_type = "unavailable"
    retryable = True
