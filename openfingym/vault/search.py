"""Full-text search by BM25, as of a time, from one index of all documents.

Documents are numbered in the order in which they became known, and for each word the index has the documents with it in
that order. So those that were known at a time are a prefix of every list, and the statistics of the formula follow from
prefixes: how many documents there are, how many have a word, and how long they are on average. A score is the one that
an index without the later documents would give, to the last bit.
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from openfingym.vault.arrays import Array, Arrays, ArrayWriter
from openfingym.vault.strings import Strings, write_strings

K1, B = 1.5, 0.75
"""Constants of BM25: how soon a word's repetitions stop to count, and how much long documents are held back."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Chinese characters and kana, between whose words there are no spaces."""
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = f"(?<![^\\W_{_UNSPACED}])", f"(?![^\\W_{_UNSPACED}])"
_MIXED = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_ACCENTS = re.compile("[\u3099\u309a\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_MOST_TIMES = 2**16 - 1


def plain(text: str) -> str:
    """A text without case and accents."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return text.casefold()


def words(text: str) -> list[str]:
    """The words of a text: runs of letters and digits, without case and accents. No stemming, no stop words.

    Chinese and Japanese have no spaces: of a run of their characters, every two that follow each other are a word, and
    one that stands alone.
    """
    simple = plain(text)
    if text.isascii() or not _HAS_UNSPACED.search(simple):
        return _WORD.findall(simple)
    return [word for run in _MIXED.findall(simple) for word in _pairs(run)]


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Finds the words of a phrase, one after another, in a text of which :func:`plain` was taken."""
    runs = _MIXED.findall(plain(phrase))
    found = ""
    for place, run in enumerate(runs):
        # Between words that are written with spaces something must stand; nothing need to beside a Chinese one.
        unspaced = _HAS_UNSPACED.match(run) is not None
        if place:
            beside = unspaced or _HAS_UNSPACED.match(runs[place - 1]) is not None
            found += r"[\W_]*" if beside else r"[\W_]+"
        found += re.escape(run) if unspaced else f"{_NO_LETTER_BEFORE}{re.escape(run)}{_NO_LETTER_AFTER}"
    return re.compile(found)


def _pairs(run: str) -> list[str]:
    if len(run) == 1 or not _HAS_UNSPACED.match(run):
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]


class SearchIndex:
    """An index of documents, mapped into memory.

    Args:
        path: the file that :func:`write_index` wrote.
    """

    def __init__(self, path: Path) -> None:
        arrays = Arrays(path)
        self._words = Strings(arrays, "words")
        self._starts: Array = arrays["postings.starts"]
        self._documents: Array = arrays["postings.documents"]
        self._times: Array = arrays["postings.times"]
        self._lengths: Array = arrays["lengths"]
        self._total: Array = arrays["lengths.sums"]

    def scores(self, query: str, known: int) -> Array:
        """Score of each document below ``known``; 0 where it has no word of the query, and above 0 where it has one.

        The score of a document is, summed over the different words of the query in alphabetical order,
        ``ln(1 + (n - d + 0.5) / (d + 0.5)) * f / (f + K1 * (1 - B + B * length / mean))``, of ``n`` documents of which
        ``d`` have the word, this one ``f`` times.
        """
        scores = np.zeros(known)
        if not known:
            return scores
        mean = int(self._total[known]) / known
        for word in sorted(set(words(query))):
            documents, times = self._postings(word, known)
            if len(documents):
                rarity = math.log(1 + (known - len(documents) + 0.5) / (len(documents) + 0.5))
                held_back = K1 * (1 - B + B * self._lengths[documents] / mean)
                scores[documents] += rarity * (times / (times + held_back))
        return scores

    def holding(self, wanted: Iterable[str], known: int) -> Array:
        """The documents below ``known`` that have every one of some words, in order; all of them for no word."""
        lists = sorted((self._postings(word, known)[0] for word in set(wanted)), key=len)
        rows = lists[0].astype(np.int64) if lists else np.arange(known)
        for other in lists[1:]:
            rows = rows[np.isin(rows, other, assume_unique=True)]
        return rows

    def _postings(self, word: str, known: int) -> tuple[Array, Array]:
        """The documents below ``known`` with a word, and how many times each has it."""
        number = self._words.number(word)
        if not len(self._words):
            return self._documents[:0], self._times[:0]
        # A word that no document has takes the steps of one that only later documents have, and as long.
        place = number or 0
        part = slice(int(self._starts[place]), int(self._starts[place + 1]))
        documents = self._documents[part]
        count = int(documents.searchsorted(documents.dtype.type(known))) * (number is not None)
        return documents[:count], self._times[part][:count]


def best(scores: Array, rows: Array | None, limit: int) -> Array:
    """The rows with the highest scores above 0, the best first, and equal ones in the order in which they were known.

    Args:
        scores: score of each row.
        rows: the rows to choose among, in order; None for all.
        limit: how many to give at most.
    """
    among = scores if rows is None else scores[rows]
    found = np.flatnonzero(among > 0)
    if 0 < limit < len(found):
        least = np.partition(among[found], len(found) - limit)[len(found) - limit]
        found = found[among[found] >= least]
    found = found[np.argsort(-among[found], kind="stable")][:limit]
    return found if rows is None else rows[found]


class WordCounts:
    """How often each document has each word, for documents that are added one after another."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._of_words, self._times, self._sizes, self._lengths = array("I"), array("H"), array("I"), array("I")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Count the words of more documents.

        Args:
            documents: their texts in parts, in the order in which they became known.
        """
        numbers = self._numbers
        for part in documents:
            for text in part:
                counts = Counter(words(text))
                self._of_words.extend([numbers.setdefault(word, len(numbers)) for word in counts])
                self._times.extend([min(count, _MOST_TIMES) for count in counts.values()])
                self._sizes.append(len(counts))
                self._lengths.append(counts.total())

    def write(self, stream: BinaryIO, documents: int) -> None:
        """Write the index of the first documents, of which it is made alone.

        Args:
            stream: the file.
            documents: how many.
        """
        # Copies: an array that NumPy looks at cannot grow.
        sizes, lengths = (np.array(kept[:documents], np.uint32) for kept in (self._sizes, self._lengths))
        pairs = int(sizes.sum())
        of_words, times = np.array(self._of_words[:pairs], np.uint32), np.array(self._times[:pairs], np.uint16)
        # Words are numbered as they come, so that those of the first documents are the first.
        first = int(of_words.max()) + 1 if pairs else 0
        # UTF-8 sorts as code points do, and so does Python.
        ordered = sorted(islice(self._numbers, first))
        place = np.zeros(first, np.uint32)
        place[[self._numbers[word] for word in ordered]] = np.arange(first, dtype=np.uint32)
        of_words_sorted = place[of_words]
        by_word = np.argsort(of_words_sorted, kind="stable")
        in_documents = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        writer = ArrayWriter(stream)
        write_strings(writer, "words", [ordered])
        starts = np.searchsorted(of_words_sorted[by_word], np.arange(first + 1))
        writer.add("postings.starts", starts.astype("u8"))
        writer.add("postings.documents", in_documents[by_word])
        writer.add("postings.times", times[by_word])
        writer.add("lengths", lengths)
        writer.add("lengths.sums", np.append(0, np.cumsum(lengths.astype(np.uint64))).astype("u8"))
        writer.finish()


def write_index(stream: BinaryIO, documents: Iterable[Sequence[str]]) -> None:
    """Write the index of documents.

    Args:
        stream: the file.
        documents: their texts in parts, in the order in which they became known.
    """
    counts = WordCounts()
    counts.add(documents)
    counts.write(stream, len(counts))
