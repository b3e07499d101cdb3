"""Answers drawn from a grammar of signs, scales, units, currencies, scripts, Markdown and LaTeX, each with its meaning:
the decision is right, wrong or undecided as the meaning is, and a word that nobody knows never makes an answer right.
"""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openfingym.answers import Part, Reference, decide

BELOW = [
    *("-{}", "\u2212{}", "\u2212 {}", "\u2013{}", "\u2014{}", "\u2012{}", "\uff0d{}"),
    *("\ufe63{}", "\u207b{}", "\u2796{}"),
    *("&minus;{}", "&ndash;{}", "&#8722;{}", "▼{}", "↓ {}", "🔻{}", "minus {}", "negative {}"),
    *("({})", "( {} )", "{}-"),
    *("fell by {}", "plunged {}", "fell sharply by {}", "a decline of {}", "it contracted {}", "was down about {}"),
    *("{} lower", "a {} decline", "a loss of {}", "Net loss: {}", "a deficit of {}", "lost {}", "shed {}", "{}下落"),
    *("下跌{}", "同比下滑{}", "跌幅为{}", "净亏损为{}", "亏损{}", "负{}", "{} 하락", "the cut was {}", "was cut by {}"),
]
"""Ways to say that a number is negative."""
ABOVE = [
    *("{}", "+{}", "＋{}", "↑{}", "rose by {}", "up {}", "increased sharply by {}"),
    *("a gain of {}", "was {}", "is about {}"),
    *("a profit of {}", "{} higher", "grew {}", "a {} increase", "上涨{}", "同比增长{}", "为{}", "约{}", "~{}", "= {}"),
]
"""Ways to say that a number is positive."""
EITHER = [
    *("- {}", "\u2013 {}", "▲{}", "△ {}", "flurbed {}", "GDP flurbed by {}", "changed by {}"),
    *("moved {}", "by {}", "--{}"),
    *("fell zork {}", "a {} zork decline", "rose -{}", "指数暴走{}", "fiel um {}", "baisse de {}"),
    *("narrowed by {}", "+-{}"),
]
"""Ways that leave it open."""
SHARES = [
    *(("%", 1), (" %", 1), ("％", 1), (" percent", 1), (" per cent", 1), (" pct", 1), (" percentage points", 1)),
    *(("个百分点", 1), ("퍼센트", 1), ("‰", 10), (" bps", 100), (" basis points", 100), ("bp", 100), ("个基点", 100)),
]
SCALES = [
    *((" thousand", 3), ("k", 3), (" Tsd.", 3), ("千", 3), (" million", 6), ("m", 6)),
    *((" mn", 6), (" Mio.", 6), ("M", 6)),
    *((" Millionen", 6), (" millones", 6), (" млн", 6), ("百万", 6), (" billion", 9), ("bn", 9)),
    *((" bil", 9), (" Mrd.", 9)),
    *((" Milliarden", 9), (" mld", 9), (" milliards", 9), (" млрд", 9), ("B", 9), (" trillion", 12), ("tn", 12)),
    *(("万", 4), ("亿", 8), ("億", 8), ("万亿", 12), ("억", 8), ("조", 12), ("만", 4), (" crore", 7), (" crores", 7)),
    *((" lakh", 5), (" lakhs", 5), (" करोड़", 7), (" लाख", 5)),
]
"""Words of a scale, and its power of ten."""
CURRENCIES = [
    *(("$", "", "USD"), ("US$", "", "USD"), ("USD ", "", "USD"), ("", " USD", "USD"), ("", " dollars", "USD")),
    *(("", " US dollars", "USD"), ("", "$", "USD"), ("", "", "USD"), ("€", "", "EUR"), ("", " EUR", "EUR")),
    *(("£", "", "GBP"), ("", " yen", "JPY"), ("₹", "", "INR"), ("Rs. ", "", "INR")),
    *(("", " zł", "PLN"), ("CHF ", "", "CHF")),
]
"""What stands before a number and behind its scale, and the currency that it says."""
SCRIPTS = [
    lambda text: text,
    lambda text: "".join(chr(ord(char) + 0xFEE0) if char.isascii() and char.isdigit() else char for char in text),
    lambda text: "".join(chr(ord(char) + 0x660 - 48) if char.isdigit() else char for char in text),
    lambda text: "".join(chr(ord(char) + 0x966 - 48) if char.isdigit() else char for char in text),
]
MARKUP = [
    *("{}", "**{}**", "*{}*", "__{}__", "`{}`", "<b>{}</b>", "### {}", "Final answer: {}", "<answer>{}</answer>"),
    *(
        "\\boxed{{{}}}",
        "\\boxed{{\\text{{{}}}}}",
        "\\({}\\)",
        "\\[{}\\]",
        "The answer is {}.",
        "最终答案：{}",
        "  {}\n",
    ),
    *('{{"change": "{}"}}', "I looked at 3 pages.\n\nFinal answer: {}\n\nSource: page 12 of 2022"),
]
UNKNOWN = ["zork", "Mzd.", "Ƶ", "₲", "жук", "zł€x", "xyz", "QQQ", "foos", "℧", "퀭", "𠀀"]
"""Words and signs that are no unit of anything."""
DIGITS = st.decimals(min_value="0.01", max_value=9999, places=2, allow_nan=False)


def reference(value: Decimal, unit: str, name: str) -> Reference:
    return Reference((Part(name, "number", float(value), unit, decimals=2),))


def change(value: Decimal) -> Reference:
    return reference(value, "%", "change")


def outcome(truth: Reference, answer: str) -> str:
    return decide(truth, answer).outcome


def shares(digits: Decimal, form: tuple[str, int]) -> str:
    return f"{digits * form[1]:f}{form[0]}"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    DIGITS, DIGITS, st.sampled_from(BELOW), st.sampled_from(SHARES), st.sampled_from(MARKUP), st.sampled_from(SCRIPTS)
)
def test_a_negative_number_is_negative_in_every_form(digits, other, said, form, markup, script):
    assume(other != digits)
    answer = markup.format(said.format(script(shares(digits, form))))
    assert outcome(change(-digits), answer) == "right", answer
    assert outcome(change(digits), answer) == "wrong", answer
    assert outcome(change(-other), answer) == "wrong" or abs(other - digits) <= Decimal("0.01"), answer


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DIGITS, st.sampled_from(ABOVE), st.sampled_from(SHARES), st.sampled_from(MARKUP), st.sampled_from(SCRIPTS))
def test_a_positive_number_is_positive_in_every_form(digits, said, form, markup, script):
    answer = markup.format(said.format(script(shares(digits, form))))
    assert outcome(change(digits), answer) == "right", answer
    assert outcome(change(-digits), answer) == "wrong", answer


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DIGITS, st.sampled_from(EITHER), st.sampled_from(SHARES), st.sampled_from(MARKUP))
def test_a_number_of_either_sign_is_undecided(digits, said, form, markup):
    answer = markup.format(said.format(shares(digits, form)))
    assert outcome(change(digits), answer) == "undecided", answer
    assert outcome(change(-digits), answer) == "undecided", answer
    assert outcome(change(digits * 3), answer) == "wrong", answer


def money(digits: Decimal, scale: tuple[str, int], currency: tuple[str, str, str]) -> str:
    before, behind, _ = currency
    return f"{before}{digits:f}{scale[0]}{behind}"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DIGITS, st.sampled_from(SCALES), st.sampled_from(SCALES), st.sampled_from(CURRENCIES), st.sampled_from(MARKUP))
def test_a_scale_and_a_currency_count_in_every_form(digits, scale, other, currency, markup):
    answer = markup.format(money(digits, scale, currency))
    truth = digits.scaleb(scale[1] - 6)
    assume(truth >= Decimal("0.1"))
    right = "right" if currency[2] == "USD" else "wrong"
    assert outcome(Reference((Part("revenue", "number", float(truth), "million USD"),)), answer) == right, answer
    false = digits.scaleb(other[1] - 6)
    if other[1] != scale[1]:
        assert outcome(Reference((Part("revenue", "number", float(false), "million USD"),)), answer) == "wrong", answer


PLACES = st.integers(0, 6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    DIGITS,
    st.sampled_from(SCALES),
    st.sampled_from(CURRENCIES),
    st.sampled_from(MARKUP),
    st.sampled_from(UNKNOWN),
    PLACES,
    st.sampled_from(["", " "]),
)
def test_an_unknown_word_never_makes_an_amount_right(digits, scale, currency, markup, word, place, blank):
    pieces = [piece for piece in (currency[0], f"{digits:f}", scale[0], currency[1]) if piece]
    place = min(place, len(pieces))
    answer = markup.format("".join([*pieces[:place], blank, word, blank, *pieces[place:]]))
    for power in range(13):
        truth = digits.scaleb(power - 6)
        if truth < Decimal("0.1"):
            continue
        reference = Reference((Part("revenue", "number", float(truth), "million USD"),))
        meant = power == scale[1] and currency[2] == "USD"
        assert outcome(reference, answer) != "right" or (meant and place != pieces.index(f"{digits:f}") + 1), answer


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    DIGITS,
    st.sampled_from([*BELOW, *EITHER]),
    st.sampled_from(SHARES),
    st.sampled_from(MARKUP),
    st.sampled_from(UNKNOWN),
    PLACES,
)
def test_an_unknown_word_never_turns_a_negative_number(digits, said, form, markup, word, place):
    # Between any two words of the answer: the sign, the words of movement, the number and its unit.
    pieces = re.findall(r"\{\}|[^\s{}]+|\s+", said)
    place = min(place, len(pieces))
    answer = markup.format("".join([*pieces[:place], f" {word} ", *pieces[place:]]).format(shares(digits, form)))
    assert outcome(change(digits), answer) != "right", answer


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DIGITS, st.integers(-6, 9), st.sampled_from(["×", "x", "*", "·", "\\times", "\\cdot"]), st.booleans())
def test_powers_of_ten_are_read(digits, power, times, raised):
    exponent = str(power).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")) if raised else f"^{{{power}}}"
    value = digits.scaleb(power)
    truth = Reference((Part("ratio", "number", float(value), rule="relative", tolerance=1e-9),))
    for answer in (f"{digits:f} {times} 10{exponent}", f"${digits:f} {times} 10{exponent}$", f"{digits:f}e{power}"):
        assert outcome(truth, answer) == "right", answer
        assert outcome(Reference((Part("ratio", "number", float(value * 10)),)), answer) == "wrong", answer


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 999),
    st.integers(0, 999),
    st.sampled_from([",", ".", " ", "\u2009", "\u202f", "\u00a0", "{,}", "\\,", "'"]),
)
def test_groups_of_thousands_are_read(millions, thousands, mark):
    value = millions * 10**6 + thousands * 1000
    answer = mark.join((str(millions), f"{thousands:03d}", "000"))
    for written in (answer, f"\\boxed{{{answer}}}", f"${answer}$", f"{answer} EUR"):
        assert outcome(Reference((Part("total", "number", float(value), "EUR"),)), written) == "right", written
        assert outcome(Reference((Part("total", "number", float(value + 10**6), "EUR"),)), written) == "wrong", written
