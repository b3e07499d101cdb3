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
