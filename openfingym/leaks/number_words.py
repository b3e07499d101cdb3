"""Numbers written in English words."""

from __future__ import annotations

import re

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_SMALL = {word: n for n, word in enumerate((*_DIGITS, *_TEENS))} | {"oh": 0, "nought": 0}
_TENS = {
    word: 10 * n
    for n, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_LARGE = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_WORD = re.compile(
    rf"\b(?:{'|'.join([*_SMALL, *_TENS, *_LARGE, 'point', 'minus', 'negative', 'and'])})\b", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s-]*")


def spelled_out(text: str) -> str:
    """A text with numbers in words rewritten as digits: ``minus two point three four`` becomes ``-2.34``."""
    parts: list[str] = []
    words: list[str] = []
    last = 0
    for match in _WORD.finditer(text):
        between = text[last : match.start()]
        # Words of numbers that only white space or hyphens separate are read together.
        if not words or not _BETWEEN.fullmatch(between):
            parts += [*_numbers(words), between]
            words = []
        words.append(match.group().lower())
        last = match.end()
    return "".join([*parts, *_numbers(words), text[last:]])


def _numbers(words: list[str]) -> list[str]:
    """Words in a row as numbers, each followed by a space; a word that belongs to no number stays as it is."""
    written: list[str] = []
    place = 0
    while place < len(words):
        number, place = _number(words, place)
        written.append(f"{number} ")
    return written


def _number(words: list[str], place: int) -> tuple[str, int]:
    """The number that begins at a word, and the position of the word after it; the word itself if none begins there."""
    start, sign = place, ""
    if words[place] in {"minus", "negative"}:
        sign, place = "-", place + 1
    whole, place, has_whole = _whole(words, place)
    digits = ""
    if place < len(words) and words[place] == "point":
        place += 1
        # Digits after the point; but a digit that is followed by another "point" begins the next number.
        while (
            place < len(words)
            and words[place] in _SMALL
            and _SMALL[words[place]] < 10
            and words[place + 1 : place + 2] != ["point"]
        ):
            digits += str(_SMALL[words[place]])
            place += 1
    if not (has_whole or digits):
        return words[start], start + 1
    return f"{sign}{whole}" + (f".{digits}" if digits else ""), place


def _whole(words: list[str], place: int) -> tuple[int, int, bool]:
    """The whole number that begins at a word, the position after it, and whether any word belongs to it."""
    # Thousands and millions are complete, and are in `total`; `part` is below the next of these words.
    total = part = 0
    start = place
    while place < len(words):
        word = words[place]
        first = place == start
        after_tens = not first and words[place - 1] in _TENS
        # After "five", "six" begins another number; after "hundred" it does not.
        fits = part % 100 == 0 and (first or words[place - 1] not in _SMALL)
        if word in _SMALL and (fits or (after_tens and 0 < _SMALL[word] < 10)):
            part += _SMALL[word]
        elif word in _TENS and fits:
            part += _TENS[word]
        elif word == "hundred" and part:
            part *= 100
        elif word in _LARGE and part:
            total, part = total + part * _LARGE[word], 0
        elif word != "and" or first:
            break
        place += 1
    return total + part, place, place > start
