"""The worked examples of the published judge prompts (S = 0 or 1): no rule says otherwise, and most are decided."""

import pytest

from openfingym.answers import Part, Reference, decide
from openfingym.judging import PROTOCOLS

NVDA = Reference(
    (
        Part("opening price", "number", 112.905, "USD"),
        Part("high", "number", 114.665, "USD"),
        Part("low", "number", 112.66, "USD"),
        Part("change percentage", "number", -0.59, "%"),
    )
)
USDCNY = Reference((Part("USD/CNY", "number", 7.1871, rule="between", low=7.1855, high=7.1934),))
GOLD = Reference((Part("COMEX gold", "number", 3383.2, "USD per ounce", rule="within", tolerance=0.6),))
YEARS = Reference((Part("average", "number", 27.9, "years", decimals=1, rule="exact"),))
PROVINCES = Reference(
    rows=tuple(
        (Part("province", "text", f"{name} Province"),)
        for name in ("Hebei", "Liaoning", "Jiangsu", "Shandong", "Guangdong")
    )
)
BENU = Reference((Part("count", "number", 1.0, decimals=0), Part("name", "text", "Benu", choices=("Quince", "Saison"))))
KUNMING = Reference((Part("city", "text", "Kunming"), Part("difference", "number", 740.0, "square kilometers")))


def student(protocol: str, start: str, end: str) -> str:
    """A student's answer, out of the published prompt."""
    text = PROTOCOLS[protocol].published.replace("\n", " ")  # type: ignore[index]
    begin = text.index(start)
    return text[begin : text.index(end, begin)].strip()


LIST = PROTOCOLS["historical"].published
LIST = LIST[LIST.index("According to 2022 GDP data") : LIST.index("These provinces'")]


@pytest.mark.parametrize(
    ("reference", "answer", "outcome"),
    [
        (NVDA, "open 112.91, high 114.67, low 112.66, change -0.47%", "wrong"),
        (NVDA, '{"opening price": 112.91, "high": 114.67, "low": 112.66, "change percentage": "-0.47%"}', "wrong"),
        (NVDA, '{"opening price": 112.91, "high": 114.67, "low": 112.66, "change percentage": "-0.59%"}', "right"),
        (USDCNY, "7.1905", "right"),
        (USDCNY, "closed at 7.1905 against the US dollar", "right"),
        (USDCNY, "7.1729", "wrong"),
        (GOLD, "3382.7", "right"),
        (GOLD, "the price of New York gold (COMEX Gold Futures) was $3382.7 / ounce", "right"),
        (GOLD, "3382.5", "wrong"),
        (YEARS, "27.3 years", "wrong"),
        (YEARS, "Average time: 246 ÷ 9 = 27.3 years", "wrong"),
        (YEARS, "27.9", "right"),
        (PROVINCES, LIST, "wrong"),
        (PROVINCES, "\n".join(x for x in LIST.split("\n") if "Heilong" not in x and "Fujian" not in x), "right"),
        (BENU, "1; Benu", "right"),
        (BENU, "Benu is the one that specializes in Asian-inspired cuisine; there is 1 restaurant.", "right"),
        (KUNMING, "The closest is Kunming. The difference between the two is: 22,100 - 20,273 = 1827", "wrong"),
    ],
)
def test_a_worked_example(reference: Reference, answer: str, outcome: str) -> None:
    assert decide(reference, answer).outcome == outcome


@pytest.mark.parametrize(
    ("reference", "answer", "never"),
    [
        (NVDA, student("live", "According to the latest news", "Your Output"), "right"),
        (USDCNY, student("live", "As of 03:00 Beijing", "Your Output"), "wrong"),
        (GOLD, student("live", "According to Hithink", "Your Output"), "wrong"),
        (YEARS, student("historical", "Based on known information", "- Scoring Basis"), "right"),
        (BENU, student("historical", "Among San Francisco", "- Scoring Basis"), "wrong"),
        (KUNMING, student("historical", "The total area of Slovenia", "- Scoring Basis"), "right"),
    ],
)
def test_of_a_whole_report_no_rule_says_what_the_published_score_denies(
    reference: Reference, answer: str, never: str
) -> None:
    assert decide(reference, answer).outcome != never


def test_the_four_rules_of_live_prices() -> None:
    def outcome(answer: str, value: float, unit: str | None = None, **rule: object) -> str:
        part = Part("price", "number", value, unit, **rule)  # type: ignore[arg-type]
        return decide(Reference((part,)), answer).outcome

    assert outcome("12.26", 12.256) == "right"
    between = {"rule": "between", "low": 12.152, "high": 12.256}
    assert [outcome(a, 12.2, **between) for a in ("12.26", "12.27", "12.15", "12.14")] == ["right", "wrong"] * 2
    within = {"rule": "within", "tolerance": 0.01}
    answers = ("13.55%", "13.57%", "13.54%", "13.58%")
    assert [outcome(a, 13.56, "%", **within) for a in answers] == ["right", "right", "wrong", "wrong"]
    widened = {"rule": "widened", "low": 7.18, "high": 7.19, "tolerance": 0.01}
    assert [outcome(a, 7.185, **widened) for a in ("7.17", "7.20", "7.16", "7.21")] == [
        "right",
        "right",
        "wrong",
        "wrong",
    ]


def test_asked_decimals_are_required() -> None:
    truth = Reference((Part("price", "number", 62.57, decimals=2),))
    assert [decide(truth, a).outcome for a in ("62.57", "62.6", "63")] == ["right", "wrong", "wrong"]
