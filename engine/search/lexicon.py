"""The lexicon: every word that something can be found by, to find those spelled nearly like another.

Words that are spelled alike share most of their pairs of neighbouring letters, ends included: `eurpoe` and `europe`
have 4 of 7 in common. Only words that share half of them are compared letter by letter.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher

import polars as pl

CLOSE = 700  # of 1000: how much alike two words are at least
COMPARED = 200  # words compared letter by letter: those that share most pairs
LONGEST = 40  # letters of a word that is worth comparing
ENTRY, LIKENESS = "entry", "likeness"  # columns: an entry, and of 1000 how much alike it is


@dataclass(frozen=True)
class Lexicon:
    """The distinct words in alphabetical order with the entries that have them, and the words with each pair."""

    words: pl.DataFrame  # word, marked: between two spaces, entry: all that have it
    pairs: pl.DataFrame  # pair, words: their positions

    @classmethod
    def of(cls, texts: pl.Series) -> "Lexicon":
        """Make one of the lists of words that the entries have."""
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
        )
        return cls(words, pairs)

    def used_in(self, entries: pl.Series) -> pl.Series:
        """Tell of each word whether one of some entries has it; of each entry it is said whether it is among them."""
        places = self.words.select(ENTRY).with_row_index("word").explode(ENTRY)
        used = places.filter(entries.gather(places[ENTRY]))["word"].unique()
        return pl.repeat(value=False, n=self.words.height, eager=True).scatter(used, values=True)

    def near(self, word: str, among: pl.Series) -> pl.DataFrame:
        """Return the entries that have a word spelled nearly like another, and its likeness.

        Of each word of the lexicon `among` says whether it counts; the others are as if they were not there. A number
        is spelled like no other: account 6011 is not 6010.
        """
        if not any(map(str.isalpha, word)):
            return pl.DataFrame(schema={ENTRY: pl.UInt32, LIKENESS: pl.UInt32})
        pairs = pairs_of(word)
        least = len(pairs) // 2
        lists = self.pairs.filter(pl.col("pair").is_in(pairs)).sort(pl.col("words").list.len())
        rarest = lists["words"].head(max(0, lists.height - least + 1)).explode(empty_as_null=False).unique()
        shared = pl.sum_horizontal(pl.col("marked").str.contains(pair, literal=True) for pair in pairs)
        compared = (
            self.words[rarest.filter(among.gather(rarest))]
            .with_columns(shared=shared)
            .filter(pl.col("shared") >= least)
            .sort("shared", "word", descending=[True, False])
            .head(COMPARED)
        )
        alike = pl.Series(LIKENESS, likenesses(word, compared["word"]), dtype=pl.UInt32)
        near = compared.select(ENTRY, alike).filter(pl.col(LIKENESS) >= CLOSE)
        return near.explode(ENTRY).group_by(ENTRY).agg(pl.col(LIKENESS).max())


def pairs_of(word: str) -> list[str]:
    """Return the pairs of neighbouring letters of a word, its ends marked by a space."""
    marked = f" {word} "
    return sorted({marked[at : at + 2] for at in range(len(marked) - 1)})


def likenesses(word: str, others: pl.Series) -> list[int]:
    """Return how much alike a word and each of some others are, of 1000."""
    matcher = SequenceMatcher(None, "", word, autojunk=False)
    found = []
    for other in others:
        matcher.set_seq1(other)
        found.append(int(matcher.ratio() * 1000))
    return found
