"""Permissions: what the profiles of a caller cost as there are more of them, or more scenarios."""

from collections import Counter

import pytest

from engine.model.catalogue import Catalogue, Domain
from engine.model.profiles import Grant, Profile, permissions
from engine.model.scenarios import Scenario
from engine.model.scope import Cell, CodeSet, Conjunction, Cut
from server.feeds.instance import read_instance
from tests.support.books.small import write_instance

FEW, MANY = 40, 400
KEYS = ("account", "entity")


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """The catalogue of a ledger of two dimensions and as many scenarios as the largest number here."""
    return read_instance(
        write_instance(
            tmp_path_factory.mktemp("ledger") / "small",
            facts={"gl": "date scenario account entity amount"},
            domains={
                "gl": """
                time: {column: date}
                dimensions: {account: account, entity: entity}
                measures: {amount: {places: 2}}
                """
            },
            dimensions="account: {kind: leaf}\nentity: {kind: leaf}\n",
            scenarios="\n".join(f"s{at}: {{alias: S{at}, kind: actual}}" for at in range(MANY)),
        )
    ).catalogue


class Work:
    """What the permissions of a caller need."""

    def __init__(self, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
        self._domains = list(catalogue.domains.values())
        self._scenarios = [catalogue.scenarios[f"s{at}"] for at in range(MANY)]
        self.counts = Counter[str]()
        sort_key, meet = Conjunction.sort_key, CodeSet.__and__

        def sort_key_counted(part: Conjunction) -> object:
            self.counts["sorted"] += 1
            return sort_key(part)

        def meet_counted(one: CodeSet, other: CodeSet) -> CodeSet:
            both = meet(one, other)
            self.counts["codes"] += both.named() if both is not one and both is not other else 0
            return both

        monkeypatch.setattr(Conjunction, "sort_key", sort_key_counted)
        monkeypatch.setattr(CodeSet, "__and__", meet_counted)

    def of(self, profiles: list[Profile], scenarios: int = 1) -> tuple[dict[tuple[str, str], Cell], Counter[str]]:
        """Return the permissions that profiles give in so many scenarios, and what was counted meanwhile."""
        self.counts.clear()
        cells = permissions(profiles, self._chosen(scenarios), self._domains, self._resolve)
        return cells, Counter(self.counts)

    def _chosen(self, count: int) -> list[Scenario]:
        return self._scenarios[:count]

    def _resolve(self, cut: Cut, _: Domain) -> Cell:
        self.counts["resolved"] += 1
        return Cell.where(cut.dimension, CodeSet(frozenset(map(int, cut.ids)), complement=cut.deny))


@pytest.fixture
def work(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> Work:
    """The work of permissions, counted."""
    return Work(catalogue, monkeypatch)


def test_of_ten_times_the_profiles_of_a_caller_ten_times_the_parts_are_put_in_order(work: Work) -> None:
    in_order = []
    for size in (FEW, MANY):
        each = [
            Profile(key=f"p{at}", grants=(("*", Grant(dimensions=tuple(Cut(key, (str(at),)) for key in KEYS))),))
            for at in range(size)
        ]
        cells, counts = work.of(each)
        assert len(cells["s0", "gl"].parts) == size
        in_order.append(counts["sorted"])
    assert 0 < in_order[1] <= 10 * in_order[0] + 10


def test_ten_times_the_profiles_that_deny_members_list_ten_times_the_codes(work: Work) -> None:
    listed = []
    for size in (FEW, MANY):
        denying = [
            Profile(key=f"p{at}", grants=(("*", Grant(dimensions=(Cut("account", (str(at),), deny=True),))),))
            for at in range(size)
        ]
        cells, counts = work.of(denying)
        assert cells["s0", "gl"] == Cell.where("account", CodeSet(frozenset(range(size)), complement=True))
        listed.append(counts["codes"])
    assert listed[1] <= 10 * listed[0] + 10


def test_a_list_is_resolved_as_often_for_ten_times_the_scenarios(work: Work) -> None:
    denies = Grant(dimensions=(Cut("account", tuple(map(str, range(MANY))), deny=True),))
    resolved = []
    for scenarios in (FEW, MANY):
        cells, counts = work.of([Profile(key="denied", grants=(("*", denies),))], scenarios)
        assert len(cells) == scenarios
        assert len(set(map(id, cells.values()))) == 1
        resolved.append(counts["resolved"])
    assert resolved[0] == resolved[1] > 0
