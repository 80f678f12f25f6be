"""Questions: what no figure of a file decides, each with its answers and what they do in money, asked once for all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct

from server.setup.yaml_lines import yaml_text

Ask = Callable[[str, Sequence[str]], str | None]  # question and choices to an answer; None if nobody answers
HEAD: Final = "To answer, take the # off one answer of each question, and say --answers FILE with these lines in it:"


class Choice(Struct, frozen=True):
    """One answer to a question: the keys that say it of a file, and what it does."""

    answer: Mapping[str, Any]
    effect: str

    def __str__(self) -> str:
        return f"{self.effect} ({yaml_text(self.answer)[1:-1]})"


class OpenQuestion(Struct, frozen=True):
    """What is asked of a file; equal ones of several files are one."""

    table: str
    says: str  # without the name of the file
    choices: tuple[Choice, ...]
    money: Decimal = Decimal(0)  # the most that an answer moves
    key: str | None = None  # that a text of one's own fills, written as `unpivot.year`


class AskedQuestion(Struct, frozen=True):
    """A question with all the files that it is asked of."""

    question: OpenQuestion
    tables: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.tables)}: {self.question.says}"


def merged(questions: Sequence[OpenQuestion]) -> list[AskedQuestion]:
    """Return questions with equal ones as one, those that move the most money first."""
    tables: dict[tuple[str, str], list[OpenQuestion]] = {}
    for one in questions:
        answers = yaml_text([choice.answer for choice in one.choices])
        tables.setdefault((one.says, answers), []).append(one)
    asked = [AskedQuestion(same[0], tuple(dict.fromkeys(one.table for one in same))) for same in tables.values()]
    return sorted(asked, key=lambda one: -one.question.money)


def asked_answers(questions: Sequence[OpenQuestion], ask: Ask) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Ask questions one by one, and yield what is answered of each file."""
    for one in merged(questions):
        choices = [str(choice) for choice in one.question.choices]
        answer = ask(str(one), choices)
        if answer is None or (answer not in choices and one.question.key is None):
            continue
        given = one.question.choices[choices.index(answer)].answer if answer in choices else said(one.question, answer)
        yield from ((table, given) for table in one.tables)


def said(question: OpenQuestion, text: str) -> Mapping[str, Any]:
    """Return a text of one's own as the value of the key of a question."""
    first, _, rest = (question.key or "").partition(".")
    return {first: {rest: text}} if rest else {first: text}


def answers_file(questions: Sequence[OpenQuestion]) -> str:
    """Return questions as a file of answers, of which each answer is a line that is commented out."""
    by_tables: dict[tuple[str, ...], list[OpenQuestion]] = {}
    for one in merged(questions):
        by_tables.setdefault(one.tables, []).append(one.question)
    lines = [HEAD, "", "files:"]
    for tables, asked in by_tables.items():
        for at, table in enumerate(tables):
            lines += [f"  {yaml_text(table)}:", *file_lines(asked, is_repeated=at > 0)]
    return "\n".join(lines)


def file_lines(asked: Sequence[OpenQuestion], *, is_repeated: bool) -> Iterator[str]:
    """Yield the lines that answer the questions of one file."""
    for one in asked:
        yield f"  # {'the same: ' if is_repeated else ''}{one_line(one.says)}"
        for choice in one.choices:
            yield f"  #- {yaml_text(choice.answer)}   # {one_line(choice.effect)}"
        if one.key is not None and not one.choices:
            yield f"  #- {yaml_text(said(one, '…'))}"


def one_line(text: str) -> str:
    """Return a text without ends of lines, behind which a comment would be no comment."""
    return " ".join(text.splitlines())
