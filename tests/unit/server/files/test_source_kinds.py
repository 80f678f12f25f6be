"""The tables of sources: each kind has its keys and checks in the engine, and its reader in the loader."""

from server.feeds.feeds import SourceKind
from server.feeds.integrations import BindingPart, SourcePart
from server.feeds.sources import SOURCES
from server.files.sources import SOURCE_READERS


def test_each_kind_of_source_is_checked_and_read() -> None:
    assert set(SOURCES) == set(SOURCE_READERS) == set(SourceKind)


def test_the_keys_of_each_kind_are_keys_of_integrations_yaml() -> None:
    for rules in SOURCES.values():
        assert set(rules.located_by) <= SourcePart.model_fields.keys()
        assert rules.extract in BindingPart.model_fields
