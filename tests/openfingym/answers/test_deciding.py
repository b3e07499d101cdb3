"""Answers decided by rule: the published examples, what bad input gets, and attacks on the promise that a right answer
in any reasonable form is right, and a wrong or a hedged one never is.
"""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.answers import Part, Reference, decide


def one(kind: str, value: object, unit: str | None = None, name: str = "value", **more: object) -> Reference:
    return Reference((Part(name, kind, value, unit, **more),))  # type: ignore[arg-type]


REVENUE = one("number", 62.57, "million USD", name="revenue", decimals=2)
CHANGE = one("number", -0.59, "%", name="change", decimals=2)
DROP = one("number", 81.0, "USD", name="daily drop", decimals=0)
QUOTE = one("number", 113.265625, name="settlement price")
PROVINCES = Reference(
    rows=tuple((Part("province", "text", f"{name} Province"),) for name in ("Hebei", "Liaoning", "Jiangsu", "Shandong"))
)
DROPS = Reference(
    rows=tuple(
        (Part("date", "date", date), Part("drop", "number", drop, "USD", decimals=0))
        for date, drop in (("2020-03-09", 85.4), ("2020-08-11", 115.0), ("2021-01-08", 64.6))
    ),
    ordered=True,
)
PRICES = Reference(
    tuple(
        Part(name, "number", value, unit)
        for name, value, unit in (
            ("open", 112.905, "USD"),
            ("high", 114.665, "USD"),
            ("low", 112.66, "USD"),
            ("change", -0.59, "%"),
        )
    )
)
KUNMING = Reference((Part("city", "text", "Kunming"), Part("difference", "number", 740.0, "square kilometers")))
BANK = one("text", "Bank of China", choices=("Industrial and Commercial Bank of China", "Agricultural Bank of China"))

RIGHT = [
    (REVENUE, answer)
    for answer in (
        "62.57",
        "62.570",
        "62.574",
        " 62.57 million USD. ",
        "$62.57 million",
        "US$62.57m",
        "USD 62.57 million",
        "62.57 million dollars",
        "62,570,000",
        "$62,570,000",
        "62 570 000 USD",
        "62,570 thousand",
        "0.06257 billion",
        "6.257e7",
        "６２．５７",
        "6257万美元",
        "0.6257亿美元",
        "六千二百五十七万美元",
        "sixty-two point five seven million dollars",
        "about 62.57",
        "62.57 (in millions)",
        "In millions of USD: 62.57",
        "**62.57**",
        "`62.57`",
        "\\boxed{62.57}",
        '{"revenue": 62.57}',
        '{"answer": "62.57 million USD"}',
        "[62.57]",
        "62.57 million (62,570,000)",
        "62.57 million USD (62.57 × 10^6)",
        "The revenue was $62.57 million in fiscal year 2023.",
        "According to the 10-K (page 45) the revenue of FY2023 was $62.57 million, up 12% from the year before.",
        "Final answer: 62.57",
        "I first found 58.1 and 2 other figures.\n\nFinal answer: 62.57 million USD",
        "<answer>62.57</answer>",
        "最终答案：62.57 百万美元",
        "答案是62.57。",
        "62.57 million USD\n\nSource: 10-K, page 45; 58.1 in the year before.",
        "I first found 58.1. The answer is 62.57.",
        "58.1 was the first figure.\nResult: 62.57",
        "先是58.1，后来改了。答案是62.57。",
        "先是58.1。最终结果：62.57",
        "word " * 10_000 + "\nFinal answer: 62.57",
        "\\textbf{\\text{62.57}} million",
    )
]
RIGHT += [
    (CHANGE, answer)
    for answer in (
        "-0.59%",
        "−0.59 %",
        "-0.59",
        "(0.59)%",
        "fell by 0.59%",
        "down 0.59%",
        "下跌0.59%",
        "-59 bps",
        "-0.0059",
    )
]
RIGHT += [(DROP, answer) for answer in ("81", "$81", "-81", "fell by 81", "a drop of 81 dollars", "81.3")]
RIGHT += [(QUOTE, answer) for answer in ("113.265625", "113'08'5", "113’08.5", "113'085", "113.2656")]
RIGHT += [
    (one("number", 0.4), "2/5"),
    (one("number", 0.4), "40%"),
    (one("number", 4.0, name="split ratio"), "4-for-1"),
    (one("number", 4.0, name="split ratio"), "4:1"),
    (one("number", 12.45, "%", decimals=2), "0.1245"),
    (one("number", 12.45, "%", decimals=2), "百分之十二点四五"),
    (one("number", 12.45, "percentage points", decimals=2), "1,245 basis points"),
    (one("number", 1234.0, "百万元", decimals=0), "12亿3400万元"),
    (one("number", 2019.0, "companies", decimals=0), "2019"),
    (one("number", 12.256), "12.26"),
    (one("number", 12.26), "12.256"),
    (one("number", 50.5, decimals=0), "50"),
    (one("number", 50.5, decimals=0), "51"),
    (one("date", "2024-03-15"), "March 15, 2024"),
    (one("date", "2024-03-15"), "15 March 2024"),
    (one("date", "2024-03-15"), "2024年3月15日"),
    (one("date", "2024-03-15"), "It was on 2024/03/15."),
    (one("date", "2024-03-15"), "15-Mar-2024"),
    (one("date", "2024-03-15"), "20240315"),
    (one("date", "2024-03"), "March 2024"),
    (one("date", "2024-03"), "2024年3月"),
    (one("date", "2024-Q1"), "Q1 2024"),
    (one("date", "2024-Q1"), "2024年第一季度"),
    (one("date", "2024"), "fiscal year 2024"),
    (one("yes_no", True), "Yes, there is no other."),
    (one("yes_no", False), "否"),
    (one("yes_no", False), "false"),
    (one("text", "Apple Inc.", accept=("AAPL", "苹果")), "Apple"),
    (one("text", "Apple Inc.", accept=("AAPL", "苹果")), "It is Apple Inc. (AAPL)"),
    (one("text", "Apple Inc.", accept=("AAPL", "苹果")), "苹果公司"),
    (BANK, "The largest was Bank of China, as the table of the exchange shows."),
    (KUNMING, "Kunming; 740"),
    (KUNMING, '{"city": "Kunming", "difference": "740 square kilometers"}'),
    (KUNMING, "City: Kunming\nDifference: about 740 square kilometers"),
    (PRICES, "open: 112.91, high: 114.67, low: 112.66, change: -0.59%"),
    (PRICES, "112.91; 114.67; 112.66; -0.59%"),
    (PRICES, PRICES.answer()),
    (PROVINCES, "Hebei, Liaoning, Jiangsu and Shandong"),
    (PROVINCES, "1. Shandong\n2. Jiangsu\n3. Hebei Province\n4. Liaoning"),
    (PROVINCES, PROVINCES.answer()),
    (DROPS, DROPS.answer()),
    (DROPS, "| date | drop |\n|---|---|\n| 2020-03-09 | 85 |\n| 2020-08-11 | $115 |\n| January 8, 2021 | 65 |"),
    (DROPS, "2020-03-09, 85\n2020-08-11, 115\n2021-01-08, 65"),
    (DROPS, "2020-03-09: 85, 2020-08-11: 115, 2021-01-08: 65"),
    (DROPS, "2020-03-09: $85; 2020-08-11: $115; 2021-01-08: $65."),
    (DROPS, "- March 9, 2020: 85\n- August 11, 2020: 115\n- January 8, 2021: 65"),
    (DROPS, '{"rows": [["2020-03-09", 85], ["2020-08-11", 115], ["2021-01-08", 65]]}'),
    (DROPS, '[{"d": "2020-03-09", "x": 85}, {"d": "2020-08-11", "x": 115}, {"d": "2021-01-08", "x": 65}]'),
    (DROPS, '{"2020-03-09": 85, "2020-08-11": 115, "2021-01-08": 65}'),
    (DROPS, '["2020-03-09: 85", "2020-08-11: 115", "2021-01-08: 65"]'),
    (DROPS, "2020-03-09 | 85\n2020-08-11 | 115\n2021-01-08 | 65"),
    (DROPS, "| drop | date |\n|---|---|\n| 85 | 2020-03-09 |\n| 115 | 2020-08-11 |\n| 65 | 2021-01-08 |"),
    (DROPS, "| # | date | drop |\n|---|---|---|\n|1| 2020-03-09 | 85 |\n|2| 2020-08-11 | 115 |\n|3| 2021-01-08 | 65 |"),
    (DROPS, "| date | fall |\n|---|---|\n| 2020-03-09 | 85 |\n| 2020-08-11 | 115 |\n| 2021-01-08 | 65 |"),
    (DROPS, "| drop | n | date |\n|---|---|---|\n| 85 |1| 2020-03-09 |\n| 115 |2| 2020-08-11 |\n| 65 |3| 2021-01-08 |"),
    (DROPS, "| date | drop |\n| 2020-03-09 | 85 |\n| 2020-08-11 | 115 |\n| 2021-01-08 | 65 |"),
    (DROPS, "date, drop\n2020-03-09, 85\n2020-08-11, 115\n2021-01-08, 65"),
    (DROPS, "The drops were:\n2020-03-09, 85\n2020-08-11, 115\n2021-01-08, 65"),
    (PROVINCES, "The provinces:\nHebei\nLiaoning\nJiangsu\nShandong"),
    (PROVINCES, "province\nHebei\nLiaoning\nJiangsu\nShandong"),
    (PROVINCES, "| province |\n|---|\n| Hebei |\n| Liaoning |\n| Jiangsu |\n| Shandong |"),
    (PROVINCES, "1. Hebei (since 1928)\n2. Liaoning - in the north\n3. Jiangsu: 80 million\n4. Shandong"),
    (one("yes_no", True), '{"value": true}'),
    (one("yes_no", False), "[false]"),
    (one("number", 1234.56, "EUR"), "1.234,56 EUR"),
    (one("number", 1234.56, "EUR"), "1 234,56"),
    (one("number", 1234.56, "EUR"), "1'234.56"),
    (one("number", 1234567.0), "12,34,567"),
    (one("number", 1234567.0), "1'234'567"),
    (one("number", 113.25), "113'08"),
    (one("number", 113.265625), "113'08+"),
    (DROPS, '```json\n[["2020-03-09", 85], ["2020-08-11", 115], ["2021-01-08", 65]]\n```'),
]

WRONG = [
    (REVENUE, answer)
    for answer in (
        "63",
        "62.6",
        "62.56",
        "62.576",
        "-62.57",
        "(62.57)",
        "62.57 billion",
        "62.57 thousand",
        "62,570",
        "62.57 million EUR",
        "€62.57 million",
        "62.57亿美元",
        "62.57%",
        "62.57 in billions",
        "62.57 (in thousands)",
        "USD billions: 62.57",
        "in thousands of dollars: 62.57",
        "单位：亿元，62.57",
        "between 62 and 63",
        "62-63",
        "62.57-63.12",
        "62.57 ± 5",
        "±62.57",
        "62.57 or 63.12",
        "62.57, 63.12, 64.10",
        "62.57\n63.12",
        "1. 62.57\n2. 63.12",
        "either 62.57 million or 63.12 million",
        "62.57/63.12",
        "62.57 and 63.12",
        "62.57，也可能是63.12",
        "62.57 million or billion",
        "more than 62.57",
        "at least 62.57 million",
        "62.57以上",
        ">62.57",
        "1 million to 100 million",
        "Final answer: 62.57. Final answer: 63.12",
        "Final answer: 62.57 or 63.12",
        "",
        "   \n",
        "**",
        "unknown",
        "not sure",
        "I don't know.",
        "不知道",
        "无法确定",
        "The revenue of fiscal year 2023 is in the 10-K, page 45.",
        "error",
        " ".join(f"{cents / 100:.2f}" for cents in range(6000, 6500)),
        ", ".join(f"{cents / 100:.2f}" for cents in range(6000, 6500)),
        "\n".join(f"{number}. {6200 + number * 7}" for number in range(300)),
    )
]
WRONG += [(CHANGE, answer) for answer in ("0.59%", "+0.59%", "rose 0.59%", "up 0.59%", "上涨0.59%", "-0.58%", "-0.6%")]
WRONG += [(DROP, answer) for answer in ("rose by 81", "+81", "80", "82")]
WRONG += [(QUOTE, answer) for answer in ("113'08", "113'09", "113.08", "113'08'7", "113.085")]
WRONG += [
    (one("number", 5.2, "million USD", name="net income (loss)", decimals=1), "a loss of $5.2 million"),
    (one("number", 5.2, "million USD", name="net income (loss)", decimals=1), "(5.2)"),
    (one("number", 50.5, decimals=0), "52"),
    (one("number", 7.1871, "CNY per USD", decimals=4), "7.1871 CNH"),
    (one("date", "2024-03-15"), "March 16, 2024"),
    (one("date", "2024-03-15"), "March 2024"),
    (one("date", "2024-03-15"), "2023-03-15"),
    (one("date", "2024-03-15"), "2024-03-14 or 2024-03-15"),
    (one("date", "2024-03-15"), "2024-03-14, 2024-03-15, 2024-03-16"),
    (one("date", "2024-Q1"), "Q2 2024"),
    (one("yes_no", True), "No."),
    (one("yes_no", True), "yes or no"),
    (BANK, "Industrial and Commercial Bank of China"),
    (one("text", "Bank of China", choices=("Bank of China Hong Kong",)), "It is Bank of China Hong Kong, as stated."),
    (BANK, "Bank of China or Agricultural Bank of China"),
    (KUNMING, "Kunming; 1827"),
    (PRICES, "112.91; 114.67; 112.66; -0.47%"),
    (PRICES, '{"open": 114.67, "high": 112.91, "low": 112.66, "change": -0.59}'),
    (PROVINCES, "Hebei, Liaoning, Jiangsu"),
    (PROVINCES, "Hebei, Liaoning, Jiangsu, Shandong, Fujian"),
    (PROVINCES, "Hebei, Liaoning, Jiangsu, Shandong, Shandong"),
    (DROPS, "2020-08-11, 115\n2020-03-09, 85\n2021-01-08, 65"),
    (DROPS, "2020-03-09, 85\n2020-08-11, 115\n2021-01-08, 66"),
    (
        DROPS,
        "| date | old | new |\n|---|---|---|\n| 2020-03-09 |9| 85 |\n| 2020-08-11 |9| 115 |\n| 2021-01-08 |9| 65 |",
    ),
    (DROPS, "unknown"),
    (DROPS, "[]"),
]

NOT_RIGHT = [
    (REVENUE, "The answer is not 62.57"),
    (REVENUE, "62.57 is wrong"),
    (REVENUE, "I cannot determine it; 62.57 is of another year"),
    (REVENUE, "Final answer: 62.57\nNote: it could also be 63.12"),
    (REVENUE, "62.57 million USD\nSecond candidate: 63.12"),
    (REVENUE, '{"revenue": 62.57, "revenue": 63.12}'),
    (REVENUE, '{"low": 62.57, "high": 63.12}'),
    (REVENUE, "[62.57, 63.12]"),
    (REVENUE, '{"revenue": [62.57, 63.12]}'),
    (REVENUE, "62.57 in GAAP terms; 63.12 in others"),
    (REVENUE, "6\u200b3.12 and 62.57"),
    (REVENUE, "sixty-three point one two million or 62.57"),
    (one("date", "2024-03-04"), "03/04/2024"),
    (one("yes_no", True), "It might be yes, but no is as likely."),
    (BANK, "Perhaps Bank of China, or another one"),
    (one("text", "Kunming"), "Kunming, Chengdu, Guiyang"),
    (one("text", "Kunming"), "not Kunming"),
    (PRICES, "112.91 was the low, 114.67 the open, 112.66 the high and -0.59% the change"),
    (Reference(text="about 740"), "740"),
]


@pytest.mark.parametrize(("reference", "answer"), RIGHT)
def test_a_right_answer_in_any_form_is_right(reference: Reference, answer: str) -> None:
    verdict = decide(reference, answer)
    assert (verdict.outcome, verdict.state) == ("right", "answered"), verdict


@pytest.mark.parametrize(("reference", "answer"), WRONG)
def test_a_wrong_answer_or_a_hedge_is_wrong(reference: Reference, answer: str) -> None:
    verdict = decide(reference, answer)
    assert verdict.outcome == "wrong", verdict
    assert verdict.state in {"answered", "empty", "declined", "ambiguous", "unreadable"}


@pytest.mark.parametrize(("reference", "answer"), NOT_RIGHT)
def test_what_a_rule_cannot_tell_is_not_right(reference: Reference, answer: str) -> None:
    verdict = decide(reference, answer)
    assert verdict.outcome != "right"
    assert verdict.state in {"answered", "empty", "declined", "ambiguous", "unreadable"}


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("", "empty"),
        (" .,;\n", "empty"),
        ("not sure", "declined"),
        ("暂无数据", "declined"),
        ("62.57 or 63.12", "ambiguous"),
        ("62.57 to 63.12", "ambiguous"),
        ("over 62.57", "ambiguous"),
        ("A short report about nothing in particular.", "unreadable"),
        ("word " * 10_000, "unreadable"),
        ("Final answer: 62.57. Final answer: 63.12", "ambiguous"),
        ("63.12", "answered"),
    ],
)
def test_how_an_answer_that_is_not_right_is_called(answer: str, state: str) -> None:
    assert (decide(REVENUE, answer).outcome, decide(REVENUE, answer).state) == ("wrong", state)


FORMS = {
    "plain": lambda v: f"{v:f}",
    "grouped": lambda v: f"{v:,f}",
    "spaced": lambda v: f"{v:,f}".replace(",", "\u202f"),
    "fullwidth": lambda v: "".join(chr(ord(c) + 0xFEE0) for c in f"{v:f}"),
    "dollars": lambda v: f"${v:,f} million" if v >= 0 else f"-${-v:,f} million",
    "thousands": lambda v: f"{v * 1000:,f} thousand USD",
    "billions": lambda v: f"USD {v / 1000:f} bn",
    "basic": lambda v: f"{v * 10**6:,f} dollars",
    "wan": lambda v: f"{v * 100:f}万美元",
    "yi": lambda v: f"{v / 100:f}亿美元",
    "exponent": lambda v: f"{v * 10**6:E}".replace("E+0", "e").replace("E+", "e").replace("E-", "e-"),
    "bold": lambda v: f"The revenue of FY2023 was **{v:f} million USD**.",
    "final": lambda v: f"First I looked up 3 pages of 2022.\n\nFinal answer: {v:f}",
    "json": lambda v: f'{{"revenue": {v:f}}}',
}
VALUES = st.decimals(min_value=-(10**6), max_value=10**6, places=2, allow_nan=False)


@settings(max_examples=120, deadline=None)
@given(VALUES, st.sampled_from(sorted(FORMS)))
def test_a_number_is_the_same_in_every_form(value: Decimal, form: str) -> None:
    truth = one("number", float(value), "million USD", name="revenue", decimals=2)
    verdict = decide(truth, FORMS[form](value))
    assert verdict.outcome == "right", (FORMS[form](value), verdict)


@settings(max_examples=150, deadline=None)
@given(VALUES, VALUES, st.sampled_from(sorted(FORMS)), st.sampled_from(["", " or ", ", ", " - ", " to ", " / ", "\n"]))
def test_another_number_is_never_right_alone_or_beside_the_right_one(
    value: Decimal, other: Decimal, form: str, between: str
) -> None:
    if value in {other, other * 10**6, (other / 10**6).quantize(value)}:
        return  # a bare number may be meant in dollars
    truth = one("number", float(value), "million USD", name="revenue", decimals=2)
    wrong = FORMS[form](other)
    assert decide(truth, wrong).outcome == "wrong"
    if between:
        assert decide(truth, f"{value:f}{between}{wrong}").outcome != "right"
        assert decide(truth, f"{wrong}{between}{value:f}").outcome != "right" or form == "final"


def test_a_small_number_is_no_zero_of_millions() -> None:
    truth = one("number", 0.0, "million USD", name="revenue", decimals=2)
    assert [decide(truth, said).outcome for said in ("0", "0.00", "0.004", "1.01", "4999")] == [
        *["right"] * 3,
        *["wrong"] * 2,
    ]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.sampled_from([REVENUE, CHANGE, QUOTE, PROVINCES, DROPS, PRICES, KUNMING, BANK]))
def test_no_text_raises(text: str, reference: Reference) -> None:
    assert decide(reference, text).outcome in {"right", "wrong", "undecided"}


SHARDS = [
    "62.57",
    " ",
    "or",
    "\n",
    "|",
    "{",
    '"revenue":',
    "}",
    "[",
    "]",
    ",",
    "-",
    "(",
    ")",
    "%",
    "$",
    "million",
    "'",
    "亿",
    "三",
]
SHARDS += [
    "Final answer:",
    "not",
    "2024-03-15",
    "Q1 2024",
    "two",
    "hundred",
    "±",
    "e9",
    "/0",
    "<answer>",
    "\\boxed{",
    "*",
    "1.",
]


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from(SHARDS), max_size=14), st.sampled_from([REVENUE, QUOTE, DROPS, PRICES, PROVINCES]))
def test_no_text_of_what_answers_are_made_of_raises(shards: list[str], reference: Reference) -> None:
    assert decide(reference, "".join(shards)).outcome in {"right", "wrong", "undecided"}


@pytest.mark.parametrize(
    ("reference", "answer", "decided"),
    [
        (DROPS, "2020-03-09, 85\n2020-08-11, 115", "wrong rows"),
        (DROPS, '{"date": "2020-03-09", "drop": 85}', "wrong rows"),
        (DROPS, "- 2020-03-09, 85", "wrong rows"),
        (DROPS, "[[null, null]]", "wrong empty"),
        (DROPS, "2020-03-09, 85\n2020-08-11, 115\n2021-01-08", "wrong absent"),
        (DROPS, "2020-03-09, 85\n2020-08-11, " + "then " * 30, "undecided none"),
        (DROPS, "85 in March, 115 in August, 65 in January", "undecided none"),
        (DROPS, "We looked at all of it,\nand one was large", "undecided none"),
        (DROPS, '{"data": {"2020-03-09": 85}}', "undecided none"),
        (DROPS, str([{"d": "2020-03-09", "x": 85, "y": 1}] * 3).replace("'", '"'), "undecided none"),
        (DROPS, '[["2020-03-09", 85], ["2020-08-11", 115], ["2021-01-08", null]]', "wrong absent"),
        (
            DROPS,
            str([{"date": "2020-03-09", "Date": "2020-03-10", "drop": 85}] * 3).replace("'", '"'),
            "undecided none",
        ),
        (
            DROPS,
            "| date | drop |\n|---|---|\n| 2020-03-09 | 85 |\n| 2020-08-11 | 115 |\n| 2021-01-08 |",
            "wrong absent",
        ),
        (PROVINCES, "Hebei; Liaoning", "wrong rows"),
        (PROVINCES, "word " * 90 + "Hebei, Liaoning", "undecided none"),
        (PROVINCES, "Hebei, Liaoning, Jiangsu, Anhui", "undecided none"),
        (one("yes_no", True), '{"value": false}', "wrong absent"),
        (one("yes_no", True), '{"value": null}', "wrong absent"),
    ],
)
def test_whether_rows_lack_or_cannot_be_told(reference: Reference, answer: str, decided: str) -> None:
    verdict = decide(reference, answer)
    assert f"{verdict.outcome} {verdict.rule}" == decided, verdict
    assert verdict.state in ({"empty"} if verdict.rule == "empty" else {"answered", "unreadable"})


def test_why_an_answer_is_wrong_is_said_in_words() -> None:
    values = (("number", 4.0), ("date", "2024-03-15"), ("yes_no", True))
    assert [decide(one(kind, value), "nothing of the sort here").reason for kind, value in values] == [
        "value: no number in the asked unit in the answer",
        "value: no date as fine as the right one in the answer",
        "value: neither yes nor no in the answer",
    ]


@pytest.mark.parametrize(
    ("beside", "outcome"),
    [
        ("", "right"),
        ("Or see the annual report.", "right"),
        ("The revenue of 2019 was 70 million USD.", "right"),
        ("Or the revenue may be 70 million USD.", "undecided"),
        ("Alternatively, net income: 3.4 million USD.", "undecided"),
    ],
)
def test_a_value_in_words_of_doubt_beside_the_json_is_another_answer(beside: str, outcome: str) -> None:
    revenue = Part("revenue", "number", 62.57, "million USD", decimals=2)
    income = Part("net income", "number", -3.4, "million USD", decimals=1)
    answer = '{"revenue": "62.57 million USD", "net income": "-3.4 million USD"}'
    for text in (f"{answer}\n{beside}", f"{beside}\n{answer}"):
        assert decide(Reference((revenue, income)), text).outcome == outcome
        assert decide(Reference((revenue, income)), text.replace("3.4", "3.5")).outcome == "wrong"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ('["62.57 million USD", "-3.4 million USD"]', "right"),
        ('["-3.4 million USD", "62.57 million USD"]', "wrong"),
        # A list of lists or of objects has no place for each part.
        ('[["62.57 million USD"], ["-3.4 million USD"]]', "undecided"),
        ('[{"x": "62.57 million USD"}, {"y": "-3.4 million USD"}]', "undecided"),
        ('["62.57 million USD"]', "undecided"),
    ],
)
def test_a_list_says_by_its_places_which_value_is_for_which_part(answer: str, outcome: str) -> None:
    revenue = Part("revenue", "number", 62.57, "million USD", decimals=2)
    income = Part("net income", "number", -3.4, "million USD", decimals=1)
    assert decide(Reference((revenue, income)), answer).outcome == outcome


RANGE = one("number", 12.2, rule="between", low=12.152, high=12.256)
TENTH = one("number", 100.0, rule="relative", tolerance=0.1)
BANKS = one("text", "Bank of China", choices=("ICBC", "Agricultural Bank of China"))


@pytest.mark.parametrize(
    ("reference", "answers"),
    [
        # Words that say that nothing changed are a change of 0, and no level.
        (one("number", 0.0, "%", name="change"), {"unchanged": "right", "no change": "right"}),
        (one("number", 0.5, "%", name="change"), {"unchanged": "wrong", "no change": "wrong"}),
        (one("number", 5.0, "%", name="change", accept=(0.0,)), {"unchanged": "right", "5": "right", "4": "wrong"}),
        (one("number", 0.0, "USD", name="price"), {"unchanged": "wrong", "0": "right"}),
        # An unknown word beside a number may be a scale, but no scale turns digits into others.
        (REVENUE, {"62.57 zorks": "undecided", "6.257 zorks": "undecided", "62.58 zorks": "wrong", "0 zorks": "wrong"}),
        (REVENUE, {"6.2574 zorks": "undecided", "6.2576 zorks": "wrong", "-62.57 zorks": "undecided"}),
        (one("number", 0.0, "million USD"), {"0 zorks": "undecided", "5 zorks": "wrong"}),
        (one("number", 7.0, accept=(62.57,)), {"62.57 zorks": "undecided", "7 zorks": "undecided", "8 zorks": "wrong"}),
        (one("number", 9.999, decimals=2), {"1.000 zorks": "undecided", "1.1 zorks": "wrong"}),
        (one("number", 10.0, decimals=2), {"9.996 zorks": "undecided", "9.96 zorks": "wrong"}),
        # The size of a fall is written as positive or negative; what rose did not fall by as much.
        (DROP, {"rose by 81": "wrong", "-81": "right", "81": "right", "fell by 81": "right", "fell by 82": "wrong"}),
        (one("number", -81.0, "USD", name="daily drop"), {"rose by 81": "right", "rose by 82": "wrong"}),
        (one("number", 0.59, "%", name="change"), {"fell by 0.59": "wrong", "rose by 0.59": "right"}),
        # A hyphen and a blank are the mark of a list rather than a minus; where there are minuses, none can tell.
        (REVENUE, {"- 62.57": "right", "- 62.58": "wrong"}),
        (CHANGE, {"- 0.59": "undecided", "- 0.58": "wrong"}),
        (one("number", 0.59, "%", name="change"), {"- 0.59": "undecided", "- 0.58": "wrong"}),
        # A power of ten is part of the number, and no word of a unit.
        (REVENUE, {"62.57 × 10^6": "right", "6.257e7 USD": "right", "62.57 × 10^9": "wrong", "6.257e1": "right"}),
        (one("number", 12.45, "%"), {"1.245e1": "right", "1.245e-1": "right", "1.245e1%": "right", "1.245e2": "wrong"}),
        # A share is right as one, or where no unit is asked for; money and millions are no share.
        (one("number", 40.0), {"40%": "right", "41%": "wrong", "4%": "wrong", "4000%": "right"}),
        (one("number", 40.0, "USD"), {"40%": "wrong", "4000%": "wrong", "40": "right"}),
        (one("number", 12.45, "%"), {"$12.45": "wrong", "12.45 million": "wrong", "0.1245": "right"}),
        (one("number", 12.45, "%"), {"12.45%": "right"}),
        (one("number", 0.01, "million USD", decimals=2), {"10000": "right", "10,000 USD": "right", "9999": "wrong"}),
        (one("number", 62.57, "million USD"), {"62570000": "right", "62600000": "wrong", "63000000": "wrong"}),
        # The ends of a range may have more decimals than an answer, and the answer no more than it.
        (RANGE, {"12.152": "right", "12.256": "right", "12.151": "wrong", "12.257": "wrong", "12.2561": "wrong"}),
        (RANGE, {"12.1": "wrong", "12.3": "right", "12": "undecided", "13": "wrong", "12.26": "right"}),
        (RANGE, {"12.15": "right"}),
        (one("number", 12.2, rule="between", low=12.152, high=12.256, decimals=2), {"12.3": "wrong", "12.26": "right"}),
        (one("number", 5.0, rule="between", low=4.0, high=6.0, tolerance=1.0), {"6.5": "wrong", "3.5": "wrong"}),
        (one("number", 5.0, rule="between", low=4.0, high=6.0, accept=(9.0,)), {"9": "right", "8": "wrong"}),
        (one("number", 5.0, rule="widened", low=4.0, high=6.0, tolerance=1.0), {"7": "right", "3": "right"}),
        (one("number", 5.0, rule="widened", low=4.0, high=6.0, tolerance=1.0), {"8": "wrong"}),
        (one("number", 5.0, rule="within", tolerance=0.5), {"5.5": "right", "4.5": "right", "5.6": "wrong"}),
        (one("number", 5.0, rule="within", tolerance=0.5), {"4.4": "wrong"}),
        (one("number", 5.04, rule="exact"), {"5.04": "right", "5": "wrong", "5.0": "wrong", "5.041": "wrong"}),
        (one("number", 5.04, rule="exact", accept=(7.04,)), {"7.04": "right", "7.0": "undecided"}),
        # By less than a share of the value: the ends do not count, and 0 is met by 0 alone.
        (TENTH, {"109.9": "right", "90.1": "right", "110": "wrong", "90": "wrong", "100": "right"}),
        (one("number", -100.0, "%", name="change", rule="relative", tolerance=0.1), {"-109": "right", "-111": "wrong"}),
        (one("number", 0.0, rule="relative", tolerance=0.1), {"0": "right", "0.01": "wrong", "-0.01": "wrong"}),
        # Without asked decimals the coarser number says how far both may differ: half its last place, and 0.5 %.
        (one("number", 1000.0), {"1 thousand": "right", "1001": "wrong", "0.99 thousand": "wrong"}),
        (one("number", 1040.0), {"1 thousand": "undecided", "1.0 thousand": "undecided", "1.04 thousand": "right"}),
        (one("number", 100.5), {"100": "right", "101": "right", "99": "wrong", "102": "wrong"}),
        (one("number", 99.6), {"100": "undecided", "99.6": "right", "101": "wrong"}),
        (one("number", 200.0), {"200.4": "right", "200.5": "right", "199.5": "right", "200.6": "wrong"}),
        (one("number", 100.0), {"100.4": "right", "100.6": "wrong"}),
        (one("number", 99.0), {"99.4": "wrong", "99": "right"}),
        (one("number", 0.0), {"0": "right", "0.0": "right", "0.001": "wrong"}),
        (one("number", 24200.0), {"24200.4": "right", "24230": "wrong", "24200": "right"}),
        (one("number", 62.5), {"62.52": "right", "62.56": "wrong"}),
        (one("number", 62.5, places=2), {"62.52": "wrong", "62.504": "right", "62.506": "wrong"}),
        # Half is rounded either way, and what was computed misses the middle by its last bits.
        (one("number", -50.5, name="change", decimals=0), {"-50": "right", "-51": "right", "-52": "wrong"}),
        (one("number", -50.5, name="change", decimals=0), {"-49": "wrong"}),
        (one("number", -50.4, name="change", decimals=0), {"-50": "right", "-51": "wrong"}),
        (one("number", 50.499999999999, decimals=0), {"50": "right", "51": "right", "52": "wrong"}),
        (one("number", 50.4999, decimals=0), {"50": "right", "51": "wrong", "50.4": "right", "50.6": "wrong"}),
        # Day and month may be in either order, unless the right date is no finer than what both say.
        (one("date", "2024-03"), {"03/04/2024": "undecided", "03/13/2024": "right", "April 2024": "wrong"}),
        (one("date", "2024"), {"03/04/2024": "right", "03/04/2023": "wrong", "2024, as of 2023-05-06": "undecided"}),
        (one("date", "2024"), {"FY2024, not 1999": "right", "in 2023": "wrong", "2024 (on March 4)": "right"}),
        (one("date", "2024-03-04", accept=("2024-05-06",)), {"May 6": "undecided", "May 7": "wrong"}),
        (one("date", "2024-03-04", accept=("2024-05-06",)), {"2024-05-06": "right"}),
        (one("date", "2024-03"), {"March 2024; filed on May 6": "right", "March 4": "wrong"}),
        (one("date", "2024-Q1"), {"2024-03-15": "wrong", "Q1 2024": "right", "H1 2024": "wrong"}),
    ],
)  # fmt: skip
def test_how_a_value_compares_with_the_right_one(reference: Reference, answers: dict[str, str]) -> None:
    assert {answer: decide(reference, answer).outcome for answer in answers} == answers


PAIR = Reference(
    (
        Part("revenue", "number", 62.57, "million USD", decimals=2),
        Part("net income", "number", -3.4, "million USD", decimals=1),
    )
)
DAYS = Reference(rows=tuple((Part("day", "date", f"2024-03-{day}"),) for day in (12, 13, 14)))
LEVEL = one("number", 62.0, name="index level")


@pytest.mark.parametrize(
    ("reference", "answers"),
    [
        # The end of a text counts, as far as one is read.
        (REVENUE, {"62.57" + " " * 19_995: "right", "62.57" + " " * 19_996: "wrong"}),
        (REVENUE, {"Final answer: 62.57. Final answer: 62.57": "right"}),
        (REVENUE, {"Final answer: 62.57\nAnswer: 62.570": "right"}),
        # What explains an answer names other values, but no other answer.
        (REVENUE, {"62.57\nNote: it may be 62.57 million": "right", "62.57\nNote: 63.12 in 2022": "right"}),
        (REVENUE, {"62.57\nNote: it may be 63.12": "undecided", "63.12\nNote: it may be 62.57": "wrong"}),
        # Several parts: by their places if all are right so, else each anywhere in the text.
        (PAIR, {"62.57 million USD; -3.4 million USD": "right", "62.57 million USD, -3.4 million USD": "right"}),
        (PAIR, {"-3.4 million USD; 62.57 million USD": "undecided", "62.57 million USD; -3.5 million USD": "wrong"}),
        (PAIR, {"62.57 million USD, or perhaps -3.4 million USD": "undecided", "62.57 million USD": "wrong"}),
        (PAIR, {"62.57 million USD; -3.4 million USD; 5 million USD": "undecided", "unknown": "wrong"}),
        (PAIR, {'[{"revenue": 62.57, "net income": -3.4}]': "right", '{"revenue": 62.57}': "undecided"}),
        (PAIR, {"Revenue: 62.57; net_income: -3.4": "right", "Net income is -3.4, revenue was 62.57": "right"}),
        (PAIR, {"Revenue: -3.4; net income: 62.57": "wrong", "revenue 62.57; revenue -3.4": "undecided"}),
        # A sign is part of a value, and no mark behind a name.
        (PAIR, {"revenue 62.57, net income (3.4)": "right", "revenue 62.57, net income -3.4": "right"}),
        (PAIR, {"revenue 62.57, net income 3.4": "wrong", "revenue -62.57, net income -3.4": "wrong"}),
        (PAIR, {"revenue (million USD): 62.57, net income (million USD): -3.4": "right"}),
        (PAIR, {"revenue - 62.57, net income - 3.4": "undecided", "revenue - 62.57, net income = -3.4": "right"}),
        (KUNMING, {"With 740 it is Kunming": "undecided", "1827 it is, for Kunming": "wrong"}),
        (KUNMING, {"740; Kunming": "undecided"}),
        # One value in JSON is the answer, whatever it is called; not if something else stands beside it.
        (REVENUE, {'[{"revenue": 62.57}]': "right", '{"x": 62.57}': "right", '`{"revenue": 62.57}`': "right"}),
        (REVENUE, {'{"x": 62.57, "revenue": 63.12}': "wrong", '{"x": 63.12, "revenue": 62.57}': "right"}),
        (REVENUE, {'{"revenue": 62.57} or 63.12': "undecided", '{"revenue": 63.12} or 62.57': "undecided"}),
        # A right value is no answer beside another one, a bound, a denial or a refusal.
        (REVENUE, {"more than 62.57 in the first count, which was 62.57 in the end": "undecided"}),
        (REVENUE, {"It is not 62.57, as the report of the whole year shows very clearly": "undecided"}),
        (REVENUE, {"62.57, if I am right, but 63.12 was stated in a later version": "undecided"}),
        (REVENUE, {"none: 62.57": "undecided"}),
        (REVENUE, {"62.57 or maybe possibly perhaps alternatively also maybe possibly either 63.12": "undecided"}),
        (LEVEL, {"rose from 57 to 62": "undecided", "fell from 62 to 57": "undecided", "57 to 62": "wrong"}),
        (LEVEL, {"fell 5 to 62": "undecided", "from 57 to 62": "wrong", "62 to 57": "wrong", "57 and 62": "wrong"}),
        (LEVEL, {"61": "wrong", "rose from 57 to 61": "wrong", "62 zorks": "undecided", "62 zorks or 61": "undecided"}),
        (one("number", 0.0), {"nothing": "undecided", "none": "undecided", "unknown": "wrong", "5": "wrong"}),
        (one("number", 3.0, accept=(0.0,)), {"nothing": "undecided"}),
        (one("yes_no", False), {"nil": "wrong", "No.": "right", "不对": "right", "不正确": "right", "对": "wrong"}),
        (one("yes_no", True), {"对": "right", "正确": "right", "是的": "right", "不正确": "wrong"}),
        (one("yes_no", True), {"对于": "wrong", "是否": "wrong"}),
        (one("yes_no", True), {"Yes, no doubt": "right", "Yes no": "wrong", "Oh yes, this is no secret": "undecided"}),
        (one("yes_no", True), {"No, yes": "wrong", "Yes": "right", "It is true": "right", "incorrect": "wrong"}),
        # Names: without known choices another one would go unnoticed.
        (one("text", "Unknown Worlds Entertainment"), {"Unknown Worlds Entertainment": "right"}),
        (one("text", "Alphabet (Class C)"), {"Alphabet Inc. (Class C)": "right", "It is Alphabet": "undecided"}),
        (one("text", "Alphabet"), {"It is Alphabet (GOOG).": "right", "It is Alphabet (or Apple).": "undecided"}),
        (one("text", "Kunming"), {"It was surely Kunming in the end": "undecided", "Dali": "undecided"}),
        (BANKS, {"It was Bank of China in the end": "right", "It may be Bank of China": "undecided", "ICBC": "wrong"}),
        (BANKS, {"Bank of China, ICBC": "wrong", "Bank of China Ltd": "right", "Bank of America": "undecided"}),
        (one("text", "Dali", choices=("It Holdings",)), {"Now it is Dali at last": "right", "It Holdings": "wrong"}),
        (one("text", "IBM Corp", choices=("Dell",)), {"The leader was IBM again": "right", "Dell": "wrong"}),
        (one("text", "Dell", choices=("IBM Corp",)), {"The leader was IBM again": "wrong"}),
        # Rows in any order, each of its own; a table of one row may say "None".
        (Reference(rows=((Part("company", "text", "None"),),)), {"None": "right"}),
        (PROVINCES, {"None": "wrong", '["Hebei", "unknown", "Jiangsu", "Shandong"]': "wrong"}),
        (DAYS, {"2024-03-14, 2024-03-12, 2024-03-13": "right", "2024-03-14, 2024-03-12, March 13": "undecided"}),
        (DAYS, {"2024-03-14, 2024-03-12, 2024-03-15": "wrong", "2024-03-14, 2024-03-12, 2024-03-12": "wrong"}),
        (one("number", 40.0, "% of GDP"), {"40%": "right", "0.4": "right", "40": "right", "40 million": "wrong"}),
        (one("number", 40.0, "USD mn"), {"40 million": "right", "40 bn": "wrong", "40": "right"}),
        (one("number", 40.0, "USD/CNY"), {"40 USD": "right", "40 EUR": "wrong", "40 CNY": "wrong"}),
    ],
)  # fmt: skip
def test_what_stands_beside_a_right_value_counts(reference: Reference, answers: dict[str, str]) -> None:
    assert {answer: decide(reference, answer).outcome for answer in answers} == answers


@pytest.mark.parametrize(
    ("reference", "answer", "reason"),
    [
        (REVENUE, "63.12", "revenue: '63.12' is wrong"),
        (REVENUE, "about 63.12 in all", "revenue: '63.12' is wrong"),
        (REVENUE, "63.12 or 64", "revenue: none of the values in the answer is right"),
        (REVENUE, "over 63.12", "revenue: none of the values in the answer is right"),
        (one("text", "Dali", choices=("x" * 70,)), "x" * 70, f"value: '{'x' * 60}' is wrong"),
        (DAYS, "2024-03-12, 2024-03-15, 2024-03-14", "row 2 of the reference is not in the answer"),
        (PAIR, "62.57 million USD; -3.5 million USD", "net income: none of the values in the answer is right"),
    ],
)
def test_what_is_wrong_is_named(reference: Reference, answer: str, reason: str) -> None:
    assert decide(reference, answer).reason == reason


ROW = "2020-03-09, 85\n2020-08-11, 115\n2021-01-08, 65"
CELLS = "| 2020-03-09 | 85 |\n| 2020-08-11 | 115 |\n| 2021-01-08 | 65 |"
JSON = '[["2020-03-09", 85], ["2020-08-11", 115], ["2021-01-08", 65]]'
DROP_OF_ONE_DAY = Reference(rows=(DROPS.rows[0],))


@pytest.mark.parametrize(
    ("reference", "answers"),
    [
        # Lines that introduce rows are none of them, and a header alone is no row.
        (DROPS, {"The drops were:": "undecided", "date, drop": "wrong", f"date, drop\n{ROW}": "right"}),
        (DROPS, {f"The drops were:\ndate, drop\n{ROW}": "right", f"day, fall\n{ROW}": "wrong", ROW: "right"}),
        (DROPS, {"2020-03-09, 85": "undecided", "2020-03-09: 85; 2020-08-11: 115": "wrong"}),
        (DROP_OF_ONE_DAY, {"2020-03-09, 85": "right", "2020-03-09, 86": "wrong", "| 2020-03-09 | 85 |": "right"}),
        (DROP_OF_ONE_DAY, {"| date | drop |\n| 2020-03-09 | 85 |": "right"}),
        (DROP_OF_ONE_DAY, {'{"date": "2020-03-09", "drop": 85}': "right"}),
        # A rule of Markdown divides a header from rows, whatever the header says.
        (DROPS, {f"| when | fell |\n|---|---|\n{CELLS}": "right", f"| when | fell |\n{CELLS}": "wrong"}),
        (DROPS, {CELLS: "right"}),
        (DROPS, {f"| date | drop |\n|---|---|\n| | |\n{CELLS}": "right", f"|---|---|\n{CELLS}": "wrong"}),
        (DROPS, {"nothing\n|---|---|\n|---|---|": "wrong", "| date | drop |\n|---|---|": "wrong"}),
        # Objects of columns and other JSON are no rows that could be counted.
        (DROPS, {JSON: "right", f'{{"rows": {JSON}}}': "right", f'{{"rows": {JSON}, "note": "x"}}': "undecided"}),
        (DROPS, {'{"date": ["2020-03-09", "2020-08-11", "2021-01-08"], "drop": [85, 115, 65]}': "undecided"}),
        (DROPS, {'{"2020-03-09": 85, "2020-08-11": 115}': "wrong", '{"2020-03-09": 85, "2020-03-09": 86}': "wrong"}),
        (DROPS, {JSON.replace("85", "86"): "wrong", JSON.replace("85", '"85 USD"'): "right", "[[], [], [1]]": "wrong"}),
        (PROVINCES, {'{"1": "Hebei", "2": "Liaoning"}': "undecided", '{"rows": ["Hebei", "Liaoning"]}': "wrong"}),
        # One line of a list, unless it is as long as sentences are.
        (PROVINCES, {"Hebei, Liaoning, " + "x" * 382: "wrong", "Hebei, Liaoning, " + "x" * 383: "undecided"}),
        (PROVINCES, {"[Hebei, Liaoning, Jiangsu, Shandong].": "right", "Hebei; Liaoning; Jiangsu; Shandong": "right"}),
        (PROVINCES, {"- (Hebei)\n- Liaoning\n- Jiangsu\n- Shandong": "right"}),
        (PROVINCES, {"Hebei | Liaoning | Jiangsu | Shandong": "right", "Hebei | Liaoning | Jiangsu": "wrong"}),
        (PROVINCES, {"* Hebei: 1\n* Liaoning (2)\n* Jiangsu - 3\n* Shandong": "right"}),
        (PROVINCES, {"Here they are\n① Hebei\n② Liaoning\n③ Jiangsu\n④ Shandong\nThat is all": "right"}),
        # A cell of JSON is what it says in words.
        (one("yes_no", False), {'{"x": false}': "right", '{"x": "no"}': "right", '{"x": null}': "wrong"}),
        (one("number", 1.0), {'{"x": 1}': "right", '{"x": true}': "wrong", '{"x": "\\uff11"}': "right"}),
        # Markup stands for plain signs.
        (REVENUE, {"$62.57$ million": "right", "$62.57 million and $63.12 million": "wrong", "$$62.57$$": "right"}),
        (REVENUE, {"<b>62.57</b>": "right", "63<br>62.57": "wrong", "6.257 × 10<sup>7</sup>": "right"}),
        (REVENUE, {"&euro;62.57 million": "wrong", "&#36;62.57 million": "right", "62.57&nbsp;million": "right"}),
        (REVENUE, {"\\textbf{\\textit{\\text{62.57}}}": "right", "*62.57*": "right"}),
        # What is struck out or in a command that nothing knows is not stated.
        (REVENUE, {"\\zork{62.57}": "undecided", "\\sqrt{62.57}": "undecided", "\\cancel{62.57}": "undecided"}),
        (REVENUE, {"~~62.57~~": "undecided", "\\underline{62.57}": "right", "\\underline{62.58}": "wrong"}),
        (REVENUE, {"6.257 * 10**7": "right", "6.257 × 10⁷": "right", "6.257 \\times 10^{7}": "right"}),
        (REVENUE, {"# 62.57": "right"}),
        (REVENUE, {"\\boxed{62.57} million": "right", "63.12, so \\boxed{62.57}": "right", "_62.57_": "right"}),
        (one("number", 0.5), {"\\frac{1}{2}": "right", "$\\frac12$": "right", "\\frac{1}{3}": "wrong"}),
        (one("number", 3.5), {"3\\frac{1}{2}": "right", "3 1/2": "right", "7/2": "right", "3 1/3": "wrong"}),
        (one("number", -0.5, name="change"), {"-\\frac{1}{2}": "right", "\\frac{1}{2}": "wrong"}),
        (one("number", -0.5, name="change"), {"&minus;0.5": "right"}),
        # Digits: points and 32nds, fractions, grouped thousands.
        (one("number", 113.984375), {"113'31+": "right", "113'315": "right", "113'31'5": "right", "113'31": "wrong"}),
        (one("number", 5.0), {"3 4/2": "wrong", "10/2": "right", "5/0": "undecided", "5/1": "right"}),
        (one("number", 3.0), {"3 4/2": "undecided", "3 2/2": "undecided", "3 0/2": "right"}),
        (one("number", 1.24), {"1,24": "right", "1.24": "right", "1,245": "wrong"}),
        (one("number", 1245.0), {"1,245": "right", "1.245": "wrong", "1 245": "right", "1,245.0": "right"}),
        (one("number", 1245678.5), {"1.245.678,5": "right", "1,245,678.5": "right", "1.245.678": "right"}),
        (one("number", 1245678.0), {"1.245.678": "right", "1,245,678": "right", "1245,678": "wrong"}),
    ],
)  # fmt: skip
def test_how_tables_markup_and_digits_are_read(reference: Reference, answers: dict[str, str]) -> None:
    assert {answer: decide(reference, answer).outcome for answer in answers} == answers


@pytest.mark.parametrize("shard", [
    *("二", "万", "二点", "一万亿", "二十", "百分之", "million ", "trillion ", "hundred ", "minus ", "USD ", "a"),
    *("9", "9.", "5,", "1/", "10^", "(5", "[[5", "- ", "%", "~", "|", "\\text{", "\\frac{", "<b>", '{"x":', "fell. "),
])  # fmt: skip
def test_a_text_of_one_thing_many_times_over_does_not_raise(shard: str) -> None:
    for text in (f"5 {shard * 6_000}"[:6_000], f"{shard * 6_000}"[:6_000] + "5", f"1e{shard * 6_000}"[:6_000]):
        assert decide(one("number", 62.57, "million USD"), text).outcome != "right"


SALES = Reference(
    (
        Part("sales", "number", 62.57, "million USD", decimals=2),
        Part("net sales", "number", 3.4, "million USD", decimals=1),
    )
)


@pytest.mark.parametrize(("answer", "outcome"), [
    ("sales 62.57 million; net sales 3.4 million", "right"), ("62.57; 3.4", "right"),
    ("net sales 62.57 million; sales 3.4 million", "wrong"), ("62.57; net sales 3.4", "right"),
    ("net sales 3.4; sales 62.57", "right"), ("net sales 62.57; 3.4", "undecided"),
    ("sales 62.57; sales 3.4", "undecided"),
])  # fmt: skip
def test_the_name_of_a_part_may_hold_that_of_another(answer: str, outcome: str) -> None:
    assert decide(SALES, answer).outcome == outcome
