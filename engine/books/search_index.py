"""The search index: every member and node of the books, and the words that find them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, reduce
from itertools import chain
from operator import and_
from unicodedata import combining, normalize

import polars as pl
from msgspec import Struct

from engine.model.members.member_sets import MemberSet
from engine.model.scope import UNASSIGNED

# Folded texts: names, ids, codes and queries without differences of case, accents, width and look-alikes.


LOOK_ALIKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
    | dict.fromkeys("‘’‚ʼ′", "'")
    | dict.fromkeys("“”„«»″", '"')
    | dict.fromkeys("‐‒–—―−", "-")
)
FIRST_COMBINING = "\u0300"
NO_WORD = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Return the folded text, with single spaces between words: ＭÜLLER  Straße becomes muller strasse.

    Removes invisible characters, so that the index can use them as marks.
    """
    folded = text.casefold()
    if not text.isascii():
        apart = normalize("NFKD", text.replace("´", "'"))
        letters = [char for char in apart if char < FIRST_COMBINING or not combining(char)]
        folded = "".join(letters).casefold().translate(LOOK_ALIKES)
    if not folded.isprintable():
        folded = "".join(char for char in folded if char.isprintable() or char.isspace())
    return " ".join(folded.split())


def fold_whole(text: str) -> str:
    """Return the folded text without spaces."""
    return fold(text).replace(" ", "")


def spaced(folded: str) -> str:
    """Return a folded text with one space in place of everything between letters and digits."""
    return NO_WORD.sub(" ", folded).strip()


# The lexicon: every word of the index, for close spellings.
#
# Similar words share most of their letter pairs, ends included: `eurpoe` and `europe` share 4 of 7. Only words that
# share half of the pairs are compared letter by letter.


CLOSE = 700  # least likeness, of 1000
COMPARED = 200  # most words to compare letter by letter
LONGEST = 40  # most letters of a word to compare
ENTRY, LIKENESS = "entry", "likeness"  # columns: an entry, and its likeness of 1000
NO_WORDS = pl.Series("words", [], dtype=pl.UInt32)
NOTHING_NEAR = pl.DataFrame(schema={ENTRY: pl.UInt32, LIKENESS: pl.UInt32})


class Lexicon(Struct, frozen=True):
    """The distinct words in alphabetical order with their entries, and the words of each letter pair."""

    words: pl.DataFrame  # word; marked: the word between two spaces; entry: its entries
    pairs: Mapping[str, pl.Series]  # positions of the words with each pair

    @classmethod
    def of(cls, texts: pl.Series) -> "Lexicon":
        """Make a lexicon from the list of words of each entry."""
        words = (
            texts.alias("word")
            .to_frame()
            .with_row_index(ENTRY)
            .explode("word")
            .filter(pl.col("word").str.len_chars().is_between(1, LONGEST))
            .group_by("word")
            .agg(ENTRY)
            .sort("word")
            .with_columns(marked=" " + pl.col("word") + " ")
        )
        pairs = (
            words.select("marked", at=pl.int_ranges(pl.col("word").str.len_chars() + 1))
            .with_row_index("words")
            .explode("at")
            .group_by(pair=pl.col("marked").str.slice(pl.col("at"), 2))
            .agg("words")
            .sort("pair")
        )
        return cls(words, dict(zip(pairs["pair"], pairs["words"], strict=True)))

    def used_in(self, entries: pl.Series) -> pl.Series:
        """Return a Boolean per word: whether any selected entry has it. `entries` is a Boolean per entry."""
        places = self.words.select(ENTRY).with_row_index("word").explode(ENTRY)
        used = places.filter(entries.gather(places[ENTRY]))["word"].unique()
        return pl.repeat(value=False, n=self.words.height, eager=True).scatter(used, values=True)

    def near(self, word: str, among: pl.Series) -> pl.DataFrame:
        """Return the entries with a word spelled like the given one: columns ENTRY and LIKENESS.

        `among` is a Boolean per word of the lexicon; other words are ignored. Numbers have no close spellings: account
        6011 is not 6010.
        """
        if not any(map(str.isalpha, word)):
            return NOTHING_NEAR
        pairs = pairs_of(word)
        least = len(pairs) // 2
        lists = sorted((self.pairs[pair] for pair in pairs if pair in self.pairs), key=len)
        rarest = pl.concat([NO_WORDS, *lists[: max(0, len(lists) - least + 1)]]).unique()
        rarest = rarest.filter(among.gather(rarest))
        if rarest.is_empty():
            return NOTHING_NEAR
        shared = pl.sum_horizontal(pl.col("marked").str.contains(pair, literal=True) for pair in pairs)
        compared = (
            self.words[rarest]
            .lazy()
            .with_columns(shared=shared)
            .filter(pl.col("shared") >= least)
            .sort("shared", "word", descending=[True, False])
            .head(COMPARED)
            .collect(engine="in-memory")
        )
        alike = likenesses(word, compared["word"])
        if max(alike, default=0) < CLOSE:
            return NOTHING_NEAR
        near = compared.lazy().select(ENTRY, pl.lit(pl.Series(LIKENESS, alike, dtype=pl.UInt32)))
        near = near.filter(pl.col(LIKENESS) >= CLOSE).explode(ENTRY).group_by(ENTRY).agg(pl.col(LIKENESS).max())
        return near.collect(engine="in-memory")


def pairs_of(word: str) -> list[str]:
    """Return the pairs of adjacent letters of a word, with a space at each end."""
    marked = f" {word} "
    return sorted({marked[at : at + 2] for at in range(len(marked) - 1)})


def likenesses(word: str, others: pl.Series) -> list[int]:
    """Return the likeness of a word to each of the others, of 1000."""
    matcher = SequenceMatcher(None, "", word, autojunk=False)
    found = []
    for other in others:
        matcher.set_seq1(other)
        found.append(int(matcher.ratio() * 1000))
    return found


# The index: one row per member and node, and one entry per distinct text.
#
# A member of a leaf dimension shares its entry with the same member in trees above, so each text is read once.


BEGIN, END = "\x02", "\x03"  # marks around each part of a text; no folded text contains them
BETWEEN_WORDS = rf"[^\p{{L}}\p{{N}}{END}]+"  # what `spaced` replaces by a space
PUNCTUATED = rf"[^ {BEGIN}{END}]*[^\p{{L}}\p{{N}} {BEGIN}{END}][^ {BEGIN}{END}]*"
ALIKE = 1000  # likeness of a word to itself
MOST_WORDS = 8  # of a query, for close spelling
ROW, RANK = "row", "rank"  # columns of the matches
LISTED, EXACT, BEGINS, WORD_BEGINS, CONTAINS, SPELLED = range(6)  # ranks, best first; SPELLED and more: less alike
ROWS = 2**32  # more than any index has
FEW = 500  # matches that are sorted in Python, which takes less than a plan of Polars


class Index(Struct, frozen=True, dict=True):
    """All rows, by dimension and in display order, and the entries with their rows."""

    dimensions: Mapping[str, range]
    first_node: int  # the first row of trees
    ids: Sequence[str]
    lent: Mapping[int, bool]  # rows of ids with a posting leaf -> whether the row has the leaf's name and code
    entries: pl.DataFrame
    entry_of: pl.Series  # by row

    @classmethod
    def of(cls, lists: Sequence[MemberSet], trees: Sequence[MemberSet]) -> "Index":
        """Index the ids of some dimensions. The last row of each dimension is `(unassigned)`.

        An id that takes its name and code from a leaf has one row with them and one without.
        """
        ids: list[str] = []
        lent: dict[int, bool] = {}
        ranges: dict[str, range] = {}
        entries: dict[tuple[str | None, ...], int] = {}
        entry_of: list[int] = []
        for members in (*lists, *trees):
            begin = len(ids)
            unassigned = (UNASSIGNED, members.code(UNASSIGNED), members.label(UNASSIGNED), None)
            for member, code, label, bare_label in chain(members.texts(), (unassigned,)):
                if bare_label is not None:
                    lent |= {len(ids): False, len(ids) + 1: True}
                    ids.append(member)
                    entry_of.append(entries.setdefault((member, None, bare_label), len(entries)))
                ids.append(member)
                entry_of.append(entries.setdefault((member, code, label), len(entries)))
            ranges[members.dimension] = range(begin, len(ids))
        marked = (
            "".join([f"{BEGIN}{part}{END}" for part in dict.fromkeys(map(fold, filter(None, known)))])
            for known in entries
        )
        texts = pl.DataFrame({"text": marked}, schema={"text": pl.String}).with_columns(
            words=pl.col("text").str.replace_all(BETWEEN_WORDS, " ")
        )
        rows = pl.DataFrame({ENTRY: entry_of}, schema={ENTRY: pl.UInt32}).with_row_index(ROW)
        return cls(
            dimensions=ranges,
            first_node=sum(len(ranges[members.dimension]) for members in lists),
            ids=ids,
            lent=lent,
            entries=pl.concat([rows.group_by(ENTRY).agg(ROW).sort(ENTRY), texts], how="horizontal"),
            entry_of=rows[ENTRY],
        )

    def dimension_of(self, row: int) -> str:
        """Return the dimension of a row."""
        return next(key for key, rows in self.dimensions.items() if row in rows)

    def of_rows(self, visible: pl.Series) -> pl.DataFrame:
        """Return the entries that have visible rows, each with its visible rows. `visible` is a Boolean per row.

        A search reads these entries, so that its time does not depend on what others hold.
        """
        rows = pl.DataFrame({ENTRY: self.entry_of}).with_row_index(ROW).filter(visible)
        return rows.group_by(ENTRY).agg(ROW).join(self.entries.drop(ROW), on=ENTRY)

    def listing(self, entries: pl.DataFrame) -> pl.LazyFrame:
        """Return the rows of some entries: columns ROW and RANK."""
        return entries.lazy().select(ROW, pl.lit(LISTED, pl.UInt32).alias(RANK)).explode(ROW)

    def matches(self, query: str, entries: pl.DataFrame) -> pl.LazyFrame:
        """Return the rows of those entries that contain every word of a folded query: columns ROW and RANK."""
        words = sorted(dict.fromkeys(query.split(" ")), key=len, reverse=True)
        return reduce(holding, words, entries.lazy()).select(ROW, ranked(query, words)).explode(ROW)

    @cached_property
    def whole_texts(self) -> pl.DataFrame:
        """The ids, codes and names of all entries without spaces: columns `whole` and ENTRY."""
        text = pl.col("text").str.replace_all(" ", "", literal=True)
        return self.entries.select(
            text.str.strip_chars(BEGIN + END).str.split(END + BEGIN).alias("whole"), ENTRY
        ).explode("whole")

    def named(self, wholes: Collection[str], entries: pl.DataFrame) -> Mapping[str, Sequence[int]]:
        """Return the rows of entries with each of some folded texts without spaces as id, code or name, in order."""
        found = self.whole_texts.filter(pl.col("whole").is_in(list(wholes))).join(entries, on=ENTRY)
        rows = found.lazy().select("whole", ROW).explode(ROW).group_by("whole").agg(pl.col(ROW).sort()).collect()
        return dict(rows.iter_rows())

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of all entries. Words with punctuation are also listed as written."""
        words = pl.col("words").str.replace_all(END, " ", literal=True).str.split(" ")
        return Lexicon.of(self.entries.select(words.list.concat(pl.col("text").str.extract_all(PUNCTUATED)))["words"])

    def words_of(self, entries: pl.DataFrame) -> pl.Series:
        """Return a Boolean per word of the lexicon: whether one of some entries has it."""
        every = pl.repeat(value=False, n=self.entries.height, eager=True)
        return self.lexicon.used_in(every.scatter(entries[ENTRY], values=True))

    def spellings(self, query: str, entries: pl.DataFrame, among: pl.Series) -> pl.LazyFrame | None:
        """Return the rows of entries that contain every word of a folded query or a close spelling, None if none do.

        `among` holds the words of the entries. Columns ROW and RANK; a closer spelling has a lower rank. Call it only
        if `matches` finds nothing.
        """
        words = [word for word in dict.fromkeys(query.split(" ")) if spaced(word)]
        if not 0 < len(words) <= MOST_WORDS:
            return None
        first, *others = sorted(words, key=len, reverse=True)
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
        return entries.lazy().join(found.lazy(), on=ENTRY).select(ROW, rank.alias(RANK)).explode(ROW)


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
    def of(cls, found: pl.LazyFrame, first_node: int, most_records: int, most_nodes: int) -> "Best":
        """Take the first records and nodes, by rank and then in display order."""
        ranked_rows = found.select_seq(place=pl.col(RANK).cast(pl.UInt64) * ROWS + pl.col(ROW)).collect()
        places: Iterable[int] = ranked_rows["place"]
        if ranked_rows.height > FEW:
            place, is_node = pl.col("place"), pl.col("place") % ROWS >= first_node
            few = place.filter(~is_node).bottom_k(most_records), place.filter(is_node).bottom_k(most_nodes)
            places = ranked_rows.select(pl.concat_list(part.implode() for part in few)).item()
        best = [divmod(place, ROWS) for place in sorted(places)]
        at = [place for place in best if place[1] < first_node]
        above = [place for place in best if place[1] >= first_node]
        return cls(at[:most_records], above[:most_nodes])
