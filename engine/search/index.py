"""The index: every member and node of the books as a row, and the distinct texts that rows are found by.

Members of a leaf dimension and the same members in the trees above share an entry, so that a text is read once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

import polars as pl

from engine.cuts import UNASSIGNED
from engine.members.memberset import MemberSet
from engine.search.folding import fold, spaced
from engine.search.lexicon import LIKENESS, Lexicon

BEGIN, END = "\x02", "\x03"  # around each part of a text; no folded text has them
BETWEEN_WORDS = rf"[^\p{{L}}\p{{N}}{END}]+"  # what `spaced` makes a space of
PUNCTUATED = rf"[^ {BEGIN}{END}]*[^\p{{L}}\p{{N}} {BEGIN}{END}][^ {BEGIN}{END}]*"
ALIKE = 1000  # likeness of a word to itself
MOST_WORDS = 8  # of a query that is looked for by close spelling
ROW, RANK = "row", "rank"  # columns of what is found
LISTED, EXACT, BEGINS, WORD_BEGINS, CONTAINS, SPELLED = range(6)  # ranks, best first; SPELLED and more: less alike
NOTHING_FOUND = pl.DataFrame(schema={ROW: pl.UInt32, RANK: pl.UInt32})


@dataclass(frozen=True)
class Index:
    """All rows, dimension by dimension in display order, and the entries: `text`, its `words`, and the `rows`."""

    dimensions: Mapping[str, range]
    first_node: int  # the row where trees begin
    ids: Sequence[str]
    entries: pl.DataFrame
    entry_of: pl.Series  # by row

    @classmethod
    def of(cls, lists: Sequence[MemberSet], trees: Sequence[MemberSet]) -> "Index":
        """Index the ids of some dimensions; the last row of each is what it has unassigned."""
        ids: list[str] = []
        ranges: dict[str, range] = {}
        entries: dict[tuple[str | None, ...], int] = {}
        entry_of: list[int] = []
        for members in (*lists, *trees):
            begin = len(ids)
            ids += [*members.ids(), UNASSIGNED]
            ranges[members.dimension] = range(begin, len(ids))
            entry_of += [
                entries.setdefault((member, members.code(member), members.label(member)), len(entries))
                for member in ids[begin:]
            ]
        parts = [tuple(dict.fromkeys(fold(part) for part in known if part)) for known in entries]
        texts = pl.DataFrame(
            {"text": ["".join(f"{BEGIN}{part}{END}" for part in known) for known in parts]}, schema={"text": pl.String}
        ).with_columns(words=pl.col("text").str.replace_all(BETWEEN_WORDS, " "))
        rows = pl.DataFrame({"entry": entry_of}, schema={"entry": pl.UInt32}).with_row_index("rows")
        return cls(
            dimensions=ranges,
            first_node=sum(len(ranges[members.dimension]) for members in lists),
            ids=ids,
            entries=texts.with_columns(rows.group_by("entry").agg("rows").sort("entry")["rows"]),
            entry_of=rows["entry"],
        )

    def dimension_of(self, row: int) -> str:
        """Return the dimension of a row."""
        return next(key for key, rows in self.dimensions.items() if row in rows)

    def matches(self, query: str, visible: pl.Series) -> pl.DataFrame:
        """Return the rows that hold every word of a folded query, with their ranks.

        Here and below, `visible` tells of each row whether it may be found.
        """
        words = sorted(dict.fromkeys(query.split(" ")), key=len, reverse=True)
        found = self.entries
        for word in words:
            found = found.filter(holds(word))
        return seen(found.lazy().select(pl.col("rows").alias(ROW), ranked(query, words)), visible)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all entries, those with punctuation as they are written as well."""
        words = pl.col("words").str.replace_all(END, " ", literal=True).str.split(" ")
        return Lexicon.of(self.entries.select(words.list.concat(pl.col("text").str.extract_all(PUNCTUATED)))["words"])

    def visible_words(self, visible: pl.Series) -> pl.Series:
        """Tell of each word of the lexicon whether a visible row has it."""
        entries = pl.repeat(value=False, n=self.entries.height, eager=True)
        return self.lexicon.used_in(entries.scatter(self.entry_of.filter(visible).unique(), values=True))

    def spellings(self, query: str, visible: pl.Series, visible_words: pl.Series) -> pl.DataFrame:
        """Return the rows that hold every word of a folded query or one spelled like it, ranked by how much alike.

        It is asked where no visible row holds every word.
        """
        words = [word for word in dict.fromkeys(query.split(" ")) if spaced(word)]
        if not 0 < len(words) <= MOST_WORDS:
            return NOTHING_FOUND
        found = (
            self.lexicon.near(query, visible_words)
            if words == [query]
            else reduce(joined, [self.alike(word, visible_words) for word in words])
        )
        far = SPELLED + ALIKE - pl.col(LIKENESS) // len(words)
        rows = self.entries["rows"].gather(found["entry"]).alias(ROW)
        return seen(found.lazy().select(rows, far.alias(RANK)), visible)

    def alike(self, word: str, visible_words: pl.Series) -> pl.DataFrame:
        """Return the entries that hold a word, or one spelled like it, and how much alike it is."""
        holding = self.entries.select(holds(word))["text"].arg_true()
        same = pl.DataFrame({"entry": holding}).with_columns(pl.lit(ALIKE, pl.UInt32).alias(LIKENESS))
        return pl.concat([same, self.lexicon.near(word, visible_words)]).group_by("entry").agg(pl.col(LIKENESS).max())


def seen(found: pl.LazyFrame, visible: pl.Series) -> pl.DataFrame:
    """Return the visible rows of the entries found, one by one."""
    return found.explode(ROW).filter(pl.lit(visible).gather(pl.col(ROW))).collect()


def holds(word: str) -> pl.Expr:
    """Return whether a text holds a word as it is written, or its letters with other punctuation between them."""
    written = pl.col("text").str.contains(word, literal=True)
    letters = spaced(word)
    return written | begins_word(letters) if letters not in ("", word) else written


def begins_word(letters: str) -> pl.Expr:
    """Return whether a word of a text begins with some letters."""
    return pl.col("words").str.contains(f" {letters}", literal=True)


def ranked(query: str, words: Sequence[str]) -> pl.Expr:
    """Return how well a text that holds all words of a query matches it."""
    text = pl.col("text").str
    starts = [begins_word(letters) for word in words if (letters := spaced(word))]
    return (
        pl.when(text.contains(BEGIN + query + END, literal=True))
        .then(EXACT)
        .when(text.contains(BEGIN + query, literal=True))
        .then(BEGINS)
        .when(reduce(and_, starts) if starts else pl.lit(value=False))
        .then(WORD_BEGINS)
        .otherwise(CONTAINS)
        .cast(pl.UInt32)
        .alias(RANK)
    )


def joined(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return the entries that both have, their likenesses added up."""
    both = one.join(other, on="entry", suffix="_other")
    return both.select("entry", pl.col(LIKENESS) + pl.col(f"{LIKENESS}_other"))
