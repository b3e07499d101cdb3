import pytest

from openfingym.answers import Part, Reference
from openfingym.answers.guide import RULES, GuideRule, lint


def rules(text: str, reference: Reference | None = None) -> set[str]:
    return {finding.rule for finding in lint(text, reference)}


def test_there_are_the_eleven_rules_of_the_guide() -> None:
    assert len({rule.name for rule in RULES}) == 11


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_the_guides_bad_example_and_not_its_good_one(rule: GuideRule) -> None:
    assert rule.name in rules(rule.bad)
    assert rule.name not in rules(rule.good)
    for finding in lint(rule.bad, None):
        assert finding.severity in {"error", "warning"}
        assert finding.found in rule.bad
        assert len(finding.advice) > 10


PUBLISHED = """\
What was the additional paid-in capital of Lands' End as of the end of the fiscal year 2020? (in thousand dollars, \
rounded to the nearest integer)
What was the closing value of the VIX on April 25, 2022? (rounded to two decimal places)
For the fiscal year 2023, what was Planet Labs' Net cash provided by investing activities? (please answer in \
thousands of dollars, rounded to the nearest integer)
What was the U.S. Housing Market Index (HMI) in November 2014? (answer rounded to the nearest integer)
In April 2015, what was the CPI of Russia? (base year 2015=100, rounded to two decimal places)
贵州茅台2023财年的净利润（中国会计准则，合并报表）是多少亿元？保留两位小数。"""


@pytest.mark.parametrize("text", PUBLISHED.splitlines())
def test_published_questions_pass(text: str) -> None:
    assert not rules(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2023年贵州茅台的净利润是多少？", {"fiscal-year", "currency", "precision", "unit"}),
        ("美元兑人民币汇率是多少？保留四位小数", {"rmb"}),
        ("贵州茅台属于哪个行业？", {"industry"}),
        (
            "What was Apple's total debt in 2022, in million USD, rounded to the nearest integer?",
            {"fiscal-year", "timing"},
        ),
        ("What was Apple's net income as of June 30, 2023, in million USD, rounded to two decimals?", {"timing"}),
    ],
)
def test_other_questions_do_not(text: str, found: set[str]) -> None:
    assert found <= rules(text)


def test_what_is_asked_for_needs_no_more_words() -> None:
    """A count needs no rounding and no unit, a date neither, and what is named as the reference has it is clear."""
    cuts = "How many times did the Federal Reserve cut its rate in calendar year 2024?"
    assert not rules(cuts)
    assert not rules("What was the total of rate cuts in 2024?", Reference((Part("cuts", "number", 3.0, decimals=0),)))
    counted = Reference((Part("day", "date", "2024-03-15"), Part("cuts", "number", 3.0, decimals=0)))
    assert not {"precision", "unit"} & rules("Which day had the highest total, and what was it?", counted)
    both = Reference((Part("day", "date", "2024-03-15"), Part("price", "number", 5.0)))
    assert {"precision", "unit"} <= rules("Which day had the highest close, and what was it?", both)
    assert {"precision", "unit"} <= rules("What was the yield?")
    assert not {"precision", "unit"} & rules("Who was the chair of the Federal Reserve?")
    assert not {"precision", "unit"} & rules("Which company had the highest revenue?")
    assert "rmb" not in rules("What was the onshore USD to RMB exchange rate, rounded to two decimals?")


def test_an_item_is_called_as_the_reference_calls_it() -> None:
    question = "What was Apple's basic earnings per share for fiscal year 2023, in USD, rounded to two decimals?"
    for name, found in (("EPS", False), ("earnings per share", False), ("net income", True), ("Net Income", True)):
        assert ("item-naming" in rules(question, Reference((Part(name, "number", 6.13, "USD"),)))) == found, name
    assert "item-naming" in rules("What was Apple's profit?", Reference((Part("EPS", "number", 6.13, "USD"),)))


def test_a_flow_is_asked_for_over_a_period() -> None:
    end = "rounded to two decimal places, in million USD"
    assert "timing" in rules(f"What was Apple's net income as of June 30, 2023, {end}?")
    assert "timing" not in rules(f"What was Apple's net income as of the quarter ended June 30, 2023, {end}?")
    assert "timing" not in rules(f"What was Apple's net income as reported for fiscal year 2023, {end}?")


def test_a_reference_tells_what_kind_of_answer_is_asked_for() -> None:
    when = "On which day did the price of gold close highest in 2024?"
    assert not rules(when, Reference((Part("day", "date", "2024-03-15"),)))
    price = Reference((Part("settlement price", "number", 113.265625),))
    futures = (
        "What was the settlement price of the 10-year Treasury note futures on March 1, 2024, rounded to six places?"
    )
    assert "futures-quote" in rules(futures)
    assert "futures-quote" not in rules(futures, price)


NUMBER = Part("amount", "number", 5.0, "million USD", decimals=2)
ONE_NUMBER, ONE_DAY = Reference((NUMBER,)), Reference((Part("day", "date", "2024-03-15"),))
CUTS, BASIS = Part("cuts", "number", 3.0, decimals=0), Part("hike", "number", 25.0, "basis points", decimals=0)


@pytest.mark.parametrize(
    ("rule", "text", "reference", "found"),
    [
        ("fiscal-year", "What was Apple's net income in 2023?", None, True),
        ("fiscal-year", "What was Apple's net income for fiscal year 2023?", None, False),
        ("fiscal-year", "What was the net income of the country in 2023?", None, False),
        ("fiscal-year", "What was Apple's net income?", None, False),
        ("fiscal-year", "Who led Apple in 2023?", None, False),
        ("timing", "What were Apple's total assets in fiscal year 2023?", None, True),
        ("timing", "What were Apple's total assets?", None, False),
        ("timing", "What were Apple's total assets in fiscal year 2023, at the end?", None, False),
        ("timing", "What were Apple's revenue and total assets in fiscal year 2023?", None, False),
        ("timing", "What was Apple's headcount in fiscal year 2023?", None, False),
        ("timing", "What was Apple's net income as of June 30, 2023?", None, True),
        ("timing", "What was Apple's net income on June 30, 2023?", None, False),
        ("timing", "What were Apple's net income and total assets as of June 30, 2023?", None, False),
        ("timing", "What was Apple's headcount as of June 30, 2023?", None, False),
        ("item-naming", "What were Apple's total assets?", Reference((Part("EPS", "number", 6.13, "USD"),)), True),
        ("item-naming", "What were Apple's total assets?", Reference((Part("total assets", "number", 6.0),)), False),
        ("item-naming", "What was paid per share?", Reference((Part("EPS", "number", 6.13, "USD"),)), False),
        ("item-naming", "What was paid per share?", Reference((Part("net income", "number", 6.13, "USD"),)), True),
        ("item-naming", "What was it?", Reference((Part("net income", "number", 6.0), CUTS)), False),
        ("item-naming", "What was it?", ONE_NUMBER, False),
        ("item-naming", "What was it?", Reference(text="net income"), False),
        ("gaap", "What was Apple's net income?", None, True),
        ("gaap", "What was Apple's net income by IFRS?", None, False),
        ("gaap", "What was the net income of the nation, or country?", None, False),
        ("gaap", "What were Apple's total assets?", None, False),
        ("currency", "What was Apple's revenue?", None, True),
        ("currency", "What was Apple's revenue?", ONE_NUMBER, True),
        ("currency", "What was Apple's revenue?", Reference(text="about 5"), True),
        ("currency", "What was Apple's revenue?", ONE_DAY, False),
        ("currency", "What was Apple's revenue?", Reference((Part("day", "date", "2024-03-15"), NUMBER)), True),
        ("currency", "What was Apple's revenue in USD?", None, False),
        ("currency", "What was Apple's revenue growth?", None, False),
        ("currency", "What was Apple's headcount?", None, False),
        ("industry", "Which sector is Apple in?", None, True),
        ("industry", "Which GICS sector is Apple in?", None, False),
        ("industry", "Where is Apple?", None, False),
        ("market-cap", "What is the market cap of a dual-listed bank?", None, True),
        ("market-cap", "What is the market cap of a bank?", None, False),
        ("market-cap", "What is the market cap of a dual-listed bank, as the sum of both?", None, False),
        ("market-cap", "What is the name of a dual-listed bank?", None, False),
        ("futures-quote", "Where did the 10-year note futures settle?", None, True),
        ("futures-quote", "Where did the 10-year note futures settle, as a decimal?", None, False),
        ("futures-quote", "Where did the 10-year note futures settle?", ONE_NUMBER, False),
        ("futures-quote", "Where did the 10-year note futures settle?", ONE_DAY, True),
        ("futures-quote", "Where did gold settle?", None, False),
        ("rmb", "What is the exchange rate of the RMB?", None, True),
        ("rmb", "What is the onshore exchange rate of the RMB?", None, False),
        ("rmb", "What is the exchange rate of the pound?", None, False),
        ("rmb", "How many RMB did it cost?", None, False),
        *((rule, "What was the yield?", None, True) for rule in ("precision", "unit")),
        *((rule, "Who was it?", None, False) for rule in ("precision", "unit")),
        *((rule, "Who was it?", ONE_NUMBER, True) for rule in ("precision", "unit")),
        *((rule, "What was the yield?", ONE_DAY, False) for rule in ("precision", "unit")),
        *((rule, "What was the yield?", Reference(text="about 5"), True) for rule in ("precision", "unit")),
        *((rule, "Which day had the highest yield?", None, False) for rule in ("precision", "unit")),
        *((rule, "Who was it?", Reference((CUTS,)), False) for rule in ("precision", "unit")),
        *((rule, "Who was it?", Reference((CUTS, BASIS)), False) for rule in ("precision", "unit")),
        *((rule, "Who was it?", Reference((CUTS, NUMBER)), True) for rule in ("precision", "unit")),
        *(
            (rule, "Who was it?", Reference((Part("x", "number", 3.0, unit, decimals=decimals),)), True)
            for rule in ("precision", "unit")
            for unit, decimals in (("million USD", 0), (None, 1), (None, None))
        ),
        ("precision", "What was the yield, rounded to two decimals?", None, False),
        ("precision", "How many cuts were there at this rate?", None, False),
        ("unit", "What was the yield in percent?", None, False),
        ("unit", "What was the value in yen?", None, False),
    ],
)
def test_when_a_rule_finds_something(rule: str, text: str, reference: Reference | None, found: bool) -> None:
    assert (rule in rules(text, reference)) == found
