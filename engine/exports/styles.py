"""Stylesheets: how the cells of a workbook are set, each look numbered by its first use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from engine.catalogue import Style
from engine.exports.cells import TEXT, Look, Role, look_of

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
BUILT_IN = {"General": 0, TEXT: 49}  # number formats that every spreadsheet knows by number
FIRST_OWN = 164
FACE = '<sz val="11"/><name val="Calibri"/><family val="2"/>'
PLAIN, BOLD, ITALIC = FONTS = ("", "<b/>", "<i/>")
NO_RULE, RULE_BELOW, RULE, DOUBLE_RULE = RULES = (
    "<top/><bottom/>",
    '<top/><bottom style="thin"/>',
    '<top style="thin"/><bottom/>',
    '<top style="thin"/><bottom style="double"/>',
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a kind of cell is set: its font, its rules and how its text stands."""

    font: str = PLAIN
    rules: str = NO_RULE
    alignment: str = ""


STYLES: Mapping[Style, Setting] = {
    Style.PLAIN: Setting(),
    Style.SUBTOTAL: Setting(BOLD, RULE),
    Style.TOTAL: Setting(BOLD, DOUBLE_RULE),
    Style.RATIO: Setting(ITALIC),
}
ROLES: Mapping[Role, Setting] = {
    Role.DAY: Setting(alignment=' horizontal="left"'),
    Role.UPPER_HEADING: Setting(BOLD, alignment=' horizontal="right" vertical="bottom" wrapText="1"'),
    Role.WORDS_HEADING: Setting(BOLD, RULE_BELOW, ' horizontal="left" vertical="bottom" wrapText="1"'),
    Role.FIGURES_HEADING: Setting(BOLD, RULE_BELOW, ' horizontal="right" vertical="bottom" wrapText="1"'),
    Role.HEADER_LINE: Setting(BOLD),
    Role.NAME: Setting(BOLD, alignment=' vertical="top"'),
    Role.REMARK: Setting(alignment=' vertical="top" wrapText="1"'),
}


@dataclass(frozen=True, slots=True)
class Styles:
    """The looks of a workbook while it is written."""

    numbers: dict[Look, int] = field(default_factory=lambda: {look_of(): 0})

    def of(self, look: Look) -> int:
        """Return the number of a look."""
        number = self.numbers.get(look)
        return self.numbers.setdefault(look, len(self.numbers)) if number is None else number

    def sheet(self) -> str:
        """Return the stylesheet of all looks so far."""
        own = list(dict.fromkeys(look.number for look in self.numbers if look.number not in BUILT_IN))
        known = {**BUILT_IN, **{code: FIRST_OWN + at for at, code in enumerate(own)}}
        formats = [f'<numFmt numFmtId="{known[code]}" formatCode={quoteattr(code)}/>' for code in own]
        fills = [f'<fill><patternFill patternType="{kind}"/></fill>' for kind in ("none", "gray125")]  # both are a must
        return (
            f'<styleSheet xmlns="{MAIN}">'
            + counted("numFmts", formats)
            + counted("fonts", [f"<font>{how}{FACE}</font>" for how in FONTS])
            + counted("fills", fills)
            + counted("borders", [f"<border><left/><right/>{rules}<diagonal/></border>" for rules in RULES])
            + counted("cellStyleXfs", ['<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'])
            + counted("cellXfs", [cell_format(look, known[look.number]) for look in self.numbers])
            + counted("cellStyles", ['<cellStyle name="Normal" xfId="0" builtinId="0"/>'])
            + "</styleSheet>"
        )


def counted(name: str, parts: Sequence[str]) -> str:
    """Return one list of a stylesheet, nothing where it is empty."""
    return f'<{name} count="{len(parts)}">{"".join(parts)}</{name}>' if parts else ""


def cell_format(look: Look, number: int) -> str:
    """Return how the cells of a look are set."""
    setting = ROLES.get(look.role) or STYLES[look.style]
    alignment = f' horizontal="left" indent="{look.indent}"' if look.indent else setting.alignment
    return (
        f'<xf numFmtId="{number}" fontId="{FONTS.index(setting.font)}" fillId="0" '
        f'borderId="{RULES.index(setting.rules)}" xfId="0" applyNumberFormat="1" applyFont="1" applyBorder="1" '
        f'applyAlignment="1"><alignment{alignment}/></xf>'
    )
