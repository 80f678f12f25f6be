"""The Dockerfiles, as far as they can be judged without building them."""

import re
from pathlib import Path

import pytest

from tests.support.books.loads import ROOT

DOCKERFILES = [ROOT / "deploy" / "Dockerfile", ROOT / "deploy" / "identity" / "Dockerfile"]


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with what follows them, continued lines joined."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(first, rest) for first, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def last_stage(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of the image itself."""
    every = instructions(path)
    begins = max(number for number, (first, _) in enumerate(every) if first == "FROM")
    return every[begins:]


@pytest.mark.parametrize("path", DOCKERFILES, ids=str)
def test_an_image_starts_from_an_exact_version(path: Path) -> None:
    bases = [rest.split()[0] for first, rest in instructions(path) if first == "FROM"]
    assert len(bases) >= 2
    assert all(re.fullmatch(r".+:\d+\.\d+\.\d+(-[\w-]+)?", base) for base in bases)


@pytest.mark.parametrize("path", DOCKERFILES, ids=str)
def test_an_image_runs_as_a_numbered_user_and_tells_its_health(path: Path) -> None:
    image = dict(last_stage(path))
    user, _, _ = image["USER"].partition(":")
    assert int(user) > 0
    assert "HEALTHCHECK" in image
    assert image["ENTRYPOINT"].startswith("[")


def test_what_is_installed_is_checked_by_hash_and_nothing_is_built() -> None:
    installs = [rest for first, rest in instructions(DOCKERFILES[0]) if first == "RUN" and " install " in rest]
    assert "--require-hashes --only-binary :all: -r constraints/runtime.txt" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]
    image = " ".join(rest for _, rest in last_stage(DOCKERFILES[0]))
    assert "pip install" not in image
    assert "apt" not in image.split()


def test_views_are_built_of_what_the_lock_file_says_and_come_without_node() -> None:
    (built,) = (rest for first, rest in instructions(DOCKERFILES[0]) if first == "RUN" and "npm" in rest)
    assert built.startswith("npm ci --ignore-scripts")
    image = last_stage(DOCKERFILES[0])
    assert ("COPY", "--from=views /views/dist /app/widgets/dist") in image
    assert not any("node" in rest for _, rest in image)


def test_the_image_is_made_of_nothing_but_what_its_ignore_file_lets_through() -> None:
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    through = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for first, rest in instructions(DOCKERFILES[0])
        if first == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert ignored[1] == "*"
    assert copied == through
