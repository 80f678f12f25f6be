"""The lexicon of a search: every word of the index, for close spellings.

Similar words share most of their letter pairs, ends included: `eurpoe` and `europe` share 4 of 7. Only words that share
half of the pairs are compared letter by letter.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal

import polars as pl
from msgspec import Struct

from engine.model.stopping import watched

CLOSE = 700  # least likeness, of 1000
COMPARED = 200  # most words to compare letter by letter
LONGEST = 40  # most letters of a word to compare
LAST = "\U0010ffff"  # after all letters
LONG = ""  # stands among the pairs for words of more letters, whose pairs are not kept
FEW = 2_000  # words whose letters are read without looking up more of their pairs
FREQUENT = 20_000  # words, beyond which those of a pair are not listed if those of others suffice
MAX_SHORT = 50_000  # words with a letter, beyond which they are not looked up
PIECE = 250_000  # words whose pairs are made at once
ENTRY, LIKENESS = "entry", "likeness"  # columns: an entry, and its likeness of 1000
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
NO_WORDS = pl.Series("words", [], dtype=pl.UInt32)
NOTHING_NEAR = pl.DataFrame(schema={ENTRY: pl.UInt32, LIKENESS: pl.UInt32})


class Lexicon(Struct, frozen=True):
    """The distinct words in alphabetical order with their entries, and the words of each letter pair."""

    words: pl.DataFrame  # word; entry: its entries
    pairs: Mapping[str, pl.Series]  # positions of the words with each pair, but of very long words

    @classmethod
    def of(cls, pieces: Iterable[pl.Series]) -> "Lexicon":
        """Make a lexicon from the list of words of each entry, a piece of the entries after the other."""
        listed, count = [], 0
        for texts in watched(pieces):
            listed.append(words_in(texts, count))
            count += len(texts)
        words = pl.concat(listed).group_by("word", maintain_order=True).agg(pl.col(ENTRY).explode()).sort("word")
        del listed
        is_short = pl.col("word").str.len_chars() <= LONGEST
        numbered = words.select("word").with_row_index("words")
        long = numbered.filter(~is_short).select("words")
        numbered = numbered.filter(is_short)
        begins = watched(range(0, numbered.height or 1, PIECE))
        paired = [pairs_in(numbered[begin : begin + PIECE]) for begin in begins]
        pairs = pl.concat(paired).group_by("pair").agg(pl.col("words").explode()).sort("pair")
        pairs = pl.concat([long.select(pl.lit(LONG).alias("pair"), pl.col("words").implode()), pairs])
        return cls.read(words, pairs)

    @classmethod
    def read(cls, words: pl.DataFrame, pairs: pl.DataFrame) -> "Lexicon":
        """Return the lexicon of two tables."""
        return cls(words, dict(zip(pairs["pair"], pairs["words"], strict=True)))

    @property
    def pair_table(self) -> pl.DataFrame:
        """The words of each letter pair as a table."""
        words = pl.Series("words", list(self.pairs.values()), dtype=pl.List(pl.UInt32))
        return pl.DataFrame({"pair": pl.Series(list(self.pairs), dtype=pl.String), "words": words})

    def used_in(self, entries: pl.Series) -> pl.Series:
        """Return a Boolean per word: whether any selected entry has it. `entries` is a Boolean per entry."""
        places = self.words.select(ENTRY).with_row_index("word").explode(ENTRY)
        used = places.filter(entries.gather(places[ENTRY]))["word"].unique()
        return pl.repeat(value=False, n=self.words.height, eager=True).scatter(used, values=True)

    def span_of(self, word: str) -> range:
        """Return the places of a word: one or none."""
        return range(*(self.words["word"].search_sorted(word, side=side) for side in SIDES))

    def span_beginning(self, letters: str) -> range:
        """Return the places of the words that begin with some letters."""
        return range(*prefix_range(self.words["word"], letters))

    def entries_of(self, span: range) -> pl.Series:
        """Return the entries with one of the words of a span."""
        return self.words[ENTRY][span.start : span.stop].explode().drop_nulls()

    def places_of(self, letters: str) -> pl.Series | None:
        """Return the places of words that may contain some letters; None where too many have the only letter."""
        if len(letters) == 1:
            lists = [words for pair, words in self.pairs.items() if letters in pair]
            places = None if sum(map(len, lists)) > MAX_SHORT else pl.concat([NO_WORDS, *lists])
        else:
            pairs = {letters[at : at + 2] for at in range(len(letters) - 1)}
            places = min((self.pairs.get(pair, NO_WORDS) for pair in pairs), key=len)
        return None if places is None else pl.concat([places, self.pairs.get(LONG, NO_WORDS)])

    def containing(self, letters: str, places: pl.Series) -> pl.Series:
        """Return the entries with a word that contains some letters; `places` are those of words that may."""
        pairs = {letters[at : at + 2] for at in range(len(letters) - 1)}
        lists = sorted((self.pairs.get(pair, NO_WORDS) for pair in pairs), key=len)[1:]
        for words in lists:
            if len(places) <= FEW:
                break
            listed = pl.repeat(value=False, n=self.words.height, dtype=pl.Boolean, eager=True)
            listed = listed.scatter(words, values=True).scatter(self.pairs.get(LONG, NO_WORDS), values=True)
            places = places.filter(listed.gather(places))
        contains = self.words["word"].gather(places).str.contains(letters, literal=True)
        return self.words[ENTRY].gather(places.filter(contains)).explode().drop_nulls()

    def _sharing(self, pairs: Sequence[str], least: int) -> pl.Series:
        """Return all words that share at least so many of some pairs, and perhaps others.

        Words of frequent pairs are not listed: a word that shares enough has enough of the others.
        """
        lists = sorted((self.pairs[pair] for pair in pairs if pair in self.pairs), key=len)
        frequent = 0
        while frequent < least - 1 and lists and len(lists[-1]) > FREQUENT:
            lists.pop()
            frequent += 1
        if not frequent:
            return pl.concat([NO_WORDS, *lists[: max(0, len(lists) - least + 1)]]).unique()
        times = pl.concat([NO_WORDS, *lists]).to_frame().group_by("words").len()
        return times.filter(pl.col("len") >= least - frequent)["words"]

    def near(self, word: str, among: pl.Series | None = None) -> pl.DataFrame:
        """Return the entries with a word spelled like the given one: columns ENTRY and LIKENESS, the closest last.

        An entry with several such words stands there for each. `among` is a Boolean per word of the lexicon, None for
        all; other words are ignored. Numbers have no close spellings: account 6011 is not 6010.
        """
        if not any(map(str.isalpha, word)):
            return NOTHING_NEAR
        pairs = pairs_of(word)
        least = len(pairs) // 2
        rarest = self._sharing(pairs, least)
        rarest = rarest if among is None else rarest.filter(among.gather(rarest))
        if rarest.is_empty():
            return NOTHING_NEAR
        marked = pl.concat_str(pl.lit(" "), "word", pl.lit(" "))
        shared = pl.sum_horizontal(pl.col("marked").str.contains(pair, literal=True) for pair in pairs)
        compared = (
            pl.DataFrame([rarest.alias("place"), self.words["word"].gather(rarest)])
            .lazy()
            .with_columns(marked=marked)
            .with_columns(shared=shared)
            .filter(pl.col("shared") >= least)
            .sort("shared", "word", descending=[True, False])
            .head(COMPARED)
            .collect(engine="in-memory")
        )
        alike = pl.Series(LIKENESS, likenesses(word, compared["word"]), dtype=pl.UInt32)
        close = pl.DataFrame([compared["place"], alike]).filter(alike >= CLOSE).sort(LIKENESS)
        entries = self.words[ENTRY].gather(close["place"])
        return pl.DataFrame([entries, close[LIKENESS]]).explode(ENTRY).drop_nulls()


def prefix_range(texts: pl.Series, prefix: str) -> tuple[int, int]:
    """Return where the texts stand, in a sorted column, that begin with a prefix."""
    return texts.search_sorted(prefix, side="left"), texts.search_sorted(prefix + LAST, side="left")


def words_in(texts: pl.Series, first: int) -> pl.DataFrame:
    """Return the words of some entries, from the `first` one: columns word and ENTRY. `texts` lists those of each."""
    return (
        texts.alias("word")
        .to_frame()
        .with_row_index(ENTRY, offset=first)
        .lazy()
        .explode("word")
        .filter(pl.col("word") != "")
        .group_by("word")
        .agg(ENTRY)
        .collect(engine="in-memory")
    )


def pairs_in(words: pl.DataFrame) -> pl.DataFrame:
    """Return the words of each letter pair: columns pair and words. `words` has the position of each word."""
    return (
        words.lazy()
        .select("words", pl.concat_str(pl.lit(" "), "word", pl.lit(" ")).alias("marked"))
        .with_columns(at=pl.int_ranges(pl.col("marked").str.len_chars() - 1))
        .explode("at")
        .group_by(pair=pl.col("marked").str.slice(pl.col("at"), 2))
        .agg(pl.col("words").unique(maintain_order=True))
        .collect(engine="in-memory")
    )


def pairs_of(word: str) -> list[str]:
    """Return the pairs of adjacent letters of a word, with a space at each end."""
    marked = f" {word} "
    return sorted({marked[at : at + 2] for at in range(len(marked) - 1)})


def likenesses(word: str, others: pl.Series) -> list[int]:
    """Return the likeness of a word to each of the others, of 1000."""
    matcher = SequenceMatcher(None, "", word, autojunk=False)
    ratios = []
    for other in others:
        matcher.set_seq1(other)
        ratios.append(int(matcher.ratio() * 1000))
    return ratios
