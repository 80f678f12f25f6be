"""Encodings: read by the words of a file, asked where two readings fit, any that Python knows where one is written."""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from server.files.encodings import detect_encoding
from server.files.findings import Ambiguity, Finding
from server.ingest.load import BindingFailed
from tests.support.books.guessed_loads import load_by_guess
from tests.support.books.loads import load_feeds
from tests.support.books.newcomer import first_statement, initialised
from tests.unit.server.ingest.test_ingest import instance_of

TEXTS = {  # a language: words of a chart of accounts
    "pl": "Sprzedaż usług - Łódź\nPrzychody\nCzynsz za pracownię\nRachunek bieżący",
    "cs": "Tržby za prodej zboží\nPříjmy příštích období\nMzdové náklady",
    "hu": "Értékesítés nettó árbevétele\nEgyéb költségek, bérek\nÜzemelési költség őszi",
    "de": "Umsatzerlöse Müller Straße\nLöhne und Gehälter\nBüromaterial",
    "fr": "Achats à crédit\nPrélèvements et frais généraux\nRéserve légale\nCrédit à la clôture",
    "es": "Amortización años\nSeñal ¿qué? niño\nProvisión",
    "da": "Løn og gager\nÅrets resultat\nÆrø færge",
    "tr": "Satış gelirleri\nŞirket giderleri ağustos\nİşçi ücretleri",
    "it": "Attività e passività\nPerché più",
    "marks": "5 €\n10 m³ Öl\nMaier’s §12\n„Zitat“ – 3 ½",
}
RIGHT = [
    ("pl", "cp1250"), ("cs", "cp1250"), ("hu", "cp1250"), ("de", "cp1252"), ("de", "mac_roman"), ("fr", "cp1252"),
    ("es", "cp1252"), ("da", "cp1252"), ("tr", "cp1254"), ("it", "cp1252"), ("marks", "cp1252"), ("de", "utf-16"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "encoding"), RIGHT)
def test_the_encoding_is_that_in_which_a_file_has_words(language: str, encoding: str) -> None:
    text = "".join(f"{row};{words}\n" for row, words in enumerate(TEXTS[language].split("\n")))
    found = detect_encoding(text.encode(encoding), whole=True)
    assert isinstance(found, Finding)
    assert text.encode(encoding).decode(found.value) == text


@pytest.mark.parametrize("text", ["売上高\n仕入高", "Müller"])
@pytest.mark.parametrize("encoding", ["cp932", "koi8-r", "cp850"])
def test_no_reading_without_words_of_one_language_is_taken(text: str, encoding: str) -> None:
    lines = f"id,name\n1,{text}\n".encode(encoding, "replace")
    found = detect_encoding(lines, whole=True)
    assert isinstance(found, Ambiguity) or lines.decode(found.value) == lines.decode(encoding)


WORDS = {  # of charts of accounts, each with a letter beyond ASCII, and the encodings that programs write them in
    ("cp1252", "cp850", "mac_roman"): (
        "Büro Löhne Gehälter Umsatzerlöse Straße Ärzte Öl Übrige München Größe Crédit Prélèvements Réserve Créances "
        "Écart Événements dépréciation où Noël été Amortización Señal niño Málaga Fernández País año Ávila Attività "
        "Perché più però società Salários Serviços Provisões comissão Água São mão Løn Årets Ærø færge gæld Øvrige "
        "små Löner Försäljning Övriga på"
    ),
    ("cp1250", "cp852", "iso8859_2"): (
        "Sprzedaż usług Łódź pracownię bieżący Płace należności środki Tržby zboží Příjmy příštích období Mzdové "
        "Náklady služby daně účty Értékesítés nettó árbevétele Egyéb költségek Üzemelési őszi"
    ),
    ("cp1254",): "Satış Şirket ağustos İşçi ücretleri",
    ("cp1251", "koi8_r", "cp866"): "Касса Выручка Аренда зарплата",
}
LINES = "date,account,amount\n2025-01-05,{},1.50\n2025-02-06,Kasse,2.50\n"


@pytest.mark.parametrize(
    ("encoding", "word"), [(one, word) for group in WORDS for one in group for word in WORDS[group].split()]
)
def test_one_word_is_read_right_or_asked_about_with_it_among_the_readings(encoding: str, word: str) -> None:
    content = LINES.format(word).encode(encoding)
    found = detect_encoding(content, whole=True)
    keys = [found.value] if isinstance(found, Finding) else [way.keys["csv.encoding"] for way in found.readings]
    assert word in [content.decode(key, "replace").split(",")[3] for key in keys]
    if isinstance(found, Ambiguity):
        assert f"'{word}'" in [way.meaning for way in found.readings]


def test_what_three_words_tell_is_hardly_ever_asked() -> None:
    asked, count = 0, 0
    for encodings, words in WORDS.items():
        one, *more = [LINES.format(word) for word in words.split()]
        for lines in zip([one, *more], more, more[1:], strict=False):
            found = detect_encoding("".join(lines).encode(encodings[0]), whole=True)
            asked, count = asked + isinstance(found, Ambiguity), count + 1
    assert count > 60
    assert asked <= count // 5, f"{asked} of {count}"


POLISH = "id,name\n0010,Sprzedaż usług - Łódź\n20,Rachunek bieżący\n"
TURKISH = "id,name\n0010,Satış\n20,Alış\n"  # Satýþ and Alýþ in Windows-1252: neither is English


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """An instance whose accounts have names."""
    return instance_of(tmp_path, bindings={"account": {"file": "account.csv"}})


def test_a_load_proposes_the_encoding_whose_words_names_are(instance: Path, tmp_path: Path) -> None:
    (instance / "data" / "account.csv").write_bytes(POLISH.encode("cp1250"))
    with pytest.raises(BindingFailed) as failed:
        load_feeds(instance, tmp_path / "state", "account")
    assert str(failed.value).splitlines() == [
        (
            'account: account.csv shows csv: {encoding: "cp1250"} (row 2 has the byte 0xbf, which is no UTF-8 and is '
            "'Sprzedaż' in cp1250), and a load guesses nothing: write under account in integrations.yaml, or run "
            "tieout check --data --write:"
        ),
        '    csv: {encoding: "cp1250"}',
    ]


def test_a_byte_far_behind_the_head_is_proposed_too(instance: Path, tmp_path: Path) -> None:
    rows = "".join(f"{number},Konto\n" for number in range(20_000))
    content = f"id,name\n{rows}0010,Müller\n".encode("cp1252")
    (instance / "data" / "account.csv").write_bytes(content)
    with pytest.raises(BindingFailed, match=r'account.csv cannot be read: (.|\n)*    csv: {encoding: "windows-1252"}$'):
        load_feeds(instance, tmp_path / "state", "account")


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (POLISH.encode("cp1250"), ['csv: {encoding: "windows-1252"} (as before)']),
        (POLISH.encode(), []),
        ("id,name\n0010,Zboží\n20,Síť\n".encode("cp1250"), ['csv: {encoding: "cp1250"}']),  # no byte 0x9d in 1252
    ],
)
def test_a_feed_goes_on_by_the_encoding_of_its_last_load(
    instance: Path, tmp_path: Path, content: bytes, keys: list[str]
) -> None:
    (instance / "data" / "account.csv").write_bytes("id,name\n0010,Erlöse\n20,Löhne\n".encode("cp1252"))
    load_by_guess(instance, tmp_path / "state", "account")
    (instance / "data" / "account.csv").write_bytes(content)
    (loaded, *_) = load_feeds(instance, tmp_path / "state", "account")
    assert [said[: len(key)] for said, key in zip(loaded.detected, keys, strict=True)] == keys


def test_two_readings_are_refused_with_both_names(instance: Path, tmp_path: Path) -> None:
    (instance / "data" / "account.csv").write_bytes("id,name\n0010,売上高\n20,仕入高\n".encode("cp932"))
    with pytest.raises(BindingFailed, match=r"can be read in 3 ways: '売上高' with csv: {encoding: \"cp932\"}, or "):
        load_feeds(instance, tmp_path / "state", "account")


@pytest.mark.parametrize(
    "encoding", ["cp1250", "cp932", "shift_jis", "koi8-r", "gb18030", "utf-16-le", "latin", "cp037"]
)
def test_any_encoding_that_python_knows_may_be_written(tmp_path: Path, encoding: str) -> None:
    made = instance_of(tmp_path, bindings={"account": {"file": "account.csv", "csv": {"encoding": encoding}}})
    (made / "data" / "account.csv").write_bytes(POLISH.encode(encoding, "replace"))
    (loaded, *_) = load_feeds(made, tmp_path / "state", "account")
    assert loaded.rows_landed == 2


@pytest.mark.parametrize("encoding", ["latn", "hex", "rot13", "", "undefined", "cp\0"])
def test_what_is_no_encoding_of_text_is_refused(tmp_path: Path, encoding: str) -> None:
    made = instance_of(tmp_path, bindings={"account": {"csv": {"encoding": encoding}}})
    with pytest.raises(InstanceFaults, match="is no encoding that Python knows, such as utf-8"):
        read_instance(made)


def test_init_asks_for_an_encoding_and_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = tmp_path / "gl.csv"
    text = "date,account,name,amount\n2026-01-05,1,売上高,5.00\n2026-01-06,2,仕入高,7.25\n"
    ledger.write_bytes(text.encode("cp932"))
    assert initialised(tmp_path / "books", ledger) == 3
    assert not (tmp_path / "books").exists()
    assert "  #- {csv: {encoding: cp932}}   # '売上高'" in capsys.readouterr().err
    assert initialised(tmp_path / "books", ledger, answers="csv: {encoding: cp932}") == 0
    assert first_statement(tmp_path / "books", tmp_path / "state")["売上高"] == Decimal(5)
