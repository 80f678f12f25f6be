"""The books as a process reads them. It stands alone because commands, the parent and the workers all open them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engine.books.books import Books, Shelf
from server.feeds.instance import ServedInstance
from server.warehouses.opening import AttachedSources, open_warehouse, versions_in


def open_shelf(
    instance: ServedInstance, folder: Path, store: Path, opened: ExitStack | None = None, *, writes: bool = False
) -> Shelf:
    """Return the books in files, or in the engine that the instance names, with the login of loads if that `writes`.

    Attached tables are read where they are. `folder` is that of the instance; `opened` closes the engines. Raises
    StoreDown if the environment has no address of the engine. Engines are reached when the books are asked.
    """
    warehouse = None if instance.placement is None else open_warehouse(instance.placement, writes=writes)
    attached = AttachedSources(instance.bindings, folder)
    if opened is not None:
        opened.callback(attached.close)
    if opened is not None and warehouse is not None:
        opened.callback(warehouse.close)
    return Shelf(instance.catalogue, store, versions_in(warehouse, attached))


@contextmanager
def open_books(instance: ServedInstance, folder: Path, store: Path, *, writes: bool = False) -> Iterator[Books]:
    """Yield the current books, and close their engines. Raises what `open_shelf` raises."""
    with ExitStack() as opened:
        yield open_shelf(instance, folder, store, opened, writes=writes).current()
