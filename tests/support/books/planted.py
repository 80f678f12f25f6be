"""Books that a caller sees only in part; the hidden part contains marker words and digits.

Names that a caller may send hold WORD, which comes back only to who sent it; whatever nobody but the books can say
holds SECRET. Every hidden amount is DIGITS followed by zeros, so that it shows in any sum with the small ones seen.
"""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from server.base.settings import Settings
from server.feeds.feeds import LoadStatus
from server.run.embedded.platform import platform
from tests.support.books.fed import attempt_of
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance

WORD, SECRET = "k1vw", "q1zw"  # in no digest and in no reference, by their letters and digits
DIGITS = 739373911
MOST_SUMMED = 12  # hidden rows that one figure can add up
HUGE = DIGITS * 10**5
SEEN_AT_MOST = 100_000  # what any figure that is seen comes to
LATE = f"{WORD}-load-1"
GL = f"""
date       scenario    product    region      amount note
2021-01-05 actual      A          EU          11.25  plain
2021-01-06 actual      B          EU          23.5   plain
2021-02-05 actual      N          US          -4     plain
2021-02-06 actual      A          -           2      -
2020-02-05 actual      B          US          7      plain
2021-01-05 budget      A          EU          10     plain
2021-02-05 budget      N          US          9      plain
2021-01-05 actual      {WORD}_p   EU          {HUGE} {SECRET}
2021-01-07 actual      {WORD}_q   US          {HUGE} {SECRET}
2021-02-07 actual      A          {WORD}_r    {HUGE} {SECRET}
2020-01-07 actual      {WORD}_g   EU          {HUGE} {SECRET}
2021-03-07 actual      {WORD}_new EU          {HUGE} {SECRET}
2021-01-05 budget      {WORD}_p   EU          {HUGE} {SECRET}
2021-01-05 {WORD}_plan A          EU          {HUGE} {SECRET}
"""
DIMENSIONS = f"""
product: {{kind: leaf, members: live.product}}
band: {{kind: derived, from: product, attribute: band}}
tree: {{kind: ragged, leaf_dimension: product, nodes: live.tree}}
region: {{kind: leaf}}
{WORD}_dim: {{kind: leaf, label: {SECRET} Dimension, members: live.{WORD}_dim}}
"""
DOMAIN = f"""
time: {{column: date}}
dimensions: {{product: product, region: region}}
measures: {{amount: {{places: 2}}}}
balances: {{all: {{grain: month}}}}
inspect_enabled: true
inspect_columns: [date, product, region, amount, note]
metrics:
  revenue: {{measure: amount, favourable: up}}
  closing: {{measure: amount, over_time: closing}}
  known: {{measure: amount, over_time: {{last_known: always}}}}
  postings: {{over_members: count}}
  products: {{over_members: {{count_distinct: product}}}}
  largest: {{measure: amount, over_members: max}}
  chosen: {{measure: amount, where: {{product: [A, {WORD}_p]}}}}
  share: {{formula: chosen / revenue, format: percent}}
  {WORD}_across: {{formula: "revenue / {WORD}_dom.{WORD}_metric", label: {SECRET} Across}}
"""
HIDDEN_DOMAIN = f"""
label: {SECRET} Domain
time: {{column: date}}
dimensions: {{{WORD}_dim: {WORD}_dim, region: region}}
measures: {{{WORD}_amount: {{places: 2}}}}
inspect_enabled: true
metrics: {{{WORD}_metric: {{measure: {WORD}_amount, label: {SECRET} Metric, description: {SECRET} words}}}}
"""
STATEMENTS = {
    "pnl": f"""
    - {{header: Trading}}
    - {{metric: revenue}}
    - {{rollup: {{metric: revenue, dimension: tree, node: Top, depth: 4}}, key: rolled}}
    - {{header: {SECRET} header}}
    - {{metric: {WORD}_metric}}
    - {{formula: {{key: {WORD}_line, label: {SECRET} line, is: revenue - {WORD}_metric}}}}
    - {{header: Balances}}
    - {{metric: closing}}
    """,
    f"{WORD}_statement": f"- {{metric: {WORD}_metric}}",
}
TABLES = {
    "product": f"""
    id code name band
    A 100 Amber big
    B 101 Beech small
    N 102 Nut big
    {WORD}_p {SECRET}1 {SECRET}~Article {SECRET}band
    {WORD}_q {SECRET}2 {SECRET}~Article~2 big
    {WORD}_g {SECRET}3 {SECRET}~Article~3 -
    """,
    "tree": f"""
    node        parent      weight name           leaf
    Top         -           1      -              -
    A           Top         1      -              -
    N           Top         -1     -              -
    {WORD}_p    N           1      -              -
    G           Top         1      -              {WORD}_g
    B           G           .5     -              -
    {WORD}_node Top         1      {SECRET}~Node  -
    {WORD}_q    {WORD}_node 1      -              -
    """,
    f"{WORD}_dim": f"id name\nX {SECRET}~X\n{WORD}_x {SECRET}~Y",
}
SCENARIOS = f"""
actual: {{alias: Actuals, kind: actual, closed_through: {{gl: 2021-02, {WORD}_dom: 2021-01}}}}
budget:
  alias: Budget
  kind: budget
  variants:
    fewer: {{label: Fewer, adjust: [{{where: {{product: [A, {WORD}_p]}}, factor: 0.5, measures: [amount]}}]}}
    other: {{label: Other, adjust: [{{where: {{{WORD}_dim: [X]}}, factor: 0.5, measures: [{WORD}_amount]}}]}}
{WORD}_plan:
  alias: {SECRET} Plan
  name: {SECRET} Plan of the board
  kind: plan
  closed_through: 2021-01
  variants:
    {WORD}_variant: {{label: {SECRET} What if, adjust: [{{where: {{product: [A]}}, factor: 2, measures: [amount]}}]}}
comparisons: [[actual, budget], [actual, {WORD}_plan], [{WORD}_plan, actual@py]]
"""
DEFAULT = f"""
default:
  statement: {WORD}_statement
  scenarios: [{{scenario: {WORD}_plan, alias: {SECRET} Plan}}, {{scenario: actual}}]
  period_start: 2021-01
  period_end: 2021-03
"""
GRANT = f"{{domains: {{allow: [gl]}}, dimensions: {{product: {{allow: [A, B, N]}}, region: {{deny: [{WORD}_r]}}}}}}"
PROFILES = f"""
seen: {{scenarios: {{actual: {GRANT}, budget: {GRANT}}}}}
{WORD}_profile: {{scenarios: {{"*": {{}}}}}}
assign: [{{subject: dev, profile: seen}}]
"""


def planted_instance(folder: Path) -> tuple[Path, Path]:
    """Write and load books that dev sees a part of; return the instance and its state folder."""
    feed: dict[str, Any] = {"source": f"{WORD}_source", "target": f"live.{WORD}_dom", "file": f"{WORD}_dom.csv"}
    instance = write_instance(
        folder / "planted",
        facts={
            "gl": GL,
            f"{WORD}_dom": f"date scenario {WORD}_dim region {WORD}_amount\n2021-01-05 actual X EU {HUGE}",
        },
        domains={"gl": DOMAIN, f"{WORD}_dom": HIDDEN_DOMAIN},
        dimensions=DIMENSIONS,
        tables=TABLES,
        statements=STATEMENTS,
        scenarios=SCENARIOS,
        profiles=PROFILES,
        sources={f"{WORD}_source": {"kind": "folder", "path": "data"}},
        bindings={"gl": {"file": f"{SECRET}gl.csv"}, f"{WORD}_dom": feed},
    )
    (instance / "data" / "gl.csv").rename(instance / "data" / f"{SECRET}gl.csv")
    with (instance / "instance.yaml").open("a", encoding="utf-8") as more:
        more.write(DEFAULT)
    state = folder / "state"
    with platform(Settings(instance=instance, state=state)) as opened:
        opened.wait()
        load_feeds(instance, state, loads=opened.loads)
        told = {
            "message": f"{SECRET} failed",
            "rejects_file": f"{SECRET}.csv",
            "rejected": {f"amount is none of {SECRET}": DIGITS},
            "rows_read": DIGITS,
        }
        for load_id, feed_key in ((LATE, f"{WORD}_dom"), ("late-2", "gl")):
            attempt = attempt_of(load_id, feed_key, LoadStatus.FAILED_PUBLISH, target=f"live.{feed_key}", **told)
            opened.loads.begin(replace(attempt, status=LoadStatus.RUNNING))
            opened.loads.finish(attempt)
    return instance, state
