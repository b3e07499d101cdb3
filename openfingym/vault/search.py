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
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from openfingym.vault.arrays import Array, Arrays, ArrayWriter
from openfingym.vault.strings import Strings, write_strings

K1, B = 1.5, 0.75
"""Constants of BM25: how soon repetitions of a word stop counting, and how much long documents are held back."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""Chinese characters and kana, between whose words there are no spaces."""
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = f"(?<![^\\W_{_UNSPACED}])", f"(?![^\\W_{_UNSPACED}])"
_MIXED = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+")
_ACCENTS = re.compile("[\u3099\u309a\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_MOST_TIMES = 2**16 - 1
"""How often a word is counted in one document at most, which fits into 16 bits."""


def plain(text: str) -> str:
    """A text without case and accents."""
    # Compatibility decomposition takes accents off their letters, and makes one form of full-width and ligature forms.
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return text.casefold()


def words(text: str) -> list[str]:
    """The words of a text: runs of letters and digits, without case and accents. No stemming, no stop words.

    Chinese and Japanese are written without spaces: in a run of their characters, every two that follow each other are
    a word, and so is a character that stands alone.
    """
    simple = plain(text)
    if text.isascii() or not _HAS_UNSPACED.search(simple):
        return _WORD.findall(simple)
    return [word for run in _MIXED.findall(simple) for word in _pairs(run)]


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """A pattern of the phrase's words, one after another, for a text that :func:`plain` has made plain."""
    runs = _MIXED.findall(plain(phrase))
    pattern = ""
    for place, run in enumerate(runs):
        # Words that are written with spaces need something between them; beside a Chinese word there may be nothing.
        unspaced = _HAS_UNSPACED.match(run) is not None
        if place:
            beside = unspaced or _HAS_UNSPACED.match(runs[place - 1]) is not None
            pattern += r"[\W_]*" if beside else r"[\W_]+"
        pattern += re.escape(run) if unspaced else f"{_NO_LETTER_BEFORE}{re.escape(run)}{_NO_LETTER_AFTER}"
    return re.compile(pattern)


def _pairs(run: str) -> list[str]:
    if len(run) == 1 or not _HAS_UNSPACED.match(run):
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]


class SearchIndex:
    """An index of documents, mapped into memory.

    Args:
        path: path of the file that :func:`write_index` wrote.
        content: bytes of the file, uint8, if they are in memory; None maps the file.
    """

    def __init__(self, path: Path, content: Array | None = None) -> None:
        arrays = Arrays(path, content)
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
        # In one order, since the rounding of a sum depends on it.
        for word in sorted(set(words(query))):
            documents, times = self._postings(word, known)
            if len(documents):
                rarity = math.log(1 + (known - len(documents) + 0.5) / (len(documents) + 0.5))
                held_back = K1 * (1 - B + B * self._lengths[documents] / mean)
                scores[documents] += rarity * (times / (times + held_back))
        return scores

    def holding(self, wanted: Iterable[str], known: int) -> Array:
        """The documents below ``known`` that have every one of some words, in order; all of them for no word."""
        # The shortest list first: every other one can only take documents away.
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
        # For a word that no document has, the same steps are taken as for one that only later documents have: how long
        # an answer takes must not tell the two apart.
        place = number or 0
        part = slice(int(self._starts[place]), int(self._starts[place + 1]))
        documents = self._documents[part]
        count = int(documents.searchsorted(documents.dtype.type(known))) * (number is not None)
        return documents[:count], self._times[part][:count]


def best(scores: Array, rows: Array | None, limit: int) -> Array:
    """The rows with the highest scores above 0, the best first, and equal ones in the order in which they were known.

    Args:
        scores: score of each row.
        rows: rows to choose among, in order; None for all.
        limit: the most rows to give.
    """
    among = scores if rows is None else scores[rows]
    hits = np.flatnonzero(among > 0)
    if 0 < limit < len(hits):
        # Only hits that are as good as the last one wanted need sorting; ties stay in, and the stable sort orders them.
        least = np.partition(among[hits], len(hits) - limit)[len(hits) - limit]
        hits = hits[among[hits] >= least]
    hits = hits[np.argsort(-among[hits], kind="stable")][:limit]
    return hits if rows is None else rows[hits]


class WordCounts:
    """How often each document has each word, for documents that are added one after another."""

    def __init__(self) -> None:
        # A word that is asked for the first time gets the next number.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._of_words, self._times, self._sizes, self._lengths = array("I"), array("H"), array("I"), array("I")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Count the words of more documents.

        Args:
            documents: texts of the documents in batches, in the order in which they became known.
        """
        number = self._numbers.__getitem__
        for part in documents:
            for text in part:
                found = words(text)
                times = Counter(found)
                self._of_words.extend(map(number, times))
                few = len(found) <= _MOST_TIMES
                self._times.extend(times.values() if few else [min(each, _MOST_TIMES) for each in times.values()])
                self._sizes.append(len(times))
                self._lengths.append(len(found))

    def write(self, stream: BinaryIO, documents: int) -> None:
        """Write the index of the first documents, which is made from these alone.

        Args:
            stream: file to write to.
            documents: number of documents, counted from the first.
        """
        # Copies, since an array whose memory NumPy uses cannot grow.
        sizes, lengths = (np.array(kept[:documents], np.uint32) for kept in (self._sizes, self._lengths))
        pairs = int(sizes.sum())
        of_words, times = np.array(self._of_words[:pairs], np.uint32), np.array(self._times[:pairs], np.uint16)
        # Words are numbered as they come, so that those of the first documents are the first.
        first = int(of_words.max()) + 1 if pairs else 0
        # Python sorts by code points, which is the order of UTF-8's bytes, by which `Strings` are looked up.
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
        stream: file to write to.
        documents: texts of the documents in batches, in the order in which they became known.
    """
    counts = WordCounts()
    counts.add(documents)
    counts.write(stream, len(counts))
