"""Previews: how the files of feeds would be read now, without loading them, and the keys that their feeds lack."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from server.feeds.feeds import Binding, LoadStatus, SourceKind
from server.feeds.query_parameters import PERIOD_PLACE
from server.files.archives import ArchiveFault, files_matching
from server.files.doubts import NONE
from server.files.extract_columns import extract_columns
from server.files.feed_reader import FeedReader, UnwrittenKeys
from server.files.findings import written_keys
from server.files.limits import FileTooLarge
from server.files.proposals import Proposal, in_order, propose
from server.files.rejects import LoadFailed, RejectSum
from server.ingest.controls import FileControl
from server.ingest.delivery import Delivery, rank, target_of
from server.ingest.folder import BooksFolder
from server.ingest.load import BindingFailed, binding_errors, last_reading, manifest_of, requested_periods
from server.ingest.rates import open_tables

FILES: Final = 3  # of each feed: the last ones by name
OF_LAYOUT: Final = ("csv.header_row", "header_row", "csv.skip_footer", "csv.quote")  # keys without which a row is lost


class FeedTrial(Struct, frozen=True):
    """What a load of a feed would make of its files now."""

    binding: str
    controls: Sequence[FileControl]
    rejected: Sequence[RejectSum]
    fault: str | None = None  # why it would fail
    lacks: Mapping[str, Any] = {}  # the keys that it would propose


def try_feeds(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[FeedTrial]:
    """Yield what loads of the feeds of folders would make of their files: each row is read and judged, none is kept."""
    of_files = [binding for binding in bindings if binding.source.kind is SourceKind.FOLDER]
    ordered = sorted(of_files, key=lambda binding: rank(binding, place.catalogue))
    with TemporaryDirectory() as aside, open_tables(place.store) as tables:
        for binding in ordered:
            delivery = None
            try:
                asked = requested_periods(binding, place.catalogue.calendar, None)
                recorded, apart = last_reading(manifest_of(place), binding.key), replace(place, state=Path(aside))
                delivery = Delivery(binding, apart, "", asked, lambda *_: None, recorded=recorded, lands=False)
                with binding_errors(delivery, LoadStatus.FAILED_STAGE):
                    delivery.receive(tables)
                fault, lacks = None, dict[str, Any]()
            except (LoadFailed, BindingFailed) as failure:
                fault = str(failure).removeprefix(f"{binding.key}: ")
                cause = failure.__cause__ if isinstance(failure, BindingFailed) else failure
                lacks = dict(cause.proposal.keys) if isinstance(cause, UnwrittenKeys) else {}
            controls, rejects = (delivery.control.files, delivery.rejects.sums) if delivery else ((), ())
            yield FeedTrial(binding.key, controls, rejects, fault, lacks)


def describe_files(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[str]:
    """Yield how the last files of each feed of a folder would be read, or why they would be refused."""
    for binding in bindings:
        if binding.source.kind is not SourceKind.FOLDER or binding.format.sql is not None:
            continue
        with TemporaryDirectory() as packed:
            try:
                paths = files_of(binding, place.folder, Path(packed))
            except (ArchiveFault, FileTooLarge) as refused:
                yield f"{binding.key}: {refused}"
                continue
            for path in paths[-FILES:]:
                yield f"{binding.key}: {described(binding, path, place)}"
        if not paths:
            yield f"{binding.key}: no file matches {binding.extract} here"


def described(binding: Binding, path: Path, place: BooksFolder) -> str:
    """Return how a file would be read, or why it would be refused."""
    proposal = proposal_of(binding, path, place)
    if proposal.fault is not None:
        return proposal.fault
    if proposal.keys:
        return proposal.says(binding.key)
    return f"{path.name} is read with {written_keys(proposal.reading) or 'its own types'}"


def files_of(binding: Binding, folder: Path, into: Path) -> list[Path]:
    """Return the files of a feed that are there, of every period; those of archives are written to `into`."""
    source = binding.source
    secret = os.environ.get(source.environment) if source.environment else None
    if source.environment and not secret:
        return []
    within = Path(secret) if secret else folder / (source.path or "")
    pattern = binding.extract.replace(PERIOD_PLACE, "*")
    return list(files_matching(within, pattern, into)) if within.is_dir() else []


def describe_readings(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[str]:
    """Yield the feeds that go on by keys that their last load recorded and integrations.yaml does not say."""
    manifest = manifest_of(place)
    for binding in bindings:
        if relied := reader_of(binding, place, last_reading(manifest, binding.key)).relied:
            yield f"{binding.key}: the last load was read with {written_keys(relied)}, and no key says so"


def reader_of(binding: Binding, place: BooksFolder, recorded: Mapping[str, Any]) -> FeedReader:
    """Return the reader of a feed after a load that recorded some keys."""
    columns = extract_columns(binding, target_of(binding, place.catalogue))
    return FeedReader(binding=binding, columns=columns, calendar=place.catalogue.calendar, recorded=recorded)


def proposal_of(binding: Binding, path: Path, place: BooksFolder) -> Proposal:
    """Return the keys that a file of a feed shows and integrations.yaml does not say."""
    catalogue = place.catalogue
    columns = extract_columns(binding, target_of(binding, catalogue))
    return propose(binding, columns, catalogue.calendar, last_reading(manifest_of(place), binding.key), path)


class FeedKeys(Struct, frozen=True):
    """The keys that a feed needs and lacks, or why they cannot be found."""

    binding: str
    keys: Mapping[str, Any]
    faults: Sequence[str] = ()


def lacking_keys(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[FeedKeys]:
    """Yield the keys that each feed of a folder lacks: those that its last load recorded, and those of its files."""
    for binding in (one for one in bindings if one.source.kind is SourceKind.FOLDER):
        with TemporaryDirectory() as packed:
            try:
                paths = files_of(binding, place.folder, Path(packed))
            except (ArchiveFault, FileTooLarge) as refused:
                yield FeedKeys(binding.key, {}, [str(refused)])
                continue
            found = keys_of_files(binding, [proposal_of(binding, path, place) for path in paths], place)
        if found.keys or found.faults:
            yield found


def keys_of_statements(bindings: Sequence[Binding], place: BooksFolder) -> Iterator[FeedKeys]:
    """Yield the keys that feeds of statements lack for the rows that these make, as trials of them show."""
    made = [one for one in bindings if one.format.sql is not None]
    yield from (FeedKeys(trial.binding, trial.lacks) for trial in try_feeds(made, place) if trial.lacks)


def keys_of_files(binding: Binding, proposals: Sequence[Proposal], place: BooksFolder) -> FeedKeys:
    """Return the keys that the last load of a feed recorded, and those that its files show."""
    relied = reader_of(binding, place, last_reading(manifest_of(place), binding.key)).relied
    faults = [proposal.fault for proposal in proposals if proposal.fault is not None]
    faults += contradictions([proposal for proposal in proposals if proposal.fault is None])
    keys = {key: value for key, value in relied.items() if not (key in OF_LAYOUT and proposals)}
    words = keys.pop(NONE, [])
    for proposal in proposals:
        words = [*words, *proposal.keys.get(NONE, ())]
        keys |= {key: value for key, value in proposal.keys.items() if key != NONE}
    keys |= {NONE: list(dict.fromkeys(words))} if words else {}
    return FeedKeys(binding.key, {} if faults else dict(in_order(keys)), faults)


def contradictions(proposals: Sequence[Proposal]) -> Iterator[str]:
    """Yield why no keys read all files of a feed: one shows a value that another does not have."""
    for key in dict.fromkeys(key for proposal in proposals for key in proposal.keys if key != NONE):
        having = [one for one in proposals if key in one.keys]
        others = [one for one in proposals if key in OF_LAYOUT and key not in one.keys]
        first = having[0]
        for other in (*(one for one in having if one.keys[key] != first.keys[key]), *others):
            shows = written_keys({key: other.keys[key]}) if key in other.keys else "nothing of it"
            says = f"{first.file} shows {written_keys({key: first.keys[key]})}, and {other.file} {shows}"
            yield f"{says}: give each a feed of its own, or have them written alike"
            break
