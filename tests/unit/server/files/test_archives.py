"""Archives: what .gz and .zip hold is read as if it lay there, within limits, and never by what they say of it."""

import gzip
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from server.feeds.file_kinds import kind_of
from server.files.archives import ArchiveFault, files_matching, unpacked
from server.files.limits import FileTooLarge
from tests.doors.case_books import CaseBooks
from tests.support.books.newcomer import initialised

ROWS = "date,account,amount\n2025-01-05,A,10.50\n2025-01-06,B,1.00\n"
MORE = "date,account,amount\n2025-02-05,A,-7.25\n"
SIZE, FLAGS = 24, 8  # places in the entry of a member in the list at the end of an archive
LOCAL_FLAGS = 6  # in the entry in front of its bytes


def write_zip(path: Path, members: dict[str, str]) -> Path:
    """Write an archive of CSV files."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.csv", text)
    return path


def patched(path: Path, signature: bytes, at: int, change: Callable[[int], int]) -> None:
    """Change a number of two bytes in the first entry with a signature."""
    held = bytearray(path.read_bytes())
    place = held.index(signature) + at
    held[place : place + 2] = change(int.from_bytes(held[place : place + 2], "little")).to_bytes(2, "little")
    path.write_bytes(held)


def into(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_a_packed_file_is_proposed_and_loaded_as_if_it_lay_there(tmp_path: Path) -> None:
    path = tmp_path / "gl.csv.gz"
    path.write_bytes(gzip.compress(ROWS.encode()))
    assert initialised(tmp_path / "books", path) == 0
    found = CaseBooks(tmp_path / "books").figures("amount", "2025-01", dimensions=["account"])
    assert {key[0]: str(figure) for key, figure in found.items()} == {"A": "10.5", "B": "1", "Total": "11.5"}


def test_each_file_of_an_archive_is_a_file_of_its_own(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "gl.zip", {"year/gl_01": ROWS, "year/gl_02": MORE, "__MACOSX/gl_01": "x"})
    assert initialised(tmp_path / "books", path) == 0
    found = CaseBooks(tmp_path / "books").figures("amount", "2025-01..2025-02", dimensions=["account", "period"])
    assert found[("A", "2025-01")] == 10.5
    assert found[("A", "2025-02")] == -7.25
    assert "gl.zip/year/gl_01.csv" in (tmp_path / "books" / "integrations.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gl.zip", ["gl.csv", "gl_2.csv"]),
        ("*.zip/gl_?.csv", ["gl_2.csv"]),
        ("gl.zip/*", ["gl.csv", "gl_2.csv"]),
        ("gl.zip/other.csv", None),
    ],
)
def test_a_pattern_chooses_files_of_archives(tmp_path: Path, pattern: str, names: list[str] | None) -> None:
    write_zip(tmp_path / "gl.zip", {"gl": ROWS, "gl_2": MORE})
    if names is None:
        with pytest.raises(ArchiveFault, match="holds no file of rows whose name matches"):
            list(files_matching(tmp_path, pattern, into(tmp_path)))
        return
    assert [path.name for path in files_matching(tmp_path, pattern, into(tmp_path))] == names


def test_members_of_one_name_keep_their_folders_in_it_and_none_leaves_the_folder(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "gl.zip", {"a/gl": ROWS, "b/gl": MORE, "../../up": ROWS})
    folder = into(tmp_path)
    found = [packed.path for packed in unpacked(path, folder)]
    assert [each.name for each in found] == ["a_gl.csv", "b_gl.csv", "up.csv"]
    assert all(folder in each.parents for each in found)


def test_files_of_an_archive_count_by_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_ARCHIVE_MEGABYTES", "2")
    path = write_zip(tmp_path / "gl.zip", {"one": "x" * (3 << 19), "two": "x" * (3 << 19)})
    with pytest.raises(FileTooLarge, match=r"gl\.zip: its files are too large, unpacked.*SVC_ARCHIVE_MEGABYTES"):
        list(unpacked(path, into(tmp_path)))
    packed = tmp_path / "gl.csv.gz"
    packed.write_bytes(gzip.compress(b"x" * (3 << 20)))
    with pytest.raises(FileTooLarge, match=r"gl\.csv\.gz: .*SVC_ARCHIVE_MEGABYTES"):
        list(unpacked(packed, tmp_path / "into"))


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_ARCHIVE_FILES", "2")
    path = write_zip(tmp_path / "gl.zip", dict.fromkeys(("one", "two", "three"), ROWS))
    with pytest.raises(FileTooLarge, match=r"it holds 3 files.*SVC_ARCHIVE_FILES"):
        list(unpacked(path, into(tmp_path)))


@pytest.mark.parametrize("by", [-9, 9])
def test_a_member_that_lies_about_its_size_is_refused(
    tmp_path: Path, by: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_zip(tmp_path / "gl.zip", {"gl": ROWS})
    patched(path, b"PK\x01\x02", SIZE, lambda size: size + by)
    assert initialised(tmp_path / "books", path) == 1
    assert "gl.zip cannot be unpacked: it is damaged" in " ".join(capsys.readouterr().err.split())


def test_a_member_with_a_password_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_zip(tmp_path / "gl.zip", {"gl": ROWS})
    patched(path, b"PK\x01\x02", FLAGS, lambda flags: flags | 1)
    patched(path, b"PK\x03\x04", LOCAL_FLAGS, lambda flags: flags | 1)
    assert initialised(tmp_path / "books", path) == 1
    assert "gl.zip: gl.csv has a password" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["gl.zip", "gl.csv.gz"])
def test_an_archive_that_is_cut_is_refused(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (
        write_zip(tmp_path / "x.zip", {"gl": ROWS}).read_bytes() if name == "gl.zip" else gzip.compress(ROWS.encode())
    )
    path = tmp_path / name
    path.write_bytes(whole[:-12])
    assert initialised(tmp_path / "books", path) == 1
    assert f"{name} cannot be unpacked: it is damaged" in " ".join(capsys.readouterr().err.split())


def test_the_kind_of_a_packed_file_is_that_of_its_content() -> None:
    assert [kind_of(Path(name)) for name in ("gl.txt.gz", "gl.XLSB.gz", "a.zip/gl.ods", "gl.zip")] == [
        ".csv", ".xlsx", ".xlsx", ".zip"
    ]  # fmt: skip
