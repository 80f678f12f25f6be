"""Conversion in loads: rates held to their days, rows without a rate rejected, nothing rounded, nothing wrapped."""

from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine.door import open_books
from engine.facts.manifest import current_version
from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from server.files.rejects import format_rejects
from server.ingest.load import BindingFailed, LoadResult
from tests.support.books.loads import load_feeds
from tests.support.books.small import csv, figures, write_instance

A = {"A": "actual"}
DOMAIN = """
    time: {{column: date, grain: {grain}, missing: {missing}}}
    dimensions: {{account: account}}
    measures: {{amount: {{places: 2}}, usd: {{places: {places}}}}}
    metrics:
      sales: {{measure: usd}}
"""
HEAD = "date scenario account amount currency"
RATES = "currency date rate\nCAD 2021-01 0.5"
ROW = "2021-01-05 actual 10 100 CAD"


def instance_of(
    folder: Path,
    rows: str,
    rates: str = RATES,
    *,
    head: str = HEAD,
    gl: dict[str, Any] | None = None,
    fx: dict[str, Any] | None = None,
    **domain: object,
) -> Path:
    """Write an instance of one ledger in several currencies; `gl` says more of its conversion and its feed."""
    said = dict(gl or {})
    convert = {"rates": "live.fx_rate", "from": "currency", "into": "usd", **said.pop("convert", {})}
    return write_instance(
        folder / "small",
        facts={"gl": f"{head}\n{rows}"},
        domains={"gl": DOMAIN.format(**{"places": 4, "grain": "day", "missing": "reject", **domain})},
        dimensions="account: {kind: leaf}",
        tables={"fx_rate": rates},
        bindings={"gl": {"convert": convert, **said}, "fx_rate": fx or {}},
    )


def run(instance: Path, *bindings: str) -> dict[str, LoadResult]:
    """Load some feeds of an instance, or all."""
    return {loaded.binding: loaded for loaded in load_feeds(instance, instance.parent / "state", *bindings)}


def sales(instance: Path, period: str = "2021") -> dict[Any, Decimal | None]:
    """Return what was loaded, converted, by account and with its total."""
    books = open_books(instance, state=instance.parent / "state")
    return figures(books.metric("sales", scenarios=A, period=period, dimensions=["account"]), "account")


def rejected(instance: Path, *bindings: str) -> list[str]:
    """Return the rejected rows of a load that fails, in order of their rows; nothing was published."""
    before = current_version(instance.parent / "state" / "store")
    with pytest.raises(BindingFailed, match="rows rejected") as failed:
        run(instance, *bindings)
    assert current_version(instance.parent / "state" / "store") == before
    return list(format_rejects(failed.value.rejects.sort("row", maintain_order=True), 100))


def test_a_rate_holds_for_its_very_days_and_no_other(tmp_path: Path) -> None:
    rows = """
        2021-01-31 actual 10 100 CAD
        2021-02-01 actual 10 100 CAD
        2021-02-10 actual 10 100 CAD
        2021-02-11 actual 10 100 CAD
        2021-01-31 actual 10 100 EUR
        2021-01-31 actual 10 100 cad
        2021-01-31 actual 10 100 -
        2020-12-31 actual 10 100 CAD
    """
    rates = "currency date rate\nCAD 2021-01 0.5\nCAD 2021-02-10 0.25\nCAD 2021-Q2 0.75"
    instance = instance_of(tmp_path, rows, rates)
    assert rejected(instance) == [
        "gl.csv row 3, currency: 'CAD' has no rate for 2021-02-01 in live.fx_rate",
        "gl.csv row 5, currency: 'CAD' has no rate for 2021-02-11 in live.fx_rate",
        "gl.csv row 6, currency: 'EUR' has no rate for 2021-01-31 in live.fx_rate",
        "gl.csv row 7, currency: 'cad' has no rate for 2021-01-31 in live.fx_rate",
        "gl.csv row 8, currency: is missing",
        "gl.csv row 9, currency: 'CAD' has no rate for 2020-12-31 in live.fx_rate",
    ]


def test_allowed_rejects_leave_the_rows_that_have_a_rate(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, f"{ROW}\n2021-02-05 actual 20 100 CAD", gl={"rejects": {"allow": 1}})
    assert run(instance)["gl"].rows_landed == 1
    assert sales(instance) == {"10": 50, None: 50}


@pytest.mark.parametrize("written", ["2021-01", "2021-Q1", "2021", "2021-01-05", "2021-W01"])
def test_rates_by_day_week_month_quarter_and_year(tmp_path: Path, written: str) -> None:
    instance = instance_of(tmp_path, ROW, f"currency date rate\nCAD {written} 0.5")
    run(instance)
    assert sales(instance) == {"10": 50, None: 50}


def test_facts_by_period_need_a_rate_that_holds_for_the_whole_period(tmp_path: Path) -> None:
    rows = "2021-01 actual 10 100 CAD\n2021-02 actual 10 100 CAD\n2021-03-01 actual 10 100 CAD"
    rates = "currency date rate\nCAD 2021-01 0.5\nCAD 2021-02-01 0.5\nCAD 2021-03-01 0.5"
    instance = instance_of(tmp_path, rows, rates, grain="month")
    assert rejected(instance) == ["gl.csv row 3, currency: 'CAD' has no rate for 2021-02 in live.fx_rate"]


def test_rates_of_a_kind_on_another_day_from_mapped_columns(tmp_path: Path) -> None:
    instance = instance_of(
        tmp_path,
        "2021-01-05 actual 10 100 02/15/2021 C$\n2021-01-05 actual 10 1 - $",
        "waers gueltig art kurs\nCAD 2021-01-05 average 0.9\nCAD 2021-02-15 average 0.5\nCAD 2021-02-15 spot 0.7",
        head="date scenario account amount settled waers",
        gl={
            "convert": {"on": "settled", "kind": "average", "from": "cur", "measure": "amount"},
            "map": {
                "settled": {"column": "settled", "format": "%m/%d/%Y"},
                "cur": {"column": "waers", "values": {"C$": "CAD", "$": "USD"}},
            },
        },
        fx={"map": {"currency": "waers", "date": "gueltig", "kind": "art", "rate": "kurs"}},
    )
    run(instance)
    assert sales(instance) == {"10": 51, None: 51}


def test_the_day_a_rate_is_looked_up_for_must_be_one(tmp_path: Path) -> None:
    rows = """
        2021-01-05 actual 10 100 CAD 2021-02-30
        2021-01-05 actual 10 100 CAD soon
        2021-01-05 actual 10 100 CAD -
        2021-01-05 actual 10 100 USD -
    """
    instance = instance_of(tmp_path, rows, head=f"{HEAD} settled", gl={"convert": {"on": "settled"}})
    assert rejected(instance) == [
        "gl.csv row 2, settled: '2021-02-30' is no day that exists",
        "gl.csv row 3, settled: 'soon' is no day (YYYY-MM-DD) and no period code",
        "gl.csv row 4, settled: is missing",
    ]


def test_undated_rows_have_no_rate_and_wrong_dates_are_named_once(tmp_path: Path) -> None:
    rows = "- actual 10 100 CAD\n- actual 10 7 USD\n2021-13-01 actual 10 100 CAD"
    instance = instance_of(tmp_path, rows, missing="keep")
    assert rejected(instance) == [
        "gl.csv row 2, date: is missing",
        "gl.csv row 4, date: '2021-13-01' is no day that exists",
    ]


def test_rates_that_are_none(tmp_path: Path) -> None:
    rates = """
        currency date kind rate
        CAD 2021-01 - 0.5
        CAD 2021-01 - 0.6
        CAD 2021-01-15 - 0.6
        CAD 2021-01-15 spot 0.6
        CAD 2021-02 - 0
        CAD 2021-03 - -0.5
        CAD 2021-04 - 0,5
        CAD 2021-05 - -
        CAD 2021-06-31 - 0.5
        CAD January - 0.5
        - 2021-01 - 0.5
        CAD 2021-02 - 0.5
        USD 2021-01 - 1.00
        USD 2021-02 - 1.01
        CAD 2021-Q1 - 0.5
    """
    instance = instance_of(tmp_path, ROW, rates)
    (instance / "data" / "fx_rate.csv").write_text(csv(rates).replace("0,5", '"0,5"'))
    other = "covers days of another rate of the same currency and kind"
    assert rejected(instance) == [
        "fx_rate.csv row 3, date: '2021-01' stands twice",
        f"fx_rate.csv row 4, date: '2021-01-15' {other}",
        "fx_rate.csv row 6, rate: '0' is not above zero",
        "fx_rate.csv row 7, rate: '-0.5' is not above zero",
        "fx_rate.csv row 8, rate: '0,5' is no number",
        "fx_rate.csv row 9, rate: is missing",
        "fx_rate.csv row 10, date: '2021-06-31' is no day that exists",
        "fx_rate.csv row 11, date: 'January' is no day (YYYY-MM-DD) and no period code",
        "fx_rate.csv row 12, currency: is missing",
        f"fx_rate.csv row 13, date: '2021-02' {other}",
        "fx_rate.csv row 15, rate: '1.01' is no rate of the books' own currency, which is 1 for 1 USD",
        f"fx_rate.csv row 16, date: '2021-Q1' {other}",
    ]


def test_facts_wait_for_their_rates(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, ROW)
    with pytest.raises(BindingFailed, match="fx_rate is not loaded yet: load the feed that fills it first"):
        run(instance, "gl")
    run(instance, "fx_rate")
    run(instance, "gl")
    assert sales(instance) == {"10": 50, None: 50}


def test_new_rates_hold_for_the_facts_that_are_loaded_after_them(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, ROW)
    run(instance)
    (instance / "data" / "fx_rate.csv").write_text(csv("currency date rate\nCAD 2021-01 0.8"))
    run(instance, "fx_rate")
    assert sales(instance)[None] == 50
    run(instance, "gl")
    assert sales(instance)[None] == 80


@pytest.mark.parametrize(
    ("kinds", "kind", "says"),
    [
        ("average", "closing", "live.fx_rate has no rates of kind 'closing'; its kinds are average"),
        ("average", None, "live.fx_rate has no rates without a kind; its kinds are average"),
        ("-", "closing", "live.fx_rate has no rates of kind 'closing'; its kinds are none"),
    ],
)
def test_a_kind_that_the_rates_do_not_have(tmp_path: Path, kinds: str, kind: str | None, says: str) -> None:
    convert = {"kind": kind} if kind else {}
    instance = instance_of(tmp_path, ROW, f"currency date kind rate\nCAD 2021-01 {kinds} 0.5", gl={"convert": convert})
    with pytest.raises(BindingFailed, match=says):
        run(instance)


@pytest.mark.parametrize(
    ("rate", "mend"),
    [
        ("0.67891", "say places: 7, and load every feed of live.gl again"),
        ("0.67891234567", "12 are the most; convert: {round: {places: 4, rule: half_even}} rounds them"),
    ],
)
def test_a_measure_that_cannot_hold_amount_times_rate_is_never_rounded_into(
    tmp_path: Path, rate: str, mend: str
) -> None:
    instance = instance_of(tmp_path, ROW, f"currency date rate\nCAD 2021-01 {rate}\nCAD 2021-02 0.5")
    says = (
        f"usd holds 4 decimal places; amount has 2 and the rates of live.fx_rate up to {len(rate) - 2} "
        rf"\({rate} for CAD\): {mend}"
    )
    with pytest.raises(BindingFailed, match=says):
        run(instance)


def test_zeros_at_the_end_of_a_rate_take_no_place(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, ROW, "currency date rate\nCAD 2021-01 0.5000000000")
    run(instance)
    assert sales(instance) == {"10": 50, None: 50}


def test_amounts_too_large_to_convert_are_rejected_and_never_wrap(tmp_path: Path) -> None:
    rows = """
        2021-01-05 actual 10 -922337203685477.58 VND
        2021-01-05 actual 10 922337203685477.59 VND
        2021-01-05 actual 10 -92233720368547758.08 VND
        2021-01-05 actual 10 922337203685477.59 USD
        2021-01-05 actual 10 1 XXL
    """
    rates = "currency date rate\nVND 2021 1.0\nXXL 2021 10000000000000000"
    instance = instance_of(tmp_path, rows, rates)
    says = "is too large for the 4 decimal places of usd"
    assert rejected(instance) == [
        f"gl.csv row 3, amount: '922337203685477.59' {says}",
        f"gl.csv row 4, amount: '-92233720368547758.08' {says}",
        f"gl.csv row 5, amount: '922337203685477.59' {says}",
        f"gl.csv row 6, amount: '1' {says}",
    ]


@pytest.mark.parametrize("kind", [pl.Decimal(12, 6), pl.Float64(), pl.Float32()], ids=str)
def test_typed_rates_are_read_as_they_are_written(tmp_path: Path, kind: pl.DataType) -> None:
    instance = instance_of(tmp_path, ROW, fx={"file": "fx_rate.parquet"}, places=6)
    rates = pl.DataFrame({"currency": ["CAD"], "date": [date(2021, 1, 5)], "rate": pl.Series(["0.6789"]).cast(kind)})
    rates.write_parquet(instance / "data" / "fx_rate.parquet")
    run(instance)
    assert sales(instance) == {"10": Decimal("67.89"), None: Decimal("67.89")}


def faults_of(instance: Path) -> str:
    """Return the faults of an instance as they are printed."""
    with pytest.raises(InstanceFaults) as found:
        read_instance(instance)
    return str(found.value)


@pytest.mark.parametrize(
    ("convert", "says"),
    [
        ({"rates": "live.fx_rats"}, "no feed fills live.fx_rats — did you mean 'live.fx_rate'? known: live.fx_rate"),
        ({"rates": "live.gl"}, "live.gl is a table of the catalogue — rates stand in a live table of their own"),
        ({"into": "eur"}, "gl has no measure 'eur' — known: amount, usd"),
        ({"measure": "amounts"}, "gl has no measure 'amounts' — did you mean 'amount'? known: amount, usd"),
        ({"measure": "usd"}, "'usd' would be converted into itself — give the domain another measure"),
        ({"into": "amount"}, "'amount' holds 2 decimal places and 'usd' 4 — a converted measure holds those of the"),
        ({"form": "currency"}, "unknown key 'bindings.gl.convert.form'"),
    ],
)
def test_a_conversion_that_cannot_hold_is_a_fault_at_its_line(
    tmp_path: Path, convert: dict[str, str], says: str
) -> None:
    instance = instance_of(tmp_path, ROW, gl={"convert": convert})
    text = (instance / "integrations.yaml").read_text().splitlines()
    ((key, value),) = convert.items()
    line = text.index(f"      {key}: {value}") + 1
    assert f"integrations.yaml:{line}: {says}" in faults_of(instance)


def test_conversions_of_no_money_of_no_facts_and_into_what_is_mapped(tmp_path: Path) -> None:
    convert = {"rates": "live.fx_rate", "from": "currency", "into": "usd"}
    feed = {"source": "files", "file": "x.csv"}
    instance = write_instance(
        tmp_path,
        facts={"gl": HEAD},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {account: account}
            measures: {amount: {}, tax: {}, heads: {type: number}, usd: {places: 6}}
            """
        },
        dimensions="account: {kind: leaf}",
        tables={"fx_rate": RATES},
        bindings={
            "gl": {"convert": {**convert, "measure": "amount"}, "map": {"usd": "amount", "cur": "currency"}},
            "two": {**feed, "target": "live.gl", "convert": convert},
            "heads": {**feed, "target": "live.gl", "convert": {**convert, "measure": "heads"}},
            "fx": {**feed, "target": "live.fx_rate", "convert": convert, "map": {"rates": "x"}},
        },
    )
    found = faults_of(instance)
    assert "'usd' is what is converted into, so nothing fills it" in found
    assert "live.gl has no 'cur' — " in found
    assert "gl has not one other measure of money — say measure: one of amount, tax" in found
    assert "'heads' is a number, not money — known: amount, tax, usd" in found
    assert "live.fx_rate holds no facts, so there is nothing to convert — known: live.gl" in found
    assert "live.fx_rate is filled by 'fx' already" in found
    assert "live.fx_rate has no 'rates' — did you mean 'rate' or 'date'? known: currency, date, kind, rate" in found


LONG = ("0.88652482269503546", "1.37", "17.00000000000000005")
AMOUNTS = ("100", "-100", "0.01", "-0.05", "12345678901.23", "0.50")


@pytest.mark.parametrize(("rule", "decides"), [("half_even", ROUND_HALF_EVEN), ("half_up", ROUND_HALF_UP)])
@pytest.mark.parametrize("places", [2, 3, 6])
def test_rates_of_17_digits_convert_to_amounts_that_are_rounded_once(
    tmp_path: Path, places: int, rule: str, decides: str
) -> None:
    rates = "\n".join(f"{code} 2021 {rate}" for code, rate in zip(("CAD", "EUR", "GBP"), LONG, strict=True))
    written = [
        (f"{code}{at}", code, rate, amount)
        for code, rate in zip(("CAD", "EUR", "GBP"), LONG, strict=True)
        for at, amount in enumerate(AMOUNTS)
    ]
    rows = "\n".join(f"2021-01-05 actual {account} {amount} {code}" for account, code, _, amount in written)
    convert = {"round": {"places": places, "rule": rule}}
    instance = instance_of(
        tmp_path,
        f"{rows}\n2021-01-05 actual own 7.25 USD",
        f"currency date rate\n{rates}",
        gl={"convert": convert},
        places=6,
    )
    loaded = run(instance)["gl"]
    with localcontext(prec=60):
        exact = {account: Decimal(amount) * Decimal(rate) for account, _, rate, amount in written}
        rounded = {account: value.quantize(Decimal(1).scaleb(-places), decides) for account, value in exact.items()}
        added = sum(rounded.values(), Decimal(0)) - sum(exact.values(), Decimal(0))
        changed = sum(rounded[account] != exact[account] for account in exact)
        total = sum(rounded.values()) + Decimal("7.25")
        said = f"{changed} converted amounts were rounded to {places} places ({rule}), which adds {added.normalize():f}"
    assert sales(instance) == rounded | {"own": Decimal("7.25")} | {None: total}
    assert loaded.rounded == f"{said} in all"


def test_rounding_to_places_that_a_measure_cannot_hold_is_refused(tmp_path: Path) -> None:
    for places in (1, 5):
        instance = instance_of(tmp_path / str(places), ROW, gl={"convert": {"round": {"places": places}}})
        with pytest.raises(InstanceFaults, match="round to 2 up to 4 places"):
            read_instance(instance)


def test_a_rounded_amount_too_large_is_rejected(tmp_path: Path) -> None:
    rows = f"{ROW}\n2021-01-05 actual 10 9000000000000000 CAD"
    convert = {"round": {"places": 4}}
    instance = instance_of(
        tmp_path, rows, "currency date rate\nCAD 2021 123456789.12345678901234567", gl={"convert": convert}
    )
    (said,) = rejected(instance)
    assert said == "gl.csv row 3, amount: '9000000000000000' is too large for the 4 decimal places of usd"
