"""Finding countries by a name, however it is written, and relations by a description: the likeliest first, and always
the same for the same words.

Names are compared whole, by their words, and by their letters. Descriptions are scored by BM25 over the names and
descriptions of the 169 relations of both levels, words cut to their stems; letters decide if no word is shared.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections import Counter
from functools import cache

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.functions import MOST_NAMES

_K1, _B = 1.5, 0.75
"""Parameters of BM25, at their usual values: how quickly repeated words stop counting, and how much long texts are held
down.
"""
_NAME_WEIGHT = 3
"""How many words of its description a word of a relation's name counts for."""
_LEAST_LIKE = 0.6
"""The least share of letters that a name must have in common with what is asked for."""
_MOST_LETTERS = 200
"""The most letters of a description that are compared with the names of relations, none of which has half as many."""
_SPREAD = 0.2
"""How much less alike than the best name another may be, from 0 to 1."""
_SLACK = 0.05
"""How far below the least likeness a name may be, so that 0.95 (all words are shared) is as good as the same name."""
_STOP = frozenset(
    re.findall(r"\w+", "a an and as at by for from in into is not of on or other specified such that the their to with")
)
_ENDINGS = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ings",
    "ing",
    "ions",
    "ion",
    "ies",
    "ied",
    "ers",
    "ed",
    "es",
    "s",
    "e",
    "y",
)


def likely_countries(name: str) -> tuple[taxonomy.ListedCountry, ...]:
    """The countries whose names are most like a text, at most five, the likeliest first.

    A name that fits exactly leaves out what merely sounds alike; one that fits several countries gives all of them.
    """
    wanted = _folded(name)
    if not wanted:
        return ()
    # Letters are only compared if no name has the words, since they find what merely looks alike (Niger, Nigeria).
    for likeness, least in ((_by_words, 1.0), (_by_letters, _LEAST_LIKE)):
        scored = [
            (-score, country.iso3, country)
            for country, names in _names()
            if (score := max(likeness(wanted, other) for other in names)) >= least - _SLACK
        ]
        if scored:
            # By likeness, then by code, so that equal ones always come in the same order.
            scored.sort(key=lambda row: row[:2])
            within = [country for score, _, country in scored if score <= scored[0][0] + _SPREAD]
            return tuple(within[:MOST_NAMES])
    return ()


def likely_relations(description: str) -> tuple[taxonomy.CameoRelation, ...]:
    """The relations of either level that a description fits best, at most five, the likeliest first; a code is its own
    description.
    """
    text = description.strip()
    if taxonomy.is_relation(text, level=1) or taxonomy.is_relation(text, level=2):
        return (taxonomy.relation(text),)
    frequencies, documents, mean = _corpus()
    words = dict.fromkeys(_stems(text))
    folded = _folded(text)[:_MOST_LETTERS]
    scored = []
    for relation, counts, length in documents:
        score = 0.0
        for word in words:
            count = counts[word]
            rarity = math.log(1.0 + (len(documents) - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
            score += rarity * count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * length / mean))
        # Below 1, while a shared word counts for more: letters break ties, and decide if no word is shared.
        letters = difflib.SequenceMatcher(None, folded, _folded(relation.name)).ratio()
        # Rounded, so that the order does not follow from the last bit of a sum.
        scored.append((-round(score + letters, 9), relation.code, relation))
    scored.sort(key=lambda row: row[:2])
    return tuple(relation for _, _, relation in scored[:MOST_NAMES])


def _by_words(wanted: str, name: str) -> float:
    """Likeness by words: 1 for the same text, 0.95 if all words of one are in the other, else 0."""
    if wanted == name:
        return 1.0
    mine, theirs = set(wanted.split()), set(name.split())
    return 0.95 if mine <= theirs or theirs <= mine else 0.0


def _by_letters(wanted: str, name: str) -> float:
    """Likeness by letters, from 0 to 1; 0 below what is looked for."""
    letters = difflib.SequenceMatcher(None, wanted, name)
    # The quick ratios are never below the true one, which takes much longer.
    least = _LEAST_LIKE - _SLACK
    near = letters.real_quick_ratio() >= least and letters.quick_ratio() >= least
    return letters.ratio() if near else 0.0


@cache
def _names() -> tuple[tuple[taxonomy.ListedCountry, tuple[str, ...]], ...]:
    return tuple(
        (country, (country.iso3.casefold(), *(_folded(name) for name in (country.name, *country.other_names))))
        for country in taxonomy.countries()
    )


@cache
def _corpus() -> tuple[Counter[str], tuple[tuple[taxonomy.CameoRelation, Counter[str], int], ...], float]:
    """How many relations have each stem; each relation with its counts of stems and their number; the mean number."""
    documents = []
    for relation in (*taxonomy.relations(1), *taxonomy.relations(2)):
        stems = [*(_NAME_WEIGHT * _stems(relation.name)), *_stems(relation.description)]
        documents.append((relation, Counter(stems), len(stems)))
    frequencies = Counter(stem for _, counts, _ in documents for stem in counts)
    return frequencies, tuple(documents), sum(length for _, _, length in documents) / len(documents)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case and without accents."""
    plain = text.casefold()
    if not plain.isascii():
        plain = "".join(letter for letter in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(letter))
    return re.findall(r"\w+", plain)


def _folded(text: str) -> str:
    """The words of a text that tell names apart, with one space between them."""
    return " ".join(word for word in words_of(text) if word not in {"the", "of", "and"})


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _folded(text).split() if word not in _STOP]


def _stem(word: str) -> str:
    """A word without its ending, of which at least four letters must be left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
