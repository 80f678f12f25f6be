"""Uploads: files that callers send, or have fetched from their host."""

from engine.requests import CompleteRequest, ImportRequest, UploadRequest
from server.caller import Caller
from server.wire.answer import Answer
from server.wire.files import file_json, reserved_json


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
