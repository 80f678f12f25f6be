"""Workbooks as others read them: fastexcel, the XML inside, and LibreOffice where it is on the machine."""

import csv
import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fastexcel

from tests.support.machine.programs import needs_program

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def grid(path: Path, sheet: int = 0) -> list[list[Any]]:
    """Return the cells of a sheet, each as the kind that it is."""
    read = fastexcel.read_excel(path).load_sheet(sheet, header_row=None, dtypes="string")
    return [list(row) for row in read.to_polars().rows()]


def parts(workbook: Path | bytes) -> dict[str, str]:
    """Return the XML files inside."""
    with zipfile.ZipFile(io.BytesIO(workbook) if isinstance(workbook, bytes) else workbook) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".xml", ".rels"))}


def sheet_xml(path: Path, sheet: int = 1) -> ET.Element:
    """Return the XML of a sheet."""
    return ET.fromstring(parts(path)[f"xl/worksheets/sheet{sheet}.xml"])  # noqa: S314 - our own file


def cells(path: Path, sheet: int = 1) -> dict[str, tuple[str, str]]:
    """Return the cells of a sheet that hold something, by place: what kind of value, and its text as written."""
    found = {}
    for cell in sheet_xml(path, sheet).iter(f"{MAIN}c"):
        text = "".join(part.text or "" for part in cell.iter() if part.tag in (f"{MAIN}v", f"{MAIN}t"))
        if list(cell):
            found[cell.attrib["r"]] = (cell.attrib.get("t", "n"), text)
    return found


def shown(path: Path, folder: Path) -> list[list[str]]:
    """Return the first sheet as LibreOffice shows it, but for the room behind figures."""
    settings = f"-env:UserInstallation=file://{folder / 'office'}"
    as_shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true"  # UTF-8, cells as they are formatted
    command: list[str | Path] = [needs_program("soffice"), settings, "--headless", "--convert-to", as_shown]
    subprocess.run([*command, "--outdir", folder, path], check=True, capture_output=True, timeout=120)
    with (folder / path.with_suffix(".csv").name).open(encoding="utf-8", newline="") as file:
        return [[cell.rstrip() for cell in row] for row in csv.reader(file)]


def go_on() -> None:
    """Stop nothing."""
