"""Numbers in English words and in Chinese numerals are the numbers that they say, and what says none is never right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.answers import Part, Reference, decide

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def said(answer: str, value: float, unit: str | None = None) -> str:
    return decide(Reference((Part("value", "number", value, unit),)), answer).outcome


def english(number: int, joint: str) -> str:
    """A whole number below 10 ** 15 in words, with a word or nothing behind each hundred."""
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= size:
            rest = english(number % size, joint) if number % size else ""
            return f"{english(number // size, joint)} {word} {rest}".strip()
    if number >= 100:
        rest = f"{joint} {english(number % 100, joint)}" if number % 100 else ""
        return f"{ONES[number // 100]} hundred {rest}".strip()
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")


def chinese(number: int, digits: str) -> str:
    """A whole number below 10 ** 12 in numerals."""
    for size, word in ((10**8, "亿"), (10**4, "万")):
        if number >= size:
            rest = number % size
            gap = digits[0] if rest and rest < size // 10 else ""
            return chinese(number // size, digits) + word + gap + (chinese(rest, digits) if rest else "")
    text, skipped = "", False
    for size, word in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // size % 10
        if digit:
            text += (digits[0] if skipped and text else "") + digits[digit] + word
        skipped = not digit
    return text or digits[0]


@settings(max_examples=50, deadline=None)
@given(st.integers(11, 10**6) | st.integers(10**6, 10**14), st.sampled_from(["", "and"]))
def test_a_number_in_english_words(number: int, joint: str) -> None:
    words = english(number, joint)
    assert said(words, number) == "right", words
    assert said(words.capitalize(), number) == "right", words
    assert said(f"minus {words}", -number) == "right", words
    assert said(words, number + 10 ** max(0, len(str(number)) - 3)) != "right", words


@settings(max_examples=50, deadline=None)
@given(
    st.integers(11, 10**5) | st.integers(10**5, 10**12 - 1),
    st.sampled_from(["零一二三四五六七八九", "〇壹贰叁肆伍陆柒捌玖"]),
)
def test_a_number_in_chinese_numerals(number: int, digits: str) -> None:
    words = chinese(number, digits)
    assert said(words, number) == "right", words
    assert said(f"负{words}", -number) == "right", words
    assert said(words, number + 10 ** max(0, len(str(number)) - 3)) != "right", words


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("one hundred and twenty-three point four five", 123.45),
        ("sixty-two point five seven million", 62_570_000.0),
        ("twelve hundred", 1200.0),
        ("两千零五", 2005.0),
        ("兩千", 2000.0),
        ("十五", 15.0),
        ("二十", 20.0),
        ("一百二十点五", 120.5),
        ("三点五万", 35_000.0),
        ("三点五亿", 350_000_000.0),
        ("一万亿", 1e12),
        ("三兆", 3e12),
        ("一萬", 10_000.0),
        ("拾伍", 15.0),
        ("伍佰", 500.0),
        ("伍仟", 5000.0),
        ("九億", 9e8),
        ("百分之十二点五", 0.125),
        ("千分之五", 0.005),
    ],
)
def test_forms_of_numbers_in_words(words: str, value: float) -> None:
    assert said(words, value) == "right"
    assert said(words, value * 10) == said(words, -value) == "wrong"


@pytest.mark.parametrize(
    "words",
    [
        "two three",
        "sixty seventeen",
        "ten five",
        "twenty zero",
        "two thousand three million",
        "五六百",
        "一二十",
        "五十六十",
        "一百二百",
        "一万二万",
        "一亿二亿",
    ],
)
def test_two_numbers_in_words_are_not_one(words: str) -> None:
    for value in (
        110,
        300,
        30_000,
        10_000,
        3e8,
        2e8,
        2,
        3,
        5,
        23,
        32,
        60,
        17,
        77,
        15,
        10,
        20,
        2003,
        2_003_000_000,
        3_000_000,
        56,
        560,
        600,
        500,
        12,
        120,
    ):
        assert said(words, value) != "right", value


def test_a_number_in_words_is_as_exact_as_it_is_said() -> None:
    for words in ("sixty-two point five", "六十二点五"):
        assert [said(words, value) for value in (62.46, 62.54, 62.43, 62.57)] == ["right", "right", "wrong", "wrong"]
    for words in ("three hundred", "三百"):
        assert [said(words, value) for value in (300, 301, 400)] == ["right", "undecided", "wrong"]


def test_a_small_number_in_words_counts_where_there_is_no_other() -> None:
    assert said("one of them: 62", 62) == said("There were seven", 7) == said("七", 7) == "right"
    assert said("one of them: 62", 1) == said("其中一个是62", 1) == "wrong"
    assert said("seven percent", 7, "%") == said("百分之七", 7, "%") == "right"


@pytest.mark.parametrize(
    ("words", "values"),
    [
        # Nothing of a scale is nothing, and a scale without a number of its own is no number.
        ("zero million", {0: "right", 1_000_000: "wrong"}),
        ("zero hundred", {0: "right", 100: "wrong"}),
        ("零万", {0: "right", 10_000: "wrong"}),
        ("零亿", {0: "right", 1e8: "wrong"}),
        ("two million thousand", {2_001_000: "wrong", 2e9: "wrong"}),
        ("two thousand hundred", {2100: "wrong", 200_000: "wrong"}),
        ("two hundred hundred", {20_000: "wrong", 300: "wrong"}),
        ("一亿万", {100_010_000: "wrong", 1e12: "wrong"}),
        # The last place of digits is one unit, and that of a scale is one of the scale.
        ("二〇二四", {2024: "right", 2024.9: "wrong", 2025: "wrong"}),
        ("七", {7: "right", 7.9: "wrong", 8: "wrong"}),
        ("二百三十", {230: "right", 230.5: "undecided", 236: "wrong"}),
        ("三千五百", {3500: "right", 3530: "undecided", 3560: "wrong"}),
        ("两亿三千万", {230_000_000: "right", 236_000_000: "wrong", 230_000_001: "right"}),
        ("三点五万亿", {3.5e12: "right", 3.5e8: "wrong"}),
        ("十万", {100_000: "right", 10_000: "wrong"}),
        ("一百零五", {105: "right", 150: "wrong"}),
        ("forty-two thousand", {42_000: "right", 42_100: "undecided", 42_600: "wrong"}),
        ("one hundred and five", {105: "right", 105.4: "right", 106: "wrong"}),
        ("three point one four", {3.14: "right", 3.144: "right", 3.146: "wrong", 3.1: "wrong"}),
        ("zero point five billion", {5e8: "right", 0.5: "wrong", 5e9: "wrong"}),
        ("two million three thousand", {2_003_000: "right", 2_003_400: "right", 2_003_600: "wrong"}),
    ],
)
def test_what_words_for_a_number_are_worth(words: str, values: dict[float, str]) -> None:
    assert {value: said(words, value) for value in values} == values
