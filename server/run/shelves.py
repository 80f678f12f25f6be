"""The books as a process reads them. It stands alone because commands, the parent and the workers all open them."""

from pathlib import Path

from engine.books.books import Shelf
from engine.instance.read import Instance
from server.warehouses.opening import AttachedSources, open_warehouse, versions_in


def open_shelf(instance: Instance, folder: Path, store: Path, *, writes: bool = False) -> Shelf:
    """Return the books in files, or in the engine that the instance names, with the login of loads if that `writes`.

    Attached tables are read where they are. `folder` is that of the instance. Raises StoreDown if the environment has
    no address of the engine. Engines are reached when the books are asked.
    """
    warehouse = None if instance.placement is None else open_warehouse(instance.placement, writes=writes)
    attached = AttachedSources(instance.bindings, folder)
    return Shelf(instance.catalogue, store, versions_in(warehouse, attached))
