"""No call shows what was known later: the same answers, to the byte, as from a vault without it, and no canary."""

import json
import random
from datetime import timedelta

import pandas as pd
import pytest

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.functions import FUNCTIONS, Parameter
from openfingym_suites.mirai.tools import Tools

from .conftest import COUNTRIES, DAYS, FIRST_DAY, WORDS, end_of, frames, written

CANARY = "xylophonequartz"
CUT = FIRST_DAY + timedelta(days=70)
CALLS = 250


@pytest.fixture(scope="module")
def vaults(tmp_path_factory):
    """One in which every article and title after the cut has the canary, beside words that come before it too; and one
    that ends at the cut.
    """
    events, articles, links = frames()
    later = articles["known_at"] > end_of(CUT)
    articles.loc[later, "title"] = [f"{CANARY} {title}" for title in articles.loc[later, "title"]]
    articles.loc[later, "text"] = [f"{text} {CANARY} talks talks talks" for text in articles.loc[later, "text"]]
    tables = {"events": events, "articles": articles, "event_articles": links}
    folder = tmp_path_factory.mktemp("as-of")
    whole = written(folder / "whole", tables)
    cut = {name: frame[frame["known_at"] <= end_of(CUT)] for name, frame in tables.items()}
    return whole, written(folder / "cut", cut)


def drawn(draw: random.Random, parameter: Parameter):
    """A value of a parameter: good ones, days up to and after the cut, and nonsense."""

    def day():
        return str(FIRST_DAY + timedelta(days=draw.choice([draw.randrange(DAYS), draw.randrange(60, 80)])))

    words = " ".join(draw.sample([*WORDS, CANARY, "United", "China's"], draw.randrange(1, 4)))
    codes = [relation.code for relation in (*taxonomy.relations(1), *taxonomy.relations(2))]
    match parameter.kind:
        case "Date":
            return day()
        case "DateRange":
            return (
                dict(zip(("start_date", "end_date"), sorted((day(), day())), strict=True))
                if draw.random() < 0.8
                else {}
            )
        case "List[ISOCode]":
            return draw.sample([*COUNTRIES, "AFG", "QQQ"], draw.randrange(1, 4))
        case "List[CAMEOCode]":
            return draw.sample(codes, draw.randrange(1, 40))
        case "ISOCode":
            return draw.choice(COUNTRIES)
        case "CAMEOCode":
            return draw.choice(codes)
        case "Role":
            return draw.choice(["head", "tail", "both"])
        case "List[str]":
            return draw.choice([[words], words.split()])
        case _:
            return draw.choice([words, "United States's talks with China", CANARY])


def test_answers_are_those_of_a_vault_without_the_future(vaults):
    draw = random.Random(18)
    whole, cut = vaults
    tools = Tools(whole.as_of(end_of(CUT))), Tools(cut.as_of(end_of(CUT) + timedelta(days=40)))
    tools[1].today = tools[0].today
    seen = set()
    for _ in range(CALLS):
        function = draw.choice(list(FUNCTIONS.values()))
        arguments = {
            parameter.name: drawn(draw, parameter)
            for parameter in function.parameters
            if not parameter.optional or draw.random() < 0.4
        }
        answers = [each.reply(function.name, arguments) for each in tools]
        assert answers[0] == answers[1], (function.name, arguments)
        asked = CANARY in json.dumps(arguments)
        assert CANARY not in answers[0].text or (asked and not answers[0].valid)
        assert answers[0].valid or asked or answers[0].error
        if not asked:
            assert CANARY not in json.dumps(answers[0].value)
        seen.add((function.name, answers[0].valid))
        if function.name == "get_news_articles" and answers[0].value:
            day, title = draw.choice(answers[0].value)
            texts = {each.call("browse_news_article", {"date": day, "title": title}) for each in tools}
            assert len(texts) == 1
            seen.add(("browse_news_article", texts.pop().startswith(f"Date: {day}\nTitle: {title}")))
    assert {name for name, valid in seen if valid} == set(FUNCTIONS)


def test_the_canary_is_there_for_who_may_see_it(vaults):
    whole, _ = vaults
    found = Tools(whole.hindsight(end_of(CUT))).call("get_news_articles", {"keywords": [CANARY]})
    assert CANARY in found
    found = Tools(whole.as_of(end_of(CUT))).call("get_news_articles", {"keywords": [CANARY]})
    assert found.startswith("[]\n")


def test_titles_of_later_articles_are_not_given_away(vaults):
    """A title is looked for among those of its day that are known, and an error counts those alone."""
    whole, cut = vaults
    late = pd.Timestamp(CUT).date()
    texts = {
        Tools(vault.as_of(end_of(CUT) - timedelta(hours=2))).call(
            "browse_news_article", {"date": str(late), "title": "x"}
        )
        for vault in (whole, cut)
    }
    assert len(texts) == 1
    assert "that day has 0 articles" in texts.pop()
