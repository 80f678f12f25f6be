"""JSON exports: the whole result object, uncut, with the facts about the file.

The module stands alone because each file format has its own; the other is workbook.py.
"""

from pathlib import Path

from msgspec.json import encode

from engine.model.stopping import Stop
from engine.present.exports.about import ExportStamp
from engine.present.exports.kinds import kind_of
from engine.report.snapshots import Kept

OF_THE_CALL = ("data_ref", "dataset_available", "agent_truncated")  # of the call, not of the result


def write_document(kept: Kept, stamp: ExportStamp, path: Path, stop: Stop) -> None:
    """Write a result as JSON, one row per line; calls `stop` between rows.

    Rows are arrays aligned with `columns`. Figures are exact, and unscaled if scale is 0. Rows come last, so memory
    does not grow with them.
    """
    whole = kind_of(kept).answer(kept, stop)
    head = {
        "books": kept.permission.books,
        "made_at": stamp.at.isoformat(timespec="seconds"),
        "made_for": stamp.subject,
    }
    facts = {key: part for key, part in whole.result.items() if key not in ("rows", *OF_THE_CALL)}
    with path.open("wb") as file:
        file.write(encode({**head, **facts}).removesuffix(b"}") + b',\n"rows":[')
        for at, row in enumerate(whole.rows):
            stop()
            file.write((b",\n" if at else b"\n") + encode(row))
        file.write(b"\n]}\n")
