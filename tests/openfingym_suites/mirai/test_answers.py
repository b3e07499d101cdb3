"""Forecasts as models write them: read, or said to be unreadable."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.answers import CodeAnswer, Unparsed, labels, parsed_countries, parsed_ranking, parsed_set

GOOD = {"01": ("010", "011"), "02": ("020",)}


@pytest.mark.parametrize(
    "text",
    [
        'Final Answer: {"01": ["010", "011"], "02": ["020"]}',
        "Final Answer: {'01': ['010', '011'], '02': ['020']}",
        '**Final Answer**: {"01": ["010", "011"], "02": ["020"]}. I am confident.',
        'Thought: {"05": ["057"]} was likely.\nFinal Answer: ```json\n{"01": ["010", "011"], "02": ["020"]}\n```',
        "```python\n{'01': ('010', '011'), '02': ['020']}\n```",
        'Final Answer: {1: [10, 11], 2: [20]}',
        'Final Answer: {"1": [10, 11], "2": 20}',
        'Final Answer: {"01": [010, 011], "02": [020]}',
        'Final Answer: {“01”: [“010”, “011”], “02”: “020”}',
        '<think>{"07": []}</think><answer>{"01": ["010", "011"], "02": ["020"]}</answer>',
        '<answer>\n1 {\\"01\\": [\\"010\\", \\"011\\"],\\n \\"02\\": [\\"020\\"]}</answer>'.replace("\\n", "\n"),
        'First I said {"03": ["036"]}. In the end it is {"01": ["010", "011"], "02": ["020"]} for me.',
        'Final Answer: {"01": {"010": "Make statement", "011": "Decline comment"}, "02": {"020": ""}}',
        'final answer: [as asked] {"answer": {"01": ["010", "011", "010"], "02": ["020"]}}',
        'A stray { bracket. Final Answer: here [ it is {"01": ["010", "011"], "02": ["020"]}',
        {"01": ["010", "011"], "02": ["020"]},
    ],
)  # fmt: skip
def test_an_answer_is_read_however_it_is_written(text):
    found = parsed_set(text)
    assert isinstance(found, CodeAnswer), found
    assert found.codes == GOOD
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("I expect peace.", "no complete JSON"),
        ('Final Answer: {"01": ["010"', "no complete JSON"),
        ('{"01": ["010"]} is wrong. Final Answer: I do not know', "no complete JSON"),
        ('Final Answer: ["010", "011"]', "no complete JSON"),
        ('Final Answer: {"99": ["990"], "x": []}', "none of its codes is a first-level code: '99', 'x'"),
        ('Final Answer: {"010": []}', "none of its codes"),
        (["010"], "it is a list, not a dictionary"),
        (None, "NoneType"),
        (7.5, "float"),
    ],
)
def test_what_cannot_be_parsed_is_a_state_of_its_own(text, words):
    found = parsed_set(text)
    assert isinstance(found, Unparsed)
    assert words in str(found)
    assert '{"01": ["010", "011"], "02": ["020"]}' in str(found)


def test_countries():
    found = parsed_countries('Final Answer: ["AUS", "usa", "Korea", "USA"]')
    assert found.countries == ("AUS", "USA")
    assert [each.code for each in found.left_out] == ["KOREA"]
    assert found.numbers().sum() == 2.0
    assert parsed_countries("Final Answer: []").countries == ()
    for text in ("Final Answer: Australia", '["Australia"]', '{"AUS": 1}'):
        assert '["AUS", "USA"]' in str(parsed_countries(text))
        assert isinstance(parsed_countries(text), Unparsed)


def test_an_empty_answer_is_an_answer():
    found = parsed_set("Final Answer: {}")
    assert isinstance(found, CodeAnswer)
    assert not found.numbers().any()
    assert parsed_set('Final Answer: {"19": []}').numbers().sum() == 1.0


def test_what_does_not_count_is_listed():
    found = parsed_set('Final Answer: {"04": ["042", "057", "04", "0421", "peace"], "21": ["210"], "05": null}')
    assert found.codes == {"04": ("042",), "05": ()}
    assert [(each.code, each.why) for each in found.left_out] == [
        ("057", "not a child of 04"),
        ("004", "not a second-level code"),
        ("0421", "not a second-level code"),
        ("peace", "not a second-level code"),
        ("21", "not a first-level code"),
    ]


def test_numbers_are_in_the_order_of_the_labels():
    assert len(labels()) == 169
    assert labels()[:20] == tuple(f"{root:02}" for root in range(1, 21))
    assert labels()[20:] == tuple(sorted(relation.code for relation in taxonomy.relations(2)))
    found = parsed_set(GOOD | {"01": ["010", "011"]}).numbers()
    assert [labels()[place] for place in np.flatnonzero(found)] == ["01", "02", "010", "011", "020"]


def test_rankings():
    found = parsed_ranking('Final Answer: ["042", "010", "999", "010", "036", "057"]', most=3)
    assert list(found.scores) == ["042", "010", "036"]
    assert [each.why for each in found.left_out] == ["not a second-level code", "named twice", "beyond the first 3"]
    assert found.codes == {"04": ("042",), "01": ("010",), "03": ("036",)}
    numbers = dict(zip(labels(), found.numbers(), strict=True))
    assert numbers["042"] > numbers["010"] > numbers["036"] > numbers["057"] == 0.0
    assert numbers["04"] == 1.0


@pytest.mark.parametrize(
    "text",
    ['{"042": 0.3, "010": "60%", "036": 0}', '[["010", 0.6], ["042", 0.3]]', "Final Answer: {'042': .3, '010': .6}"],
)
def test_rankings_with_probabilities(text):
    found = parsed_ranking(text, most=10, probabilities=True)
    assert found.scores == {"010": 0.6, "042": 0.3}


@pytest.mark.parametrize(
    "text", ['["042", "010"]', '{"042": 1.4}', '{"042": "often"}', '{"04": ["042"]}', "[[1, 2, 3]]"]
)
def test_rankings_that_are_none(text):
    assert isinstance(parsed_ranking(text, probabilities=True), Unparsed)


def test_a_set_where_a_ranking_is_asked_for_is_not_half_read():
    assert isinstance(parsed_ranking('Final Answer: {"04": ["042", "043"], "01": ["010"]}'), Unparsed)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="{}[]\":,01239 '\\Final Answer<>", max_size=80))
def test_no_text_raises(text):
    for read in (parsed_set, parsed_ranking):
        for given_text in (text, f"Final Answer: {text}"):
            assert isinstance(read(given_text), CodeAnswer | Unparsed)


def test_every_forecast_that_is_written_is_read():
    draw = random.Random(0)
    roots = [relation.code for relation in taxonomy.relations(1)]
    for _ in range(50):
        codes = {
            root: tuple(child.code for child in taxonomy.children_of(root) if draw.random() < 0.4)
            for root in draw.sample(roots, draw.randrange(6))
        }
        plain = {root: list(children) for root, children in codes.items()}
        for text in (json.dumps(plain), str(plain), json.dumps(plain, indent=2)):
            assert parsed_set(f"So. Final Answer: {text} END").codes == codes


def test_a_hostile_text_is_read_in_one_pass():
    """Where every bracket is tried against every other, these take hours."""
    for text in (
        "{" * 200_000,
        '{"01": ' * 20_000,
        "[{" * 50_000 + "}]" * 50_000,
        "Final Answer:" * 50_000 + "{" * 9999,
    ):
        assert isinstance(parsed_set(text), Unparsed)
