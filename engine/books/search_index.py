"""The search index: every member and node of the books, and the words that find them.

It has one row per member and node, and one entry per distinct text. A member of a leaf dimension shares its entry with
the same member in trees above, so each text is read once. Tables hold all of it, which can be mapped from files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from operator import and_
from typing import Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.books.books import MEMBER_BYTES
from engine.books.folding import fold_each, spaced
from engine.books.lexicon import ENTRY, LIKENESS, Lexicon
from engine.books.search_rows import CODES, EDGES, SCHEMA, DimensionRows
from engine.books.signatures import COLUMNS as BITS
from engine.books.signatures import may_contain, signatures
from engine.model.derived_tables import Tables
from engine.model.stopping import watched

BEGIN, END = "\x02", "\x03"  # marks around each part of a text; no folded text contains them
BETWEEN_WORDS = rf"[^\p{{L}}\p{{N}}{END}]+"  # what `spaced` replaces by a space
PUNCTUATED = rf"[^ {BEGIN}{END}]*[^\p{{L}}\p{{N}} {BEGIN}{END}][^ {BEGIN}{END}]*"
TEXTS = ("id", "code", "label")
DIMENSIONS = {"dimension": pl.String, "leaf": pl.String, "rows": pl.UInt32, "is_tree": pl.Boolean}
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
ALIKE = 1000  # likeness of a word to itself
MOST_WORDS = 8  # of a query, for close spelling
ROW, RANK = "row", "rank"  # columns of the matches
RECORD, NODE = "record", "node"  # columns of entries: the first row of each that is one
MAX_HIDDEN = 20_000  # rows
LISTED, EXACT, BEGINS, WORD_BEGINS, CONTAINS, SPELLED = range(6)  # ranks, best first; SPELLED and more: less alike
ROWS = 2**32  # more than any index has
ENTRIES_AT_ONCE = 100_000  # whose words are listed
FEW = 500  # matches that are sorted in Python, which takes less than a plan of Polars


class SeenRows(Struct, frozen=True):
    """The rows of an index that a reader sees, and the entries of these, ascending; None stands for all entries."""

    rows: pl.Series  # a Boolean per row
    entries: pl.Series | None
    hidden: int  # how many rows the reader does not see

    @property
    def shows_nearly_all(self) -> bool:
        """Whether the reader sees all entries and nearly all rows, so that looking at all tells nothing of others."""
        return self.entries is None and self.hidden <= MAX_HIDDEN


class Index(Struct, frozen=True, dict=True):
    """All rows, by dimension and in display order, and the entries with their rows."""

    dimensions: Mapping[str, DimensionRows]  # without their rows
    spans: Mapping[str, range]  # the rows of each dimension
    first_node: int  # the first row of trees
    tables: Tables  # rows and entries; those of a file also have the others, which small indexes make when asked
    are_mapped: bool = False

    @classmethod
    def of(cls, lists: Sequence[DimensionRows], trees: Sequence[DimensionRows]) -> "Index":
        """Index the rows of some dimensions."""
        every = (*lists, *trees)
        rows = pl.concat([pl.DataFrame(schema=SCHEMA), *(dimension.rows for dimension in every)])
        grouped = rows.select(TEXTS).with_row_index(ROW).group_by(TEXTS, maintain_order=True).agg(ROW)
        entry_of = entries_of_rows(grouped[ROW])
        entries = marked_texts(grouped).select(ROW, "text", "words")
        del grouped
        first_node = sum(len(dimension.rows) for dimension in lists)
        entries = entries.with_columns(
            first_of_each(entry_of[:first_node], 0, entries.height).alias(RECORD),
            first_of_each(entry_of[first_node:], first_node, entries.height).alias(NODE),
        )
        tables = {
            "rows": rows.with_columns(entry_of).rechunk(),
            "entries": entries.hstack(signatures(entries["words"])).rechunk(),
        }
        return cls.laid_out(every, [len(dimension.rows) for dimension in every], tables)

    @classmethod
    def laid_out(
        cls, dimensions: Sequence[DimensionRows], lengths: Sequence[int], tables: Tables, *, are_mapped: bool = False
    ) -> "Index":
        """Return the index of some dimensions whose rows, so many each, stand in a table one after the other."""
        ends = list(accumulate(lengths, initial=0))
        spans = {each.dimension: range(*span) for each, span in zip(dimensions, pairwise(ends), strict=True)}
        first_node = sum(len(spans[each.dimension]) for each in dimensions if not each.is_tree)
        bare = {each.dimension: replace(each, rows=each.rows.clear()) for each in dimensions}
        return cls(bare, spans, first_node, tables, are_mapped)

    @property
    def rows(self) -> pl.DataFrame:
        """The columns of DimensionRows.rows, and ENTRY; `parent` counts from the first row of its dimension."""
        return self.tables["rows"]

    @property
    def entries(self) -> pl.DataFrame:
        """The entries: ROW, the rows of each; text, words, and the signature of these."""
        return self.tables["entries"]

    def members_held(self) -> int:
        """Return its size in memory, in members."""
        return (
            0 if self.are_mapped else sum(int(each.estimated_size()) for each in self.tables.values()) // MEMBER_BYTES
        )

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
        hidden = len(rows) - int(rows.sum() or 0)
        if not hidden:
            return SeenRows(rows, None, hidden)
        entries = self.rows[ENTRY].filter(rows).unique().sort()
        return SeenRows(rows, None if len(entries) == self.entries.height else entries, hidden)

    def may_contain(self, seen: SeenRows, words: Iterable[str]) -> pl.Series | None:
        """Return the entries that a reader sees and whose signature may contain some words, None for all entries."""
        contains = may_contain(map(spaced, words))
        if contains is None:
            return seen.entries
        bits = self.entries.select(BITS) if seen.entries is None else self.entries.select(BITS)[seen.entries]
        places = bits.select(contains.arg_true()).to_series()
        return places if seen.entries is None else seen.entries[places]

    def texts_of(self, seen: SeenRows, words: Iterable[str] = ()) -> pl.DataFrame:
        """Return ENTRY, text and words of what a reader sees, without what the signature tells not to have a word."""
        places, texts = self.may_contain(seen, words), self.entries.select("text", "words")
        return texts.with_row_index(ENTRY) if places is None else texts[places].with_columns(places.alias(ENTRY))

    def entries_with(self, word: str, seen: SeenRows) -> pl.Series:
        """Return the entries of what a reader sees that hold a word as written or with different punctuation."""
        return holding(self.texts_of(seen, [word]).lazy(), word).select(ENTRY).collect(engine="in-memory")[ENTRY]

    def listing(self, seen: SeenRows, most: tuple[int, int]) -> pl.DataFrame:
        """Return the first rows that a reader sees, so many records and nodes: columns ROW and RANK."""
        places = seen.rows.arg_true()
        begin = places.search_sorted(self.first_node)
        firsts = pl.concat([places[:begin][: most[0]], places[begin:][: most[1]]])
        return firsts.alias(ROW).to_frame().with_columns(pl.lit(LISTED, pl.UInt32).alias(RANK))

    def matches(self, query: str, seen: SeenRows) -> pl.DataFrame:
        """Return the rows that contain every word of a folded query: columns ROW and RANK."""
        words = sorted(dict.fromkeys(query.split(" ")), key=len, reverse=True)
        entries = reduce(holding, words, self.texts_of(seen, words).lazy()).select(ENTRY, ranked(query, words))
        return self.rows_of(entries.collect(engine="in-memory"), seen)

    def rows_of(self, entries: pl.DataFrame, seen: SeenRows) -> pl.DataFrame:
        """Return the rows of some entries that a reader sees: ROW and RANK. `entries` has ENTRY and RANK."""
        rows = pl.DataFrame([self.entries[ROW][entries[ENTRY]], entries[RANK]]).explode(ROW)
        return rows.filter(seen.rows[rows[ROW]])

    @cached_property
    def wholes(self) -> pl.DataFrame:
        """The ids, codes and names of all entries without spaces, in their order.

        Columns `whole`, `first`: the number of letters of its first word; and ENTRY.
        """
        if "wholes" in self.tables:
            return self.tables["wholes"]
        parts = pl.col("text").str.strip_chars(BEGIN + END).str.split(END + BEGIN).alias("part")
        part = pl.col("part").str
        whole = part.replace_all(" ", "", literal=True).alias("whole")
        first = part.split(" ").list.first().str.len_chars().alias("first")
        wholes = self.entries.select(parts).with_row_index(ENTRY).explode("part").select(whole, first, ENTRY)
        return wholes.sort("whole", maintain_order=True)

    def named(self, wholes: Collection[str], seen: SeenRows) -> Mapping[str, Sequence[int]]:
        """Return the rows with each of some folded texts without spaces as id, code or name, in order."""
        column, texts = self.wholes["whole"], pl.Series(list(wholes), dtype=pl.String)
        begins, ends = (
            column.search_sorted(texts, side=side) for side in SIDES
        )  # of all at once: a name takes no call
        is_there = begins < ends
        named = {}
        for whole, begin, end in watched(zip(*(each.filter(is_there) for each in (texts, begins, ends)), strict=True)):
            each = self.entries[ROW][self.wholes[ENTRY][begin:end]].explode().drop_nulls()
            visible = each.filter(seen.rows[each])
            named[whole] = visible.sort().to_list()
        return {whole: rows for whole, rows in named.items() if rows}

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all entries. Words with punctuation are also listed as written."""
        if "words" in self.tables:
            return Lexicon.read(self.tables["words"], self.tables["pairs"])
        words = pl.col("words").str.replace_all(END, " ", literal=True).str.split(" ")
        texts = words.list.concat(pl.col("text").str.extract_all(PUNCTUATED))
        begins = range(0, self.entries.height or 1, ENTRIES_AT_ONCE)
        return Lexicon.of(self.entries[begin : begin + ENTRIES_AT_ONCE].select(texts)["words"] for begin in begins)

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
        near = closest(self.lexicon.near(first, among))
        if seen.entries is not None and not near.is_empty():
            near = near.join(seen.entries.alias(ENTRY).to_frame(), on=ENTRY, how="semi")
        alike = near if first == query else with_same(near, self.entries_with(first, seen))
        for word in others:
            if alike.is_empty():
                break
            near = closest(self.lexicon.near(word, among)).join(alike, on=ENTRY, how="semi")
            each = with_same(near, self.entries_with(word, SeenRows(seen.rows, alike[ENTRY], seen.hidden)))
            alike = alike.join(each, on=ENTRY).select(ENTRY, pl.col(LIKENESS) + pl.col(f"{LIKENESS}_right"))
        if alike.is_empty():
            return None
        rank = SPELLED + ALIKE - pl.col(LIKENESS) // len(words)
        return self.rows_of(alike.select(ENTRY, rank.alias(RANK)), seen)


def tables_of(index: Index) -> Tables:
    """Return all that an index holds as tables."""
    dimensions = [(key, of.leaf, len(index.spans[key]), of.is_tree) for key, of in index.dimensions.items()]
    numbered = list(enumerate(index.dimensions.values()))
    edges = [of.edges.with_columns(dimension=pl.lit(number, pl.UInt32)) for number, of in numbered]
    codes = [of.codes.with_columns(dimension=pl.lit(number, pl.UInt32)) for number, of in numbered]
    none = pl.Series("dimension", [], dtype=pl.UInt32)
    return {
        **index.tables,
        "dimensions": pl.DataFrame(dimensions, schema=DIMENSIONS, orient="row"),
        "edges": pl.concat([pl.DataFrame(schema=EDGES).with_columns(none), *edges]),
        "codes": pl.concat([pl.DataFrame(schema=CODES).with_columns(none), *codes]),
        "wholes": index.wholes,
        "words": index.lexicon.words,
        "pairs": index.lexicon.pair_table,
    }


def read_index(tables: Tables, *, are_mapped: bool) -> Index:
    """Return the index of tables that `tables_of` returned."""
    lengths, dimensions = [], []
    for number, (key, leaf, length, is_tree) in enumerate(tables["dimensions"].iter_rows()):
        edges, codes = (
            tables[name].filter(pl.col("dimension") == number).drop("dimension") for name in ("edges", "codes")
        )
        dimensions.append(DimensionRows(key, leaf, pl.DataFrame(schema=SCHEMA), edges, codes, is_tree))
        lengths.append(length)
    return Index.laid_out(dimensions, lengths, tables, are_mapped=are_mapped)


def entries_of_rows(rows: pl.Series) -> pl.Series:
    """Return the entry of each row. `rows` lists those of each entry, and every row stands in one list."""
    entries = rows.to_frame(ROW).with_row_index(ENTRY).explode(ROW)
    return (
        pl.repeat(0, n=entries.height, dtype=pl.UInt32, eager=True).scatter(entries[ROW], entries[ENTRY]).alias(ENTRY)
    )


def first_of_each(entries: pl.Series, begin: int, count: int) -> pl.Series:
    """Return the first row of each of so many entries, null if none. `entries` are those of the rows from `begin`."""
    rows = pl.int_range(begin, begin + len(entries), dtype=pl.UInt32, eager=True)
    none = pl.repeat(None, n=count, dtype=pl.UInt32, eager=True)
    return none.scatter(entries.reverse(), rows.reverse())  # the last one that is written stays


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


def closest(near: pl.DataFrame) -> pl.DataFrame:
    """Return each entry once, with its greatest likeness. `near` has the closest last."""
    return near.unique(ENTRY, keep="last")


def with_same(near: pl.DataFrame, same: pl.Series) -> pl.DataFrame:
    """Return the entries near a word and those that contain it, with their likeness."""
    certain = same.alias(ENTRY).to_frame().with_columns(pl.lit(ALIKE, pl.UInt32).alias(LIKENESS))
    return certain if near.is_empty() else pl.concat([certain, near.join(certain, on=ENTRY, how="anti")])


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
    def of(cls, rows: pl.DataFrame, first_node: int, most_records: int, most_nodes: int) -> "Best":
        """Take the first records and nodes, by rank and then in display order."""
        ranked_rows = rows.select_seq(place=pl.col(RANK).cast(pl.UInt64) * ROWS + pl.col(ROW))
        places: Iterable[int] = ranked_rows["place"]
        if ranked_rows.height > FEW:
            place, is_node = pl.col("place"), pl.col("place") % ROWS >= first_node
            few = place.filter(~is_node).bottom_k(most_records), place.filter(is_node).bottom_k(most_nodes)
            places = ranked_rows.select(pl.concat_list(part.implode() for part in few)).item()
        best = [divmod(place, ROWS) for place in sorted(places)]
        at = [place for place in best if place[1] < first_node]
        above = [place for place in best if place[1] >= first_node]
        return cls(at[:most_records], above[:most_nodes])
