"""Cleaning the texts of articles by the OBELICS protocol: paragraphs first, then what is left of the document.

| | paragraph | document |
|---|---|---|
| words | 4 to 5,000 | 10 to 10,000 |
| repeated sequences of 10 characters | at most 0.1 | 0.2 |
| repeated sequences of 5 words | at most 0.1 | 0.3 |
| special characters | at most 0.3 | 0.3 |
| flagged words | at most 0.02 | 0.01 |
| English | | at least 0.8 |

A paragraph beyond a bound is taken out; a document beyond one is dropped. The values are those of the paper's code. The
list of flagged words is our own and small, and so is the measure of English: of the words of a text that are among the
commonest of eleven languages, the share that is English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import isqrt


@dataclass(frozen=True)
class TextBounds:
    """What a paragraph or a document must keep within."""

    words: tuple[int, int]
    """The fewest and the most words."""
    character_repetition: float
    """The largest share of repeated sequences of characters."""
    word_repetition: float
    """The largest share of repeated sequences of words."""
    special: float
    """The largest share of special characters."""
    flagged: float
    """The largest share of flagged words."""
    english: float = 0.0
    """The smallest share of English; 0 if any language will do."""


PARAGRAPH = TextBounds((4, 5_000), 0.1, 0.1, 0.3, 0.02)
DOCUMENT = TextBounds((10, 10_000), 0.2, 0.3, 0.3, 0.01, 0.8)
_USUAL = ",.;:'\"!?’‘“”-()"
"""Punctuation that does not count as special."""
CHARACTERS, WORDS = 10, 5
"""Lengths of the sequences whose repetition is measured, in characters and in words."""

_LANGUAGES = {
    "en": "the of and to in a is that for it was on with as he be at by this had not are but from or have an they "
    "which will said has its were their been would who after more than also over between",
    "fr": "le la les des et en un une du est que dans qui pour pas sur au avec ce il sont plus par se ont été aux",
    "es": "el los las de y que en un una del se por con para es al lo como más su ha sus fue este entre pero ya son",
    "de": "der die das und den von zu mit sich des auf ist im dem nicht ein eine als auch es an werden aus er hat nach",
    "it": "il di che la per un una è del della con non si le dei alla sono da più nel gli anche lo ha come al nella",
    "pt": "o os as do da e que em um uma para com não por mais dos na no se foi ao das como são pelo pela entre",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er om ook als bij naar heeft uit door maar",
    "pl": "i w na się nie do że jest z to o jak po za od dla przez przy są był ale oraz może tylko już co",
    "tr": "ve bir bu için ile olarak olan da de çok daha gibi olduğu kadar sonra en ne var ise diye ki mi",
    "id": "yang dan di dari untuk dengan pada ini itu tidak dalam akan ke oleh juga sebagai karena telah ada bisa",
    "ro": "și de în la cu pe care din pentru nu mai sunt este au fost dar prin ce sau după între fi se al",
}


def clean_text(text: str) -> str | None:
    """The paragraphs of a text that are kept, with an empty line between them; None if the document is dropped.

    A paragraph is what stands between line breaks. Nothing is changed in it but white space, and letters with marks,
    which become one character each.
    """
    # Composed first, or the accents of letters that are written as two characters would count by themselves.
    paragraphs = (" ".join(paragraph.split()) for paragraph in unicodedata.normalize("NFC", text).splitlines())
    kept = [paragraph for paragraph in paragraphs if paragraph and is_within(paragraph, PARAGRAPH)]
    document = "\n\n".join(kept)
    return document if is_within(document, DOCUMENT) else None


def is_within(text: str, bounds: TextBounds) -> bool:
    """Whether a text keeps within bounds."""
    words = text.split()
    # From the cheapest check to the dearest.
    return (
        bounds.words[0] <= len(words) <= bounds.words[1]
        and special_ratio(text) <= bounds.special
        and flagged_ratio(words) <= bounds.flagged
        and character_repetition(text) <= bounds.character_repetition
        and word_repetition(words) <= bounds.word_repetition
        and (not bounds.english or english_share(words) >= bounds.english)
    )


def character_repetition(text: str, length: int = CHARACTERS) -> float:
    """Share of the commonest sequences of characters among all.

    The commonest are those that occur more than once, at most √n of n different ones: any long text repeats some.
    """
    counts = Counter(text[start : start + length] for start in range(len(text) - length + 1))
    numbers = sorted(counts.values(), reverse=True)
    if not numbers:
        return 0.0
    repeated = min(isqrt(len(numbers)), sum(count > 1 for count in numbers))
    return sum(numbers[:repeated]) / sum(numbers)


def word_repetition(words: Sequence[str], length: int = WORDS) -> float:
    """Share of the sequences of words that occur more than once."""
    folded = [word.lower() for word in words]
    counts = Counter(tuple(folded[start : start + length]) for start in range(len(folded) - length + 1))
    return sum(count for count in counts.values() if count > 1) / max(1, sum(counts.values()))


def special_ratio(text: str) -> float:
    """Share of characters other than letters, their marks, white space and usual punctuation; digits are special."""
    special = sum(
        not (letter.isalpha() or letter.isspace() or letter in _USUAL or unicodedata.category(letter) == "Mn")
        for letter in text
    )
    return special / max(1, len(text))


def flagged_ratio(words: Sequence[str]) -> float:
    """Share of words on the list of flagged words."""
    flagged = _flagged()
    return sum(_bare(word) in flagged for word in words) / max(1, len(words))


def english_share(words: Sequence[str]) -> float:
    """How English a text is, from 0 to 1: English words over these and the words of the most frequent other language.

    Only the commonest words of some languages count; a text without any has 0. A word that is also English counts for
    English alone, so that names and borrowed words do not speak for another language.
    """
    known = _common()
    hits = Counter(language for word in words for language in known.get(_bare(word), ()))
    other = max((count for language, count in hits.items() if language != "en"), default=0)
    return hits["en"] / max(1, hits["en"] + other)


def _bare(word: str) -> str:
    """A word in lower case, without the punctuation around it."""
    return re.sub(r"^\W+|\W+$", "", word.lower())


@cache
def _flagged() -> frozenset[str]:
    path = resources.files("openfingym_suites.mirai") / "data" / "flagged-words.txt"
    return frozenset(path.read_text(encoding="utf-8").split())


@cache
def _common() -> dict[str, tuple[str, ...]]:
    """Languages of each of the commonest words; English comes first, and then no other counts."""
    languages_of: dict[str, list[str]] = {}
    for language, words in _LANGUAGES.items():
        for word in words.split():
            if "en" not in languages_of.get(word, ()):
                languages_of.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in languages_of.items()}
