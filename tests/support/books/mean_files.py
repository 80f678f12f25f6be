"""Ten files as ledgers export them, and the figures that an independent reading of each, by csv and Decimal, finds."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import xlsxwriter

Figures = Mapping[str, Decimal]


@dataclass(frozen=True)
class MeanFile:
    """Files of one ledger, what must be answered, and the figure of each line of a first statement."""

    files: tuple[Path, ...]
    figures: Figures
    answers: str = ""
    keys: tuple[str, ...] = field(default_factory=tuple)  # keys of integrations.yaml that must have been found


def summed(rows: Iterable[tuple[str, Decimal]]) -> Figures:
    """Return the sum of each line."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line, amount in rows:
        sums[line] += amount
    return dict(sums)


def read(path: Path, encoding: str, separator: str, skip: int = 0) -> list[dict[str, str]]:
    """Return the rows of a text file below its heading."""
    with path.open(encoding=encoding, newline="") as file:
        lines = file.read().splitlines()[skip:]
    return list(csv.DictReader(lines, delimiter=separator))


def semicolons(folder: Path) -> MeanFile:
    """Semicolons, decimal commas and points between thousands, days as 31.01.2026."""
    path = folder / "Buchungen.csv"
    rows = ["Buchungsdatum;Konto;Kostenstelle;Betrag;Buchungstext"]
    for day in range(1, 29):
        rows.append(f"{day:02}.01.2026;{4000 if day % 3 else 6000};K{day % 4};{day % 9}.{day:03},{day:02};Beleg {day}")
        rows.append(f"{day:02}.02.2026;{4400};K{day % 4};-{day},5;Beleg {day}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = read(path, "utf-8", ";")
    amounts = ((row["Konto"], Decimal(row["Betrag"].replace(".", "").replace(",", "."))) for row in found)
    return MeanFile((path,), summed(amounts), keys=("decimal", "thousands", "%d.%m.%Y"))


def windows(folder: Path) -> MeanFile:
    """Windows-1252, tabs, and a side beside each amount."""
    path = folder / "journal.csv"
    rows = ["Datum\tKonto\tBezeichnung\tBetrag\tS/H"]
    for number in range(1, 31):
        name = ("Erlöse Süd", "Löhne & Gehälter", "Büromiete €")[number % 3]
        rows.append(
            f"2026-03-{number:02}\t{8000 + number % 3}\t{name}\t{number * 1.5:.2f}\t{'H' if number % 3 == 0 else 'S'}"
        )
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode("cp1252"))
    found = read(path, "cp1252", "\t")
    amounts = ((row["Bezeichnung"], Decimal(row["Betrag"]) * (-1 if row["S/H"] == "H" else 1)) for row in found)
    return MeanFile((path,), summed(amounts), keys=("windows-1252", "tab", "side"))


def titles(folder: Path) -> MeanFile:
    """A workbook: three title rows, a remark beside the table, a row of totals at its end."""
    path = folder / "Report.xlsx"
    cells: list[list[object]] = [
        ["Acme Ltd"],
        ["General ledger, EUR"],
        [],
        ["Posting date", "Account", "Description", "Amount"],
    ]
    for number in range(1, 25):
        account = ("1000", "2000", "3000")[number % 3]
        cells.append([f"2026-0{number % 6 + 1}-15", account, f"Item {number}", number * 10.25])
    cells.append(["", "Total", "", sum(row[3] for row in cells[4:])])  # type: ignore[misc]  # all are numbers
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet("Ledger")
        for at, row in enumerate(cells):
            sheet.write_row(at, 0, row)
    amounts = ((str(row[1]), Decimal(str(row[3]))) for row in cells[4:-1])
    return MeanFile((path,), summed(amounts), keys=("header_row: 4", "skip", "currency: EUR"))


def across(folder: Path) -> MeanFile:
    """Months as columns, the year in the name of the file, and a column of totals."""
    path = folder / "Budget 2026.csv"
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    rows = [",".join(["Account", "Cost centre", *months, "Total"])]
    for number in range(1, 13):
        values = [number * 100 + month * 3 for month in range(12)]
        rows.append(
            ",".join(
                [
                    f"{5000 + number % 4}",
                    f"CC{number % 2}",
                    *(f"{value}.50" for value in values),
                    f"{sum(values) + 6}.00",
                ]
            )
        )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = read(path, "utf-8", ",")
    amounts = ((row["Account"], Decimal(row[month])) for row in found for month in months)
    return MeanFile((path,), summed(amounts), keys=("unpivot", "2026", "scenario: budget"))


def blanks(folder: Path) -> MeanFile:
    """Blank amounts, "-" and "n/a" for no figure."""
    path = folder / "costs.csv"
    rows = ["month,account,entity,amount"]
    for number in range(1, 41):
        amount = {0: "", 1: "-", 2: "n/a"}.get(number % 8, f"{number}.25")
        rows.append(f"2026-0{number % 5 + 1},A{number % 4},E{number % 2},{amount}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = [row for row in read(path, "utf-8", ",") if row["amount"] not in {"", "-", "n/a"}]
    return MeanFile(
        (path,), summed((row["account"], Decimal(row["amount"])) for row in found), keys=("blank: none", "n/a")
    )


def parentheses(folder: Path) -> MeanFile:
    """Negative amounts in parentheses, American days and marks, which an answer decides: no day is above 12."""
    path = folder / "trial.csv"
    rows = ["Date|GL Account|Amount (USD)"]
    for number in range(1, 37):
        amount = f"{number * 1234.5:,.2f}"
        day = f"{number % 12 + 1:02}/{number % 9 + 1:02}/2026"
        rows.append(f"{day}|{number % 5 + 100}|{f'({amount})' if number % 2 else amount}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    amounts = []
    for row in read(path, "utf-8", "|"):
        text = row["Amount (USD)"].replace(",", "")
        amounts.append((row["GL Account"], -Decimal(text.strip("()")) if text.startswith("(") else Decimal(text)))
    return MeanFile(
        (path,), summed(amounts), answers='dates: {format: "%m/%d/%Y"}\n', keys=("parentheses", "currency: USD")
    )


def header_and_lines(folder: Path) -> MeanFile:
    """A journal in two files: headers with the day, lines with the amount."""
    headers, lines = folder / "journal_headers.csv", folder / "journal_lines.csv"
    heads, items = ["Document No,Posting date,User"], ["Document No,Account,Amount,Memo"]
    for number in range(1, 25):
        heads.append(f"D{number:04},2026-0{number % 3 + 1}-10,anna")
        items += [
            f"D{number:04},{4000 + number % 2},{number}.10,x{number}",
            f"D{number:04},5000,-{number}.10,y{number}",
        ]
    headers.write_text("\n".join(heads) + "\n", encoding="utf-8")
    lines.write_text("\n".join(items) + "\n", encoding="utf-8")
    amounts = ((row["Account"], Decimal(row["Amount"])) for row in read(lines, "utf-8", ","))
    return MeanFile((headers, lines), summed(amounts), keys=("sql",))


def levels(folder: Path) -> MeanFile:
    """A chart of accounts with a column for each level."""
    chart, ledger = folder / "chart.csv", folder / "ledger.csv"
    accounts = {
        "4000": ("P&L", "Revenue", "Domestic"),
        "4100": ("P&L", "Revenue", "Export"),
        "5000": ("P&L", "Costs", "Staff"),
        "1000": ("Balance", "Assets", "Cash"),
        "2000": ("Balance", "Debts", "Bank"),
    }
    chart.write_text(
        "Account,Name,Statement,Class\n"
        + "".join(f"{key},{name},{top},{mid}\n" for key, (top, mid, name) in accounts.items()),
        encoding="utf-8",
    )
    rows = ["date,account,amount"]
    rows += [f"2026-01-{number:02},{list(accounts)[number % 5]},{number * 7}.05" for number in range(1, 29)]
    ledger.write_text("\n".join(rows) + "\n", encoding="utf-8")
    amounts: list[tuple[str, Decimal]] = []
    for row in read(ledger, "utf-8", ","):
        amounts += ((label, Decimal(row["amount"])) for label in accounts[row["account"]])
    return MeanFile((ledger, chart), summed(amounts), keys=("account_tree",))


def utf16(folder: Path) -> MeanFile:
    """UTF-16 with tabs, debits and credits in two columns, year and period in two."""
    path = folder / "Extrait.csv"
    rows = ["Exercice\tPériode\tCompte\tLibellé\tDébit\tCrédit"]
    for number in range(1, 31):
        debit, credit = (f"{number},75", "") if number % 2 else ("", f"{number * 2},00")
        rows.append(f"2026\t{number % 6 + 1}\t{number % 3 + 60}1000\tÉcriture n° {number}\t{debit}\t{credit}")
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode("utf-16"))
    amounts = []
    for row in read(path, "utf-16", "\t"):
        owed, paid = (Decimal((row[side] or "0").replace(",", ".")) for side in ("Débit", "Crédit"))
        amounts.append((row["Compte"], owed - paid))
    return MeanFile((path,), summed(amounts), keys=("utf-16", "debit", "year: Exercice"))


def millions(folder: Path) -> MeanFile:
    """Amounts in millions, as a title says, and a remark at the end."""
    path = folder / "group.csv"
    rows = ["Group figures;;;", "EUR m;;;", ";;;", "Period;Scenario;Line item;Value"]
    for number in range(1, 25):
        scenario, line = "Actual" if number % 2 else "Plan 2026", ("Sales", "Staff", "Rent")[number % 3]
        rows += [f"2026-0{number % 4 + 1};{scenario};{line};{number}.{number:03}"]
    rows += [";;;", "Exported on 2026-05-01;;;"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = [row for row in read(path, "utf-8", ";", 3)[:-2] if row["Scenario"] == "Actual"]
    amounts = ((row["Line item"], Decimal(row["Value"]) * 1_000_000) for row in found)
    return MeanFile(
        (path,),
        summed(amounts),
        answers='files: {group.csv: {numbers: {decimal: ".", factor: "1000000"}}}\n',
        keys=("factor", "skip_footer"),
    )


MEAN_FILES: tuple[Callable[[Path], MeanFile], ...] = (
    semicolons, windows, titles, across, blanks, parentheses, header_and_lines, levels, utf16, millions,
)  # fmt: skip
