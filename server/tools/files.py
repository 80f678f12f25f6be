"""Files: kept results as downloads, and files that callers upload or import."""

from server.base.links import parse_hosts
from server.base.requests import CompleteRequest, ExportRequest, FileRequest, ImportRequest, UploadRequest
from server.caller.caller import Caller
from server.tools.definitions import DATASET
from server.tools.examples import no_example, upload_example
from server.tools.tool import Deployment, Effect, Tool
from server.wire.answers import Answer, file_json, given_json, reserved_json

# Files: kept results as downloads.


def export_dataset(caller: Caller, asked: ExportRequest) -> Answer:
    """Make a kept result into a file, and say where hosts read the result."""
    given = caller.files.export(caller.datasets.admit(asked.data_ref), asked.format)
    return Answer(given_json(given), address=f"{DATASET}{asked.data_ref}")


def get_file_download(caller: Caller, asked: FileRequest) -> Answer:
    """Renew the link to a file."""
    return Answer(given_json(caller.files.link(asked.file_id)))


# Uploads: files that callers send, or have fetched from their host.


def begin_file_upload(caller: Caller, asked: UploadRequest) -> Answer:
    """Reserve room for a file and return where it is sent."""
    return Answer(reserved_json(caller.uploads.begin(asked)))


def complete_file_upload(caller: Caller, asked: CompleteRequest) -> Answer:
    """Make what was sent a file."""
    return Answer(file_json(caller.uploads.complete(asked.upload_id)))


def import_host_file(caller: Caller, asked: ImportRequest) -> Answer:
    """Fetch a file from its host."""
    imported = caller.imports.take(asked.file)
    return Answer(file_json(imported.file, imported.notes))


# Kept results as files, and the links to them.


ARTIFACTS = (
    Tool(
        name="export_dataset",
        title="Export to a file",
        hint="download a result as Excel or JSON",
        description=(
            "Make a whole result into a file without running it again, also what the answer had no room for. Returns a "
            "temporary download_url for the user; get_file_download renews it."
        ),
        request=ExportRequest,
        run=export_dataset,
        example=no_example,  # a data_ref is of one call
        local_description=(
            "Make a result into a file without running it again: json with all its metadata, or an xlsx workbook laid "
            "out as it was seen. The file holds the whole result, also what the answer had no room for. Returns its "
            "path on this machine; tell the user where it is, and that it is deleted at file_expires_at."
        ),
        lane="exports",
        effect=Effect.FILE,
    ),
    Tool(
        name="get_file_download",
        title="Renew a download link",
        hint="renew an expired download link",
        description=(
            "Return a new link to a file that export_dataset made, while the file is there and its owner may still "
            "see all that it holds. Call it when a download_url has expired."
        ),
        request=FileRequest,
        run=get_file_download,
        example=no_example,  # a file_id is of one call
        local_description=(
            "Return the path of a file that export_dataset made, while the file is there and its owner may still see "
            "all that it holds. Call it when the file is no longer at its path."
        ),
    ),
)


# Files that callers bring, where a deployment takes any.


def no_uploads(deployment: Deployment) -> str | None:
    """Return why uploads are disabled, None if they are enabled."""
    return None if deployment.settings.uploads_enabled else "SVC_MCP_UPLOADS_ENABLED is not true"


def no_imports(deployment: Deployment) -> str | None:
    """Return why imports are disabled, None if they are enabled."""
    hosts = parse_hosts(deployment.settings.import_hosts)
    return no_uploads(deployment) or (None if hosts else "SVC_FILE_IMPORT_HOSTS names no host")


UPLOADS = (
    Tool(
        name="begin_file_upload",
        title="Begin an upload",
        hint="send a file",
        description=(
            "Reserve room for a file of the user's. Send its bytes to the upload_url that this returns, as the body "
            "of one HTTP PUT, such as: curl --upload-file FILE 'UPLOAD_URL'. Then call complete_file_upload. No tool "
            "reads the file; it changes no figure."
        ),
        request=UploadRequest,
        run=begin_file_upload,
        example=upload_example,
        effect=Effect.FILE,
        withheld=no_uploads,
        takes_files=True,
    ),
    Tool(
        name="complete_file_upload",
        title="Complete an upload",
        hint="register a file that was sent",
        description=(
            "Register a file once its bytes were sent to its upload_url; says so if they have not come, and may be "
            "called again. Returns file_id, size and sha256; get_file_download links to it."
        ),
        request=CompleteRequest,
        run=complete_file_upload,
        example=no_example,  # an upload_id is of one call
        effect=Effect.FILE,
        withheld=no_uploads,
        takes_files=True,
    ),
    Tool(
        name="import_host_file",
        title="Import an attachment",
        hint="take over an attachment of the conversation",
        description=(
            "Take over a file that the user attached, from hosts that this deployment allows. "
            "Returns file_id, size and sha256; get_file_download links to it. No tool reads the file; it changes no "
            "figure."
        ),
        request=ImportRequest,
        run=import_host_file,
        example=no_example,  # such an address is of one conversation
        effect=Effect.FILE,
        withheld=no_imports,
        takes_files=True,
        attachments=("file",),
    ),
)
