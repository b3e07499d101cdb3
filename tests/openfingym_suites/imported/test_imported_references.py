"""References of imported sets: nothing outside of what the published words mean is right, and what is not understood in
full is for a judge.
"""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.answers import Reference, decide
from openfingym_suites.imported.notes import read_note
from openfingym_suites.imported.quantities import quantity, quantity_range
from openfingym_suites.imported.references import live_reference, published_reference


def outcomes(reference: Reference, *answers: str) -> list[str]:
    return [decide(reference, answer).outcome for answer in answers]


@pytest.mark.parametrize(
    "answer",
    [
        "140bps BEAT",
        "3 months later",
        "Loss of $3.4 million",
        "about 740",
        "约62.57亿元",
        "fell 0.59%",
        "over 62.57 million",
        "62.57 zork USD",
        "62.57 mil",
        "740 square kilometers",
        "5 trading days",
        "105; within 5",
        "105; error -0.5 allowed",
        "105; 相对误差0.01",
        "12.45%，误差±0.1亿元",
        "62.57亿元，误差±0.1亿美元",
        "62.57m",
        "5 t",
        "- 62.57 million USD",
        "62.57亿元，必须写出公司名",
        "62.57 million USD (2023: 58.1)",
        "62.57以上即可",
        "不低于62.57即可",
        "100-110或200即可",
        "100-110-120即可",
        "110-100即可",
        "误差不超过1%",
        "before 2024-03-04",
        "2024-03-04 or earlier",
        "03/04/2024",
        "2024-03-04，允许误差1天",
        "62.57 million USD EUR",
        "62.57 %, a record",
        "62.57亿元，允许四舍五入，也允许0.01%的误差，必须严格一致",
        "62.57亿元，允许1个百分点的误差",
        "62.57亿元，70-80即可",
        "62.57亿元，62.5-62.6%即可",
        "62.57亿元，62.5-62.6亿美元即可",
    ],
)
def test_what_is_not_understood_in_full_is_for_a_judge(answer: str) -> None:
    reference = published_reference("What?", answer)
    assert not reference.columns
    assert reference.text == answer
    assert decide(reference, answer).outcome == "undecided"


@pytest.mark.parametrize(
    ("question", "answer", "right", "wrong"),
    [
        ("Revenue?", "$3.25 Billion", ["$3.25 billion", "3.25 billion", "USD 3.25bn", "3,250,000,000 dollars"],
         ["€3.25 billion", "3.25 billion euros", "3.25 billion yuan", "$3.25 million", "3.25%"]),
        ("Revenue?", "€3.25bn", ["3.25 billion EUR", "3.25 billion"], ["$3.25 billion"]),
        ("Revenue, in millions?", "$62.57", ["$62.57 million", "62.57"], ["€62.57 million", "$62.57 billion"]),
        ("Revenue, in millions of USD?", "62.57 million", ["62.57 million USD"], ["62.57 million EUR"]),
        ("Revenue?", "62.57 (million USD)", ["62.57 million USD"], ["62.57 million EUR", "62.57 billion USD"]),
        ("How many?", "24200", ["24200", "24,200"], ["24249", "24150", "24201", "24199"]),
        ("Which year?", "2020", ["2020"], ["2024", "2021", "2019"]),
        ("Index?", "62.50", ["62.50", "62.5", "62.504"], ["62.54", "62.46", "62.51"]),
        ("收入？", "62.57亿元，答案允许四舍五入的误差", ["62.57亿元", "6257000000元", "62.57"],
         ["62.58亿元", "62.57亿美元", "62.57万元"]),
        ("收入？", "62.57亿元（允许四舍五入误差）", ["62.57亿元"], ["62.58亿元"]),
        ("收入？", "62.57亿元，允许0.01%的误差", ["62.57亿元", "62.5737亿元", "62.5638亿元"],
         ["62.58亿元", "62.56亿元"]),
        ("收入？", "62.57亿元，误差不超过1%", ["63.1亿元", "62.0亿元"], ["63.3亿元", "61.9亿元"]),
        ("收入？", "62.57亿元，误差±0.1亿元均可", ["62.67亿元", "62.47亿元"], ["62.68亿元", "62.4亿元"]),
        ("收入？", "62.57亿元，误差±0.1", ["62.67亿元", "62.47亿元"], ["62.68亿元", "62.4亿元"]),
        ("涨幅？", "10%，相对误差1%以内", ["10.1%", "9.9%"], ["10.2%", "9.8%"]),
        ("收入？", "62.57亿元，误差5000万元以内", ["63.07亿元"], ["63.08亿元"]),
        ("价格？", "100-110即可", ["100", "105.5", "110"], ["110.4", "99.9", "111"]),
        ("价格？", "在100到110之间均可", ["100", "110"], ["110.01", "99.9"]),
        ("收入？", "62.5-62.6亿元即可", ["62.55亿元", "62.5", "6260000000元"], ["62.649亿元", "62.7", "62.55亿美元"]),
        ("收入？", "62.57亿元，答案在62.5至62.6亿元之间均算正确", ["62.5亿元"], ["62.4亿元", "62.61亿元"]),
        ("涨幅？", "12.68%，误差不超过0.1个百分点", ["12.6%", "0.1268"], ["12.5%", "12.8%"]),
        ("Price?", "3383.2, any answer between 3380 and 3390 is acceptable", ["3380", "3390"], ["3379.9", "3390.4"]),
        ("Price?", "3383.2 (within 1% is acceptable)", ["3400", "3383.2"], ["3418", "3340"]),
        ("Price?", "3383.2, exact match", ["3383.2"], ["3383.21", "3383"]),
        ("Price?", "5 to 6 million", ["5.5 million", "6 million"], ["6.1 million", "5.5 billion"]),
        ("Assets, rounded to the nearest million?", "3.257 billion USD", ["3.257 billion", "$3,257 million"],
         ["3.26 billion", "3,258 million USD"]),
        ("In percentage?", "12.45", ["12.45%", "0.1245"], ["12.54%"]),
    ],
)  # fmt: skip
def test_nothing_outside_of_the_published_meaning_is_right(
    question: str, answer: str, right: list[str], wrong: list[str]
) -> None:
    reference = published_reference(question, answer)
    assert outcomes(reference, *right) == ["right"] * len(right), reference
    assert "right" not in outcomes(reference, *wrong), reference


def test_a_range_that_is_the_answer_itself_is_for_a_judge() -> None:
    assert not published_reference("What is the target range of the Fed?", "5.25%-5.50%").columns
    assert published_reference("What is the yield?", "5.25%-5.50%").columns


def test_a_unit_that_question_and_answer_contradict_is_for_a_judge() -> None:
    assert not published_reference("Revenue in millions of EUR?", "$62.57").columns
    assert not published_reference("Revenue in millions of USD?", "62,570,000").columns
    assert not published_reference("Revenue?", "62.57 (million USD; billion USD)").columns


def test_a_note_stays_with_the_reference_for_the_judge() -> None:
    assert published_reference("?", "62.57亿元，允许0.01%的误差").criteria == "允许0.01%的误差"
    assert published_reference("?", "62.57", "must be strictly identical").criteria == "must be strictly identical"
    assert published_reference("?", "62.57", "must name the company").columns == ()


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("Only rounding errors are allowed", "rounding"),
        ("Minor differences due to rounding are acceptable", "rounding"),
        ("允许四舍五入造成的误差", "rounding"),
        ("must be strictly identical", "exact"),
        ("不允许误差", "exact"),
        ("The allowable error range is an absolute value of ±0.6", "tolerance"),
        ("a deviation of 1% is allowed", "tolerance"),
        ("正负0.1以内均可", "tolerance"),
        ("允许有±0.5%误差", "tolerance"),
        ("相对误差1%以内", "tolerance"),
        ("3380~3390都算对", "range"),
        ("a range of 100 to 110 is acceptable", "range"),
        ("单位:亿元", "unit"),
        ("units may be omitted", "nothing"),
        ("Any answer between the high and low price is considered correct", "day"),
        ("Expand the high-low price range by an absolute value of 2", "wider-day"),
    ],
)
def test_a_note_is_read(note: str, kind: str) -> None:
    read = read_note(note)
    assert read is not None
    assert read.kind == kind


WORDS = [
    "not",
    "no",
    "不",
    "除",
    "unless",
    "Apple",
    "yearly",
    "超过",
    "以上",
    "低于",
    "must name it",
    "也要",
    "either",
    "或",
]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(
        ["允许0.01%的误差", "rounding errors allowed", "100-110即可", "error ±0.1 allowed", "must be exact"]
    ),
    st.sampled_from(WORDS),
    st.booleans(),
)
def test_a_word_that_is_not_known_makes_a_note_unreadable(note: str, word: str, at_end: bool) -> None:
    spoiled = f"{note} {word}" if at_end else f"{word} {note}"
    assert read_note(note) is not None
    assert read_note(spoiled) is None
    assert not published_reference("What?", f"105; {spoiled}").columns


SIZES = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("99999"), places=2, allow_nan=False)
UNITS = [("", ""), ("$", ""), ("$", " billion"), ("", " million EUR"), ("", "亿元"), ("", "%"), ("", " basis points")]
OTHERS = [
    ("€", ""),
    ("", " million"),
    ("", " billion yuan"),
    ("", "万元"),
    ("", " bps"),
    ("£", " billion"),
    ("", " JPY"),
]
MEANING = {
    "": (1, "", ""), "$": (1, "", "$"), "$ billion": (10**9, "", "$"), " million EUR": (10**6, "", "€"),
    "亿元": (10**8, "", "¥"), "%": (Decimal("0.01"), "%", ""), " basis points": (Decimal("0.0001"), "%", ""),
    "€": (1, "", "€"), " million": (10**6, "", ""), " billion yuan": (10**9, "", "¥"), "万元": (10**4, "", "¥"),
    " bps": (Decimal("0.0001"), "%", ""), "£ billion": (10**9, "", "£"), " JPY": (1, "", "JPY"),
}  # fmt: skip
"""The scale, the kind and the currency of each unit."""


@settings(max_examples=300, deadline=None)
@given(SIZES, SIZES, st.sampled_from(UNITS), st.sampled_from([*UNITS, *OTHERS]))
def test_a_number_is_right_only_with_the_size_and_the_currency_of_the_reference(
    value: Decimal, other: Decimal, unit: tuple[str, str], stated: tuple[str, str]
) -> None:
    reference = published_reference("What?", f"{unit[0]}{value}{unit[1]}")
    assert reference.columns
    for number in (value, other):
        answer = f"{stated[0]}{number}{stated[1]}"
        scale, kind, money = MEANING["".join(unit)]
        as_scale, as_kind, as_money = MEANING["".join(stated)]
        bare = as_scale == 1 and not as_kind and not (kind and as_money)
        # Without a scale, it may be that of the reference or the basic one; of no unit, per cent may be of either.
        sizes = {number * as_scale} | ({number * scale, number} if bare else set())
        if unit == ("", "") and as_kind:
            sizes |= {number, number * as_scale}
        meant = any(abs(size - value * scale) <= scale * Decimal("0.005") for size in sizes)
        same_money = not money or not as_money or money == as_money
        same_kind = stated == ("", "") or kind == as_kind or not "".join(unit)
        if decide(reference, answer).outcome == "right":
            assert meant, (reference, answer)
            assert same_money, (reference, answer)
            assert same_kind, (reference, answer)
        elif number == value and stated == unit:
            raise AssertionError((reference, answer, decide(reference, answer)))


@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(["{}-{}即可", "在{}到{}之间均可", "{} to {} is acceptable", "{}~{}都算对"]))
def test_a_number_is_right_exactly_within_a_published_range(
    first: Decimal, second: Decimal, number: Decimal, form: str
) -> None:
    low, high = sorted((first, second))
    reference = published_reference("What?", form.format(low, high))
    assert reference.columns
    # The answers have as many decimals as the ends: none is right by rounding.
    for answer in (low, high, number, high + Decimal("0.01"), low - Decimal("0.01")):
        expected = "right" if low <= answer <= high else "wrong"
        assert decide(reference, f"{answer}").outcome == expected


@settings(max_examples=150, deadline=None)
@given(
    SIZES,
    SIZES,
    st.sampled_from(["误差不超过{}", "error of ±{} allowed", "允许{}以内的误差", "within ±{}"]),
    st.booleans(),
)
def test_a_number_is_right_exactly_within_a_published_tolerance(
    value: Decimal, slack: Decimal, form: str, relative: bool
) -> None:
    note = form.format(f"{slack}%" if relative else slack)
    reference = published_reference("What?", f"{value}; {note}")
    allowed = value * slack / 100 if relative else slack
    assert reference.columns
    inside, outside = value + allowed * Decimal("0.99"), value + allowed * Decimal("1.01") + Decimal("0.0001")
    assert outcomes(reference, f"{value}", f"{inside}", f"{outside}") == ["right", "right", "wrong"]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("$3.25 Billion", "$ Billion"),
        ("US$62.57m", "US$ million"),
        ("3.25B", "billion"),
        ("62.57亿元", "亿元"),
        ("1.2 million barrels per day", "million barrels per day"),
        ("0.25 percentage points", "percentage points"),
        ("(0.59)%", "%"),
        ("27.9 years", "years"),
        ("24,200", ""),
    ],
)
def test_the_words_of_a_unit_are_kept(text: str, unit: str) -> None:
    stated = quantity(text)
    assert stated is not None
    assert stated.unit == unit


def test_the_ends_of_a_range_share_a_unit_or_have_the_same() -> None:
    assert quantity_range("$100 to 110 million") == quantity_range("$100 million to $110 million")
    assert quantity_range("100% to 110 million") is None
    assert quantity_range("100 to 110 apples") is None
    assert quantity_range("110 to 100") is None


LIVE = {"last": 3383.2, "high": 3405.2, "low": 3363.6}


@pytest.mark.parametrize(
    ("criteria", "right", "wrong"),
    [
        ("Only rounding errors are allowed", ["3383.2", "3383"], ["3384", "3400"]),
        ("Required Content: price\nOnly rounding errors are allowed", ["3383.2"], ["3384"]),
        ("Required Content: the price. Any answer between the high and low price is considered correct",
         ["3363.6", "3405.2", "3405"], ["3405.21", "3363.5"]),
        ("Expand the high-low price range by an absolute value of 2", ["3361.6", "3407.2"], ["3361.5", "3407.3"]),
        ("允许1%的误差", ["3400"], ["3420"]),
        ("精度要求：最高价和最低价之间均可", ["3363.6", "3405.2"], ["3406"]),
    ],
)  # fmt: skip
def test_a_live_price_is_right_as_its_criteria_say(criteria: str, right: list[str], wrong: list[str]) -> None:
    reference = live_reference("Gold?", criteria, LIVE)
    assert outcomes(reference, *right) == ["right"] * len(right)
    assert outcomes(reference, *wrong) == ["wrong"] * len(wrong)


@pytest.mark.parametrize(
    "criteria",
    [
        "",
        "Required Content: opening and high price\nOnly rounding errors are allowed",
        "需回答：开盘价、收盘价\n允许四舍五入误差",
        "Only rounding errors are allowed unless the market is closed",
        "Expand the high-low price range by 2%",
        "error ±0.6 allowed; any answer between the high and low price is correct",
    ],
)
def test_a_live_price_with_criteria_that_are_not_understood_is_for_a_judge(criteria: str) -> None:
    assert not live_reference("Gold?", criteria, LIVE).columns
