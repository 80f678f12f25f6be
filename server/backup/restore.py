"""A restore: into a state folder and a database that are new, verified before anything is switched to them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from server.backup.bundle import DATABASE, KEYS, BundleFault, Contents, extract
from server.embedded.binaries import postgres_tools
from server.embedded.platform import platform
from server.settings import Settings
from server.stores.dumps import fill, new_database, server_major
from server.stores.migrations import applied_to, read_migrations


def restore(settings: Settings, bundle: Path, state: Path) -> Contents:
    """Restore a bundle into a new state folder, and its database into the one of DATABASE_URL, else into the folder.

    Nothing has its name before all of it is there.
    """
    with made_aside(state) as aside:
        contents = extract(bundle, aside)
        hold(contents)
        into = replace(settings, state=aside)
        if settings.database_url is not None:
            new_database(settings.database_url)
        with platform(into) as opened:
            uri = opened.reach()
            fill(uri, postgres_tools(settings, server_major(uri)).program("pg_restore"), aside / DATABASE)
            if applied_to(uri) != contents.migrations:
                raise BundleFault("the database that was restored is not the one of the manifest; use another backup")
        (aside / DATABASE).unlink()
        for key in (aside / KEYS).glob("*"):
            key.chmod(0o600)
            key.rename(aside / key.name)
        shutil.rmtree(aside / KEYS, ignore_errors=True)
    return contents


def hold(contents: Contents) -> None:
    """Refuse a backup of a newer version."""
    ahead = sorted(contents.migrations.keys() - {known.name for known in read_migrations()})
    if ahead:
        raise BundleFault(
            f"the backup was made by Tieout {contents.app_version}, which has {', '.join(ahead)}; "
            "restore it with that version"
        )


@contextmanager
def made_aside(folder: Path) -> Iterator[Path]:
    """Lend a folder that gets its name once what is made in it is whole, and is gone where it never is."""
    if folder.exists():
        raise BundleFault(f"{folder} is there already; restore into a new folder, and switch to it afterwards")
    aside = folder.with_name(f"{folder.name}.restoring")
    try:
        aside.mkdir(mode=0o700, parents=True)
    except FileExistsError as left:
        raise BundleFault(f"{aside} is left of a restore that was cut off; remove it first") from left
    except OSError as fault:
        raise BundleFault(f"the backup cannot be restored: {fault}") from fault
    try:
        yield aside
        aside.rename(folder)
    except OSError as fault:
        raise BundleFault(f"the backup cannot be restored: {fault}") from fault
    finally:
        shutil.rmtree(aside, ignore_errors=True)
