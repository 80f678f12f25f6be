"""Control tables: every amount of a file is loaded, blank, rejected or left out, and the money stays with the user."""

import re
import stat
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pytest
import xlsxwriter
from msgspec.structs import replace

from engine.facts.manifest import current_version
from server.feeds.feeds import LoadStatus
from server.ingest import controls as load_controls
from server.ingest import delivery
from server.ingest.control_tables import control_line, control_table
from server.ingest.controls import CellSum, FileControl, hash_lots
from server.ingest.load import BindingFailed
from server.wire.feeds import load_json
from tests.support.books.instance_page import PAGE
from tests.support.books.loads import ADVENTUREWORKS, OXFORD, ROOT, load_feeds, needs
from tests.support.engines.memory import MemoryLoads
from tests.unit.server.files.test_formats import instance_of

LOOSE: dict[str, Any] = {"rejects": {"allow": {"decimals": 99, "number": 99, "day": 99, "size": 99}}}
HEAD = "date,account,amount\n"


def controls(instance: Path, **more: Any) -> list[FileControl]:
    """Load an instance of one ledger and return the controls of its files."""
    (done,) = load_feeds(instance, instance.parent / "state", **more)
    return list(done.controls)


def sums(file: FileControl) -> dict[str, tuple[int, Decimal]]:
    """Return what became of the amounts of a file: how many cells, and their sum."""
    amount = file.amounts["amount"]
    fates: dict[str, CellSum] = {"read": amount.read, **amount.fates}
    return {name: (fate.cells, Decimal(fate.units).scaleb(-12)) for name, fate in fates.items()}


def test_each_amount_is_loaded_blank_rejected_or_left_out(tmp_path: Path) -> None:
    text = (
        f"{HEAD}2026-01-31,1,1000.25\n2026-01-31,1,\n2026-01-31,2,-0.125\n2026-13-31,2,40\n"
        "2026-01-31,3,x\n2026-01-31,Sum,1040.5\n2026-01-31,Sum,\n"
    )
    keys: dict[str, Any] = {"skip": {"equals": {"account": ["Sum"]}}, "numbers": {"blank": "none"}}
    (file,) = controls(instance_of(tmp_path, text, **keys, **LOOSE))
    assert sums(file) == {
        "read": (7, Decimal("2080.625")),
        "loaded": (1, Decimal("1000.25")),
        "blank": (1, Decimal(0)),
        "rejected": (3, Decimal("39.875")),
        "left out": (2, Decimal("1040.5")),
    }
    assert control_line(file, money=True) == (
        "gl.csv: 7 rows; amount 7 = 1 loaded + 1 blank + 3 rejected + 2 left out; "
        "Σ 2,080.625 = 1,000.25 loaded + 39.875 rejected + 1,040.50 left out"
    )
    assert control_line(file, money=False) == (
        "gl.csv: 7 rows; amount 7 = 1 loaded + 1 blank + 3 rejected + 2 left out"
    )


DEBITS = {"amount": {"debit": "soll", "credit": "haben", "credits": "positive"}}
SIDES = {"amount": {"column": "soll", "side": "haben", "debit": ["S"], "credits": "positive"}}
SIGNS = {"-1": Decimal(-1), "": Decimal(0)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", ["1", "1000", "0.5"])
@pytest.mark.parametrize("keys", [{}, DEBITS, SIDES])
def test_sums_are_those_of_the_texts_of_the_file(tmp_path: Path, seed: int, keys: dict[str, Any], factor: str) -> None:
    random, rows = Random(f"{seed}{keys}{factor}"), []
    expected: dict[str, list[Any]] = {
        name: [0, Decimal(0)] for name in ("read", "loaded", "blank", "rejected", "left out")
    }
    for _ in range(200):
        places = random.choice([0, 1, 2, 2, 2, 5])
        amount = Decimal(random.randrange(10**9)).scaleb(-places)
        day, account = random.choice(["2026-01-31"] * 9 + ["2026-02-30"]), random.choice("12345T")
        written = random.choice([format(amount, "f")] * 9 + [""])
        side = random.choice(["S", "H"])
        value = amount * Decimal(factor) * (-1 if keys and side == "H" else 1)
        cells = ["", written] if keys is DEBITS and side == "H" else [written, side if keys is SIDES else ""]
        rows.append(f"{day},{account},{cells[0]},{cells[1]}\n")
        fits = -int(value.normalize().as_tuple().exponent) <= 2
        lost = day != "2026-01-31" or bool(written and not fits)
        fate = "left out" if account == "T" else "rejected" if lost else "loaded" if written else "blank"
        for name in ("read", fate):
            expected[name][0] += 1
            expected[name][1] += value if written else 0
    more: dict[str, Any] = {
        **keys,
        "numbers": {"blank": "none", "factor": factor},
        "skip": {"equals": {"account": "T"}},
    }
    mapped = {"text": {"constant": "x"}, **({} if keys else {"amount": "soll"})}
    text = f"date,account,soll,haben\n{''.join(rows)}"
    (file,) = controls(instance_of(tmp_path, text, **more, **LOOSE, map=mapped))
    assert sums(file) == {name: tuple(pair) for name, pair in expected.items()}


def test_months_across_are_a_cell_each_and_each_file_has_a_control(tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "unpivot": {"columns": ["2026-01", "2026-02"], "into": "date", "value": "amount"},
        "skip": {"equals": {"account": "Sum"}},
        "numbers": {"blank": "none"},
    }
    instance = instance_of(tmp_path, "account,2026-01,2026-02\n1,5,\n2,7,1\nSum,12,1\n", "month", "gl*.csv", **keys)
    (instance / "data" / "gl2027.csv").write_text("account,2026-01,2026-02\n3,9,2\n3,9,2\n")
    first, second = controls(instance)
    assert (first.name, second.name) == ("gl2026.csv", "gl2027.csv")
    assert sums(first) == {
        "read": (6, 26), "loaded": (3, 13), "blank": (1, 0), "rejected": (0, 0), "left out": (2, 13)
    }  # fmt: skip
    assert (first.rows, first.repeated, second.repeated) == (3, 0, 1)
    assert "1 row repeats another" in control_line(second, money=False)


def test_a_load_that_loses_a_row_on_the_way_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, state = instance_of(tmp_path, f"{HEAD}2026-01-31,1,7391.17\n2026-01-31,2,5\n"), tmp_path / "state"
    kept = delivery.Delivery._with_figures
    with monkeypatch.context() as patch:
        patch.setattr(delivery.Delivery, "_with_figures", lambda *parts: kept(*parts).head(1))
        with pytest.raises(BindingFailed, match=r"gl.csv: the amounts of 'amount' .* fault of Tieout") as lost:
            load_feeds(instance, state)
    with monkeypatch.context() as patch:
        patch.setattr(delivery, "staged_magnitudes", lambda *_: {"amount": 739117})
        with pytest.raises(BindingFailed, match=r"the amounts of 'amount' in the store are not those") as stored:
            load_feeds(instance, state)
    for failure in (lost.value, stored.value):
        assert failure.status is LoadStatus.FAILED_VALIDATE
        assert "7391" not in f"{failure}{failure.recorded}"
    assert not current_version(state / "store")
    (file,) = lost.value.controls
    assert "≠" in control_line(file, money=True)
    assert any("7,391.17" in line for line in control_table(file))


def test_money_stands_in_the_report_that_only_this_user_reads(tmp_path: Path) -> None:
    text = f"{HEAD}2026-01-31,1,7391.17\n2026-01-31,1,8.125\n2026-01-31,T,7391.17\n"
    instance = instance_of(tmp_path, text, skip={"equals": {"account": "T"}}, **LOOSE)
    loads, state = MemoryLoads(), tmp_path / "state"
    (done,) = load_feeds(instance, state, loads=loads)
    report = state / "controls" / f"{done.load}.txt"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert re.search(r"as read +3 +14,790.465\n +loaded +1 +7,391.17\n", report.read_text())
    attempt = loads.get(done.load)
    assert attempt is not None
    counted = control_line(done.controls[0], money=False)
    told = f"{replace(attempt, load_id='', rejects_file=None)} {load_json(attempt)} {counted}"
    assert not re.search(r"7,?391|14,?790|8\.125", told)


def test_the_reports_of_the_last_hundred_loads_of_a_feed_are_kept(tmp_path: Path) -> None:
    instance, folder = instance_of(tmp_path, f"{HEAD}2026-01-31,1,5\n"), tmp_path / "state" / "controls"
    folder.mkdir(parents=True)
    names = [f"20250101T{n:06}Z-{feed}-0badcafe.txt" for n in range(100) for feed in ("gl", "gl_budget")]
    for name in names:
        (folder / name).touch()
    (done,) = load_feeds(instance, tmp_path / "state")
    left = {path.name for path in folder.iterdir()}
    assert left == {*names[1:], f"{done.load}.txt"}


def test_hidden_rows_of_a_sheet_are_loaded_and_told(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "", file="gl.xlsx", map={"text": {"constant": "x"}})
    path = instance / "data" / "gl.xlsx"
    path.unlink()
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("GL")
        for at, row in enumerate([["date", "account", "amount"], *(["2026-01-31", "1", n] for n in (5, 7, 9))]):
            sheet.write_row(at, 0, row)
        sheet.set_row(2, options={"hidden": True})
        sheet.set_row(3, options={"hidden": True})
    (done,) = load_feeds(instance, tmp_path / "state")
    assert done.warnings == ["gl.xlsx, sheet GL: 2 rows are hidden or filtered away, and count as any other"]
    assert sums(done.controls[0])["loaded"] == (3, 21)


def test_rows_of_a_typed_file_with_lists_are_compared_too(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, "", file="gl.parquet")
    rows = {"date": ["2026-01-31"] * 3, "account": ["1"] * 3, "amount": [5, 5, 7], "tags": [["a"], ["a"], ["a"]]}
    pl.DataFrame(rows).write_parquet(instance / "data" / "gl.parquet")
    (file,) = controls(instance)
    assert file.repeated == 1


@pytest.mark.parametrize(
    ("instance", "variable", "folder", "file"),
    [
        ("adventureworks", "ADVENTUREWORKS", ADVENTUREWORKS, "fact_finance.csv"),
        ("oxford", "OXFORD_SPEND", OXFORD, "ledger.csv"),
    ],
)
def test_the_page_has_the_control_tables_of_real_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: str, variable: str, folder: Path, file: str
) -> None:
    needs(folder)
    monkeypatch.setenv(variable, str(folder))
    loaded = load_feeds(ROOT / "instances" / instance, tmp_path)
    line = next(control_line(one, money=True) for done in loaded for one in done.controls if one.name == file)
    assert f"\ncontrol {line}\n" in PAGE.read_text(encoding="utf-8")
    amount = "cast(nullif(amount, '') as decimal(38, 2))"
    read = f"select count(*), sum({amount}) from read_csv('{folder / file}', all_varchar = true)"  # noqa: S608 - a file of ours
    rows, total = duckdb.execute(read).fetchall()[0]
    assert line.startswith(f"{file}: {rows:,} rows; amount {rows:,}")
    assert f"Σ {total:,}" in line


def test_rows_of_a_large_file_are_compared_in_lots_that_do_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_controls, "COMPARED_AT_ONCE", 100)
    random = Random(57)
    for rows in (0, 1, 300, 3_000):
        numbers = [random.randrange(max(1, rows // 2)) for _ in range(rows)]
        pieces = [pl.DataFrame({"row": numbers[first::3]}).hash_rows() for first in range(3)]
        lots = list(hash_lots(pieces))
        assert max(map(len, lots), default=0) <= 200
        assert sum(len(lot) - lot.n_unique() for lot in lots) == rows - len(set(numbers))
