"""Whether the words around a number say that something fell or rose by it, and whether they are known at all.

The words are read from the number outwards, up to the end of the clause. A word of movement counts if nothing but known
words stands between it and the number; behind a word that is not known the direction is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from openfingym.answers.reading.chinese_directions import CJK, chinese_before, chinese_behind
from openfingym.answers.reading.said import NOTHING, UNSURE, Said
from openfingym.answers.reading.vocabulary import (
    ADVERB_ENDINGS,
    CHINESE_FALLING,
    COPULAS,
    COUNTED,
    EITHER_WAY,
    FALLING,
    FILLERS,
    LEVELS,
    LOSSES,
    OPENERS,
    PROFITS,
    RISING,
    singular,
    words,
)
from openfingym.answers.units import CURRENCIES, PERCENT, SCALES

REACH = 96
"""How many characters before and behind a number are read for words that belong to it."""
_SIGN_OF = dict.fromkeys(FALLING | LOSSES, -1) | dict.fromkeys(RISING | PROFITS, 1) | dict.fromkeys(EITHER_WAY, 0)
_WORDS = re.compile(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*|[0-9]+|\n|[^\s\w]|_")
_BRACKETED = re.compile(r"\([^()\n]*\)")
_VERBS = words("is was were are be been being equals equal equaled equalled amounted came stands")
"""Verbs that state a number as what stands before them."""
_ABBREVIATIONS = words("approx ca i.e p.a yr qtr jan feb mar apr jun jul aug sep sept oct nov dec")
"""Known words whose full stop ends no sentence before a number, as in "fell approx. 5 %"."""
_PARTICIPLES = ("ed", "en", "er", "ing", "unk")
"""Endings of words of a fall that are no nouns: before a noun they say what it is like."""
_PLACES = frozenset({"to", "at", "from"})
_STOPS = words(
    "is was were are be been being at to for on as from has had have than by over under during within between "
    "among through across via into"
)
"""Words behind a number from which on nothing is said about its sign."""
_PASSED = frozenset("~≈\"'*_-/$€£¥₹%•·●○◦▪■□‣✓✔✅★☆➤👉&#>≥≤<+`≡∴")
"""Signs before a number that say nothing about its sign."""


UNCHANGED = re.compile(
    r"\b(?:no (?:net )?(?:change|difference|movement|revision)s?|unchanged|un-?revised|did not (?:change|move)"
    r"|not changed?|flat|(?:remained|stayed|was|is|kept|held) (?:the same|steady|flat|constant|stable)|zero)\b"
    r"|没有变化|无变化|没有变动|无变动|未变|不变|持平|零变化|변동 ?없|変わらず|横ばい",
    re.IGNORECASE,
)
"""Words that say that something changed by nothing."""


def said_before(clause: str) -> Said:
    """What the words before a number say of its sign.

    Args:
        clause: the text before the number and its sign, back to the number before it; cleaned.
    """
    whole, clause = clause, _BRACKETED.sub(" ", clause)
    # Of two scripts in one clause, the one that stands next to the number.
    if CJK.match(next(filter(str.isalpha, reversed(clause)), "")):
        return chinese_before(clause, lambda latin: _Before(_WORDS.findall(latin)).said)
    said = _Before(_WORDS.findall(clause)).said
    return _FELL if said == NOTHING and (_falls_alone(whole) or _fell_before(clause)) else said


def said_behind(rest: str, *, counts: bool) -> Said:
    """What the words behind a number say of its sign, and the word right behind it if it may change its size.

    Args:
        rest: the text behind the number and its unit; cleaned.
        counts: whether the number is without a unit, so that it may count what stands behind it: 3 cuts.
    """
    rest = rest.rstrip(" .,;)")
    if not rest:
        return NOTHING
    if phrase := _PHRASE.match(rest):
        return Said(-1 if phrase[1] else 1)
    if escaped := _ESCAPED.match(rest):
        return _FELL if _falls_alone(rest) else _escaped(escaped[1])
    if rest == " -":
        return UNSURE
    if (apposed := _APPOSED.match(rest)) and any(_SIGN_OF.get(word, 0) < 0 for word in apposed[1].casefold().split()):
        return _FELL
    if rest[0] in ".,;:!?|=~" or rest[:2] in {" -", " [", " |"}:
        return Said(beside="~~") if rest[:2] == "~~" else _FELL if _falls_alone(rest) else NOTHING
    if factor := _FACTOR.match(rest):
        return Said(beside=factor[1])
    # The mark of a footnote.
    rest = rest.lstrip("*^·")
    if CJK.match(rest.lstrip(" (")):
        return chinese_behind(rest.lstrip(" ("))
    return _behind([match[0] for match in _WORDS.finditer(rest[:REACH])], counts=counts)


_PHRASE = re.compile(
    r"[^,.;\n0-9]{0,12}\b(?:(in(?:to)? the red|(?:to|on) the downside|in(?:to)? negative territory)"
    r"|in(?:to)? the black|(?:to|on) the upside|in(?:to)? positive territory)\b",
    re.IGNORECASE,
)
_FACTOR = re.compile(r"(?: ?(?=[*×÷^]))?([*×÷^·⋅])[ *×÷^·⋅{(]*[-+]?[0-9]")
"""A sign behind a number that makes it a factor, since another number follows."""
_APPOSED = re.compile(
    r"(?:,| -) (?:(?:which|it|that) (?:is|was) )?an? ([a-z][a-z ]{0,40}\b)(?! ?(?:of|from|by)? ?[^\w\s]?[0-9])",
    re.IGNORECASE,
)
"""What is said of a number behind a comma or a dash, as in "0.59 %, a decline", but not in "a decline of 12 %"."""
_SENTENCE_END = re.compile(r"[.!?;:\n]")
_ALONE = re.compile(r"\W*(?:an? )?([^\W\d_]+)\W*")
_FELL = Said(doubt="verb")
"""That something may have fallen by the number."""
_ESCAPED = re.compile(r"[)\]}\"'|>\n]+[ \n]*([^\W\d_]*)")


def _falls_alone(text: str) -> bool:
    """Whether a text is nothing but one word of a fall, and signs that separate it from the number."""
    alone = _ALONE.fullmatch(text)
    return alone is not None and (_SIGN_OF.get(alone[1].casefold(), 0) < 0 or bool(CHINESE_FALLING.fullmatch(alone[1])))


def _fell_before(clause: str) -> bool:
    """Whether a number stands alone behind words of a fall: "It fell last year. 0.59 %", "It fell, in May, 0.59 %"."""
    *before, last = _SENTENCE_END.split(clause)
    if any(map(str.isalnum, last)) and not last.rstrip(" $€£¥*~").endswith(","):
        return False
    sentence = next((part for part in reversed(before) if any(map(str.isalnum, part))), "")
    return any(_SIGN_OF.get(word.casefold(), 0) < 0 for word in _WORDS.findall(f"{sentence} {last}"))


def _escaped(word: str) -> Said:
    """What a word says that a bracket, a quote or the end of a line separates from the number."""
    known = word.casefold()
    # A unit may stand there, and nothing says that it is the number's.
    return Said(beside=known) if (known in SCALES and len(known) > 1) or known in CURRENCIES | PERCENT else NOTHING


def _is_known(word: str) -> bool:
    """Whether a word in lower case says nothing of a number's size, and nothing of its sign either."""
    return word in FILLERS or word in COPULAS or word in LEVELS or word in OPENERS or word.endswith(ADVERB_ENDINGS)


class _Before:
    """Reads the words before a number, from the last to the first.

    Args:
        tokens: the words and signs before the number.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._unknown = self._stated = self._verb = self._by = self._level = self._strange = self._unknown_verb = False
        self._content = 0
        """How many words stand between the number and the place that is read, without those that only fill."""
        self.said = self._read()

    def _read(self) -> Said:
        for place in range(len(self._tokens) - 1, -1, -1):
            token = self._tokens[place]
            word = token.casefold()
            if not word[0].isalpha():
                if self._ends(word) and not (word == "." and self._abbreviates(place)):
                    break
            elif word in _SIGN_OF:
                said = self._moved(place, word)
                if said is not None:
                    return said
            elif word in LEVELS or word in OPENERS:
                break
            else:
                self._pass(token, word)
        # "By 5 %" is a change, whatever verb stands before it.
        if self._by or self._strange:
            return UNSURE
        return Said(doubt="verb") if self._unknown_verb else NOTHING

    def _ends(self, sign: str) -> bool:
        """Pass a sign before a number; True if the clause begins behind it."""
        if sign in {":", "=", "|"}:
            self._stated = self._verb = True
            return False
        # A hyphen or a bracket before the only word before a number may be the number's.
        if sign in {"-", "("} and self._content == 1 and not self._stated:
            self._unknown_verb = True
        if sign in {",", "("}:
            return self._content > 0 or self._stated
        if sign in _PASSED or sign.isdigit():
            return False
        if sign in {"\n", ".", ";", "!", "?", ")", "[", "]", "{", "}", "→", "±"}:
            return True
        # A sign that nothing knows, such as a triangle, may be a minus.
        self._strange = self._strange or not (self._content > 1 or self._stated)
        self._unknown = True
        return False

    def _abbreviates(self, place: int) -> bool:
        """Whether a full stop ends an abbreviation and no sentence: a known one, or one that nothing knows, before a
        word in small letters or before the number itself.
        """
        word = self._tokens[place - 1].casefold() if place else ""
        if word in _ABBREVIATIONS:
            return True
        following = self._tokens[place + 1] if place + 1 < len(self._tokens) else ""
        if following[:1].islower():
            self._unknown = True
            return True
        if (
            self._content
            or self._stated
            or not word[:1].isalpha()
            or len(word) > 6
            or _is_known(word)
            or word in _SIGN_OF
        ):
            return False
        self._strange = True
        return True

    def _pass(self, token: str, word: str) -> None:
        """Pass a word that is none of movement."""
        if word in _PLACES and not (self._by or self._verb or self._content):
            self._level = True
        if word == "by" and not self._stated:
            self._by = True
        elif word in COPULAS:
            self._stated = True
            self._verb = self._verb or word in _VERBS
            self._content += word not in _VERBS
        elif not _is_known(word) and word not in SCALES and word not in CURRENCIES:
            if not (self._stated or self._by):
                # A word in -ed is a verb, and other words without a capital may be one.
                fell = word.endswith("ed") or CHINESE_FALLING.search(word) is not None
                self._strange = self._strange or fell
                self._unknown_verb = self._unknown_verb or not token[0].isupper()
            self._unknown = True
            self._content += 1

    def _moved(self, place: int, word: str) -> Said | None:
        """What a word of movement says of the number; None if it says nothing, and the words before it are read."""
        noun = word in LOSSES or word in PROFITS
        if self._level and not noun:
            return NOTHING
        if word in EITHER_WAY:
            return None if self._verb and self._content else UNSURE
        following, second = (*(token.casefold() for token in self._tokens[place + 1 : place + 3]), "", "")[:2]
        # "The fallen index was 5" and "a reduced price of 5" do not say that something fell by 5.
        noun_behind = following not in _VERBS | {"of", "in", "for", "as"}
        attribute = noun_behind and (
            (self._verb and (following in COPULAS or word.endswith(_PARTICIPLES)))
            or (word.endswith("ed") and second in {"of", "for"} and following in COPULAS)
        )
        if self._unknown or (attribute and _SIGN_OF[word] == -1):
            return UNSURE
        return self._with_others(place, word)

    def _with_others(self, place: int, word: str) -> Said:
        """What a word of movement says together with those that stand before it in its clause."""
        direction, noun = _SIGN_OF[word], word in LOSSES or word in PROFITS
        between: list[str] = []
        for token in reversed(self._tokens[:place]):
            other = token.casefold()
            if (
                other in {"or", "after", "before", "despite", "amid", "excluding", "without", "following"}
                and not between
            ):
                return UNSURE
            if other in OPENERS or other in {"\n", ".", ";", ",", "!", "?", ":", "|"}:
                break
            if other in _SIGN_OF:
                return self._of_two(word, other, between)
            if other not in {"the", "a", "an", "its", "their", "net"}:
                between.append(other)
        return Said(direction, noun=noun)

    def _of_two(self, word: str, other: str, between: Sequence[str]) -> Said:
        """What two words of movement in one clause say, of which the second one stands nearer to the number."""
        direction, first = _SIGN_OF[word], _SIGN_OF[other]
        if word in LOSSES or word in PROFITS:
            # "Swung to a loss of 5", "negative growth of 5", "a decline in profit of 5".
            if {"to", "into"} & set(between) and word != other:
                return Said(direction, noun=True)
            if word in PROFITS and (other in FALLING | RISING or other == "negative"):
                return Said(first) if other == "negative" or {"in", "of"} & set(between) or first > 0 else UNSURE
            # A growth that is revised, or that slows down, is a growth.
            steady = word in PROFITS and other in EITHER_WAY and not {"in", "of"} & set(between)
            return Said(direction, noun=True) if steady else UNSURE
        # "Profit fell by 5" and "edged up 5" are plain; whether a loss that fell is a fall is not.
        plain = other in PROFITS or other in EITHER_WAY or (other not in LOSSES and first == direction)
        return Said(direction) if plain else UNSURE


def _behind(tokens: Sequence[str], *, counts: bool) -> Said:
    """What words behind a number say of it."""
    beside, unknown, place = "", False, 0
    for token in tokens[:8]:
        word = token.casefold()
        if not word[0].isalpha():
            if word in {"-", "("} and not place:
                continue
            if not place and not word.isdigit() and word not in ".,;:!?'\"()[]{}|+%\n-&<>…*_`/±":
                return Said(beside=word)
            break
        place += 1
        if word in _SIGN_OF and not word.endswith("ing"):
            if place < 3 and counts and word.endswith("s") and not word.endswith("ss"):
                # Twelve cuts are counted; twelve job cuts are, or are twelve jobs fewer.
                return Said(beside=singular(word)) if place == 1 else Said(doubt="sign", beside=beside)
            return _moved_behind(tokens, token, beside, unknown=unknown)
        if place == 1 and not _is_known(word) and word not in _SIGN_OF:
            beside = singular(word)
            unknown = beside not in COUNTED
            continue
        if place == 1 and singular(word) in COUNTED and counts:
            beside = singular(word)
        if word in OPENERS or word in _STOPS or word in LEVELS:
            break
        unknown = unknown or not (_is_known(word) or word in _SIGN_OF or singular(word) in COUNTED)
    return Said(beside=beside)


def _moved_behind(tokens: Sequence[str], token: str, beside: str, *, unknown: bool) -> Said:
    """What a word of movement behind a number says of it."""
    place = tokens.index(token)
    following = [word.casefold() for word in tokens[place + 1 : place + 3]]
    # "5 down from 7" and "5 down 12 %" say that the level is 5.
    number = following[1:] if following[:1] in (["from"], ["by"]) else following[:1]
    if number and number[0][0] in "0123456789$€£¥":
        return Said(beside=beside)
    word = token.casefold()
    if unknown or word in EITHER_WAY or any(other in _SIGN_OF for other in following[:1]):
        return Said(doubt="sign", beside=beside)
    return Said(_SIGN_OF[word], beside=beside)
