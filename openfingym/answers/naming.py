"""Finding the places where a text states a name, or says yes or no."""

from __future__ import annotations

import functools
import re
import unicodedata

from openfingym.answers.candidate import Candidate
from openfingym.answers.reference import Part

_WORD = re.compile(r"[^\W_]+")
_GENERIC = frozenset(
    {
        *("the", "a", "an", "inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "plc"),
        *("llc", "lp", "sa", "ag", "nv", "se", "group", "holdings", "holding"),
        *("province", "city", "state", "stock", "shares"),
    }
)
"""Words that do not tell one name from another."""
_GENERIC_CHINESE = re.compile(r"股份有限公司|有限责任公司|有限公司|集团|公司|省|市$")
_YES = re.compile(r"\b(?:yes|true|correct)\b|(?<![不没])(?:是的?(?!否)|对(?!于)|正确)", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false|incorrect)\b|否|不是|没有|不对|错误|不正确", re.IGNORECASE)


def name_key(text: str) -> str:
    """A name in the form in which names are compared: lower case, without signs, accents and words such as Inc. or
    有限公司.
    """
    # Decomposed, an accented letter is the letter and its accent, which can be left out.
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)).casefold()
    plain = _GENERIC_CHINESE.sub("", plain.replace("'s", "").replace("&", " and "))
    words = _WORD.findall(plain)
    # A name of such words alone keeps them.
    return " ".join(word for word in words if word not in _GENERIC) or " ".join(words)


def yes_or_no(part: Part, text: str) -> list[Candidate]:
    """Where a text says yes or no."""
    stated = sorted(
        Candidate(match.start(), match.end(), part.value is says, False)
        for words, says in ((_YES, True), (_NO, False))
        for match in words.finditer(text)
    )
    # "Yes, there is no change": what comes first and is set off by a comma is the answer.
    if len(stated) > 1 and not stated[0].start and re.match(r"\s*[,.;:!-]", text[stated[0].end :]):
        return stated[:1]
    return stated


def names(part: Part, text: str) -> list[Candidate]:
    """Where a text names the right value or another choice; the whole text if it is nothing but the right value."""
    right = _keys(part)[0]
    if name_key(text) in right or name_key(_lead_in(text)) in right:
        return [Candidate(0, len(text), True, False)]
    pattern, keys = _pattern(part)
    return [
        Candidate(match.start(), match.end(), name_key(match[0]) in keys, False) for match in pattern.finditer(text)
    ]


_LEAD = re.compile(
    r"^\s*(?:it\s+(?:is|was)|(?:the\s+)?(?:answer|company|stock|country|province|city|one)\s+(?:is|was)"
    r"|that\s+(?:is|was)|是|为)\s*:?\s+"
    r"|\s*\([^()]{0,40}\)\s*\.?\s*$",
    re.IGNORECASE,
)


def _lead_in(text: str) -> str:
    """A short text without words such as "It is" before a name, and without what stands in brackets after it."""
    # What stands in brackets may be a second answer if the text says "or".
    return _LEAD.sub("", text) if len(text) < 200 and not re.search(r"\bor\b|或", text) else text


@functools.lru_cache(maxsize=4096)
def _keys(part: Part) -> tuple[frozenset[str], frozenset[str]]:
    """The names that are right, and those of the other choices, as :func:`name_key` gives them."""
    right = frozenset(name_key(str(value)) for value in (part.value, *part.accept))
    return right, frozenset(map(name_key, part.choices)) - right


@functools.lru_cache(maxsize=4096)
def _pattern(part: Part) -> tuple[re.Pattern[str], frozenset[str]]:
    """A pattern that finds every name of a part, right or not, and the right ones as :func:`name_key` gives them."""
    spelled = {str(value) for value in (part.value, *part.accept, *part.choices)}
    # A key is shorter than its name, and one of two letters may be a word of its own.
    spelled |= {key for key in _keys(part)[0] | _keys(part)[1] if len(key) > 2}
    # The longest first: "Industrial and Commercial Bank of China" must not be found as "Bank of China".
    ordered = sorted(spelled, key=lambda name: (-len(name), name))
    bounded = (rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in ordered)
    return re.compile("|".join(bounded), re.IGNORECASE), _keys(part)[0]
