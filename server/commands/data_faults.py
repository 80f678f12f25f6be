"""Faults of data: what several commands tell of an instance that its books do not hold."""

from engine.books import Books
from engine.checks import data_faults
from engine.instance.read import Instance
from server.commands.console import err


def tell_data_faults(books: Books, instance: Instance) -> bool:
    """Print what the catalogue speaks of and the books do not hold; tell whether there is any."""
    faults = list(data_faults(books, instance.bindings))
    for fault in faults:
        err.print(fault, markup=False)
    return bool(faults)
