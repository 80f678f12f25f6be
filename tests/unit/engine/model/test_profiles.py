"""Profiles: who holds which, and what a fault closes."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from engine.door import open_books
from engine.instance.profiles import LARGEST, profiles_document, profiles_of, read_profiles
from engine.model.catalogue import Catalogue
from engine.model.errors import UnknownName
from engine.model.profiles import Assignment, Grant, Profile, Profiles
from server.feeds.instance import read_instance
from tests.support.books.small import write_instance

SOUND = """
low:  {scenarios: {actual: {}}}
high: {scenarios: {'*': {}}}
assign:
  - {subject: ada, profile: low}
  - {subject: ada, profile: high}
  - {subject: bob, profile: low}
"""


def unloaded(folder: Path, profiles: str = "") -> Path:
    """Write an instance of a ledger whose data nobody loads."""
    return write_instance(
        folder / "small",
        facts={"gl": "date scenario product amount"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}}
            """
        },
        dimensions="product: {kind: leaf}\nmonth: {kind: leaf, grain: month}\n",
        profiles=profiles,
    )


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """The catalogue of a ledger."""
    return read_instance(unloaded(tmp_path_factory.mktemp("ledger"))).catalogue


def profiles(text: str, catalogue: Catalogue) -> Profiles:
    """Return the profiles that a text of profiles.yaml says."""
    return profiles_of(profiles_document(dedent(text).encode()), catalogue)


def held(known: Profiles, subject: str, **claims: tuple[str, ...]) -> list[str]:
    """Return the names of the profiles that a caller holds."""
    return [profile.key for profile in known.held_by(subject, claims)]


CLOSED = {
    "no text": "high: {scenarios: {'*': {domains: {allow: [gl]}, dimensions: {product: {allow: [[a]]}}}}}",
    "allow and deny": "high: {scenarios: {'*': {dimensions: {product: {allow: [a], deny: [b]}}}}}",
    "neither": "high: {scenarios: {'*': {dimensions: {product: {}}}}}",
    "nothing said": "high: {scenarios: {'*': {domains: }}}",
    "an empty list": "high: {scenarios: {'*': {dimensions: {product: {deny: []}}}}}",
    "an unknown key": "high: {scenarios: {'*': {dimension: {product: {deny: [b]}}}}}",
    "a key said twice": "high: {scenarios: {'*': {domains: {allow: [gl]}, domains: {deny: [gl]}}}}",
    "the profile said twice": "high: {scenarios: {'*': {domains: {allow: [gl]}}}}\nhigh: {scenarios: {'*': {}}}",
    "no scenarios": "high: {operations: true}",
    "no mapping": "high: all",
    "an unknown scenario": "high: {scenarios: {'*': {}, actuals: {domains: {deny: [gl]}}}}",
    "an unknown kind": "high: {scenarios: {'*': {}, 'kind:plan': {}}}",
    "an unknown domain": "high: {scenarios: {'*': {domains: {deny: [salaries]}}}}",
    "an unknown domain, opened": "high: {scenarios: {'*': {open_domains: [salaries]}}}",
    "an unknown dimension": "high: {scenarios: {'*': {dimensions: {region: {deny: [EU]}}}}}",
    "a dimension of time": "high: {scenarios: {'*': {dimensions: {month: {deny: [2021-01]}}}}}",
    "what stands for all": "high: {scenarios: {'*': {dimensions: {product: {deny: [(all)]}}}}}",
    "no truth value": "high: {operations: yes, scenarios: {'*': {}}}",
}


@pytest.mark.parametrize("profile", CLOSED.values(), ids=CLOSED)
def test_a_profile_with_a_fault_closes_whoever_holds_it_beside_others_too_and_nobody_else(
    catalogue: Catalogue, profile: str
) -> None:
    text = SOUND.replace("high: {scenarios: {'*': {}}}", profile)
    known = profiles(text, catalogue)
    assert known.faults
    assert all(fault.startswith("profiles.yaml:") for fault in known.faults)
    assert (held(known, "ada"), held(known, "bob"), held(known, "cyd")) == ([], ["low"], [])


def test_a_fault_of_a_profile_that_an_alias_repeats_closes_both(catalogue: Catalogue) -> None:
    twice = "{scenarios: {'*': {domains: {allow: [gl]}, domains: {deny: [gl]}}}}"
    known = profiles(f"a: &a {twice}\nb: *a\nc: {{scenarios: {{}}}}\nassign: [{{subject: ada, profile: b}}]", catalogue)
    assert list(known.by_key) == ["c"]
    assert held(known, "ada") == []
    assert known.faults == ("profiles.yaml:1: says 'domains' twice — say each key once",) * 2


def test_without_a_fault_everybody_holds_what_is_assigned_to_them(catalogue: Catalogue) -> None:
    known = profiles(SOUND, catalogue)
    assert known.faults == ()
    assert (held(known, "ada"), held(known, "bob"), held(known, "cyd")) == (["high", "low"], ["low"], [])


def test_a_profile_that_does_not_exist_closes_whoever_should_hold_it(catalogue: Catalogue) -> None:
    known = profiles(SOUND.replace("high: ", "# "), catalogue)
    assert (held(known, "ada"), held(known, "bob")) == ([], ["low"])
    assert known.faults == ("profiles.yaml:6: there is no profile 'high' — known: low",)


@pytest.mark.parametrize("name", ["High", "höch", "a b", "a\nb", "1st", "a.b", "", "*", "../high", "h\u200bigh", "<<"])
def test_a_profile_of_an_odd_name_closes_whoever_should_hold_it(catalogue: Catalogue, name: str) -> None:
    quoted = '"' + name.replace("\n", "\\n") + '"'
    known = profiles(SOUND.replace("high:", f"{quoted}:").replace("profile: high", f"profile: {quoted}"), catalogue)
    assert (held(known, "ada"), held(known, "bob")) == ([], ["low"])
    assert known.faults


SHUT = {
    "an unknown key": "assign: [{subject: ada, profile: low, claims: {a: b}}]",
    "nobody": "assign: [{subject: bob, profile: low}, {profile: low}]",
    "no profile": "assign: [{subject: ada}]",
    "a list of claims": "assign: [{claim: {groups: [a, b]}, profile: low}]",
    "no text": "assign: [{subject: [ada], profile: low}]",
    "no list": "assign: {subject: ada, profile: low}",
    "said twice": "assign: [{subject: ada, profile: low}]\nassign: []",
    "no YAML": "assign: [{subject: ada, profile: low}",
    "no mapping": "- low",
    "no text at all": "\x00",
    "too deep": "assign: " + "[" * 5000,
}


@pytest.mark.parametrize("text", SHUT.values(), ids=SHUT)
def test_an_assignment_or_a_file_that_cannot_be_read_closes_everybody(catalogue: Catalogue, text: str) -> None:
    known = profiles(text if text.startswith("-") else f"low: {{scenarios: {{'*': {{}}}}}}\n{text}", catalogue)
    assert known.shut
    assert known.faults
    assert held(known, "ada") == held(known, "bob") == held(known, "ada", groups=("a", "b")) == []


def test_a_file_that_is_too_large_or_no_file_closes_everybody(catalogue: Catalogue, tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(SOUND + "#" * LARGEST)
    large = profiles_of(read_profiles(tmp_path), catalogue)
    assert (large.shut, held(large, "bob")) == (True, [])
    assert large.faults == ("profiles.yaml:1: is larger than 16 MB: keep so many in the database",)
    path.unlink()
    path.mkdir()
    folder = profiles_of(read_profiles(tmp_path), catalogue)
    assert (folder.shut, folder.faults) == (True, ("profiles.yaml:1: cannot be read: Is a directory",))
    path.rmdir()
    none = profiles_of(read_profiles(tmp_path), catalogue)
    assert (none.shut, none.faults, held(none, "bob")) == (False, (), [])


ASSIGNED = """
a: {scenarios: {'*': {}}}
b: {scenarios: {'*': {}}}
c: {scenarios: {'*': {}}}
assign:
  - {claim: {groups: finance}, profile: a}
  - {claim: {groups: finance, country: FR}, profile: b}
  - {subject: ada, claim: {groups: finance}, profile: c}
"""


@pytest.mark.parametrize(
    ("subject", "claims", "keys"),
    [
        ("bob", {}, []),
        ("bob", {"groups": ("finance",)}, ["a"]),
        ("bob", {"groups": ("sales", "finance", "it")}, ["a"]),
        ("bob", {"groups": ("finance",), "country": ("FR", "DE")}, ["a", "b"]),
        ("bob", {"country": ("FR",)}, []),
        ("ada", {}, []),
        ("ada", {"groups": ("finance",)}, ["a", "c"]),
        ("Ada", {"groups": ("finance",)}, ["a"]),
        ("bob", {"groups": ("Finance",)}, []),
        ("bob", {"groups": (" finance",)}, []),
        ("bob", {"groups": ("finance ",)}, []),
        ("bob", {"groups": ("ｆinance",)}, []),  # a full-width f
        ("bob", {"groups": ("ﬁnance",)}, []),  # a ligature
        ("bob", {"groups": ("finance\u200b",)}, []),
        ("bob", {"groups": ("finance\x00",)}, []),
        ("bob", {"groups": ("finance,it",)}, []),
        ("bob", {"groups": ("fin", "ance")}, []),
        ("bob", {"Groups": ("finance",)}, []),
        ("bob", {"finance": ("groups",)}, []),
        ("finance", {}, []),
    ],
)
def test_an_assignment_holds_where_its_subject_and_every_claim_are_the_very_text(
    catalogue: Catalogue, subject: str, claims: Mapping[str, tuple[str, ...]], keys: list[str]
) -> None:
    assert held(profiles(ASSIGNED, catalogue), subject, **claims) == keys


def test_texts_that_only_look_alike_are_not_each_other(catalogue: Catalogue) -> None:
    known = profiles('a: {scenarios: {}}\nassign: [{subject: "caf\\u00e9", profile: a}]', catalogue)
    assert held(known, "caf\u00e9") == ["a"]
    assert held(known, "cafe\u0301") == held(known, "CAF\u00c9") == held(known, "cafe") == []


def test_an_id_stays_the_text_that_was_written(catalogue: Catalogue) -> None:
    known = profiles("a: {scenarios: {}}\nassign: [{claim: {level: 007, active: yes}, profile: a}]", catalogue)
    assert held(known, "ada", level=("007",), active=("yes",)) == ["a"]
    assert held(known, "ada", level=("7",), active=("true",)) == []


def test_of_many_assignments_those_that_a_caller_may_hold_are_found_by_their_rarest_key() -> None:
    everything = [Profile(key=f"p{number}", grants=(("*", Grant()),)) for number in range(10_000)]
    by_subject = [Assignment(profile=f"p{at % 10_000}", subject=f"user{at}") for at in range(50_000)]
    by_claim = [
        Assignment(profile=f"p{at % 10_000}", claims=(("tenant", "acme"), ("groups", f"group{at}")))
        for at in range(50_000)
    ]
    known = Profiles.of(everything, by_subject + by_claim)
    assert held(known, "user12345") == ["p2345"]
    assert held(known, "x", tenant=("acme",), groups=("group49999", "group7", "nobody")) == ["p7", "p9999"]
    assert held(known, "x", groups=("group7",)) == held(known, "x", tenant=("acme",)) == []
    assert max(map(len, known.assigned.values())) == 1


def test_faults_of_profiles_refuse_no_instance_and_are_told_with_those_of_its_other_files(tmp_path: Path) -> None:
    faulty = "seen: {scenarios: {'*': {dimensions: {region: {allow: [EU]}}}}}\n"
    folder = unloaded(tmp_path, faulty + "fine: {scenarios: {}}")
    instance = read_instance(folder)
    assert instance.profiles.faults == ("profiles.yaml:1: there is no dimension 'region' — known: product",)
    assert list(instance.profiles.by_key) == ["fine"]
    with pytest.raises(UnknownName, match=r"There is no profile 'seen'.* tieout check names those with a fault"):
        open_books(folder, profile="seen")


def test_the_version_of_a_catalogue_says_nothing_of_profiles(tmp_path: Path) -> None:
    folder = unloaded(tmp_path, SOUND)
    before = read_instance(folder).catalogue.version
    for text in ("high: {scenarios: {}}\n", "{"):
        (folder / "profiles.yaml").write_text(text)
        assert read_instance(folder).catalogue.version == before
    (folder / "profiles.yaml").unlink()
    assert read_instance(folder).catalogue.version == before
