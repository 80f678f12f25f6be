"""The errors a caller can cause, each with what to try next, and how an error quotes what was sent."""

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import ClassVar

# What was sent, as errors repeat it: names in a sentence, values cut short, and the names that may have been meant.


ECHO_CHARACTERS = 200
ECHO_NAMES = 30


def closest(got: str, names: Sequence[str]) -> list[str]:
    """Return up to three of `names` that `got` may have meant, best first."""
    by_fold = {name.casefold(): name for name in names}
    close = get_close_matches(got[:ECHO_CHARACTERS].casefold(), list(by_fold), n=3, cutoff=0.6)
    return [by_fold[fold] for fold in close]


def quoted(names: Iterable[str], most: int = ECHO_NAMES) -> str:
    """Return names as they stand in a sentence: 'a', 'b' or 'c', or the first of many."""
    named = [f"'{echo(name)}'" for name in names]
    if len(named) == 1 or len(named) > most:
        return first_of(named, most)
    return f"{', '.join(named[:-1])} or {named[-1]}"


def first_of(names: Sequence[str], most: int = ECHO_NAMES) -> str:
    """Return the first few names and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def echo(got: object) -> object:
    """Return what was sent, cut to a length that an error may carry."""
    if isinstance(got, str):
        return cut(got, ECHO_CHARACTERS)
    if isinstance(got, list | tuple):
        shown = [short(item) for item in got[:ECHO_NAMES]]
        return shown if len(got) <= ECHO_NAMES else [*shown, f"… ({len(got)} items)"]
    return short(got)


def short(got: object) -> object:
    """Return what was sent, as the beginning of its text where that is long."""
    text = got if isinstance(got, str) else as_text(got)
    return got if len(text) <= ECHO_CHARACTERS else cut(text, ECHO_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Return a text, or its beginning and how long it was."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def as_text(got: object) -> str:
    """Return what was sent as JSON text."""
    return json.dumps(got, ensure_ascii=False, default=str)


# The refusals: whatever a caller can ask that has no answer, and what to try instead.
#
# Refusal
# ├── BadArguments            bad_arguments            the arguments do not make a question
# ├── UnknownName             unknown_name             no such tool, statement, metric, dimension (for this caller)
# ├── BadPeriod               bad_period               a period code or range that means no days
# │   └── MixedGrains         mixed_grains             two bounds of different grain
# ├── GrainUnavailable        grain_unavailable        the data is coarser than the period asked for
# ├── MixedDomains            mixed_domains            metrics of several domains in one metric call
# ├── DimensionUnavailable    dimension_unavailable    a dimension that this question cannot use
# ├── ColumnUnavailable       column_unavailable       a column that a source does not show
# ├── AmbiguousWeight         ambiguous_weight         one leaf filtered with two different weights
# ├── ExpiredReference        expired_reference        a kept report that can no longer be opened
# ├── UnknownFile             unknown_file             a file that is not there, or no longer its caller's to open
# ├── QuotaExceeded           quota_exceeded           no room for another file
# ├── UploadIncomplete        upload_incomplete        a file that was announced, and has not come
# ├── HostNotAllowed          host_not_allowed         a place that no file may be imported from
# ├── ChartInvalid            chart_invalid            a chart that its data or its spec does not make
# ├── TransformRefused        transform_refused        a script that uses what the language of scripts does not have
# ├── TransformFailed         transform_failed         a script that stopped at a fault of its own, or left no table
# ├── TransformLimit          transform_limit          a script that took or left more than it may
# ├── TransformForbidden      transform_forbidden      a script that tried what no script may
# ├── ToolDisabled            tool_disabled            a tool that this deployment has turned off
# ├── Busy                    busy                     over the cap; retry shortly
# ├── DeadlineExceeded        timeout                  the call outran its deadline
# └── Unavailable             unavailable              the data cannot be read just now
#
# A refusal is an answer: it says what was wrong, echoes what was sent, and names what would be valid. It never
# names what its caller may not see; whoever raises one passes visible names only.


MOST_CHARACTERS = 2000  # of a sentence, whatever was sent


class Refusal(Exception):
    """A question that has no answer; `as_data()` is what the caller reads."""

    error_type: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        error: str,
        *,
        field: str | None = None,
        got: object = None,
        valid: Iterable[str] = (),
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
        self.example = example
        self.retry_after_ms = retry_after_ms

    def as_data(self) -> dict[str, object]:
        """Return the error object of the service: JSON-ready, bounded, empty parts left out."""
        few = len(self.valid) <= ECHO_NAMES
        said = "" if few else f" Of the {len(self.valid)} that would be valid, 'valid' holds the first {ECHO_NAMES}."
        parts: dict[str, object] = {
            "error": cut(self.error, MOST_CHARACTERS) + said,
            "error_type": self.error_type,
            "retryable": self.retryable,
            "field": echo(self.field),
            "got": echo(self.got),
            "valid": [echo(name) for name in self.valid[:ECHO_NAMES]],
            "did_you_mean": self.did_you_mean,
            "example": self.example if len(as_text(self.example)) <= MOST_CHARACTERS else None,
            "retry_after_ms": self.retry_after_ms,
        }
        return {key: part for key, part in parts.items() if part not in (None, [])}


class BadArguments(Refusal):
    """The arguments do not make a question."""

    error_type = "bad_arguments"


class UnknownName(Refusal):
    """A name that nothing visible to the caller has."""

    error_type = "unknown_name"

    @classmethod
    def of(cls, kind: str, got: str, visible: Iterable[str], *, field: str, hint: str) -> "UnknownName":
        """Refuse `got` as a `kind`, suggesting the visible names; `hint` says which call lists them."""
        names = sorted(visible)
        close = closest(got, names)
        guess = f" Did you mean {quoted(close)}?" if close else ""
        return cls(
            f"There is no {kind} {quoted([got])}.{guess} {hint}", field=field, got=got, valid=names, did_you_mean=close
        )


class BadPeriod(Refusal):
    """A period code or range that means no days."""

    error_type = "bad_period"


class MixedGrains(BadPeriod):
    """Two bounds of different grain."""

    error_type = "mixed_grains"


class GrainUnavailable(Refusal):
    """The data is coarser than the period asked for."""

    error_type = "grain_unavailable"


class MixedDomains(Refusal):
    """Metrics of several domains in one metric call."""

    error_type = "mixed_domains"


class DimensionUnavailable(Refusal):
    """A dimension that exists, and that this question cannot use."""

    error_type = "dimension_unavailable"


class ColumnUnavailable(Refusal):
    """A column that a source does not show."""

    error_type = "column_unavailable"


class AmbiguousWeight(Refusal):
    """One leaf would count with two different weights."""

    error_type = "ambiguous_weight"


class ExpiredReference(Refusal):
    """A kept report that has expired, or that its caller may no longer see all of: which of them, it never says."""

    error_type = "expired_reference"

    @classmethod
    def of(cls, reference: str | None = None, *, field: str | None = None) -> "ExpiredReference":
        """Refuse, whatever the reason; of several references, name the one and its place."""
        return cls(
            "This result can no longer be opened as it was kept. Run the report again.", field=field, got=reference
        )


class UnknownFile(Refusal):
    """A file that is not there, has expired, or that its caller may not open (any more): which, it never says."""

    error_type = "unknown_file"

    @classmethod
    def of(cls, file_id: str) -> "UnknownFile":
        """Refuse, whatever the reason."""
        return cls(
            "There is no such file, or it can no longer be opened. Make it again with export_dataset.",
            field="file_id",
            got=file_id,
        )

    @classmethod
    def of_upload(cls, upload_id: str) -> "UnknownFile":
        """Refuse an upload, whatever the reason."""
        return cls(
            "There is no such upload, or it has expired. Begin anew with begin_file_upload.",
            field="upload_id",
            got=upload_id,
        )


class QuotaExceeded(Refusal):
    """No room for another file: of the caller's own, or of all."""

    error_type = "quota_exceeded"


class UploadIncomplete(Refusal):
    """A file that was announced and has not come: the same call answers once it has."""

    error_type = "upload_incomplete"
    retryable = True


class HostNotAllowed(Refusal):
    """A place that no file may be imported from, at once or by way of another."""

    error_type = "host_not_allowed"


class ChartInvalid(Refusal):
    """A chart that its data or its spec does not make."""

    error_type = "chart_invalid"


class TransformRefused(Refusal):
    """A script that uses what the language of scripts does not have."""

    error_type = "transform_refused"


class TransformFailed(Refusal):
    """A script that stopped at a fault of its own, or left no table."""

    error_type = "transform_failed"


class TransformLimit(Refusal):
    """A script that took more time or memory than it may, or left more than an answer holds."""

    error_type = "transform_limit"


class TransformForbidden(Refusal):
    """A script that tried what no script may: to reach files, the network or other processes."""

    error_type = "transform_forbidden"


class ToolDisabled(Refusal):
    """A tool that this deployment has turned off."""

    error_type = "tool_disabled"

    @classmethod
    def of(cls, name: str) -> "ToolDisabled":
        """Refuse a call of a tool by its name."""
        return cls(
            f"The tool {quoted([name])} is turned off in this deployment. Use the others; tools/list lists them.",
            field="tool",
            got=name,
        )


class Busy(Refusal):
    """More calls in flight than the cap allows."""

    error_type = "busy"
    retryable = True


class DeadlineExceeded(Refusal):
    """The call outran its deadline."""

    error_type = "timeout"
    retryable = True


class Unavailable(Refusal):
    """The data cannot be read just now."""

    error_type = "unavailable"
    retryable = True
