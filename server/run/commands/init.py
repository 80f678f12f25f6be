"""tieout init: propose a first instance from files, write it and load it."""

import argparse
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.door import Door
from engine.model.errors import Refusal
from engine.model.profiles import EVERYONE
from server.base.settings import Settings
from server.feeds.file_kinds import kind_of
from server.feeds.instance import read_instance
from server.files.database_samples import WRITTEN_SO
from server.files.findings import SampleFault, SampleQuestion
from server.files.limits import FileTooLarge
from server.files.sampling import SourceTable, sample_source
from server.files.workbook_reader import READER
from server.run.commands import load
from server.run.commands.console import ASKED, DONE, FAULTY, err, out
from server.run.shelves import open_shelf
from server.setup.answers import Answers, BadAnswer, question_of, read_answers
from server.setup.instance_files import instance_files
from server.setup.proposal import BooksProposal, NoBooks, propose
from server.setup.questions import Ask, answers_file, asked_answers

ASK_AGAIN = "Nothing was written."
AGAIN = 0.5  # seconds until a limit is told once more: Python swallows what falls into a callback of its own


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder to write the instance to; new, or empty")
    parser.add_argument(
        "--from",
        dest="files",
        nargs="+",
        required=True,
        metavar="FILE",
        help=f"CSV, XLSX, Parquet, Arrow, these inside .gz or .zip, or {WRITTEN_SO}",
    )
    parser.add_argument("--answers", type=Path, metavar="FILE", help="YAML with what the files do not say")
    parser.add_argument("--yes", action="store_true", help="ask nothing; questions that move money stay open")
    parser.add_argument("--no-load", action="store_true", help="write the files, and load nothing")
    parser.set_defaults(instance=None)


def run(asked: argparse.Namespace, settings: Settings) -> int:
    """Propose, write and load an instance."""
    with ExitStack() as unpacking:
        return initialised(asked, settings, unpacking)


def initialised(asked: argparse.Namespace, settings: Settings, unpacking: ExitStack) -> int:
    """Propose, write and load an instance; `unpacking` ends the folder of files that archives hold."""
    folder: Path = asked.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        err.print(f"{folder} exists and is not empty; init overwrites nothing: name a new folder", markup=False)
        return FAULTY
    try:
        answers = read_answers(asked.answers) if asked.answers else Answers()
        if any(kind_of(Path(path)) == ".xlsx" for path in asked.files):
            READER.begin()
        asks = sys.stdin.isatty() and sys.stdout.isatty() and not asked.yes
        asking = ask if asks else None
        into = Path(unpacking.enter_context(TemporaryDirectory()))
        tables: list[SourceTable] = []
        for path in asked.files:
            with bounded(Path(path).name, settings.init_seconds):
                tables += sampled(str(path), into, answers, asking)
        names = ", ".join(dict.fromkeys(table.name for table in tables))
        books = None
        if not answers.questions:
            with bounded(names, settings.init_seconds * len(asked.files)):
                books = propose_asking(tables, answers, folder.resolve().name, asking)
        files = {} if books is None or answers.open or answers.questions else instance_files(books, folder)
    except (SampleFault, BadAnswer, NoBooks) as fault:
        err.print(f"{fault}\n{ASK_AGAIN}", markup=False)
        return FAULTY
    if books is None or not files:
        questions = [answers_file(answers.questions)] if answers.questions else []
        err.print("\n".join([*answers.open, *questions, ASK_AGAIN]), markup=False)
        return FAULTY if answers.open else ASKED
    write_instance(files, folder)
    tell(books, tables, folder)
    if asked.no_load:
        return DONE
    settings = replace(settings, instance=folder)
    status = load.run(argparse.Namespace(binding=[], period=None, due=None), settings)
    if status == DONE:
        tell_statement(settings)
        out.print(f"\nServe it: tieout serve --instance {folder}", markup=False)
    else:
        says = f"Written, and not loaded. Edit {folder} and run: tieout load --instance {folder}"
        err.print(f"{says}; or mend the files, remove {folder} and run tieout init again.", markup=False)
    return status


def sampled(path: str, into: Path, answers: Answers, ask: Ask | None) -> list[SourceTable]:
    """Return the tables of a file; none if its words do not tell its encoding, and nobody does: answers note that."""
    while True:
        try:
            return list(sample_source(path, into, answers.encoding_of))
        except SampleQuestion as doubt:
            question = question_of(doubt.name, doubt.ambiguity)
            given = list(asked_answers([question], ask)) if ask else []
            if not given:
                answers.questions.append(question)
                return []
            for table, said in given:
                answers.give(table, said)


def tell_statement(settings: Settings) -> None:
    """Print the first statement of the books, by which a person sees at once whether they are theirs."""
    instance = read_instance(settings.instance)
    door = Door(open_shelf(instance, settings.instance, settings.store), EVERYONE)
    try:
        out.print(f"\n{door.statement()!r}", markup=False)
    except Refusal as refusal:
        out.print(f"\nThe first statement has no answer: {refusal}", markup=False)


def propose_asking(tables: Sequence[SourceTable], answers: Answers, name: str, ask: Ask | None) -> BooksProposal:
    """Return books made of some tables, proposed again after each round of questions until none is answered."""
    books = propose(tables, answers, name)
    while ask is not None and answers.questions:
        given = list(asked_answers(answers.questions, ask))
        if not given:
            break
        for table, said in given:
            answers.give(table, said)
        books = propose(tables, answers, name)
    return books


@contextmanager
def bounded(name: str, seconds: int) -> Iterator[None]:
    """Raise SampleFault where the block takes longer than some seconds, those aside in which `ask` waits."""

    def end(*_: object) -> None:
        raise SampleFault(str(FileTooLarge(name, "it takes too long to read", f"{seconds} s", "init_seconds")))

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ask(question: str, choices: Sequence[str]) -> str | None:
    """Ask a question at the terminal; an empty answer is none."""
    out.print(f"\n{question}", markup=False)
    for number, choice in enumerate(choices, 1):
        out.print(f"  {number}  {choice}", markup=False)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    answer = out.input("> ").strip()
    signal.setitimer(signal.ITIMER_REAL, remaining, AGAIN)
    if choices and answer.isdigit() and 1 <= int(answer) <= len(choices):
        return choices[int(answer) - 1]
    return answer or None


def write_instance(files: dict[str, str], folder: Path) -> None:
    """Write an instance beside its place, check it, and move it there, so that a fault leaves nothing behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as beside:
        written = Path(beside, "instance")
        for name, text in files.items():
            path = written / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        read_instance(written)
        if folder.is_dir():
            folder.rmdir()
        shutil.move(written, folder)


def tell(books: BooksProposal, tables: Sequence[SourceTable], folder: Path) -> None:
    """Print what was guessed of each table, and from what."""
    for table in tables:
        size = f"{table.sample.frame.height:,} rows" + (
            "" if table.is_whole or not table.megabytes else f" of its {table.megabytes:,.0f} MB"
        )
        out.print(f"{table.name}: {size} read{'' if table.is_whole else ', as a sample'}", markup=False)
        own = [
            guess for guess in books.guesses if guess.table == table.name or guess.table.startswith(f"{table.name} [")
        ]
        for guess in own:
            why = f" — {guess.evidence}" if guess.evidence else ""
            out.print(f"  {guess.what}{why}", markup=False)
        if table.name in books.unused:
            out.print("  not used: it holds no facts, and no column of facts has its ids", markup=False)
    out.print(f"Written to {folder}; edit what was guessed wrong.", markup=False)
