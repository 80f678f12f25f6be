"""The comparison of two checkouts: the same books give no difference, one changed weight is found by name."""

import json
import shutil
from pathlib import Path

from engine.instance.read import STATE
from scripts.checkout_answers import answers
from scripts.compare_checkouts import differences, lines, write_drawn
from tests.support.books.loads import load_feeds


def answered(book: Path) -> Path:
    """Load a book and write what its profiles are told."""
    load_feeds(book, book / STATE)
    into = book.with_suffix(".jsonl")
    into.write_text("".join(f"{json.dumps(line, sort_keys=True)}\n" for line in answers(book, book / STATE)))
    return into


def test_one_changed_weight_is_found(tmp_path: Path) -> None:
    write_drawn(tmp_path / "old", 5)
    copies = [Path(shutil.copytree(tmp_path / "old", tmp_path / name)) for name in ("same", "other")]
    tree = copies[1] / "data" / "n_ptree.csv"
    head, *nodes = tree.read_text(encoding="utf-8").splitlines()
    weight = head.split(",").index("weight")
    rows = [node.split(",") for node in nodes]
    changed = next(row for row in rows if row[weight] not in ("", "0"))
    changed[weight] = "0.123"
    tree.write_text("\n".join([head, *map(",".join, rows)]) + "\n", encoding="utf-8")
    old, same, other = map(answered, (tmp_path / "old", *copies))
    assert len(lines(old)) > 50
    assert not [each for each in differences(old, same) if each["part"] != ""]
    found = list(differences(old, other))
    assert any(".answer" in each["part"] for each in found)
