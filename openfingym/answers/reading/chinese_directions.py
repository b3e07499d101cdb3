"""What Chinese, Japanese and Korean words around a number say of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from openfingym.answers.reading.said import NOTHING, UNSURE, Said
from openfingym.answers.reading.vocabulary import (
    CHINESE_BEHIND,
    CHINESE_EITHER,
    CHINESE_FALLING,
    CHINESE_GAP,
    CHINESE_LEVEL,
    CHINESE_LOSSES,
    CHINESE_NEUTRAL,
    CHINESE_PROFITS,
    CHINESE_RISING,
    CHINESE_STATED,
    SINGULAR,
)

CJK = re.compile(r"[぀-ヿ㐀-鿿가-힣豈-龎\U00020000-\U0003ffff]")
"""A letter of a script that writes no spaces between words, or none before a number."""
_ATTRIBUTES = re.compile(r"^的?(?:年|月|日|度|净|同比|环比|的)+")
"""What may stand between a number and a word of movement behind it."""


def chinese_before(clause: str, latin: Callable[[str], Said]) -> Said:
    """What Chinese, Japanese or Korean words before a number say of its sign.

    Args:
        clause: the text before the number; cleaned.
        latin: reads the words of other scripts before a number, which count if these say nothing.
    """
    clause = CHINESE_NEUTRAL.sub("率", re.split(r"[,.;!?\n]", clause.rstrip(" :="))[-1])
    found = [
        (match.end(), match.start(), kind, match[0])
        for kind, pattern in (
            (-1, CHINESE_FALLING),
            (-1, CHINESE_LOSSES),
            (1, CHINESE_RISING),
            (1, CHINESE_PROFITS),
            (0, CHINESE_EITHER),
        )
        for match in pattern.finditer(clause)
    ]
    if not found:
        before = CJK.split(clause, maxsplit=1)[0]
        if (said := latin(before)) != NOTHING:
            return said if CHINESE_GAP.fullmatch(clause[len(before) :]) else UNSURE
        return NOTHING if CHINESE_STATED.search(clause) else Said(doubt="verb")
    # Of words that end in the same place, the longest.
    end, start, kind, _ = max(found, key=lambda one: (one[0], -one[1]))
    gap = clause[end:]
    noun = bool(CHINESE_LOSSES.fullmatch(clause[start:end]) or CHINESE_PROFITS.fullmatch(clause[start:end]))
    before = [(other, word) for last, _, other, word in found if last <= start]
    # Whether a loss that moved by a number, or to it, is now a loss of it is not said.
    lost = any(CHINESE_LOSSES.fullmatch(word) for _, word in before)
    if CHINESE_LEVEL.search(gap) and not noun:
        return UNSURE if lost else NOTHING
    opposed = any(other != kind for other, _ in before)
    if not kind or not CHINESE_GAP.fullmatch(gap) or opposed or lost or (noun and before):
        return UNSURE
    return Said(kind, noun=noun)


def chinese_behind(rest: str) -> Said:
    """What Chinese, Japanese or Korean words behind a number say of it."""
    bare = _ATTRIBUTES.sub("", rest)
    for kind, pattern in ((-1, CHINESE_LOSSES), (-1, CHINESE_FALLING), (1, CHINESE_PROFITS), (1, CHINESE_RISING)):
        if moved := pattern.match(bare):
            # "同比" begins what is said of another number.
            return NOTHING if re.match(r"[^,.;]{0,4}[0-9]", bare[moved.end() :]) else Said(kind)
    if CHINESE_EITHER.match(bare):
        return UNSURE
    for length in (4, 3, 2, 1):
        if rest[:length] in SINGULAR:
            return Said(beside=SINGULAR[rest[:length]])
    return NOTHING if CHINESE_BEHIND.match(rest) else Said(beside=rest[0])
