"""The functions of the API against pandas, and everything that may be wrong with a call."""

import json
import random
import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.arguments import IllegalCallError
from openfingym_suites.mirai.calls import parsed_call
from openfingym_suites.mirai.functions import FUNCTIONS, SUBSETS, functions_of
from openfingym_suites.mirai.tools import Tools

from .conftest import COUNTRIES, DAYS, FIRST_DAY, World

TIME = "2023-03-15T23:59:59.999999+00:00"
ILLEGAL = (
    "Illegal action: {} Please make sure your action is a valid and executable function call with correct arguments "
    "based on the API description."
)


@pytest.fixture(scope="module")
def tools(world: World) -> Tools:
    return Tools(world.vault.as_of(TIME))


def chosen(world: World, arguments: dict, table: str = "events", time: str = TIME) -> pd.DataFrame:
    """The rows that meet the conditions of a call, by masks over what was known."""
    frame = world.known(table, time)
    keep = pd.Series(True, index=frame.index)
    for name, column in (("head_entities", "head"), ("tail_entities", "tail")):
        if name in arguments:
            keep &= frame[column].isin(arguments[name])
    if "relations" in arguments:
        keep &= frame["relation"].map(lambda code: any(code.startswith(wanted) for wanted in arguments["relations"]))
    for side, sign in (("start_date", 1), ("end_date", -1)):
        if day := arguments.get("date_range", {}).get(side):
            gap = (pd.to_datetime(frame["date"]) - pd.Timestamp(day)).dt.days
            keep &= sign * gap >= 0
    return frame[keep]


def drawn_arguments(draw: random.Random) -> dict:
    found: dict = {}
    if draw.random() < 0.6:
        days = sorted(draw.sample(range(74), 2))
        start, end = (str((pd.Timestamp(FIRST_DAY) + pd.Timedelta(days=day)).date()) for day in days)
        found["date_range"] = draw.choice(
            [{"start_date": start, "end_date": end}, {"start_date": start}, {"end_date": end}]
        )
    for name in ("head_entities", "tail_entities"):
        if draw.random() < 0.5:
            found[name] = draw.sample(COUNTRIES, draw.randrange(1, 4))
    if draw.random() < 0.5:
        codes = [relation.code for relation in (*taxonomy.relations(1), *taxonomy.relations(2))]
        found["relations"] = draw.sample(codes, draw.randrange(1, 30))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_events_agree_with_masks_over_what_was_known(world, tools, seed):
    arguments = drawn_arguments(random.Random(seed))
    expected = chosen(world, arguments)
    assert tools.reply("count_events", arguments).value == len(expected)
    events = tools.reply("get_events", arguments).value
    assert len(events) == min(len(expected), 30)
    newest = expected.sort_values("date", ascending=False, kind="stable")
    assert [event[0] for event in events] == [str(day) for day in newest["date"][:30]]
    rows = {(str(row.date), row.head, row.relation, row.tail) for row in expected.itertuples()}
    assert {tuple(event) for event in events} <= rows
    arguments.pop("relations", None)
    counts = tools.reply("get_relation_distribution", arguments).value
    assert dict(counts) == chosen(world, arguments)["relation"].value_counts().to_dict()
    assert counts == sorted(counts, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("role", ["head", "tail", "both", None])
def test_entities_are_counted_on_the_side_that_was_asked_for(world, tools, seed, role):
    """The original returns both sides whatever the role."""
    arguments = drawn_arguments(random.Random(seed))
    others = arguments.pop("head_entities", None)
    arguments.pop("tail_entities", None)
    asked = {key.replace("relations", "involved_relations"): value for key, value in arguments.items()}
    asked |= ({"interacted_entities": others} if others else {}) | ({"entity_role": role} if role else {})
    expected = pd.Series(dtype=int)
    for side, other in (("head", "tail_entities"), ("tail", "head_entities")):
        if role in {side, "both", None}:
            rows = chosen(world, arguments | ({other: others} if others else {}))
            expected = expected.add(rows[side].value_counts(), fill_value=0)
    counts = tools.reply("get_entity_distribution", asked).value
    assert dict(counts) == expected.astype(int).to_dict()
    assert counts == sorted(counts, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("seed", range(20))
def test_news_agree_with_masks_over_what_was_known(world, tools, seed):
    arguments = drawn_arguments(random.Random(seed))
    narrowed = {key: value for key, value in arguments.items() if key != "date_range"}
    articles = chosen(world, {key: value for key, value in arguments.items() if key == "date_range"}, "articles")
    if narrowed:
        articles = articles[articles["id"].isin(chosen(world, narrowed, "event_articles")["article"])]
    assert tools.reply("count_news_articles", arguments).value == len(articles)
    found = tools.reply("get_news_articles", arguments).value
    newest = articles.sort_values("date", ascending=False, kind="stable")[:15]
    assert [day for day, _ in found] == [str(day) for day in newest["date"]]
    assert {title for _, title in found} <= set(articles["title"])
    if found:
        day, title = found[0]
        text = tools.call("browse_news_article", {"date": day, "title": title})
        of_day = articles[(articles["date"].astype(str) == day) & (articles["title"] == title)]
        assert text.startswith(f"Date: {day}\nTitle: {title}\n\n")
        assert text.partition("\n\n")[2] in set(of_day["text"]) | set(world.articles["text"])


def test_answers_are_printed_as_the_paper_prints_them(tools):
    line = 'get_relation_distribution(head_entities=[ISOCode("PNG")], tail_entities=[ISOCode("AUS")])'
    text = tools.call_line(line).text
    assert text.startswith("{CAMEOCode(code='")
    events = tools.call_line('get_events(head_entities=[ISOCode("USA")], tail_entities=[ISOCode("IRN")])').text
    assert events.startswith("[Event(date=Date(date='2023-03-")
    assert "head_entity=ISOCode(code='USA'), relation=CAMEOCode(code='" in events
    news = tools.call_line('get_news_articles(head_entities=[ISOCode("PNG")], tail_entities=[ISOCode("AUS")])').text
    assert news.startswith("[(Date(date='2023-0")
    assert tools.call_line("map_iso_to_country_name(ISOCode('USA'))").text == "United States"
    assert tools.call("get_parent_relation", {"cameo_code": "010"}).startswith(
        "Relation(cameo_code=CAMEOCode(code='01'), name='Make public statement', description="
    )
    assert tools.call("count_events", {"head_entities": ["AFG"]}) == "0"


def test_relations_and_countries(tools):
    def value(function, **arguments):
        return tools.reply(function, arguments).value

    assert [code for code, *_ in value("get_child_relations", cameo_code="06")] == ["060", "061", "062", "063", "064"]
    siblings = [code for code, *_ in value("get_sibling_relations", cameo_code="061")]
    assert siblings == ["060", "061", "062", "063", "064"]
    assert len(value("get_sibling_relations", cameo_code="06")) == 20
    assert value("map_cameo_to_relation", cameo_code="042")[1] == "Make a visit"
    assert value("map_country_name_to_iso", name="Korea") == [["KOR", "South Korea"], ["PRK", "North Korea"]]
    assert value("map_country_name_to_iso", name="untied states")[0][0] == "USA"
    assert value("map_country_name_to_iso", name="Côte d'Ivoire")[0][0] == "CIV"
    assert value("map_relation_description_to_cameo", description="Fight with guns")[0][0] == "193"
    assert value("map_relation_description_to_cameo", description="make a visit")[0][0] == "042"
    for country in taxonomy.countries():
        assert value("map_country_name_to_iso", name=country.name)[0] == [country.iso3, country.name]
        assert value("map_iso_to_country_name", iso_code=country.iso3) == country.name


def test_every_other_name_of_a_country_finds_it(tools):
    """The original raises on one."""
    for country in taxonomy.countries():
        for name in country.other_names:
            found = tools.reply("map_country_name_to_iso", {"name": name}).value
            assert country.iso3 in [iso for iso, _ in found] or len(taxonomy.countries_named(name)) > 5, name


def test_the_words_after_the_current_date_are_the_papers(world):
    tools = Tools(world.vault.as_of("2023-02-04T23:59:59.999999+00:00"))
    expected = ILLEGAL.format("Date must be on or before the current date 2023-02-04, but received: 2023-02-05.")
    day = {"start_date": "2023-02-01", "end_date": "2023-02-05"}
    for name in ("count_events", "get_events", "get_entity_distribution", "count_news_articles", "get_news_articles"):
        assert tools.call(name, {"date_range": day}) == expected
    assert tools.call("browse_news_article", {"date": "2023-02-05", "title": "x"}) == expected
    assert Tools(world.vault.as_of("2023-02-05T00:00:00+00:00")).today == tools.today


@pytest.mark.parametrize(
    ("name", "arguments", "fault", "words"),
    [
        ("count_events", {"date_range": {"start_date": "2023-02-30"}}, "invalid_date", "a day that exists"),
        ("count_events", {"date_range": {"start_date": "2023-2-3"}}, "invalid_date", "'YYYY-MM-DD'"),
        ("count_events", {"date_range": {"start_date": "٢٠٢٣-٠٢-٠٣"}}, "invalid_date", "'YYYY-MM-DD'"),
        ("count_events", {"date_range": {"start_date": 20230203}}, "invalid_date", "'YYYY-MM-DD'"),
        ("count_events", {"date_range": ["2023-02-03", "2023-02-01"]}, "backward_range", "2023-02-03 and 2023-02-01"),
        ("count_events", {"date_range": "2023-02-03"}, "invalid_argument", "must be a DateRange"),
        ("count_events", {"date_range": {"from": "2023-02-03"}}, "invalid_argument", "must be a DateRange"),
        ("count_events", {"head_entities": ["QQQ"]}, "invalid_country", "'QQQ'"),
        ("count_events", {"head_entities": ["Korea"]}, "invalid_country", "KOR (South Korea), PRK (North Korea)"),
        ("count_events", {"head_entities": []}, "invalid_argument", "at least one value, or be left out"),
        ("count_events", {"head_entities": ["USA"] * 301}, "invalid_argument", "at most 300 values"),
        ("count_events", {"relations": ["999"]}, "invalid_relation", "'999'"),
        ("count_events", {"relations": [42]}, "invalid_relation", "Perhaps: '042' (Make a visit)"),
        ("count_events", {"relations": ["0211"]}, "invalid_relation", "Perhaps: '021'"),
        ("count_events", {"relation": ["010"]}, "invalid_argument", "did you mean relations?"),
        ("count_events", "[1, 2]", "invalid_argument", "must be a JSON object"),
        ("count_events", "{'head_entities': ['USA']}", "invalid_argument", "must be a JSON object"),
        ("count_events", "[" * 90_000, "invalid_argument", "must be a JSON object"),
        ("count_events", " " * 200_000, "invalid_argument", "at most 100000"),
        ("get_entity_distribution", {"entity_role": "subject"}, "invalid_argument", "'head', 'tail' or 'both'"),
        ("get_events", {"text_description": "  "}, "invalid_argument", "must be a text"),
        ("get_events", {"text_description": "a" * 3000}, "invalid_argument", "at most 2000 characters"),
        ("get_events", {"text_description": "\ud800"}, "invalid_argument", "Unicode"),
        ("get_events", {"limit": 10**9}, "invalid_argument", "no argument 'limit'"),
        ("get_parent_relation", {"cameo_code": "01"}, "invalid_relation", "has no parent"),
        ("get_child_relations", {"cameo_code": "010"}, "invalid_relation", "its parent is '01'"),
        ("map_cameo_to_relation", {}, "invalid_argument", "needs the argument cameo_code"),
        ("browse_news_article", {"date": "2023-02-03", "title": "None such"}, "no_such_article", "articles."),
        ("get_news", {}, "unknown_function", "count_events"),
        (["count_events"], {}, "unknown_function", "count_events"),
        ("count_events", None, "invalid_argument", "must be a JSON object"),
    ],
)
def test_a_bad_call_is_told_what_is_expected(tools, name, arguments, fault, words):
    reply = tools.reply(name, arguments)
    assert not reply.valid
    assert reply.fault == fault
    assert words in reply.text
    assert reply.text == ILLEGAL.format(reply.error)
    assert reply.value is None
    assert len(reply.text) < 1500


@pytest.mark.parametrize("side", ["start_date", "end_date"])
@pytest.mark.parametrize("day", ["0001-01-01", "1970-01-01", "2023-03-15"])
def test_days_at_the_ends_of_time_are_days(tools, day, side):
    for name in ("get_events", "get_news_articles", "count_events", "get_entity_distribution"):
        assert tools.reply(name, {"date_range": {side: day}}).valid


def test_nothing_found_says_so(tools):
    assert tools.call("get_events", {"head_entities": ["AFG"]}).startswith("[]\nNothing meets all conditions")
    assert tools.reply("get_relation_distribution", {"head_entities": ["AFG"]}).value == []


def test_a_list_of_the_caller_stays_as_it_is(tools):
    """The original adds the children of a first-level code to the caller's list."""
    relations = ["04", "010"]
    tools.call("count_events", {"relations": relations})
    assert relations == ["04", "010"]


def test_subsets(world):
    names = {subset: {function.name for function in functions_of(subset)} for subset in SUBSETS}
    assert len(names["full"]) == 14
    assert names["events"] | names["news"] == names["full"]
    assert len(names["events"] & names["news"]) == 7
    assert names["none"] == set()
    view = world.vault.as_of(TIME)
    for subset in SUBSETS:
        tools = Tools(view, subset)
        for function in FUNCTIONS.values():
            refused = tools.reply(function.name, {}).fault == "unknown_function"
            assert refused == (function.name not in names[subset])
    with pytest.raises(UsageError, match="full, events, news, none"):
        Tools(view, "some")


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("count_events()", {}),
        ("Action: count_events(None, ['USA'])", {"date_range": None, "head_entities": ["USA"]}),
        ("```python\ncount_events(head_entities=[ISOCode(code='USA')])\n```", {"head_entities": ["USA"]}),
        ("print(count_events(relations=(CAMEOCode('04'),)))", {"relations": ["04"]}),
        (
            "count_events(DateRange(Date('2023-01-01'), end_date=None))",
            {"date_range": {"start_date": "2023-01-01", "end_date": None}},
        ),
        (
            "`count_events(date_range={'start_date': Date(date='2023-01-01')})`",
            {"date_range": {"start_date": "2023-01-01"}},
        ),
    ],
)
def test_lines_of_python_are_parsed(line, arguments):
    assert parsed_call(line) == ("count_events", arguments)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "count_events",
        "x = count_events()",
        "count_events(); count_events()",
        "count_events().bit_length()",
        "__import__('os').system('true')",
        "count_events(head_entities=[open('/etc/passwd').read()])",
        "count_events(head_entities=[c for c in ['USA']])",
        "count_events(*[None])",
        "count_events(**{'head_entities': ['USA']})",
        "count_events(None, date_range=None)",
        "count_events(1, 2, 3, 4, 5)",
        "count_events(head_entities=[ISOCode('USA', 'CHN')])",
        "count_events(head_entities=[ISOCode(name='USA')])",
        "count_events(head_entities=[not 1])",
        "count_events(date_range=DateRange(Date('2023-01-01'), Date('2023-01-02'), Date('2023-01-03')))",
        "count_events(" + "[" * 5000 + "]" * 5000 + ")",
        "count_events('" + "a" * 30_000 + "')",
        "count_events(head_entities=['USA\0'])",
        "count_events(head_entities=" + "-" * 9000 + "1)",
        "count_events(head_entities=" + "+".join("1" * 900) + ")",
        "count_events(head_entities=[ISOCode(" + "+".join("1" * 900) + ", 2)])",
        "Final Answer: {}",
    ],
)
def test_what_is_no_call_is_never_run(tools, line):
    with pytest.raises(IllegalCallError):
        parsed_call(line)
    reply = tools.call_line(line)
    assert not reply.valid
    assert reply.text.startswith("Illegal action: ")


SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
VALUES = st.recursive(
    SINGLE | st.sampled_from(["USA", "04", "2023-02-03"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["start_date", "end_date", "code", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_arguments_raise(tools, data):
    function = data.draw(st.sampled_from(list(FUNCTIONS.values())))
    names = [
        parameter.name for parameter in function.parameters if parameter.name not in {"keywords", "text_description"}
    ]
    arguments = data.draw(st.dictionaries(st.sampled_from([*names, "x"]), VALUES, max_size=4))
    reply = tools.reply(function.name, arguments)
    assert isinstance(reply.text, str)
    assert reply.valid == (reply.fault is None)
    json.loads(json.dumps(reply.value, allow_nan=False))
    answer = json.loads(tools.exchange(function.name, json.dumps(arguments)))
    assert answer == ({"value": reply.value} if reply.valid else {"error": reply.error}) or not reply.valid


def test_days_without_events_of_the_last_day_known_late(world):
    """An event that is known a day late is there a day later, and not before."""
    late = world.events[pd.to_datetime(world.events["date"]).dt.date != world.events["known_at"].dt.date].iloc[0]
    found = []
    for days in (0, 1):
        time = pd.Timestamp(late["date"], tz="UTC") + pd.Timedelta(days=days + 1)
        arguments = {
            "date_range": {"start_date": str(late["date"]), "end_date": str(late["date"])},
            "head_entities": [late["head"]],
            "tail_entities": [late["tail"]],
            "relations": [late["relation"]],
        }
        found.append(Tools(world.vault.as_of(time.to_pydatetime())).reply("count_events", arguments).value)
    assert found == [0, 1]
    assert DAYS == 120


def test_text_finds_the_best_match_first_and_always_the_same(world, tools):
    """The original returns a set in no order."""
    arguments = {"text_description": "grain treaty visit", "head_entities": ["USA", "RUS"]}
    articles = world.known("articles", TIME).set_index("id")["text"]
    events = tools.reply("get_events", arguments).value
    assert len(events) == 30
    links = chosen(world, arguments, "event_articles")
    links = links[[str(code) in articles.index for code in links["article"]]]

    def score(event):
        own = links[(links["date"].astype(str) == event[0]) & (links["head"] == event[1])]
        own = own[(own["relation"] == event[2]) & (own["tail"] == event[3])]
        wanted = {"grain", "treaty", "visit"}
        return max(len(wanted & set(articles[article].split())) for article in own["article"])

    scores = [score(event) for event in events]
    assert scores[0] == 3
    assert scores[-1] >= 2
    assert tools.reply("get_events", arguments).value == events
    assert tools.reply("get_events", {"text_description": "no such words"}).value == []
    news = tools.reply("get_news_articles", {"text_description": "grain treaty visit"}).value
    assert len(news) == 15


@pytest.mark.parametrize(
    "keywords", [["grain"], ["Grain", "TREATY"], ["with china"], ["china's", "border"], ["gra"], ["no"]]
)
def test_keywords_are_whole_words_that_must_all_be_there(world, tools, keywords):
    articles = world.known("articles", TIME)
    texts = (articles["title"] + " \n " + articles["text"]).str.casefold()
    expected = articles[
        [all(re.search(rf"\b{re.escape(word.casefold())}\b", text) for word in keywords) for text in texts]
    ]
    assert tools.reply("count_news_articles", {"keywords": keywords}).value == len(expected)
    day = {"start_date": "2023-02-01"}
    found = tools.reply("get_news_articles", {"keywords": keywords, "head_entities": ["CHN"], "date_range": day}).value
    assert {title for _, title in found} <= set(expected["title"])
    assert all(date >= "2023-02-01" for date, _ in found)


def test_hindsight_has_no_current_date(world):
    tools = Tools(world.vault.hindsight(TIME))
    everything = {"date_range": {"end_date": "2023-04-30"}}
    assert tools.reply("count_events", everything).value == len(world.events)
