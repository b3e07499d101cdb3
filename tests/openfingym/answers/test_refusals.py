"""A refusal is a text that says it has no answer, and nothing else; what only speaks of the unknown is an answer."""

import pytest

from openfingym.answers import Part, Reference, decide
from openfingym.answers.reading.cleaning import cleaned
from openfingym.answers.reading.refusals import refusal

WORDS = Reference(text="It is closest to Kunming, with a difference of about 740 square kilometers.")
CITY = Reference((Part("city", "text", "Kunming"),))
REFUSALS = [
    "unknown",
    "Unknown.",
    "not sure",
    "I don't know.",
    "I do not know the answer to this question.",
    "N/A",
    "None.",
    "not disclosed",
    "No data available.",
    "No data is available for this period.",
    "I'm sorry, but I cannot find this information.",
    "I was unable to find the revenue of NVIDIA in the filings provided.",
    "Sorry, no idea.",
    "The data is not available.",
    "The answer is unknown.",
    "It cannot be determined from the available information.",
    "I could not find the figure. It cannot be determined.",
    "Unfortunately, the information was not found in the annual report.",
    "不知道",
    "无法确定",
    "暂无数据",
    "抱歉，我无法回答这个问题。",
    "对不起，我不知道",
    "没有找到相关数据",
    "抱歉",
]
ANSWERS = [
    "The largest shareholder is Kunming Steel; the stake was not disclosed.",
    "Of the five, none is near; it is Kunming.",
    "Kunming, with 740 square kilometers. No data on the others.",
    "No data center was sold; the answer is Apple.",
    "I don't know the exact figure but I estimate Kunming.",
    "None of the other banks grew; Bank of China did.",
    "None of them except Kunming",
    "I found no city other than Kunming",
    "The company, which I could not find in the index, is Apple. It is listed.",
    "No. The company has no data centers.",
    "Not Apple but Microsoft",
    "昆明，其他城市数据未知。",
    "苹果公司，具体数据暂无披露",
    "无锡",
    "未来资产",
]


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_declined_and_no_judge_is_asked(answer: str) -> None:
    assert refusal(cleaned(answer))
    for reference in (WORDS, CITY, Reference((Part("revenue", "number", 62.57),))):
        assert decide(reference, answer)[:2] == ("wrong", "declined")


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_speaks_of_the_unknown_is_for_a_judge(answer: str) -> None:
    assert refusal(cleaned(answer)) == ""
    assert decide(WORDS, answer)[:2] == ("undecided", "answered")


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("None of the banks", "None"),
        ("The company did not disclose it.", "not disclosed"),
        ("没有公司", "没有"),
        ("Zero", "none"),
    ],
)
def test_nothing_may_be_the_right_answer(reference: str, answer: str) -> None:
    assert decide(Reference(text=reference), answer).outcome == "undecided"


def test_none_may_be_meant_for_zero_and_for_no_other_number() -> None:
    zero, one = (Reference((Part("companies", "number", value, decimals=0),)) for value in (0.0, 1.0))
    assert [decide(zero, answer).outcome for answer in ("None", "no companies", "没有")] == ["undecided"] * 3
    assert [decide(one, answer).outcome for answer in ("None", "没有")] == ["wrong"] * 2


@pytest.mark.parametrize(
    "answer", ["No data", "No idea.", "没有数据", "对不起，我不知道", "I don't know if it is correct"]
)
def test_a_refusal_is_neither_yes_nor_no(answer: str) -> None:
    for value in (True, False):
        assert decide(Reference((Part("rise", "yes_no", value),)), answer)[:2] == ("wrong", "declined")


def test_a_right_value_beside_words_of_refusal_is_undecided() -> None:
    revenue = Reference((Part("revenue", "number", 62.57, "million USD"),))
    assert decide(revenue, "62.57 million USD; the segments are not disclosed").outcome == "undecided"
    assert decide(Reference((Part("rise", "yes_no", True),)), "Yes, though the rest is unknown").outcome == "undecided"


def test_a_refusal_is_quoted_by_its_first_sixty_characters() -> None:
    refused = "I could not find the revenue of that year in any of the filings that were provided to me"
    assert refusal(refused) == refused[:60]
    apology = " ".join(["I'm sorry."] * 9)
    assert refusal(f" {apology}") == apology[:60]
    assert refusal("?!") == refusal("") == ""
