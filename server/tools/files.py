"""Files: kept results as downloads."""

from engine.requests import ExportRequest, FileRequest
from server.caller import Caller
from server.wire.answer import Answer
from server.wire.files import given_json


def export_dataset(caller: Caller, asked: ExportRequest) -> Answer:
    """Make a kept result into a file."""
    return Answer(given_json(caller.files.export(caller.datasets.open(asked.data_ref), asked.format)))


def get_file_download(caller: Caller, asked: FileRequest) -> Answer:
    """Renew the link to a file."""
    return Answer(given_json(caller.files.link(asked.file_id)))
