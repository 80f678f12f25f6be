"""Which faults the drawn questions of an instance meet: where an old reading has another answer than the oracle."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.differential.books import FileBooks, LeafOfTwoWeights
from tests.differential.cells import expected_cells, ranked_rows
from tests.differential.drawing import draw_instance
from tests.differential.figures import Oracle
from tests.differential.old_readings import OLD
from tests.differential.questions import DrawnQuestion, draw_question, is_cut
from tests.differential.references import Reference


def faults_met(seed: int, at: int, folder: Path) -> set[str]:
    """Return the faults that one question of an instance meets."""
    rng = Random(seed)
    drawn = draw_instance(rng)
    drawn.write(folder)
    books = FileBooks(folder, drawn.profile)
    question = [draw_question(rng, books) for _ in range(at + 1)][at]
    return set(met_by(books, question))


def met_by(books: FileBooks, question: DrawnQuestion) -> Iterator[str]:
    """Yield the faults that a question meets."""
    if is_cut(books, question):
        yield "F11"
        return
    try:
        right = list(answers(books, Oracle(books, question.formulas), question))
        for fault, reading in OLD.items():
            if list(answers(books, reading(books, question.formulas), question)) != right:
                yield fault
    except LeafOfTwoWeights:
        return


def answers(books: FileBooks, oracle: Oracle, question: DrawnQuestion) -> Iterator[object]:
    """Yield all that an oracle says of a question."""
    lines = [line["metric"].rpartition(".")[2] for line in books.statements["all"]["lines"]]
    keys = (*question.metrics, *question.formulas) if question.metrics else lines
    for place, cell in expected_cells(books, oracle, question):
        for key in keys:
            yield from ((place, key, text, oracle.figure(key, Reference.of(text), cell)) for text in question.scenarios)
    if question.order_by:
        yield from (row.holds for row in ranked_rows(books, oracle, question))
