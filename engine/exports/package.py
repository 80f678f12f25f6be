"""Packages: the files that make XML parts a workbook, as ECMA-376 has them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from engine.exports.styles import MAIN

DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
STYLES = "xl/styles.xml"
FORMATS = "http://schemas.openxmlformats.org"
OFFICE = f"{FORMATS}/officeDocument/2006/relationships"
PACKAGE = f"{FORMATS}/package/2006"
CORE = f"{PACKAGE}/metadata/core-properties"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def sheet_part(at: int) -> str:
    """Return the name of a sheet's part."""
    return f"xl/worksheets/sheet{at + 1}.xml"


def parts_of(title: str, sheets: Sequence[str], titled: Sequence[str], made_at: datetime) -> Iterator[tuple[str, str]]:
    """Yield the parts around sheets and stylesheet, a name and an XML each.

    `sheets` are the names of all; `titled` say of the first of them which rows every printed page repeats.
    """
    numbers = range(len(sheets))
    yield (
        "[Content_Types].xml",
        f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        + content("/xl/workbook.xml", f"{KIND}.sheet.main+xml")
        + content(f"/{STYLES}", f"{KIND}.styles+xml")
        + content("/docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml")
        + "".join(content(f"/{sheet_part(at)}", f"{KIND}.worksheet+xml") for at in numbers)
        + "</Types>",
    )
    main = (f"{OFFICE}/officeDocument", "xl/workbook.xml")
    yield "_rels/.rels", relations([main, (f"{PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml")])
    yield "docProps/core.xml", properties(title, made_at)
    yield (
        "xl/workbook.xml",
        f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><bookViews><workbookView/></bookViews><sheets>'
        + "".join(f'<sheet name={quoteattr(sheets[at])} sheetId="{at + 1}" r:id="rId{at + 1}"/>' for at in numbers)
        + "</sheets><definedNames>"
        + "".join(print_titles(at, sheets[at], rows) for at, rows in enumerate(titled))
        + "</definedNames></workbook>",
    )
    inside = [(f"{OFFICE}/worksheet", sheet_part(at).removeprefix("xl/")) for at in numbers]
    yield "xl/_rels/workbook.xml.rels", relations([*inside, (f"{OFFICE}/styles", STYLES.removeprefix("xl/"))])


def properties(title: str, made_at: datetime) -> str:
    """Return what a file's properties say."""
    return (
        f'<cp:coreProperties xmlns:cp="{CORE}" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{escape(title)}</dc:title>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</dcterms:created>'
        "</cp:coreProperties>"
    )


def content(part: str, kind: str) -> str:
    """Return what says of which kind a part is."""
    return f'<Override PartName="{part}" ContentType="{kind}"/>'


def relations(targets: Sequence[tuple[str, str]]) -> str:
    """Return relations to parts, of a kind each, numbered from 1."""
    found = (
        f'<Relationship Id="rId{at}" Type="{kind}" Target="{target}"/>' for at, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(found)}</Relationships>'


def print_titles(at: int, sheet: str, rows: str) -> str:
    """Return which rows of a sheet every printed page repeats."""
    quoted = escape(sheet.replace("'", "''"))
    return f'<definedName name="_xlnm.Print_Titles" localSheetId="{at}">\'{quoted}\'!{rows}</definedName>'
