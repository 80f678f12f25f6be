"""Every fault of an instance at once, with file, line, what was found and what would be valid."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from engine.instance.documents import Fault, InstanceFaults, parse_document, read_document
from engine.model.catalogue import Base
from server.feeds.instance import read_instance
from tests.support.books.loads import ROOT
from tests.support.books.small import write_instance

WRITTEN = {
    "instance.yaml": """
        name: Test
        currency: EUR
    """,
    "dimensions.yaml": """
        account: {kind: leaf, members: live.account}
        klass: {kind: derived, from: account, attribute: klass}
        tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
    """,
    "domains/gl.yaml": """
        domain: gl
        table: live.gl
        time: {column: date}
        dimensions: {account: account}
        measures: {amount: {places: 2}}
        metrics:
          revenue: {measure: amount, where: {account: 0010}}
          costs: {measure: amount, where: {account: NO}}
          profit: {formula: revenue - costs}
    """,
    "statements/pnl.yaml": """
        statement: pnl
        lines:
          - {metric: revenue}
          - {metric: profit, style: total}
    """,
    "scenarios.yaml": """
        actual: {alias: Actuals, kind: actual}
        budget: {alias: Budget, kind: budget}
    """,
}
FILES = {name: dedent(text).strip() + "\n" for name, text in WRITTEN.items()}


def instance(folder: Path, **changed: str | None) -> Path:
    """Write the files above, some of them changed (keys have dots and slashes as _)."""
    files = dict(FILES)
    for name, text in changed.items():
        key = next((known for known in [*FILES, "profiles.yaml", "integrations.yaml"] if mangled(known) == name), name)
        files[key] = text or ""
        if text is None:
            del files[key]
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))
    return folder


def mangled(name: str) -> str:
    """Return a file's name as a keyword."""
    return name.replace("/", "_").replace(".", "_")


def faults(folder: Path, **changed: str | None) -> list[Fault]:
    """Return the faults of the files above with some changed."""
    with pytest.raises(InstanceFaults) as found:
        read_instance(instance(folder, **changed))
    return found.value.faults


def said(found: list[Fault]) -> str:
    """Return faults as they are printed."""
    return "\n".join(map(str, found))


def test_the_files_above_have_no_fault_and_ids_stay_the_text_that_was_written(tmp_path: Path) -> None:
    catalogue = read_instance(instance(tmp_path)).catalogue
    bodies = [catalogue.metrics[key].body for key in ("revenue", "costs")]
    cuts = [body.where[0].ids for body in bodies if isinstance(body, Base)]
    assert cuts == [("0010",), ("NO",)]


def test_malformed_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, scenarios_yaml="actual: {alias: A, kind: actual}\nbudget: {alias: [B\n")
    assert fault.file == "scenarios.yaml"
    assert fault.line == 3
    assert "is no YAML" in fault.found


def test_an_unknown_key_is_named_with_the_known_ones(tmp_path: Path) -> None:
    domain = FILES["domains/gl.yaml"].replace("profit: {formula", "profit: {formla")
    found = faults(tmp_path, domains_gl_yaml=domain)
    (fault,) = found
    assert str(fault).startswith(
        "domains/gl.yaml:9: unknown key 'metrics.profit.formla' — did you mean 'formula' or 'format'? known keys: "
    )


def test_a_key_said_twice_is_a_fault(tmp_path: Path) -> None:
    found = faults(tmp_path, scenarios_yaml="actual: {alias: A, kind: actual}\nactual: {alias: B, kind: actual}\n")
    assert "scenarios.yaml:2: says 'actual' twice" in said(found)


def test_a_missing_file_and_a_stranger_are_faults(tmp_path: Path) -> None:
    (tmp_path / "statments").mkdir()
    (tmp_path / "statments/pnl.yaml").write_text("statement: x\n")
    found = said(faults(tmp_path, instance_yaml=None))
    assert "instance.yaml:1: the file is missing" in found
    assert "statments/pnl.yaml:1: is no file of an instance" in found


def test_an_adjustment_by_time_is_told_what_it_could_be_by(tmp_path: Path) -> None:
    low = "low: {label: L, adjust: [{where: {period: 2026-01}, factor: 1.1}]}"
    dimensions = FILES["dimensions.yaml"] + "period: {kind: leaf, grain: month}\n"
    scenarios = f"actual: {{alias: A, kind: actual, variants: {{{low}}}}}\nbudget: {{alias: B, kind: budget}}\n"
    (fault,) = faults(tmp_path, scenarios_yaml=scenarios, dimensions_yaml=dimensions)
    assert str(fault) == ("scenarios.yaml:1: no domain can be restricted by 'period' — known: account, klass, tree")


@pytest.mark.parametrize("named", ["nowhere", "instance.yaml"])
def test_a_folder_that_is_none(tmp_path: Path, named: str) -> None:
    folder = instance(tmp_path) / named
    with pytest.raises(InstanceFaults, match=r"there is no such folder — name the folder of an instance$"):
        read_instance(folder)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("instance_yaml", "name: T\ncurrency: Euro\n", "instance.yaml:2: currency .* — three capital letters, as EUR"),
        ("instance_yaml", "name:\ncurrency: EUR\n", "instance.yaml:1: name has too few characters: it takes 1"),
        (
            "dimensions_yaml",
            "account: {kind: leaf, members: account}\n",
            ":1: account.members .* — live. and lower-case",
        ),
        ("scenarios_yaml", "actual: {alias: A, kind: Ist}\n", ":1: actual.kind .* — lower-case letters, digits and _"),
    ],
)
def test_a_shape_is_told_in_words(tmp_path: Path, file: str, text: str, says: str) -> None:
    assert re.search(says, said(faults(tmp_path, **{file: text})))


@pytest.mark.parametrize("scenario", ["a@b", "a+b", "a,b", "a(b", "a/b", "a b", "a#b", "a:b", "Ist-Zahlen§", "_a", "é"])
def test_an_id_of_a_scenario_that_a_reference_cannot_name(tmp_path: Path, scenario: str) -> None:
    text = f"'{scenario}': {{alias: A, kind: actual}}\nactual: {{alias: A, kind: actual}}\n"
    found = [str(fault) for fault in faults(tmp_path, scenarios_yaml=text)]
    assert any(fault.startswith("scenarios.yaml:1:") and "letters, digits, _, . and -" in fault for fault in found)


def test_two_columns_of_the_default_report_under_one_heading(tmp_path: Path) -> None:
    columns = "[{scenario: actual}, {scenario: budget, alias: actual}, {scenario: budget}]"
    default = FILES["instance.yaml"] + f"default: {{scenarios: {columns}}}\n"
    (fault,) = faults(tmp_path, instance_yaml=default)
    assert str(fault) == ("instance.yaml:3: there is a column 'actual' already — give each column an alias of its own")


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("revenue - costs", "revenue - cost", 9, "there is no metric 'cost'; did you mean 'costs'?"),
        ("revenue - costs", "revenue - profit", 9, "formulas go round in a circle: profit → profit"),
        ("revenue - costs", "revenue *", 9, "a name or a number is missing at character 10 — use names"),
        ("revenue - costs", "revenue * 0x10", 9, "'0x10' is no decimal number at character 11 — use names"),
        ("revenue - costs", "revenue * 1e-999999999", 9, "'1e-999999999' is no decimal number at character 11"),
        ("revenue - costs", "__import__('os')", 9, "cannot stand in a formula at character 12"),
        ("revenue - costs", "revenue / 0", 9, "divides by zero"),
        ("revenue - costs", "1 + 2", 9, "profit uses no metric"),
        (
            "revenue - costs}",
            "revenue - costs, format: percent}",
            9,
            "format percent does not suit",
        ),
        ("{account: 0010}", "{cost_centre: 1}", 7, "gl cannot be restricted by 'cost_centre'"),
        ("measure: amount, where: {account: NO}", "measure: amont", 8, "there is no measure 'amont'"),
        ("measure: amount, where: {account: NO}", "measure: amount, over_time: last", 8, "over_time"),
        ("grain: day", "grain: hour", 3, ""),
    ],
)
def test_a_metric_that_cannot_hold(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    domain = FILES["domains/gl.yaml"].replace("column: date}", "column: date, grain: day}")
    assert old in domain
    found = faults(tmp_path, domains_gl_yaml=domain.replace(old, new))
    assert any(fault.line == line and says in str(fault) for fault in found), said(found)


def test_what_several_parts_ask_for_is_a_fault_once(tmp_path: Path) -> None:
    cash = "  cash: {measure: amount, over_time: closing, where: {acount: [10]}}\n"  # a figure, and a balance
    (fault,) = faults(tmp_path, domains_gl_yaml=FILES["domains/gl.yaml"] + cash)
    assert str(fault).startswith("domains/gl.yaml:10: gl cannot be restricted by 'acount' — did you mean 'account'?")


def test_types_that_do_not_go_together(tmp_path: Path) -> None:
    domain = FILES["domains/gl.yaml"].replace("places: 2}}", "places: 2}, heads: {type: number, places: 0}}")
    domain += "  heads: {measure: heads}\n  odd: {formula: revenue + heads}\n"
    assert "odd: adds money to number; only like figures add up" in said(faults(tmp_path, domains_gl_yaml=domain))


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("{currency: acount}", "gl has no dimension or axis 'acount' — did you mean 'account'? known: account"),
        ("{type: number, currency: account}", "'amount' is a number, and numbers have no currency — say type: money"),
    ],
)
def test_a_measure_whose_currency_cannot_hold(tmp_path: Path, measure: str, says: str) -> None:
    domain = FILES["domains/gl.yaml"].replace("amount: {places: 2}", f"amount: {measure}")
    (fault,) = faults(tmp_path, domains_gl_yaml=domain)
    assert str(fault) == f"domains/gl.yaml:5: {says}"


@pytest.mark.parametrize(
    ("rollups", "says"),
    [
        ("[[acount]]", "gl has no dimension or axis 'acount' — did you mean 'account'? known: account"),
        ("[[tree]]", "'tree' is no leaf dimension — name the one it stands on, account"),
        ("[[account, month]]", "'month' is time, and a rollup holds whole calendar months — leave it out"),
        ("[[account, account]]", "this rollup names a dimension twice — name each once"),
        ("[[account],\n  [account]]", "there is a rollup by account already — say each once"),
        ("[[]]", "is too short: it takes 1 at least"),
    ],
)
def test_a_rollup_that_cannot_be_built(tmp_path: Path, rollups: str, says: str) -> None:
    dimensions = FILES["dimensions.yaml"] + "month: {kind: leaf, grain: month}\n"
    domain = FILES["domains/gl.yaml"].replace("metrics:", f"rollups: {rollups}\nmetrics:")
    (fault,) = faults(tmp_path, domains_gl_yaml=domain, dimensions_yaml=dimensions)
    line = 6 + rollups.count("\n")
    assert str(fault).startswith(f"domains/gl.yaml:{line}: ")
    assert says in str(fault)


@pytest.mark.parametrize("name", ["date", "scenario", "rows", "span", "bucket"])
def test_a_measure_or_dimension_named_like_a_column_that_all_facts_have(tmp_path: Path, name: str) -> None:
    domain = FILES["domains/gl.yaml"].replace("amount: {places: 2}", f"amount: {{places: 2}}, {name}: {{places: 2}}")
    domain = domain.replace("dimensions: {account: account}", f"dimensions: {{account: account, {name}: x}}")
    found = said(faults(tmp_path, domains_gl_yaml=domain))
    assert f"domains/gl.yaml:4: '{name}' is taken: all facts have a column of that name — none of date, scen" in found
    assert f"domains/gl.yaml:5: '{name}' is taken: all facts have a column of that name" in found


@pytest.mark.parametrize("name", ["date", "rows", "span", "bucket"])
def test_a_text_named_like_a_column_that_all_facts_have(tmp_path: Path, name: str) -> None:
    domain = FILES["domains/gl.yaml"].replace("time: {column: date}", "time: {column: month, grain: month}")
    found = said(faults(tmp_path, domains_gl_yaml=f"{domain}inspect_columns: [month, {name}]\n"))
    assert f"'{name}' is taken: all facts have a column of that name — another name, which the map of its" in found
    own = FILES["domains/gl.yaml"].replace("time: {column: date}", f"time: {{column: {name}}}")
    read_instance(instance(tmp_path, domains_gl_yaml=f"{own}inspect_columns: [{name}]\n"))


def test_a_circle_of_two_formulas_names_the_way(tmp_path: Path) -> None:
    domain = FILES["domains/gl.yaml"] + "  a: {formula: b + revenue}\n  b: {formula: a}\n"
    assert "formulas go round in a circle: a → b → a" in said(faults(tmp_path, domains_gl_yaml=domain))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{metric: revenu}", "there is no metric 'revenu' — did you mean 'revenue'?"),
        ("{metric: revenue}", "the line 'revenue' stands in this statement twice"),
        ("{include: pnl}", "statements include each other in a circle: pnl → pnl"),
        ("{include: bs}", "there is no statement 'bs'"),
        ("{rollup: {dimension: account, node: 1}}", "there is no ragged dimension 'account'"),
        ("{rollup: {dimension: tree, node: 1, metric: profit}}", "'profit' is a formula"),
        ("{formula: {key: x, label: X, is: revenue - y}}", "there is no line or metric 'y'"),
        ("{formula: {key: x, label: X, is: revenue + x}}", "formulas go round in a circle: x → x"),
        (
            "{colour: red}",
            "it has none of the keys that make one — header, metric, rollup, formula or include",
        ),
    ],
)
def test_a_line_that_cannot_hold(tmp_path: Path, line: str, says: str) -> None:
    found = faults(tmp_path, statements_pnl_yaml=FILES["statements/pnl.yaml"] + f"  - {line}\n")
    assert any(fault.line == 5 and says in str(fault) for fault in found), said(found)


def test_dimensions_that_lack_what_their_kind_needs(tmp_path: Path) -> None:
    found = said(
        faults(
            tmp_path,
            dimensions_yaml="""
            account: {kind: leaf, attribute: klass}
            klass: {kind: derived, from: acount, attribute: klass}
            tree: {kind: ragged, leaf_dimension: account}
            unit: {kind: leaf}
            """,
        )
    )
    assert "dimensions.yaml:1: account is leaf; attribute is for derived ones" in found
    assert "klass.from: there is no leaf dimension 'acount' — did you mean 'account" in found
    assert "tree is ragged and has no nodes" in found
    assert "'unit' is taken: reports have a column of that name" in found


def test_profiles_and_feeds_that_name_what_does_not_exist(tmp_path: Path) -> None:
    found = said(
        faults(
            tmp_path,
            profiles_yaml="""
            sales: {scenarios: {kind:actuals: {dimensions: {region: {allow: [x]}}, domains: {allow: [glx]}}}}
            assign: [{profile: sale, subject: dev}, {profile: sales}]
            """,
            integrations_yaml="""
            sources: {erp: {kind: postgresql, path: x}}
            bindings: {gl: {source: erq, target: live.ledger, file: x.csv}}
            """,
        )
    )
    assert "there is no scenario 'kind:actuals'" in found
    assert "there is no dimension 'region'" in found
    assert "there is no domain 'glx'" in found
    assert "there is no profile 'sale' — did you mean 'sales'?" in found
    assert "assigns a profile to nobody" in found
    assert "erp is a database — give uri_env" in found
    assert "there is no source 'erq' — did you mean 'erp'?" in found
    assert "the catalogue has no table 'live.ledger'" in found


def test_every_fault_of_every_file_comes_at_once(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        scenarios_yaml="actual: {alias: A, kind: actual, closed_through: 2025-13}\ncomparisons: [[actual, plan]]\n",
        domains_gl_yaml=FILES["domains/gl.yaml"].replace("revenue - costs", "revenue - x"),
        statements_pnl_yaml=FILES["statements/pnl.yaml"] + "  - {metric: y}\n",
        instance_yaml="name: T\ncurrency: EUR\ndefault: {statement: z, period_start: 2025-Q7}\n",
    )
    assert {fault.file for fault in found} == {
        "scenarios.yaml",
        "domains/gl.yaml",
        "statements/pnl.yaml",
        "instance.yaml",
    }
    assert len(found) == 6, said(found)


@pytest.mark.parametrize("name", ["adventureworks", "oxford"])
def test_the_instances_of_the_project_have_no_fault(name: str) -> None:
    assert read_instance(ROOT / "instances" / name).catalogue.metrics


def test_a_column_named_like_what_rows_contribute_is_a_fault(tmp_path: Path) -> None:
    domain = FILES["domains/gl.yaml"] + "inspect_columns: [date, contribution]\n"
    (fault,) = faults(tmp_path, domains_gl_yaml=domain)
    assert "'contribution' is taken" in fault.found
    assert fault.line == len(domain.splitlines())


def test_two_feeds_into_one_table_of_members_are_a_fault(tmp_path: Path) -> None:
    feeds = """
        sources: {files: {kind: folder, path: data}}
        bindings:
          eu: {source: files, target: live.account, file: eu.csv}
          us: {source: files, target: live.account, file: us.csv}
    """
    (fault,) = faults(tmp_path, integrations_yaml=feeds)
    assert (fault.file, fault.line) == ("integrations.yaml", 4)
    assert "live.account is filled by 'eu' already" in fault.found
    assert "one feed fills a table that is no facts, whole" in fault.valid


LAUGHS = "a: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 10}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a: " + "[" * 100_000, 1, "too many in each other"),
        ("a: &a [1]\nb: &b [*b]\n", 2, "has no '&b' that is whole"),
        (LAUGHS, 7, "too many parts"),
        ("name: Test\n---\nname: Other\n", 3, "has a second document"),
        ("name: \xe9\n".encode("latin-1"), 1, "is no UTF-8 text at byte 6"),
    ],
    ids=["deep", "a loop", "repeated", "two documents", "latin"],
)
def test_a_file_that_cannot_be_read_is_a_fault_whatever_it_holds(
    tmp_path: Path, text: str | bytes, line: int, found: str
) -> None:
    (tmp_path / "profiles.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    document = read_document(tmp_path, "profiles.yaml")
    assert [(fault.line, found in fault.found) for fault in document.faults] == [(line, True)]
    assert document.tree is None


def test_an_alias_stands_for_what_it_names_and_a_key_said_twice_is_told_with_its_place() -> None:
    document = parse_document("x.yaml", b"a: &a [1, {b: 2}]\nc: *a\nd:\n  e: 1\n  e: 2\n")
    assert document.tree == {"a": ["1", {"b": "2"}], "c": ["1", {"b": "2"}], "d": {"e": "1"}}
    assert [(str(fault), fault.at) for fault in document.faults] == [
        ("x.yaml:5: says 'e' twice — say each key once", ("d", "e"))
    ]


def test_faults_that_follow_from_another_are_not_printed(tmp_path: Path) -> None:
    broken = """
        account: {kind: leaf, members: live.account}
        tree: {kind: ragged, leaf_dimension: acount, nodes: live.tree}
    """
    domain = FILES["domains/gl.yaml"].replace("{account: 0010}", "{tree: A}").replace("{account: NO}", "{treee: A}")
    lines = "statement: pnl\nlines:\n  - {rollup: {metric: revenue, dimension: tree, node: A}}\n  - {metric: nobody}\n"
    with pytest.raises(InstanceFaults) as faults:
        read_instance(instance(tmp_path, dimensions_yaml=broken, domains_gl_yaml=domain, statements_pnl_yaml=lines))
    told = [str(fault) for fault in faults.value.faults]
    assert [fault.split(" — ")[0] for fault in told] == [
        "dimensions.yaml:2: tree.leaf_dimension: there is no leaf dimension 'acount'",
        "domains/gl.yaml:8: gl cannot be restricted by 'treee'",
        "statements/pnl.yaml:4: there is no metric 'nobody'",
    ]


def test_a_statement_has_not_the_key_of_a_domain(tmp_path: Path) -> None:
    facts, domain = {"gl": "date scenario amount"}, "time: {column: date}\ndimensions: {}\nmeasures: {amount: {}}\n"
    statements = {"pnl": "- {metric: revenue}", "gl": "- {metric: revenue}"}
    instance = write_instance(
        tmp_path, facts=facts, domains={"gl": domain + "metrics: {revenue: {measure: amount}}"}, statements=statements
    )
    with pytest.raises(InstanceFaults) as faults:
        read_instance(instance)
    (fault,) = faults.value.faults
    assert str(fault) == (
        "statements/gl.yaml:1: 'gl' is a domain too, so that gl.x could name a metric or a line — give the statement "
        "another key"
    )
