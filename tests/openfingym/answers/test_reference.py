import dataclasses
import json

import pytest

from openfingym.answers import Part, Reference, decide
from openfingym.answers.packing import pack, unpack
from openfingym.answers.reference import expected
from openfingym.errors import UsageError

TABLE = Reference(
    rows=tuple(
        (Part("date", "date", f"2024-03-{day:02d}"), Part("drop", "number", 81.4 + day, "USD", decimals=0))
        for day in range(1, 25)
    ),
    ordered=True,
    group=("global", "T3"),
)
ONE = Reference(
    (Part("revenue", "number", 62.5712, "million USD", decimals=2, accept=(63.0,)),), text="62.57", criteria="strict"
)


@pytest.mark.parametrize("reference", [TABLE, ONE, Reference(text="about 740 square kilometres")])
def test_a_reference_comes_back_from_a_row_as_it_was(reference: Reference) -> None:
    assert Reference.from_json(unpack(pack(reference.to_json()))) == reference


def test_a_table_states_its_columns_once() -> None:
    assert len(TABLE.to_json()) < 40 * len(TABLE.rows)


@pytest.mark.parametrize("reference", [TABLE, ONE])
def test_what_is_told_beforehand_has_no_value_and_no_number_of_rows(reference: Reference) -> None:
    told = json.dumps(reference.schema()) + expected(reference.schema()) + expected(reference.schema(), "zh")
    assert not any(str(part.written()) in told for row in (reference.parts, *reference.rows) for part in row)
    assert "24" not in told
    assert "63" not in told


def test_an_agent_is_told_the_form_in_words() -> None:
    assert expected(ONE.schema()) == "a number in million USD, 2 decimals; the answer alone"
    assert expected(ONE.schema(), "zh") == "数字（单位：million USD），保留 2 位小数；只写答案本身"
    assert "YYYY-MM-DD" in expected(TABLE.schema())
    assert "in the order that is asked for" in expected(TABLE.schema())


def test_the_scale_is_read_from_the_unit() -> None:
    scales = {"million USD": 1e6, "亿元": 1e8, "%": 0.01, "basis points": 0.0001, "USD per ounce": 1.0, "万亿元": 1e12}
    scales |= {"billions of dollars": 1e9, "thousand shares": 1e3, "CNY per USD": 1.0, "个百分点": 0.01, "years": 1.0}
    scales |= {"USD/million barrels": 1.0, "dollars per thousand cubic feet": 1.0, "m": 1.0, "百万元": 1e6, "": 1.0}
    scales |= dict.fromkeys(("pct", "ppts", "pp", "percentage points", "百分点", "퍼센트"), 0.01)
    scales |= dict.fromkeys(("bp", "bips", "个基点"), 0.0001) | {"‰": 0.001, "crore": 1e7, "lakh": 1e5, "천만": 1e7}
    assert {unit: Part("x", "number", 1.0, unit).scale for unit in scales} == scales


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"type": "number", "value": "62"}, "no finite number"),
        ({"type": "number", "value": True}, "no finite number"),
        ({"type": "number", "value": float("nan")}, "no finite number"),
        ({"type": "number", "value": 1.0, "rule": "between", "low": 1.0}, "needs high"),
        ({"type": "number", "value": 1.0, "rule": "between", "low": 2.0, "high": 1.0}, "above high"),
        ({"type": "number", "value": 1.0, "rule": "within"}, "tolerance"),
        ({"type": "number", "value": 1.0, "rule": "near"}, "near"),
        ({"type": "number", "value": 1.0, "rule": "within", "tolerance": -0.1}, "must not be negative"),
        ({"type": "number", "value": 1.0, "rule": "within", "tolerance": float("inf")}, "must be finite"),
        ({"type": "number", "value": 1.0, "scale": -1.0}, "must not be negative"),
        ({"type": "number", "value": 1.0, "scale": float("inf")}, "must not be negative"),
        ({"type": "number", "value": 1.0, "decimals": 13}, "expected 0 to 12"),
        ({"type": "number", "value": 1.0, "decimals": -1}, "expected 0 to 12"),
        ({"type": "number", "value": 1.0, "places": 13}, "expected 0 to 12"),
        ({"type": "number", "value": 1.0, "places": -1}, "expected 0 to 12"),
        ({"type": "date", "value": "03/04/2024"}, "no date"),
        ({"type": "yes_no", "value": "yes"}, "True nor False"),
        ({"type": "text", "value": " "}, "no text"),
        ({"type": "text", "value": "Kunming", "accept": (740.0,)}, "no text"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(arguments: dict[str, object], found: str) -> None:
    with pytest.raises(UsageError, match=found):
        Part("x", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"parts":[{"name":"x"}]}', '{"parts":[{"value":1,"colour":2}]}', "1"]
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Reference.from_json(text)


def test_the_answer_of_a_reference_is_right() -> None:
    assert Part("day", "date", "2024-03-15", decimals=0).written() == "2024-03-15"
    assert (Part("x", "number", 2.675, decimals=2).written(), Part("x", "number", 2.5, decimals=0).written()) == (
        2.68,
        2,
    )
    number, flag = Part("revenue", "number", 62.57, "million USD", decimals=2), Part("raised", "yes_no", False)
    city = Part("city", "text", "Kunming")
    for reference in (
        Reference((number,)),
        Reference((flag,)),
        Reference((number, city)),
        Reference(rows=((city,), (Part("city", "text", "Dali"),))),
        Reference(rows=((city, number), (Part("city", "text", "Dali"), number))),
    ):
        assert decide(reference, reference.answer()).outcome == "right", reference.answer()
    assert Reference(text="Because of the tariff.").answer() == "Because of the tariff."
    for parts, rows, found in (
        ((number,), ((city,),), "found both"),
        ((), (), "is empty"),
        ((city, city), (), "one name"),
        ((), ((city,), (number,)), "different parts"),
        ((), ((city, number), (city,)), "different parts"),
    ):
        with pytest.raises(UsageError, match=found):
            Reference(parts, rows)


NUMBER, WHOLE, PLAIN = (
    Part("revenue", "number", 62.5712, "million USD", decimals=2),
    Part("count", "number", 7.0, decimals=0),
    Part("x", "number", 5.25),
)
DAY, CITY, RISE = Part("day", "date", "2024-03-15"), Part("city", "text", "Kunming"), Part("rise", "yes_no", True)


@pytest.mark.parametrize(
    ("reference", "english", "chinese"),
    [
        (Reference((NUMBER,)), "a number in million USD, 2 decimals; the answer alone",
         "数字（单位：million USD），保留 2 位小数；只写答案本身"),
        (Reference((WHOLE,)), "a number, a whole number; the answer alone", "数字，取整数；只写答案本身"),
        (Reference((PLAIN,)), "a number; the answer alone", "数字；只写答案本身"),
        (Reference((DAY,)), "a date as YYYY-MM-DD; the answer alone", "日期（YYYY-MM-DD）；只写答案本身"),
        (Reference((CITY,)), "a name or a few words; the answer alone", "名称或简短文字；只写答案本身"),
        (Reference((RISE,)), "yes or no; the answer alone", "是或否；只写答案本身"),
        (Reference((CITY, WHOLE)), 'a JSON object: {"city": a name or a few words, "count": a number, a whole number}',
         '一个 JSON 对象：{"city": 名称或简短文字，"count": 数字，取整数}'),
        (Reference(rows=((CITY,),)),
         "a JSON list, one item a row, all rows and no others: [a name or a few words, ...]",
         "一个 JSON 列表，每行一项，不多不少：[名称或简短文字, ...]"),
        (Reference(rows=((CITY, RISE),), ordered=True),
         ("a JSON list, one item a row, all rows and no others, in the order that is asked for: "
         '[{"city": a name or a few words, "rise": yes or no}, ...]'),
         '一个 JSON 列表，每行一项，按题目要求的顺序，不多不少：[{"city": 名称或简短文字，"rise": 是或否}, ...]'),
        (Reference(text="Because of the tariff."), "the final answer, short, without a report", "简短的最终答案"),
    ],
)  # fmt: skip
def test_the_words_in_which_an_answer_is_asked_for(reference: Reference, english: str, chinese: str) -> None:
    assert (expected(reference.schema()), expected(reference.schema(), "zh")) == (english, chinese)


def test_the_form_of_a_date_says_how_fine_it_is_and_no_more() -> None:
    forms = {
        "2024": "YYYY",
        "2024-03": "YYYY-MM",
        "2024-03-15": "YYYY-MM-DD",
        "2024-Q3": "YYYY-Q1",
        "2024-H2": "YYYY-H1",
    }
    assert {date: Part("day", "date", date).public()["form"] for date in forms} == forms


def test_what_is_public_of_a_part() -> None:
    assert NUMBER.public() == {"name": "revenue", "type": "number", "unit": "million USD", "decimals": 2}
    assert WHOLE.public() == {"name": "count", "type": "number", "decimals": 0}
    assert DAY.public() == {"name": "day", "type": "date", "form": "YYYY-MM-DD"}
    finer = Part("count", "number", 7.5, decimals=1)
    assert Reference(rows=((WHOLE,), (finer,)), ordered=True).schema() == {
        "parts": [WHOLE.public()],
        "table": True,
        "ordered": True,
    }
    assert Reference((WHOLE,)).schema() == {"parts": [WHOLE.public()], "table": False, "ordered": False}


@pytest.mark.parametrize(
    ("reference", "written"),
    [
        (Reference((WHOLE,)), '{"parts":[{"decimals":0,"name":"count","type":"number","value":7.0}]}'),
        (Reference((RISE,), group=("global", "T1")),
         '{"group":["global","T1"],"parts":[{"name":"rise","type":"yes_no","value":true}]}'),
        (Reference((Part("dozens", "number", 5.0, "USD", scale=12.0),)),
         '{"parts":[{"name":"dozens","scale":12.0,"type":"number","unit":"USD","value":5.0}]}'),
        (Reference(rows=((CITY,), (Part("city", "text", "大理", accept=("Dali",)),)), ordered=True, criteria="c"),
         ('{"columns":[{"name":"city","type":"text"}],"criteria":"c","ordered":true,'
         '"rows":[["Kunming"],[{"accept":["Dali"],"value":"大理"}]]}')),
        (Reference(rows=((NUMBER,), (Part("revenue", "number", 3.0, "million USD", decimals=1),))),
         ('{"columns":[{"name":"revenue","type":"number","unit":"million USD"}],'
         '"rows":[[{"decimals":2,"value":62.5712}],[{"decimals":1,"value":3.0}]]}')),
        (Reference(text="about 740"), '{"text":"about 740"}'),
    ],
)  # fmt: skip
def test_a_reference_as_json_leaves_out_what_is_known(reference: Reference, written: str) -> None:
    assert reference.to_json() == written
    assert Reference.from_json(written) == reference


@pytest.mark.parametrize(
    "arguments",
    [
        {"rule": "between", "low": 1.0, "high": 1.0},
        {"rule": "within", "tolerance": 0.0},
        {"rule": "relative", "tolerance": 0.1, "low": 9.0},
        {"high": 1.0},
        {"decimals": 0, "places": 0},
        {"decimals": 12, "places": 12},
        {"accept": (2, 3.5)},
    ],
)
def test_a_part_at_the_limits_of_what_makes_sense(arguments: dict[str, object]) -> None:
    assert Part("x", "number", 1.0, **arguments).scale == 1.0  # type: ignore[arg-type]
    assert Part("x", "text", "1", rule="between").scale == 0.0


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"name": " "}, "has no name"),
        ({"type": "colour"}, "has type 'colour' and rule 'rounding'"),
        ({"accept": (float("inf"),)}, "its value inf is no finite number"),
        ({"low": float("nan")}, "low, high and tolerance must be finite"),
        ({"rule": "widened", "low": 1.0, "high": 2.0}, "the rule 'widened' needs tolerance"),
        ({"rule": "widened"}, "the rule 'widened' needs low and high and tolerance"),
        ({"rule": "relative"}, "the rule 'relative' needs tolerance"),
        ({"type": "date", "value": "2024-Q5"}, "no date such as 2024-03-15"),
    ],
)
def test_what_is_wrong_with_a_part_is_said(arguments: dict[str, object], found: str) -> None:
    with pytest.raises(UsageError, match=found):
        Part(**{"name": "x", "type": "number", "value": 1.0, **arguments})  # type: ignore[arg-type]


def test_a_reference_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NUMBER.value = 5.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ONE.text = "5"  # type: ignore[misc]


def test_the_right_answer_in_the_asked_form() -> None:
    assert [Reference((part,)).answer() for part in (NUMBER, WHOLE, PLAIN, DAY, RISE)] == [
        *("62.57", "7", "5.25", "2024-03-15", "yes"),
    ]
    assert Reference((Part("rise", "yes_no", False),)).answer() == "no"
    assert Reference((CITY, WHOLE)).answer() == '{"city": "Kunming", "count": 7}'
    assert Reference(rows=((Part("城", "text", "大理"),), (Part("城", "text", "昆明"),))).answer() == '["大理", "昆明"]'
    assert Reference(rows=((CITY, WHOLE),)).answer() == '[{"city": "Kunming", "count": 7}]'
    assert Reference((Part("城", "text", "大理"), RISE)).answer() == '{"城": "大理", "rise": true}'
