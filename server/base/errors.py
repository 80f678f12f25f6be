"""The errors of the service that a caller can cause: files, scripts, and calls that it does not take."""

from engine.model.errors import Refusal, quoted


class UnknownFile(Refusal):
    """The file does not exist, has expired, or the caller may not open it. Never says which."""

    error_type = "unknown_file"

    @classmethod
    def of(cls, file_id: str) -> "UnknownFile":
        """Refuse a file without saying why."""
        return cls(
            "There is no such file, or it can no longer be opened. Make it again with export_dataset.",
            field="file_id",
            got=file_id,
        )

    @classmethod
    def of_upload(cls, upload_id: str) -> "UnknownFile":
        """Refuse an upload without saying why."""
        return cls(
            "There is no such upload, or it has expired. Begin anew with begin_file_upload.",
            field="upload_id",
            got=upload_id,
        )


class QuotaExceeded(Refusal):
    """The file quota of the caller or of the whole service is used up."""

    error_type = "quota_exceeded"
    retryable = True


class LargerThanQuota(QuotaExceeded):
    """The file alone is larger than the quota."""

    retryable = False


class UploadIncomplete(Refusal):
    """An announced file has not arrived yet. Retry the same call once it has."""

    error_type = "upload_incomplete"
    retryable = True


class HostNotAllowed(Refusal):
    """Files may not be imported from this host, directly or by redirect."""

    error_type = "host_not_allowed"


class TransformRefused(Refusal):
    """The script uses an unsupported construct."""

    error_type = "transform_refused"


class TransformFailed(Refusal):
    """The script raised an error or returned no table."""

    error_type = "transform_failed"


class TransformLimit(Refusal):
    """The script exceeded its time or memory, or returned more than an answer can hold."""

    error_type = "transform_limit"


class TransformForbidden(Refusal):
    """The script tried to reach files, the network or other processes."""

    error_type = "transform_forbidden"


class ToolDisabled(Refusal):
    """This deployment has turned the tool off."""

    error_type = "tool_disabled"

    @classmethod
    def of(cls, name: str) -> "ToolDisabled":
        """Refuse a call of the named tool."""
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
    """The call exceeded its deadline."""

    error_type = "timeout"
    retryable = True
