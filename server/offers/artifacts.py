"""Kept results as files, and the links to them."""

from engine.requests import ExportRequest, FileRequest
from server.tool import Effect, Tool
from server.tools.files import export_dataset, get_file_download

ARTIFACTS = (
    Tool(
        name="export_dataset",
        title="Export to a file",
        description=(
            "Make a result into a file, without running it again: json with all its metadata, or an xlsx workbook laid "
            "out as the result was seen. Take the data_ref from the result of run_statement, run_metric or "
            "inspect_rows; the file holds all of it, also what the answer had no room for. Returns a download_url for "
            "the user, which opens without a token for a while; get_file_download renews it. Creates a temporary file "
            "of the caller's own; the books stay as they are."
        ),
        request=ExportRequest,
        run=export_dataset,
        example={},  # a data_ref is of one call
        lane="heavy",
        effect=Effect.FILE,
    ),
    Tool(
        name="get_file_download",
        title="Renew a download link",
        description=(
            "Return a new link to a file that export_dataset made, while the file is there and its owner may still "
            "see all that it holds. Call it when a download_url has expired."
        ),
        request=FileRequest,
        run=get_file_download,
        example={},  # a file_id is of one call
    ),
)
