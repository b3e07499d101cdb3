"""The stand-in answers financial questions from what a conversation shows, and from nothing else."""

import json
from itertools import pairwise

import pytest

from openfingym.models.messages import Message
from openfingym.models.testing.competent import Competent
from openfingym.models.testing.conversation import CompletionRequest
from openfingym_suites.finsearch.tools import SUBSETS, FinanceTools
from openfingym_suites.stand_in.finance.policy import next_step, read
from openfingym_suites.stand_in.finance.reading import ReadQuestion

NOW = "2021-05-14T20:30:00+00:00"


def answered(small, text, subset="full", as_of=NOW):
    """What it answers, and the calls that it made."""
    tools, seen, calls = FinanceTools(small.vault.as_of(as_of), subset), [], []
    for _ in range(30):
        step = next_step(ReadQuestion(text, as_of), frozenset(SUBSETS[subset]), seen)
        if isinstance(step, str):
            return step, calls
        found = tools.reply(step.name, dict(step.arguments))
        calls.append((step.name, found.valid))
        seen.append(f"{found.text}\n(20 calls left for this question)")
    raise AssertionError("it went on and on")


def bar(small, symbol, day):
    found = FinanceTools(small.vault.as_of(NOW)).reply("quote", {"symbol": symbol, "start": day, "end": day}).value
    return dict(zip(found["columns"], found["rows"][0], strict=True))


def test_prices_in_both_languages(small):
    of = bar(small, "HLVP.US", "2021-05-14")
    english = (
        "What is the most recent closing price of Halvern Photonics (HLVP.US) (USD, rounded to two decimal places)?"
    )
    assert answered(small, english) == (f"{of['close']:.2f}", [("quote", True)])
    chinese = "2021年5月12日，660010.SH 昭珩半导体的最高价是多少（不复权，元，保留两位小数）？"
    assert answered(small, chinese)[0] == f"{bar(small, '660010.SH', '2021-05-12')['high']:.2f}"
    moved = "By how many percent did HLVP.US move from the open to the close today (rounded to two decimal places)?"
    assert answered(small, moved)[0] == f"{(of['close'] / of['open'] - 1) * 100:.2f}"


def test_reference_rates_and_yields(small):
    rate = bar(small, "USDCNY", "2020-06-01")["close"]
    asked = "What was the ECB's USD/CNY rate on June 1, 2020, rounded to four decimal places?"
    assert answered(small, asked)[0] == f"{rate:.4f}"
    other_way = "2020年6月1日，人民币兑美元（CNY/USD）的汇率是多少？按欧洲央行参考汇率，以美元计，保留四位小数。"
    assert answered(small, other_way)[0] == f"{1 / rate:.4f}"
    yields = (
        "What was the 10-year US Treasury par yield on January 26, 2015? In percent, rounded to two decimal places."
    )
    found = FinanceTools(small.vault.as_of(NOW)).reply(
        "series", {"id": "UST10Y", "start": "2015-01-26", "end": "2015-01-26"}
    )
    assert answered(small, yields)[0] == f"{found.value['rows'][0][1]:.2f}"


def test_the_hardest_are_answered_in_part(small):
    asked = (
        "From June 2019 to March 2021, in which month did the C500.IDX experience the largest single-month "
        "increase, and of how many percent (rounded to two decimal places)?"
    )
    found = FinanceTools(small.vault.as_of(NOW)).reply(
        "quote", {"symbol": "C500.IDX", "start": "2019-05-01", "end": "2021-03-31", "interval": "month"}
    )
    place = found.value["columns"].index("close")
    ends = [row[place] for row in found.value["rows"]]
    best = max((b / a - 1) * 100 for a, b in pairwise(ends))
    assert json.loads(answered(small, asked)[0])["change"] == float(f"{best:.2f}")


def test_what_it_may_call_decides_what_it_calls(small):
    asked = "London gold price now, in USD per ounce, rounded to two decimal places?"
    right, full = answered(small, asked)
    read_there, searched = answered(small, asked, "search")
    assert {name for name, _ in full} == {"quote"}
    assert {name for name, _ in searched} == {"search", "open_page"}
    assert float(read_there) > 0
    assert read_there != right, "the page is of the week's end, and believed"
    assert answered(small, asked, "none") == ("unknown", [])


def test_an_answer_that_was_cut_off_is_read_as_far_as_it_goes():
    text = '{"symbol": "X", "columns": ["date", "close"], "rows": [["2020-01-01", 1.5], ["2020-01-02", 2.5], ["2020-'
    found = read(f"{text}\n[cut off]")
    assert found["rows"] == [["2020-01-01", 1.5], ["2020-01-02", 2.5]]
    assert found["more_from"] == "2020-01-02"
    assert read("Bad call: there is no such symbol.") == {}


@pytest.mark.parametrize(
    "junk", ["", "{", '{"rows": 3}', '{"columns": ["date"], "rows": [[]]}', '{"candidates": []}', "[1]"]
)
def test_it_answers_whatever_tools_say(junk):
    asked = ReadQuestion("Latest closing price of HLVP.US, in USD, rounded to two decimal places?", NOW)
    seen = []
    for _ in range(40):
        step = next_step(asked, frozenset(SUBSETS["full"]), seen)
        if isinstance(step, str):
            break
        seen.append(junk)
    assert step == "unknown"


def test_a_question_is_answered_in_words_too(small):
    asked = f"Asked as of {NOW}: Latest closing price of HLVP.US, in USD, rounded to two decimal places?"
    listed = "- search(query): x\n- open_page(url): x\n- quote(symbol): x\n- calculator(expression): x"
    system = Message("system", f'Alternate "Thought:", "Action:", "Observation:".\n{listed}\n\nThe answer is a number.')
    request = CompletionRequest("single", (system, Message("user", asked)), {})
    first = Competent().respond(request).content
    assert "Action: quote(symbol='HLVP.US'" in first
    seen = FinanceTools(small.vault.as_of(NOW)).reply("quote", {"symbol": "HLVP.US", "start": "2021-05-01"}).text
    told = (*request.messages, Message("assistant", first), Message("user", f"Observation: {seen}"))
    close = bar(small, "HLVP.US", "2021-05-14")["close"]
    assert Competent().respond(CompletionRequest("single", told, {})).content.endswith(f"Final Answer: {close:.2f}")
