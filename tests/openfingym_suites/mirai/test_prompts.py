"""Prompts word for word where the paper prints them, and what is filled in everywhere."""

import itertools
import json
from datetime import date
from typing import get_args

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.suites.asking import Approach
from openfingym.suites.suite import Observation, SuiteQuestion, UnreadableAnswerError
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.answers import CodeAnswer, parsed_countries, parsed_ranking, parsed_set
from openfingym_suites.mirai.asking import form_of, read, voted, write
from openfingym_suites.mirai.client import api_description
from openfingym_suites.mirai.functions import SUBSETS, functions_of
from openfingym_suites.mirai.prompts import AnswerStyle, Style, prompt_of
from openfingym_suites.mirai.question import ObjectQuestion, RelationQuestion
from openfingym_suites.mirai.retrieval import retrieval
from openfingym_suites.mirai.suite import SUITE
from openfingym_suites.mirai.tools import Tools

QUESTION = RelationQuestion(date(2024, 2, 8), "PNG", "AUS", date(2024, 2, 7))
QUERY = (
    "Please forecast the relations that Papua New Guinea will take towards Australia on February 08, 2024 based on "
    "historical information up to February 07, 2024. I.e. forecast the relation CAMEO codes in query event "
    "Event(date=2024-02-08, head_entity=ISOCode(PNG), relation=CAMEOCode(?), tail_entity=ISOCode(AUS))."
)
BEGINS = (
    "You are an expert in forecasting future events based on historical data. The database contains news articles from "
    "January 1, 2023 to the current date February 07, 2024 and the events extracted from these articles. The events "
    "are in the form of (date, subject country, relation, object country),"
)
ITERATIONS = "You may perform up to 20 iterations. The steps are as follows:"
EXAMPLE = (
    'are child relations of the key. For example, "Action: Final Answer: {"01": ["010", "011", "012"], "02": ["020", '
    '"023"]}".\n\nThe final answer will be evaluated based on the precision and recall of the forecasted first-level '
    "and second-level relations, so only include confident first-level and second-level CAMEO codes in your final "
    "forecast."
)


@pytest.mark.parametrize("style", ["react-single", "react-code"])
def test_the_papers_prompts(style):
    prompt = prompt_of(style, QUESTION)
    assert prompt.user == QUERY
    assert prompt.system.startswith(BEGINS)
    assert ITERATIONS in prompt.system
    assert EXAMPLE in prompt.system
    assert f"``` python\n{api_description()}\n```" in prompt.system
    single = "the action must be only one single line of exactly one function call from the API" in prompt.system
    assert single == (style == "react-single")
    assert ("You must use print() to output the results" in prompt.system) == (style == "react-code")


def test_the_papers_prompt_of_thinking_models():
    question = RelationQuestion(date(2024, 2, 5), "USA", "IRN", date(2024, 2, 4))
    prompt = prompt_of("thinking", question)
    assert prompt.system == ""
    assert "For example, '01' is a first-level relation" in prompt.user
    assert (
        "The answer must be a JSON dictionary where the keys are forecasted two-digit first-level CAMEO codes, and the "
        "values are lists of forecasted three-digit second-level CAMEO codes that are child relations of the key. For "
        'example, <answer>{"01": ["010", "011", "012"], "02": ["020", "023"]}</answer>.'
    ) in prompt.user
    assert (
        "Query: Please forecast the relations that United States will take towards Iran on February 05, 2024"
        in prompt.user
    )
    assert prompt.user.endswith("in <function_call>...</function_call> tags to call functions and get results.")


@pytest.mark.parametrize(("style", "answer"), [*itertools.product(get_args(Style), get_args(AnswerStyle))])
def test_the_example_of_every_prompt_can_be_parsed(style, answer):
    prompt = prompt_of(style, QUESTION, answer=answer, most=10)
    text = f"{prompt.system}\n{prompt.user}"
    assert "$" not in text
    mark = "<answer>" if style == "thinking" else "Final Answer: "
    example = mark + text.rpartition(mark)[2].partition("\n")[0].removesuffix('".')
    read = (
        parsed_set if answer == "set" else lambda found: parsed_ranking(found, probabilities=answer == "probabilities")
    )
    assert isinstance(read(example), CodeAnswer), example
    assert ("the 10 most likely" in text) == (answer != "set")


@pytest.mark.parametrize("style", get_args(Style))
def test_objects_are_asked_for_in_every_style(style):
    prompt = prompt_of(style, ObjectQuestion(date(2024, 2, 8), "PNG", "042", date(2024, 2, 7)))
    text = f"{prompt.system}\n{prompt.user}"
    assert "will take the relation 042 (Make a visit) on February 08, 2024" in text
    assert "tail_entity=ISOCode(?)" in text
    mark = "<answer>" if style == "thinking" else "Final Answer: "
    example = mark + text.rpartition(mark)[2].partition("\n")[0].removesuffix('".')
    assert parsed_countries(example).countries == ("AUS", "USA")


def test_direct_prompts_have_no_tools_and_the_dictionary_every_code():
    direct, with_codes, thought = (prompt_of(style, QUESTION) for style in ("direct", "dictionary", "zero-shot-cot"))
    assert "API" not in direct.system
    assert thought.system == direct.system
    assert thought.user == f"{QUERY} Please think step by step."
    lines = with_codes.system.splitlines()
    for relation in (*taxonomy.relations(1), *taxonomy.relations(2)):
        assert f"{relation.code}: {relation.name}. {relation.description}" in lines


def test_retrieval_gives_the_pair_in_both_directions_and_what_was_known(world):
    time = "2023-03-15T23:59:59+00:00"
    tools = Tools(world.vault.as_of(time))
    query = {"date": "2023-03-16", "head": "CHN", "tail": "USA", "today": "2023-03-15"}
    question = SuiteQuestion("q", "?", time, query)

    def retrieved(what, calls=20):
        looking, answer = retrieval(question, what, calls), None
        try:
            while True:
                reply = tools.reply(*looking.send(answer))
                assert reply.valid, reply.text
                answer = Observation(reply.text, reply.valid, reply.value)
                calls -= 1
        except StopIteration as end:
            assert calls >= 0
            return end.value

    found = retrieved("both")
    known = world.known("events", time)
    pair = known[known["head"].isin(["USA", "CHN"]) & known["tail"].isin(["USA", "CHN"])]
    assert len(found.events) == min(30, len(pair))
    assert {event.head_entity.code for event in found.events} == {"USA", "CHN"}
    assert [event.date for event in found.events] == sorted((event.date for event in found.events), reverse=True)
    assert len(found.articles) == 15
    assert all(article.date.date <= "2023-03-15" for article in found.articles)
    assert all(article.content for article in found.articles)
    assert "United States" in found.articles[0].title or "China" in found.articles[0].title
    way = Approach("rag")
    text = SUITE.prompt(question, way, SUITE.options({}), found).system
    assert repr(found.events[0]) in text
    assert found.articles[-1].title in text
    only = retrieved("events")
    assert only.articles is None
    assert "news articles up to" not in SUITE.prompt(question, way, SUITE.options({}), only).system
    assert len(retrieved("both", calls=4).articles) == 2


def test_a_simulated_world_says_so():
    for style in get_args(Style):
        prompt = prompt_of(style, QUESTION, simulated=True)
        assert "The world of this database is simulated" in prompt.system + prompt.user


def test_the_description_has_the_functions_of_the_subset():
    for subset in SUBSETS:
        text = api_description(subset)
        assert text.count("\ndef ") == len(functions_of(subset))
    compile(api_description(), "description", "exec")
    with pytest.raises(UsageError):
        api_description("some")


def test_votes() -> None:
    answers = [
        read({"04": ["042", "043"], "19": []}),
        read({"04": ["042"], "01": ["010"]}),
        read({"01": ["011"]}),
    ]
    assert write(voted(answers)) == {"01": [], "04": ["042"]}
    assert write(voted(answers[:1])) == {"04": ["042", "043"], "19": []}
    ranked = [read(["042", "010"]), read({"042": 0.6, "190": 0.2})]
    assert write(voted(ranked)) == {"042": 0.8}


def test_every_form_writes_what_the_task_reads() -> None:
    text = 'I think so. Final Answer: {"042": 0.8, "010": 0.55, "036": 0.2}'
    for name in ("probabilities", "probabilities10"):
        numbers = form_of(name).read(text)
        assert np.allclose(read(form_of(name).write(numbers)), numbers, atol=1e-9)
    for name, kept in (("top10", 10), ("top30", 30), ("all", 40)):
        codes = [relation.code for relation in taxonomy.relations(2)][:40]
        numbers = form_of(name).read(f"Final Answer: {json.dumps(codes)}")
        assert np.allclose(read(form_of(name).write(numbers)), numbers, atol=1e-9)
        assert list(form_of(name).write(numbers)) == codes[:kept]
    with pytest.raises(UnreadableAnswerError, match="could not be parsed"):
        form_of("top10").read("Final Answer: as before")
