"""An instance in which the keys of the published schemas stand, and the files that its feeds read."""

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import xlsxwriter

from tests.support.books.calendars import four_four_five, table
from tests.support.books.small import csv

FILES = {
    "instance.yaml": """
name: Keyed
currency: USD
fiscal_year: {starts: 7, named_by: start}
trading_calendar: trading.csv
default:
  statement: pnl
  scenarios: [{scenario: actual, alias: Told}, {scenario: budget}]
  period_start: 2020-07
  period_end: 2020-09
not_held: [ageing]
terms:
  Umsatz: {metric: sales, means: all that is sold}
  GuV: [{statement: pnl, means: the ledger}]
  the bank: {dimension: account, member: '10', means: cash}
""",
    "dimensions.yaml": """
account: {kind: leaf, label: Ledger account, members: live.account}
class: {kind: derived, from: account, attribute: class}
tree: {kind: ragged, leaf_dimension: account, nodes: live.tree, paths: add}
region: {kind: leaf}
item: {kind: leaf, members: live.item}
measured: {kind: derived, from: item, attribute: unit}
currency: {kind: leaf}
week: {kind: leaf, grain: week}
month_of_year: {kind: leaf, grain: month, of_year: true}
""",
    "domains/gl.yaml": """
domain: gl
label: General ledger
table: live.gl
scenario: version
time: {column: posted, missing: keep}
dimensions: {account: account, region: region, item: item}
axes: {journal: journal}
measures:
  amount: {column: booked, places: 3}
  pieces: {type: number, places: 0, unit_from: measured}
balances:
  bank: {where: {account: '10'}, grain: day}
  stock: {where: {account: '20'}}
inspect_enabled: true
inspect_columns: [posted, account, memo]
metrics:
  sales: {label: Turnover, description: What is sold., measure: amount, where: {tree: S}, sign: negate, favourable: up,
    drivers: {volume: sold, price: price}}
  sold: {measure: pieces, where: {tree: S}}
  price: {formula: sales / sold, format: number}
  rows: {over_members: count}
  regions: {over_members: {count_distinct: region}}
  largest: {measure: amount, over_members: {how: max}}
  high: {measure: amount, over_members: {percentile: 90}}
  elsewhere: {measure: amount, where: {region: {exclude: [EU]}}}
  cash: {measure: amount, where: {account: '10'}, over_time: {rule: closing}, balance: bank}
  known: {measure: amount, where: {account: '10'}, over_time: {last_known: always}, balance: bank}
  moved: {measure: amount, where: {account: '10'}, over_time: {to_date: books}, balance: bank}
  mean: {measure: amount, where: {account: '10'}, over_time: {average: {of: month}}, balance: bank}
  before: {measure: amount, where: {account: '10'}, over_time: {opening: {to_date: books}}, balance: bank}
  carried: {measure: amount, where: {account: '10'}, over_time: {opening: {last_known: always}}, balance: bank}
  all: {measure: amount}
""",
    "domains/people.yaml": """
domain: people
table: live.people
time: {column: month, grain: month}
dimensions: {}
measures: {heads: {type: number, places: 0}}
metrics: {headcount: {measure: heads}, everybody: {measure: heads, repeats: true}}
""",
    "domains/orders.yaml": """
domain: orders
table: live.orders
time: {column: date}
dimensions: {currency: currency}
measures: {amount: {currency: currency}, budgeted: {}, amount_group: {places: 4}}
metrics: {orders: {measure: amount_group}, ordered: {measure: amount}}
""",
    "domains/ledger.yaml": """
domain: ledger
table: live.ledger
time: {column: date}
dimensions: {region: region}
measures: {amount: {}}
metrics: {ledger_amount: {measure: amount}}
""",
    "domains/secret.yaml": """
domain: secret
table: live.secret
time: {column: date}
dimensions: {}
measures: {amount: {}}
metrics: {salaries: {measure: amount}}
""",
    "statements/pnl.yaml": """
statement: pnl
label: Profit and loss
covers: {tree: ALL}
lines:
  - {header: Trading}
  - {metric: sales, label: Sold, style: subtotal}
  - {rollup: {metric: all, dimension: tree, node: ALL, depth: 1}, key: whole, label: Whole, sign: negate,
     favourable: down, style: total}
  - {formula: {key: half, label: Half, is: whole / 2, format: number, favourable: up}, style: ratio}
  - {include: staff}
""",
    "statements/staff.yaml": """
statement: staff
lines: [{metric: headcount}]
""",
    "scenarios.yaml": """
actual:
  alias: Actuals
  name: Actual ledger
  kind: actual
  status: locked
  closed_through: 2020-08
  variants:
    down: {label: Downside, adjust: [{where: {tree: S}, factor: '0.5', measures: [amount]}]}
budget: {alias: Budget, kind: budget}
plan: {alias: Plan, kind: budget}
forecast: {alias: Forecast, kind: forecast}
comparisons: [[actual, budget]]
""",
    "profiles.yaml": """
seen:
  operations: true
  members: all
  scenarios:
    '*':
      domains: {deny: [secret]}
      dimensions: {region: {allow: [EU, US]}}
      open_domains: [people, orders, gl, ledger, secret]
assign: [{subject: somebody, profile: seen}, {subject: dev, profile: seen}]
""",
    "integrations.yaml": r"""
sources:
  files: {kind: folder, path: data, csv: {separator: ','}, numbers: {factor: '1'}}
  drop: {kind: folder, path_env: KEYED_DROP, dates: {format: '%d/%m/%Y'}}
  book: {kind: sqlite, path: data/ledger.db}
bindings:
  account: {source: files, target: live.account, file: account.csv, map: {id: number}}
  tree: {source: files, target: live.tree, file: tree.csv}
  item: {source: files, target: live.item, file: book.xlsx, sheet: Items, header_row: 2}
  rate: {source: files, target: live.rate, file: rate.csv}
  actual:
    source: files
    target: live.gl
    file: actual.csv
    scenario: actual
    csv: {separator: ;, quote: "'", encoding: cp850, header_row: 2, skip_footer: 1}
    numbers: {decimal: ',', thousands: '.', negative: trailing, factor: '10', blank: none, none: [nil]}
    dates: {format: '%d %b %Y', months: [jan, feb, mrz, apr, mai, jun, jul, aug, sep, okt, nov, dez]}
    skip: {blank: account, equals: {account: TOTAL}}
    map:
      version: {constant: actual}
      posted: day
      region: {column: land, values: {Köln: EU, Ohio: US, Other: XX}}
      booked: betrag
    rejects: {allow: 1}
    unknown_members: extend
    schedule: 15 5 * * *
    timezone: Europe/Paris
  budget:
    source: files
    target: live.gl
    file: budget_US_2020.csv
    from_name: {pattern: 'budget_{region}_*'}
    csv: {skip_rows: 1}
    numbers: {factor: '1'}
    dates: {year: jahr, month: monat, day: tag}
    amount: {measure: amount, debit: soll, credit: haben, credits: negative}
    constant: {version: budget, account: '30', journal: J1, memo: m}
    map: {pieces: {product: [cases, each]}}
    unknown_members: extend
  plan:
    source: files
    target: live.gl
    file: plan.csv
    scenario: plan
    amount: {measure: amount, debit: S, credit: H, column: betrag, side: seite}
    dates: {format: '%d/%m/%Y'}
    constant: {item: A, journal: J1, memo: m, pieces: '1'}
    fill_down: {column: region, into: region, blank: [betrag]}
    map: {posted: {column: day, format: '%m/%d/%Y'}}
    rejects: {allow: 1}
    unknown_members: extend
  forecast:
    source: files
    target: live.people
    file: {wide: forecast.csv}
    sql: select * from wide where team <> 'B'
    scenario: forecast
    unpivot: {columns: Jul..Sep, into: month, value: heads, year: '2020'}
  secret: {source: files, target: live.secret, file: secret.csv, scenario: actual}
  empty: {source: files, target: live.gl, file: empty.csv, scenario: plan, allow_empty: true}
  people: {source: files, target: live.people, file: people.csv, scenario: actual}
  orders:
    source: drop
    target: live.orders
    file: orders.csv
    scenario: actual
    convert: {rates: live.rate, from: currency, 'on': paid, kind: average, measure: amount, into: amount_group,
      round: {places: 2, rule: half_up}}
    unknown_members: extend
    load: append
  ledger:
    source: book
    target: live.ledger
    extract: select date, region, amount from ledger where company = :company and date >= :period_start
      and date < :period_end_exclusive
    parameters: {company: '7'}
    scenario: actual
    load: replace_periods
    period_column: date
    recent_periods: 3
    unknown_members: extend
""",
}
TABLES = {
    "account.csv": "number name class\n10 Bank Assets\n20 Stock Assets\n30 Sales Income\n40 Unused Other",
    "tree.csv": "node parent weight\nALL - 1\nS ALL 1\n10 ALL 1\n20 ALL -1\n30 S 1\n20 S 1",
    "rate.csv": "currency date rate kind\nEUR 2020-07-02 1.125 average\nEUR 2020-07-01 2 average\nEUR 2020-07-02 3 -",
    "plan.csv": "day account region betrag seite\n- - US - -\n07/08/2020 30 - 5.5 S\n07/09/2020 30 - 2.5 H\n"
    "07/09/2020 30 - 1 X",
    "forecast.csv": "team Jul Aug Sep\nA 1 2 3\nB 7 8 9",
    "empty.csv": "posted account region item journal memo booked pieces",
    "secret.csv": "date amount\n2020-07-01 4",
    "people.csv": "month heads\n2020-07 6\n2020-08 7",
    "orders.csv": "date paid currency amount budgeted\n01/07/2020 02/07/2020 EUR 1.25 7\n02/07/2020 02/07/2020 USD 5 7",
}
ACTUAL = """export of 2020
day;account;land;item;pieces;betrag;journal;memo
01 jul 2020;10;Köln;A;1;1.000,5;J1;'a;b'
31 jul 2020;10;Ohio;B;2;200,5-;J1;c
15 aug 2020;30;Ohio;B;4;3,125-;J2;d
16 aug 2020;30;Köln;A;8;4,5-;J2;d
17 aug 2020;20;Köln;A;8;7,5;J2;d
17 aug 2020;20;Köln;A;;nil;J2;d
17 aug 2020;20;Köln;A;;;J2;d
;20;Köln;A;1;9,5;J3;undated
18 aug 2020;30;Nowhere;A;8;4,5;J2;d
19 dez 2020;10;Other;A;1;64,5;J2;hidden
20 mrz 2021;10;Ohio;A;1;32,5;J2;d
20 mrz 2021;;Köln;A;1;5,5;J2;blank
20 mrz 2021;TOTAL;Köln;A;1;99,5;J2;total
20 mrz 2021;30;Köln;A;1;77,5;J2;footer
"""
BUDGET = "a line above\ncases,each,jahr,monat,tag,soll,haben,item\n2,3,2020,Jul,5,10.5,,A\n1,1,2020,Aug,6,,-4.5,A\n"


def write_keyed(folder: Path) -> Path:
    """Write the instance and what its feeds read."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())
    weeks = table(date(2020, 6, 28), {2021: four_four_five(), 2022: four_four_five()}, by_week=True)
    (folder / "trading.csv").write_text(weeks)
    data = folder / "data"
    data.mkdir()
    for name, rows in TABLES.items():
        (data / name).write_text(csv(rows))
    (data / "actual.csv").write_text(ACTUAL, encoding="cp850")
    (data / "budget_US_2020.csv").write_text(BUDGET)
    with xlsxwriter.Workbook(data / "book.xlsx") as book:
        book.add_worksheet("Notes")
        sheet = book.add_worksheet("Items")
        for number, row in enumerate(
            (("id", "name", "unit"), ("id", "name", "unit"), ("A", "Ale", "kg"), ("B", "Bun", "t"))
        ):
            sheet.write_row(number, 0, row)
    with closing(sqlite3.connect(data / "ledger.db")) as database, database:
        database.execute("create table ledger (company, date, region, amount)")
        lines = [
            ("7", "2020-07-05", "EU", "3.25"),
            ("8", "2020-07-05", "EU", "9.25"),
            ("7", "2020-08-05", "US", "1.25"),
        ]
        database.executemany("insert into ledger values (?, ?, ?, ?)", lines)
    return folder
