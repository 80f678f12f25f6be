"""The books as a process reads them. It stands alone because commands, the parent and the workers all open them."""

from pathlib import Path

from engine.books.books import Shelf
from engine.instance.read import Instance
from server.warehouses.opening import open_warehouse, versions_in


def open_shelf(instance: Instance, store: Path, *, writes: bool = False) -> Shelf:
    """Return the books in files, or in the engine that the instance names, with the login of loads if that `writes`.

    Raises StoreDown if the environment has no address of the engine. It is reached when the books are asked.
    """
    if instance.placement is None:
        return Shelf(instance.catalogue, store)
    return Shelf(instance.catalogue, store, versions_in(open_warehouse(instance.placement, writes=writes)))
