import json

import pytest

from openfingym.answers import Part, Reference, decide, expected, pack, unpack
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
