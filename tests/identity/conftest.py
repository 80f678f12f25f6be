"""What the identity tests share: the pinned Node, and small books."""

from pathlib import Path

import pytest

from tests.identity.providing import HERE
from tests.support.machine.node import pinned_node
from tests.support.service.users import write_books


@pytest.fixture(scope="session")
def node() -> Path:
    """The pinned Node where it is installed, else the one on the path where it is new enough."""
    return pinned_node(HERE)


@pytest.fixture(scope="session")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Small books that finance sees."""
    return write_books(tmp_path_factory.mktemp("identity"))
