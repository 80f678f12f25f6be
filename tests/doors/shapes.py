"""The shapes of `test_shapes`: the files of each, written by hand, and the figures that a reader adds up in them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from openpyxl import Workbook

Rows = list[list[object]]
QUARTERS = "2023-Q1..2026-Q4"
OLD = 1_700_000_000  # a time at which no file is being written any more


@dataclass
class ShapedFile:
    """Files, and their figures by scenario and by member and period; what is asked or said of them."""

    files: Mapping[str, str | bytes]
    cells: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asks: str = ""
    answer: str = ""
    about: str = ""  # the file or sheet that is asked about, if not the first
    dimension: str = "account"
    metric: str = "amount"
    periods: str = "2023-01..2026-12"  # of all figures, by their grain

    def write(self, folder: Path) -> list[Path]:
        """Write the files."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            os.utime(folder / name, (OLD, OLD))
        return [folder / name for name in self.files]


def text(name: str, *lines: str) -> dict[str, str | bytes]:
    """Return a text file."""
    return {name: "".join(f"{line}\n" for line in lines)}


def workbook(name: str, sheets: Mapping[str, Rows], hidden: str = "") -> dict[str, str | bytes]:
    """Return a workbook."""
    made, held = Workbook(), BytesIO()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        sheet.sheet_state = "hidden" if title == hidden else "visible"
        for row in rows:
            sheet.append(row)
    made.save(held)
    return {name: held.getvalue()}


def actual(**cells: str) -> dict[str, dict[str, str]]:
    """Return figures of actual; a key is a member and a month of 2025: c1200_01."""
    return {"actual": {f"{key[1:-3]}|2025-{key[-2:]}": amount for key, amount in cells.items()}}


LEDGER: Rows = [["date", "account", "amount"], ["2025-01-05", "4010", 10.5], ["2025-02-05", "4020", 7.25]]
RIGHT: dict[str, ShapedFile] = {
    "groups of two digits, as in India": ShapedFile(
        text(
            "gl.csv", "date,account,amount", '2025-01-05,1200,"12,34,567.89"', '2025-01-06,4010,"-12,34,567.89"',
            '2025-02-05,1200,"1,00,000.00"',
        ),
        actual(c1200_01="1234567.89", c4010_01="-1234567.89", c1200_02="100000"),
    ),
    "days of the week before days": ShapedFile(
        text(
            "gl.csv", "date,account,amount", '"Monday, March 31, 2025",1200,10.50', '"Tuesday, April 1, 2025",1200,7.25'
        ),
        actual(c1200_03="10.5", c1200_04="7.25"),
    ),
    "ISO days beside days of one other form": ShapedFile(
        text(
            "gl.csv", "date,account,amount", "2025-01-05,1200,10.50", "06.02.2025,4010,7.25", "07.02.2025,1200,1.00",
            "2025-02-08,4010,2.00",
        ),
        actual(c1200_01="10.5", c4010_02="9.25", c1200_02="1"),
    ),
    "lines that end as before 2001": ShapedFile(
        {"gl.csv": "date,account,amount\r2025-01-05,1200,10.50\r2025-02-06,4010,1.00\r"},
        actual(c1200_01="10.5", c4010_02="1"),
    ),
    "SAP tables, credits with a side and a minus": ShapedFile(
        text(
            "faglflexa.csv", "BUKRS,RACCT,BUDAT,BLDAT,CPUDT,HSL,DRCRK",
            "1000,400000,20250131,20250130,20250201,10.50,S",
            "1000,113100,20250131,20250130,20250201,-10.50,H", "1000,400000,20250228,20250227,20250301,7.25,S",
            "1000,113100,20250228,20250227,20250301,-7.25,H",
        ),
        actual(c400000_01="10.5", c113100_01="-10.5", c400000_02="7.25", c113100_02="-7.25"),
    ),
    "two columns of texts of one name": ShapedFile(
        text("gl.csv", "date,account,note,note,amount", "2025-01-05,1200,x,y,10.50", "2025-02-05,4010,z,w,-10.50"),
        actual(c1200_01="10.5", c4010_02="-10.5"),
    ),
    "a period that the title alone says": ShapedFile(
        text(
            "tb.csv", "Trial Balance", "As at 10/31/2025", "",
            "Account,Name,Debit,Credit", "1200,Bank,10.50,", "4010,Sales,,10.50",
        ),
        actual(c1200_10="10.5", c4010_10="-10.5"),
    ),
    "an end without a line end where debits are credits": ShapedFile(
        {"gl.csv": "date,account,amount\n2025-01-05,1,1.5\n2025-01-05,2,-1.5\n2025-02-06,1,3.1\n2025-02-06,2,-3.1"},
        actual(c1_01="1.5", c2_01="-1.5", c1_02="3.1", c2_02="-3.1"),
    ),
    "a ledger of QuickBooks: accounts above their postings, openings, totals": ShapedFile(
        text(
            "gl.csv", "My Firm", "General Ledger", "January - March 2025", "", ",Date,Type,Num,Amount,Balance",
            "House bank,,,,,", "Beginning Balance,,,,,100.00", ",01/05/2025,Deposit,1,10.50,110.50",
            ",01/25/2025,Check,2,-4.25,106.25", "Total for House bank,,,,6.25,", "Sales,,,,,",
            ",02/05/2025,Deposit,1,-10.50,-10.50", "Total for Sales,,,,-10.50,",
        ),
        {"actual": {"House bank|2025-01": "6.25", "Sales|2025-02": "-10.5"}},
    ),
    "a ledger of Xero: accounts in the column of the days": ShapedFile(
        text(
            "gl.csv", "General Ledger", "January 2025 to March 2025", "", "Date,Source,Debit,Credit,Running Balance",
            "Bank 1200,,,,", "Opening Balance,,100.00,,100.00", "05/01/2025,Rec,10.50,,110.50",
            "25/01/2025,Pay,,4.25,106.25", "Total Bank 1200,,10.50,4.25,106.25", "Sales 4010,,,,",
            "05/01/2025,Rec,,10.50,-10.50", "15/02/2025,Rec,,1.50,-12.00", "Total Sales 4010,,0.00,12.00,-12.00",
        ),
        {"actual": {"Bank 1200|2025-01": "6.25", "Sales 4010|2025-01": "-10.5", "Sales 4010|2025-02": "-1.5"}},
    ),
    "a German ledger: accounts above their postings, a sum of all": ShapedFile(
        text(
            "Hauptbuch.csv", "Konto;Datum;Text;Soll;Haben",
            "1200 Bank;;;;", ";05.01.2025;x;10,50;", ";25.01.2025;y;;4,25", "Summe 1200;;;10,50;4,25",
            "4010 Umsatz;;;;", ";05.02.2025;x;;10,50", "Summe 4010;;;;10,50",
            "Summe;;;10,50;14,75",
        ),
        {"actual": {"1200 Bank|2025-01": "6.25", "4010 Umsatz|2025-02": "-10.5"}},
    ),
    "accounts above their postings, without a total": ShapedFile(
        text(
            "Hauptbuch.csv", "Gruppe;Datum;Betrag", "Kasse;;", ";2025-01-05;1,50", ";2025-01-06;2,50", "Bank;;",
            ";2025-02-07;3,50",
        ),
        {"actual": {"Kasse|2025-01": "4", "Bank|2025-02": "3.5"}},
    ),
    "Dr and Cr behind amounts": ShapedFile(
        text(
            "gl.csv", "date,account,amount", '2025-01-05,1200,"1,234.50 Dr"', '2025-01-05,4010,"1,234.50 Cr"',
            "2025-02-05,1200,10.00 Dr",
        ),
        actual(c1200_01="1234.5", c4010_01="-1234.5", c1200_02="10"),
    ),
    "actual, budget and their variance side by side": ShapedFile(
        text(
            "r 2025-03.csv", "Account,Name,Actual,Budget,Variance,Variance %", "4010,Sales,10.50,11.00,-0.50,-4.5",
            "5010,Wages,-1.10,-1.00,-0.10,10", "6010,Rent,-4.10,-4.00,-0.10,2.5",
        ),
        {
            "actual": {"4010|2025-03": "10.5", "5010|2025-03": "-1.1", "6010|2025-03": "-4.1"},
            "budget": {"4010|2025-03": "11", "5010|2025-03": "-1", "6010|2025-03": "-4"},
        },
    ),
    "months across for each scenario": ShapedFile(
        text(
            "r.csv", "Account,Jan 2025 Actual,Jan 2025 Budget,Feb 2025 Actual,Feb 2025 Budget",
            "4010,10.50,11.00,20.50,21.00", "5010,-1.10,-1.00,-2.10,-2.00",
        ),
        {
            "actual": {"4010|2025-01": "10.5", "4010|2025-02": "20.5", "5010|2025-01": "-1.1", "5010|2025-02": "-2.1"},
            "budget": {"4010|2025-01": "11", "4010|2025-02": "21", "5010|2025-01": "-1", "5010|2025-02": "-2"},
        },
    ),
    "several amounts of actual and budget, an end without a line end in a value that repeats": ShapedFile(
        {
            "r.csv": "Date,Actual_Revenue,Budget_Revenue,Actual_Cost,Budget_Cost,variance_pct,Region\n"
            "2025-01-31,10.5,11,4,5,-4.5,North\n2025-01-31,20.5,21,7,8,-2.4,South\n2025-02-28,1.5,2,3,4,-25,North"
        },
        {
            "actual": {"North|2025-01": "10.5", "South|2025-01": "20.5", "North|2025-02": "1.5"},
            "budget": {"North|2025-01": "11", "South|2025-01": "21", "North|2025-02": "2"},
        },
        dimension="region",
        metric="revenue",
    ),
    "a journal whose title says a range of days in one month": ShapedFile(
        text(
            "journal.csv", "All Journal Entries 10/01/2025 to 10/31/2025", "", "Account Number,Debits,Credits",
            "1080,5330.50,", "4040,,2130.50", "4060,,3200.00",
        ),
        actual(c1080_10="5330.5", c4040_10="-2130.5", c4060_10="-3200"),
    ),
    "half years, quarters and the year across": ShapedFile(
        text(
            "r.csv", "Account,Q1 2024,Q2 2024,H1 2024,Q3 2024,Q4 2024,H2 2024,FY2024",
            "A,10.50,20.25,30.75,1,2,3,33.75",
            "B,-1.10,-2.20,-3.30,-1,-2,-3,-6.30",
        ),
        {
            "actual": {
                "A|2024-Q1": "10.5", "A|2024-Q2": "20.25", "A|2024-Q3": "1", "A|2024-Q4": "2",
                "B|2024-Q1": "-1.1", "B|2024-Q2": "-2.2", "B|2024-Q3": "-1", "B|2024-Q4": "-2",
            }
        },
        periods=QUARTERS,
    ),
    "months behind an empty column, headings between their rows": ShapedFile(
        workbook(
            "r.xlsx",
            {
                "R": [
                    ["Account", "Name", None, "Jan 2025", "Feb 2025", "Mar 2025"], ["Revenue"],
                    ["4000", "Sales", None, 1.5, 2.5, 3.5], ["Costs"], ["5000", "Wages", None, -1.5, -2, -3.5],
                ]
            },
        ),
        actual(c4000_01="1.5", c4000_02="2.5", c4000_03="3.5", c5000_01="-1.5", c5000_02="-2", c5000_03="-3.5"),
    ),
    "accents of one letter or of two": ShapedFile(
        text(
            "gl.csv", "date,account,amount", "2025-01-05,Büro,10.50", "2025-01-06,Bu\u0308ro,1.00",
            "2025-01-07,Büro,2.00",
        ),
        {"actual": {"Büro|2025-01": "13.5"}},
    ),
    "two rows of headings, months above scenarios": ShapedFile(
        text(
            "r.csv", "Account,Jan 2025,,Feb 2025,", ",Actual,Budget,Actual,Budget",
            "A,10.50,11.00,20.50,21.00", "B,-1.10,-1.00,-2.10,-2.00",
        ),
        {
            "actual": {"A|2025-01": "10.5", "A|2025-02": "20.5", "B|2025-01": "-1.1", "B|2025-02": "-2.1"},
            "budget": {"A|2025-01": "11", "A|2025-02": "21", "B|2025-01": "-1", "B|2025-02": "-2"},
        },
    ),
    "quarters in a column, as people write them": ShapedFile(
        text("gl.csv", "Period,Account,Amount", "Q1 2026,A,10.50", "Q2 2026,A,20.25", "Q1 2026,B,-1.10"),
        {"actual": {"A|2026-Q1": "10.5", "A|2026-Q2": "20.25", "B|2026-Q1": "-1.1"}},
        periods=QUARTERS,
    ),
    "quarters of fiscal years in a column": ShapedFile(
        text("gl.csv", "Period,Account,Amount", "FY2025-Q1,A,10.50", "FY2025-Q4,A,20.25"),
        {"actual": {"A|2025-Q1": "10.5", "A|2025-Q4": "20.25"}},
        periods=QUARTERS,
    ),
    "months in a column, as statistics write them": ShapedFile(
        text("gl.csv", "Period,Account,Amount", "2025M03,1200,1.50", "2025M12,1200,2.50", "2025M03,4010,5.50"),
        actual(c1200_03="1.5", c1200_12="2.5", c4010_03="5.5"),
    ),
    "a heading on each page, with a title above": ShapedFile(
        workbook(
            "r.xlsx",
            {
                "R": [
                    ["Revenue"], ["Account", "Jan 2025", "Feb 2025", "Mar 2025"], ["4000", 1.5, 2.5, 3.5], [],
                    ["Costs"], ["Account", "Jan 2025", "Feb 2025", "Mar 2025"], ["5000", -1.5, -2, -3.5],
                ]
            },
        ),
        actual(c4000_01="1.5", c4000_02="2.5", c4000_03="3.5", c5000_01="-1.5", c5000_02="-2", c5000_03="-3.5"),
    ),
    "a heading on each page, and a sum below each": ShapedFile(
        text(
            "gl.csv", "Account,Date,Amount", "1200,2025-01-05,10.50", "1201,2025-01-06,1.00", "Total,,11.50",
            "Account,Date,Amount", "4010,2025-02-05,-7.25", "4011,2025-02-06,-1.00", "Total,,-8.25",
        ),
        actual(c1200_01="10.5", c1201_01="1", c4010_02="-7.25", c4011_02="-1"),
    ),
}  # fmt: skip
ANSWERED: dict[str, ShapedFile] = {
    "two columns of days that their names do not tell apart": ShapedFile(
        text(
            "gl.csv", "Date 1,Date 2,account,amount", "2025-02-05,2025-01-31,1200,10.50", "2025-02-04,2025-01-30,4010,1"
        ),
        actual(c1200_01="10.5", c4010_01="1"),
        asks="Date 1 and Date 2 are days, and their names do not tell which is the time",
        answer="{columns: {Date 2: time}}",
    ),
    "two columns of amounts of one name": ShapedFile(
        text("gl.csv", "date,account,amount,amount", "2025-01-05,1200,10.50,11.30", "2025-02-05,4010,-9.50,-11.30"),
        actual(c1200_01="11.3", c4010_02="-11.3"),
        asks="2 columns are named 'amount', here amount_1, amount_2: which is the amount?",
        answer="{columns: {amount_1: unused, amount_2: amount}}",
    ),
    "credits with a minus that no sum explains": ShapedFile(
        text(
            "gl.csv", "date,account,amount,side",
            "2025-01-05,1,10.50,S", "2025-01-06,2,-7.25,H", "2025-02-06,2,-1.00,H",
        ),
        actual(c1_01="10.5", c2_01="-7.25", c2_02="-1"),
        asks="most credits are negative, as amount, row 3: '-7.25': what does the minus mean?",
        answer="{credits: negative}",
    ),
    "a total that its postings do not add up to": ShapedFile(
        text(
            "gl.csv", ",Date,Amount", "Bank,,", ",01/15/2025,10.50", ",01/25/2025,-4.25", "Total Bank,,7.25", "Sales,,",
            ",02/05/2025,-10.50", "Total Sales,,-10.50",
        ),
        {"actual": {"Bank|2025-01": "6.25", "Sales|2025-02": "-10.5"}},
        asks="1 row of totals differs from the sum of the rows above, as row 5, 'Total Bank', by 1.00",
        answer="{totals: leave_out}",
    ),
    "a variance that is no difference": ShapedFile(
        text("r 2025-03.csv", "Account,Actual,Budget,Variance", "A,10.50,11.00,-0.50", "B,-1.10,-1.00,7.25"),
        {"actual": {"A|2025-03": "10.5", "B|2025-03": "-1.1"}, "budget": {"A|2025-03": "11", "B|2025-03": "-1"}},
        asks="Variance is named a variance and is no difference of actual and budget in every row",
        answer="{columns: {Variance: unused}}",
    ),
    "no heading": ShapedFile(
        text("gl.csv", "2025-01-05,1200,Bank,10.50", "2025-01-06,4010,Sales,-10.50", "2025-02-05,1200,Bank,7.25"),
        actual(c1200_01="10.5", c4010_01="-10.5", c1200_02="7.25"),
        asks="no row looks like a heading",
        answer="{csv: {header_row: none}}",
    ),
    "ids that differ in case and in outer spaces": ShapedFile(
        text(
            "gl.csv", "date,account,amount", "2025-01-05,Rent,10.50", "2025-01-06,rent,1.00", "2025-02-05, Rent,-7.25",
            "2025-02-06,Rent,1.00", "2025-02-07,O'Neil,3.00",
        ),
        {"actual": {"Rent|2025-01": "11.5", "Rent|2025-02": "-6.25", "O'Neil|2025-02": "3"}},
        asks="account has ' Rent' and 'Rent', which differ in spaces or case alone: are they one?",
        answer="{ids: merge}",
    ),
    "a letter that two encodings read apart": ShapedFile(
        {"gl.csv": "date,account,amount\n2025-01-05,Ärzte,10.50\n2025-02-05,Kasse,7.25\n".encode("cp850")},
        {"actual": {"Ärzte|2025-01": "10.5", "Kasse|2025-02": "7.25"}},
        asks="row 2 has the byte 0x8e, which is no UTF-8 can be read in 3 ways",
        answer="{csv: {encoding: cp850}}",
    ),
    "a small table beside another in a sheet": ShapedFile(
        workbook(
            "gl.xlsx",
            {"GL": [[*LEDGER[0], None, "Region", "Head", "Target"], [*LEDGER[1], None, "N", "Ann", 100.5], LEDGER[2]]},
        ),
        actual(c4010_01="10.5", c4020_02="7.25"),
        asks="gl.xlsx [E:G] has no column of days, months or years",
        answer="{is: unused}",
        about="gl.xlsx [E:G]",
    ),
    "half years across, and their year": ShapedFile(
        text("r.csv", "Account,H1 2024,H2 2024,FY2024", "A,10.50,20.25,30.75", "B,-1.10,-2.20,-3.30"),
        {"actual": {"A|2024-Q2": "10.5", "A|2024-Q4": "20.25", "B|2024-Q2": "-1.1", "B|2024-Q4": "-2.2"}},
        asks="H1 2024, H2 2024 are half years, and books hold months, quarters or years",
        answer="{half_years: last_quarter}",
        periods=QUARTERS,
    ),
    "units behind amounts": ShapedFile(
        text(
            "gl.csv", "date,account,amount", "2025-01-05,1,950K", "2025-01-06,2,-1.25M", "2025-02-07,1,500",
            "2025-02-08,2,2.5 k",
        ),
        actual(c1_01="950000", c2_01="-1250000", c1_02="500", c2_02="2500"),
        asks="amount, row 2: '950K' has a unit: is it a factor of the amount?",
        answer="{units: factors}",
    ),
    "a hidden sheet": ShapedFile(
        workbook("gl.xlsx", {"GL": LEDGER, "Old": LEDGER}, hidden="Old"),
        actual(c4010_01="10.5", c4020_02="7.25"),
        asks="the sheet is hidden; do its rows count?",
        answer="{is: unused}",
        about="gl.xlsx [Old]",
    ),
    "an end without the line end that all others have": ShapedFile(
        {"gl.csv": "date,account,amount\n2025-01-05,1,10.50\n2025-02-05,2,-7.2"},
        actual(c1_01="10.5", c2_02="-7.2"),
        asks="the last row has no end of line, as all others have",
        answer="{end: whole}",
    ),
    "a last row that is short": ShapedFile(
        text("gl.csv", "date,account,amount,note", "2025-01-05,1,10.50,a", "2025-01-05,1,1.50,a", "2025-02-05,2,-7.2"),
        actual(c1_01="12", c2_02="-7.2"),
        asks="the last row has 3 values, and the rows above have 4",
        answer="{end: whole}",
    ),
}  # fmt: skip
REFUSED: dict[str, ShapedFile] = {
    "two tables of other columns below each other": ShapedFile(
        workbook(
            "r.xlsx",
            {
                "R": [
                    ["date", "product", "revenue"],
                    ["2025-01-31", "A", 100.5],
                    ["2025-02-28", "B", 20.25],
                    [],
                    ["date", "department", "cost"],
                    ["2025-01-31", "Ops", 40.5],
                    ["2025-02-28", "IT", 33.3],
                ]
            },
        ),
        asks=r"sheet R, row 5 \(date, department, cost\) is the heading of another table below the first: put each",
    ),
    "months that go on in a table below": ShapedFile(
        text("r.csv", "Account,Jan 2025,Feb 2025", "A,1.50,2.50", ",,", "Account,Mar 2025,Apr 2025", "A,3.50,4.50"),
        asks=r"row 4 \(Account, Mar 2025, Apr 2025\) is the heading of another table below the first",
    ),
    "num of the SEC, whose segments stand beside their total": ShapedFile(
        text(
            "num.txt",
            "adsh\ttag\tversion\tddate\tqtrs\tuom\tsegments\tcoreg\tvalue",
            "1\tRevenues\tus-gaap\t20241231\t4\tUSD\t\t\t1000",
            "1\tRevenues\tus-gaap\t20241231\t4\tUSD\tA\t\t1000",
        ),
        asks="num.txt is num of the SEC's financial statements, which is not read: its segments",
    ),
    "a GnuCash book": ShapedFile(
        {"book.gnucash": b"\x1f\x8b"},
        asks="book.gnucash is a GnuCash book in XML, which is not read: save it as SQLite",
    ),
    "a database without its table": ShapedFile(
        {"books.db": b"SQLite format 3\0"}, asks="books.db is an SQLite database, .* name a table of it, as sqlite:FILE"
    ),
}
