"""What is wrong with a file of an instance is said in words of our own, whatever stands in it."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import engine.instance.schema
import server.feeds
from engine.instance.validation import EXPECTED, described

OWN = {"extra_forbidden", "value_error"}  # said by `described`, and by validators of the models
VALUES: list[Any] = [
    None, "", 0, -1, 99_999, 1.5, float("nan"), "x", "a\0b", [], [1], ["a"] * 500, {}, {"a": 1}, {"": None}, {1: 2},
    True, [[]], [{}], {"a": []}, {"a": {}}, "9" * 400, 10**400, "NaN", "-1", "2026-01-01", "99",
]  # fmt: skip


def models() -> Iterator[type[BaseModel]]:
    """Yield the models of the files of an instance and of their parts."""
    for room in (engine.instance.schema, server.feeds):
        for module in (import_module(f"{room.__name__}.{found.name}") for found in iter_modules(room.__path__)):
            yield from (
                each
                for each in vars(module).values()
                if inspect.isclass(each) and issubclass(each, BaseModel) and each.__module__ == module.__name__
            )


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.__name__)
def test_no_fault_is_said_in_words_of_the_library_that_finds_it(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        for value in VALUES:
            try:
                model.model_validate({field.alias or name: value})
            except ValidationError as misfit:
                for error in misfit.errors():
                    assert error["type"] in {*EXPECTED, *OWN}, (name, value, error["msg"])
                    found, _ = described(error, model)
                    assert "{" not in found.removesuffix(f" (found '{error['input']}')") or error["type"] in OWN
