"""The part of `tieout check` that reads files: how they are read, their control tables, and the keys that they lack."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.base.settings import Settings
from server.feeds.instance import ServedInstance
from server.files.doubts import FILE
from server.files.proposals import key_lines
from server.ingest.control_tables import controls_file, write_controls
from server.ingest.controls import FileControl
from server.ingest.folder import BooksFolder
from server.ingest.previews import describe_files, describe_readings, keys_of_statements, lacking_keys, try_feeds
from server.run.commands.console import err, out
from server.run.commands.loading import tell_controls
from server.setup.feed_keys import UnwritableKeys, written_instance

CHECK = "check"  # name of the report of a check


def tell_files(instance: ServedInstance, place: BooksFolder, settings: Settings, *, writes: bool) -> bool:
    """Print how files are read and their control tables, and write the keys that feeds lack if asked to.

    Return whether keys that a feed lacks could not be written.
    """
    feeds = list(instance.bindings.values())
    described = [*describe_readings(feeds, place), *describe_files(feeds, place)]
    for line in described:
        out.print(line, markup=False, soft_wrap=True)
    if not writes:
        tell_trials(instance, place, described)
        return False
    lacking = [*lacking_keys(feeds, place), *keys_of_statements(feeds, place)]
    undecided = [fault for each in lacking for fault in each.faults]
    keys: dict[str, Mapping[str, Any]] = {}
    for each in lacking:
        if each.keys:
            keys[each.binding] = {**keys.get(each.binding, {}), **each.keys}
    if not keys:
        tell_trials(instance, place)
        out.print(f"{FILE}: nothing was written", markup=False)
        return bool(undecided)
    try:
        with written_instance(settings.instance, keys) as proposed:
            tell_trials(proposed, place)
    except UnwritableKeys as fault:
        err.print(f"{FILE}: nothing was written: {fault}; write the lines by hand", markup=False)
        return True
    for feed, said in keys.items():
        out.print(f"{FILE}: written under {feed}:", markup=False)
        for line in key_lines(said):
            out.print(f"    {line}", markup=False, soft_wrap=True)
    return bool(undecided)


def tell_trials(instance: ServedInstance, place: BooksFolder, told: Sequence[str] = ()) -> None:
    """Print what a load would make of the files of each feed of facts now: control tables, and what it rejects.

    `told` is what was printed before: the lines that it proposes are not printed again.
    """
    report, written = controls_file(place.controls, CHECK), list[FileControl]()
    for trial in try_feeds(list(instance.bindings.values()), place):
        if trial.lacks and f"{trial.binding}: {trial.fault}" in told:
            out.print(f"{trial.binding}: a load would fail without the keys above", markup=False)
        elif trial.fault is not None:
            out.print(f"{trial.binding}: a load would fail: {trial.fault}", markup=False, soft_wrap=True)
        elif trial.controls:
            out.print(f"{trial.binding}:", markup=False)
        written += trial.controls
        write_controls(written, report)
        tell_controls([file for file in trial.controls if file.is_whole], report, money=True)
        for each in trial.rejected:
            out.print(f"  rejected {each}", markup=False, soft_wrap=True)
