"""Files that callers bring, where a deployment takes any."""

from engine.requests import CompleteRequest, ImportRequest, UploadRequest
from server.places import read_hosts
from server.tool import Deployment, Effect, Tool
from server.tools.uploads import begin_file_upload, complete_file_upload, import_host_file


def no_uploads(deployment: Deployment) -> str | None:
    """Return why nothing is uploaded, None where callers may."""
    return None if deployment.settings.uploads_enabled else "SVC_MCP_UPLOADS_ENABLED is not true"


def no_imports(deployment: Deployment) -> str | None:
    """Return why nothing is imported, None where callers may."""
    hosts = read_hosts(deployment.settings.import_hosts)
    return no_uploads(deployment) or (None if hosts else "SVC_FILE_IMPORT_HOSTS names no host")


UPLOADS = (
    Tool(
        name="begin_file_upload",
        title="Begin an upload",
        description=(
            "Reserve room for a file of the user's and return an upload_url for it, for a while. Then send the bytes "
            "of the file there as the body of one HTTP PUT, such as: curl --upload-file FILE 'UPLOAD_URL'; the link "
            "needs no token. Then call complete_file_upload. The file is kept for its owner as it is: no tool reads "
            "it, and it changes no figure."
        ),
        request=UploadRequest,
        run=begin_file_upload,
        example={"filename": "budget 2026.csv", "mime_type": "text/csv", "size_bytes": 1024},
        effect=Effect.FILE,
        withheld=no_uploads,
    ),
    Tool(
        name="complete_file_upload",
        title="Complete an upload",
        description=(
            "Register a file once its bytes were sent to the upload_url of begin_file_upload. Returns its file_id, "
            "size and sha256; get_file_download returns a link to it. Called again, it returns the same file. "
            "Where the bytes have not come, it says so, and may be called again."
        ),
        request=CompleteRequest,
        run=complete_file_upload,
        example={},  # an upload_id is of one call
        effect=Effect.FILE,
        withheld=no_uploads,
    ),
    Tool(
        name="import_host_file",
        title="Import an attachment",
        description=(
            "Take over a file that the user attached to the conversation, from the address that the host gives it: "
            "only from hosts that this deployment allows, which a refusal names. Returns its file_id, size and "
            "sha256; get_file_download returns a link to it. The file is kept for its owner as it is: no tool reads "
            "it, and it changes no figure."
        ),
        request=ImportRequest,
        run=import_host_file,
        example={},  # such an address is of one conversation
        effect=Effect.FILE,
        withheld=no_imports,
        attachments=("file",),
    ),
)
