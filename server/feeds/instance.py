"""The instance that the service serves: its catalogue and profiles, its feeds, and where its facts lie."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from engine.instance.read import INTEGRATIONS, InstanceDocuments, read_with
from engine.model.catalogue import Catalogue
from engine.model.profiles import Profiles
from server.feeds.bindings import build_bindings
from server.feeds.feeds import Binding
from server.feeds.integrations import IntegrationsFile
from server.feeds.placements import FactsPlacement, read_placement


class ServedInstance(Struct, frozen=True, kw_only=True):
    """The values of an instance folder, those of integrations.yaml included."""

    catalogue: Catalogue
    profiles: Profiles
    bindings: Mapping[str, Binding]
    placement: FactsPlacement | None = None  # None: the rows of facts are files on this machine


def read_instance(folder: Path) -> ServedInstance:
    """Return the values of an instance folder. Raises InstanceFaults with every fault found.

    Faults in profiles alone do not raise: the instance keeps them in its Profiles.
    """
    instance, (bindings, placement) = read_with(folder, read_feeds)
    return ServedInstance(
        catalogue=instance.catalogue, profiles=instance.profiles, bindings=bindings, placement=placement
    )


def read_feeds(
    documents: InstanceDocuments, catalogue: Catalogue | None
) -> tuple[Mapping[str, Binding], FactsPlacement | None]:
    """Return the feeds and the placement of facts; without a catalogue, feeds are held to their shape only."""
    document, file = documents.one(INTEGRATIONS, IntegrationsFile)
    placement = read_placement(documents)
    if file is None or catalogue is None:
        return {}, placement
    return build_bindings(document, file, catalogue.domains, catalogue.dimensions, catalogue.scenarios), placement
