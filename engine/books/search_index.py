"""The search index: every member and node of the books, and the words that find them.

It has one row per member and node, and one entry per distinct text. A member of a leaf dimension shares its entry with
the same member in trees above, so each text is read once. Tables hold all of it, which can be mapped from files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.books import MEMBER_BYTES
from engine.books.folding import fold_each, spaced
from engine.books.lexicon import ENTRY, LIKENESS, Lexicon
from engine.books.search_rows import SCHEMA, DimensionRows

BEGIN, END = "\x02", "\x03"  # marks around each part of a text; no folded text contains them
BETWEEN_WORDS = rf"[^\p{{L}}\p{{N}}{END}]+"  # what `spaced` replaces by a space
PUNCTUATED = rf"[^ {BEGIN}{END}]*[^\p{{L}}\p{{N}} {BEGIN}{END}][^ {BEGIN}{END}]*"
TEXTS = ("id", "code", "label")
ALIKE = 1000  # likeness of a word to itself
MOST_WORDS = 8  # of a query, for close spelling
ROW, RANK = "row", "rank"  # columns of the matches
LISTED, EXACT, BEGINS, WORD_BEGINS, CONTAINS, SPELLED = range(6)  # ranks, best first; SPELLED and more: less alike
ROWS = 2**32  # more than any index has
FEW = 500  # matches that are sorted in Python, which takes less than a plan of Polars


class SeenRows(Struct, frozen=True):
    """The rows of an index that a reader sees, and the entries of these, ascending; None stands for all entries."""

    rows: pl.Series  # a Boolean per row
    entries: pl.Series | None


class Index(Struct, frozen=True, dict=True):
    """All rows, by dimension and in display order, and the entries with their rows."""

    dimensions: Mapping[str, DimensionRows]  # without their rows
    spans: Mapping[str, range]  # the rows of each dimension
    first_node: int  # the first row of trees
    rows: pl.DataFrame  # the columns of DimensionRows.rows; `parent` counts from the first row of its dimension
    entry_of: pl.Series  # by row
    entries: pl.DataFrame  # row: the rows of each; text, words

    @classmethod
    def of(cls, lists: Sequence[DimensionRows], trees: Sequence[DimensionRows]) -> "Index":
        """Index the rows of some dimensions."""
        spans: dict[str, range] = {}
        for dimension in (*lists, *trees):
            begin = max((span.stop for span in spans.values()), default=0)
            spans[dimension.dimension] = range(begin, begin + dimension.rows.height)
        rows = pl.concat([pl.DataFrame(schema=SCHEMA), *(dimension.rows for dimension in (*lists, *trees))])
        grouped = rows.select(TEXTS).with_row_index(ROW).group_by(TEXTS, maintain_order=True).agg(ROW)
        entry_of = grouped.select(ROW).with_row_index(ENTRY).explode(ROW).sort(ROW)[ENTRY].rechunk()
        return cls(
            dimensions={each.dimension: replace(each, rows=rows.clear()) for each in (*lists, *trees)},
            spans=spans,
            first_node=sum(len(spans[each.dimension]) for each in lists),
            rows=rows.rechunk(),
            entry_of=entry_of,
            entries=marked_texts(grouped).select(ROW, "text", "words").rechunk(),
        )

    def members_held(self) -> int:
        """Return its size in memory, in members."""
        tables = (self.rows, self.entries)
        return int(sum(table.estimated_size() for table in tables)) // MEMBER_BYTES

    def dimension_of(self, row: int) -> str:
        """Return the dimension of a row."""
        return next(key for key, span in self.spans.items() if row in span)

    @cached_property
    def texts(self) -> pl.DataFrame:
        """What a hit shows of each row: columns id, label and code, and parent, lent and posting."""
        return self.rows.select("id", "label", "code", "parent", "lent", "posting")

    def seen(self, rows: pl.Series) -> SeenRows:
        """Return what a reader sees of some rows, a Boolean each.

        A search reads these entries, so that its time does not depend on what others hold.
        """
        if rows.all():
            return SeenRows(rows, None)
        entries = self.entry_of.filter(rows).unique().sort()
        return SeenRows(rows, None if len(entries) == self.entries.height else entries)

    def texts_of(self, seen: SeenRows) -> pl.DataFrame:
        """Return the entries that a reader sees."""
        return self.entries if seen.entries is None else self.entries[seen.entries]

    def listing(self, seen: SeenRows) -> pl.DataFrame:
        """Return the rows that a reader sees: columns ROW and RANK."""
        return pl.DataFrame({ROW: seen.rows.arg_true()}).with_columns(pl.lit(LISTED, pl.UInt32).alias(RANK))

    def matches(self, query: str, seen: SeenRows) -> pl.DataFrame:
        """Return the rows that contain every word of a folded query: columns ROW and RANK."""
        words = sorted(dict.fromkeys(query.split(" ")), key=len, reverse=True)
        found = reduce(holding, words, self.texts_of(seen).lazy()).select(ROW, ranked(query, words)).explode(ROW)
        return only(found, seen)

    @cached_property
    def whole_texts(self) -> pl.DataFrame:
        """The ids, codes and names of all entries without spaces: columns `whole` and ENTRY."""
        text = pl.col("text").str.replace_all(" ", "", literal=True)
        wholes = text.str.strip_chars(BEGIN + END).str.split(END + BEGIN).alias("whole")
        return self.entries.select(wholes).with_row_index(ENTRY).explode("whole")

    def named(self, wholes: Collection[str], seen: SeenRows) -> Mapping[str, Sequence[int]]:
        """Return the rows with each of some folded texts without spaces as id, code or name, in order."""
        found = self.whole_texts.filter(pl.col("whole").is_in(list(wholes)))
        rows = found.select("whole", self.entries[ROW][found[ENTRY]]).explode(ROW)
        shown = rows.filter(seen.rows[rows[ROW]]).group_by("whole").agg(pl.col(ROW).sort())
        return dict(shown.iter_rows())

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all entries. Words with punctuation are also listed as written."""
        words = pl.col("words").str.replace_all(END, " ", literal=True).str.split(" ")
        return Lexicon.of(self.entries.select(words.list.concat(pl.col("text").str.extract_all(PUNCTUATED)))["words"])

    def words_of(self, seen: SeenRows) -> pl.Series:
        """Return a Boolean per word of the lexicon: whether an entry that a reader sees has it."""
        if seen.entries is None:
            return pl.repeat(value=True, n=self.lexicon.words.height, eager=True)
        every = pl.repeat(value=False, n=self.entries.height, eager=True)
        return self.lexicon.used_in(every.scatter(seen.entries, values=True))

    def spellings(self, query: str, seen: SeenRows, among: pl.Series) -> pl.DataFrame | None:
        """Return the rows that contain every word of a folded query or a close spelling, None if none do.

        `among` holds the words that the reader sees. Columns ROW and RANK; a closer spelling has a lower rank. Call it
        only if `matches` finds nothing.
        """
        words = [word for word in dict.fromkeys(query.split(" ")) if spaced(word)]
        if not 0 < len(words) <= MOST_WORDS:
            return None
        first, *others = sorted(words, key=len, reverse=True)
        entries = self.numbered(seen)
        near = self.lexicon.near(first, among).join(entries, on=ENTRY, how="semi")
        found = near if first == query else with_same(near, entries, first)
        for word in others:
            if found.is_empty():
                break
            near = self.lexicon.near(word, among)
            each = with_same(near, entries.join(found, on=ENTRY, how="semi"), word)
            found = found.join(each, on=ENTRY).select(ENTRY, pl.col(LIKENESS) + pl.col(f"{LIKENESS}_right"))
        if found.is_empty():
            return None
        rank = SPELLED + ALIKE - pl.col(LIKENESS) // len(words)
        return only(entries.lazy().join(found.lazy(), on=ENTRY).select(ROW, rank.alias(RANK)).explode(ROW), seen)

    def numbered(self, seen: SeenRows) -> pl.DataFrame:
        """Return the entries that a reader sees, each with its number."""
        if seen.entries is None:
            return self.entries.with_row_index(ENTRY)
        return self.texts_of(seen).with_columns(seen.entries.alias(ENTRY))


def marked_texts(entries: pl.DataFrame) -> pl.DataFrame:
    """Return entries with their folded texts: each different one of id, code and label between marks, and words."""
    parts = [pl.when(pl.col(name) != "").then(pl.col(f"folded {name}")) for name in TEXTS]
    folded = entries.with_columns(fold_each(entries[name].fill_null("")).alias(f"folded {name}") for name in TEXTS)
    first, code, label = parts
    different = [
        first,
        pl.when(code.ne_missing(first)).then(code),
        pl.when(label.ne_missing(first) & label.ne_missing(code)).then(label),
    ]
    marked = (pl.format(f"{BEGIN}{{}}{END}", part) for part in different)
    text = pl.concat_str(marked, ignore_nulls=True)
    return folded.with_columns(text=text).with_columns(words=pl.col("text").str.replace_all(BETWEEN_WORDS, " "))


def only(found: pl.LazyFrame, seen: SeenRows) -> pl.DataFrame:
    """Return those of some rows that a reader sees."""
    rows = found.collect(engine="in-memory")
    return rows.filter(seen.rows[rows[ROW]])


def with_same(near: pl.DataFrame, entries: pl.DataFrame, word: str) -> pl.DataFrame:
    """Return the entries near a word and those that contain it, with their likeness."""
    same = holding(entries.lazy(), word).select(ENTRY, pl.lit(ALIKE, pl.UInt32).alias(LIKENESS))
    found = same if near.is_empty() else pl.concat([same, near.lazy()]).group_by(ENTRY).agg(pl.col(LIKENESS).max())
    return found.collect(engine="in-memory")


def holding(entries: pl.LazyFrame, word: str) -> pl.LazyFrame:
    """Return the entries that contain a word as written or with different punctuation."""
    written = pl.col("text").str.contains(word, literal=True)
    letters = spaced(word)
    if letters in ("", word):
        return entries.filter(written)
    near = entries.filter(pl.col("words").str.contains(letters, literal=True))
    return near.filter(written | begins_word(letters))


def begins_word(letters: str) -> pl.Expr:
    """Return an expression that tells whether a word of the text begins with the letters."""
    return pl.col("words").str.contains(f" {letters}", literal=True)


def ranked(query: str, words: Sequence[str]) -> pl.Expr:
    """Return an expression for the rank of a text that contains all words of a query."""
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


class Best(Struct, frozen=True):
    """The best records and nodes, each as rank and row."""

    records: Sequence[tuple[int, int]]
    nodes: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, found: pl.DataFrame, first_node: int, most_records: int, most_nodes: int) -> "Best":
        """Take the first records and nodes, by rank and then in display order."""
        ranked_rows = found.select_seq(place=pl.col(RANK).cast(pl.UInt64) * ROWS + pl.col(ROW))
        places: Iterable[int] = ranked_rows["place"]
        if ranked_rows.height > FEW:
            place, is_node = pl.col("place"), pl.col("place") % ROWS >= first_node
            few = place.filter(~is_node).bottom_k(most_records), place.filter(is_node).bottom_k(most_nodes)
            places = ranked_rows.select(pl.concat_list(part.implode() for part in few)).item()
        best = [divmod(place, ROWS) for place in sorted(places)]
        at = [place for place in best if place[1] < first_node]
        above = [place for place in best if place[1] >= first_node]
        return cls(at[:most_records], above[:most_nodes])
