"""The tools: what they answer, as of a time, and what is wrong with a bad call."""

import json
import random
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from openfingym_suites.findeepforecast.tools import SUBSETS, ForecastTools, suite_tools
from openfingym_suites.findeepforecast.world.simulated import SimulatedWorld
from tests.openfingym_suites.findeepforecast.season.small_world import Frames, write

CANARY = "xylophonequartz"
NOW = datetime(2025, 11, 16, 15, 59, tzinfo=UTC)
AFTER = NOW + timedelta(microseconds=1)
WORDS = ("merger", "rates", "review", CANARY)


def filled(tables: Frames) -> None:
    """News before the time, and canaries of every table a microsecond after it."""
    news = []
    for number in range(12):
        subject, title = ("US0" if number % 2 else "US"), f"A {WORDS[number % 3]} is weighed"
        news.append((f"n-{number}", NOW - timedelta(days=number), subject, title, f"Body {number}. " * 900))
    news.append(("c-1", AFTER, "US0", f"{CANARY} merger", f"{CANARY} merger review rates"))
    frame = pd.DataFrame(news, columns=["id", "published_at", "subject", "title", "body"])
    frame = frame.assign(source="Desk", official=False, story="s", known_at=frame["published_at"])
    tables["news"] = pd.concat([tables["news"], frame], ignore_index=True)
    # This one is known long before: no tool shows it all the same.
    ruling = {"story": [CANARY], "happened_on": [NOW.date()], "amount": [1.0], "source": [CANARY]}
    ruled = pd.DataFrame(ruling | {"known_at": [pd.Timestamp(NOW) - pd.Timedelta(days=9)]})
    tables["rulings"] = pd.concat([tables["rulings"], ruled], ignore_index=True)
    for name, value in (("macro", 987654.0), ("reported", 987654.0)):
        later = tables[name].iloc[[-1]].assign(value=value, known_at=pd.Timestamp(AFTER))
        again = tables[name][tables[name]["known_at"] < pd.Timestamp(NOW)].iloc[[-1]]
        tables[name] = pd.concat([tables[name], later, again.assign(value=value, known_at=pd.Timestamp(AFTER))])
    for name in ("release_calendar", "report_calendar"):
        later = tables[name].iloc[[-1]].assign(label=CANARY, known_at=pd.Timestamp(AFTER))
        tables[name] = pd.concat([tables[name], later], ignore_index=True)
    for name, column in (("companies", "symbol"), ("macro_series", "id")):
        row = tables[name].iloc[[0]].copy()
        row[column], row["known_at"] = f"{CANARY}:X", pd.Timestamp(AFTER)
        tables[name] = pd.concat([tables[name], row], ignore_index=True)


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tools") / "v", filled)


@pytest.fixture(scope="module")
def tools(vault):
    return ForecastTools(SimulatedWorld(vault, NOW))


def answer(tools, name, **arguments):
    found = tools.reply(name, arguments)
    assert found.valid, found.text
    assert json.loads(found.text) == found.value
    return found.value


def test_what_was_published_of_a_series_and_of_a_company(tools):
    series = answer(tools, "history", subject="US:CPI", periods=3)
    assert series["unit"] == "points"
    assert [row[0] for row in series["rows"]] == ["2025-08-31", "2025-09-30", "2025-10-31"]
    assert all(row[2] <= NOW.isoformat() for row in series["rows"])
    listed = answer(tools, "history", subject="Company US0")
    assert {"Revenue", "Gross Margin"} & set(listed["measures"])
    revenue = answer(tools, "history", subject="US0", measure="revenue")
    assert (revenue["measure"], revenue["unit"]) == ("Revenue", "million USD")
    assert len(revenue["rows"]) == 11


def test_the_calendar_has_what_is_to_come(tools):
    due = answer(tools, "calendar", subject="US:CPI")["rows"]
    assert due[0][0] == "US:CPI"
    assert NOW.isoformat() <= due[0][3] <= due[-1][3]
    both = answer(tools, "calendar", subject="jp", start="2025-11-01", end="2025-11-30")
    assert {row[0] for row in both["rows"]} <= {"JP:CPI", "JP:GDP", "JP:STOCK_INDEX", "JP:INTEREST_RATE_3M"}
    assert "note" in answer(tools, "calendar", subject="US0", start="2026-02-20", end="2026-02-27")


def test_news_is_found_and_read_in_parts(tools):
    found = answer(tools, "search_news", query="merger review", subject="US0", limit=3)["results"]
    assert {one["subject"] for one in found} == {"US0"}
    latest = answer(tools, "search_news", subject="US")["results"]
    assert [one["id"] for one in latest][:2] == ["n-0", "n-2"]
    page = answer(tools, "open_document", id="n-0")
    assert page["parts"] == 2
    assert not tools.reply("open_document", {"id": "n-0", "part": 3}).valid


def test_things_are_found_by_words(tools):
    assert [one["id"] for one in answer(tools, "find", text="CPI", kind="series", economy="JP")["series"]] == ["JP:CPI"]
    assert answer(tools, "find", text="company UK1")["companies"][0]["symbol"] == "UK1"
    assert "note" in answer(tools, "find", text="zebra")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search_news", {}, "needs the argument query"),
        ("search_news", {"query": "x" * 10_000}, "at most 500 characters"),
        ("search_news", {"query": "\ud800"}, "Unicode"),
        ("search_news", {"query": "merger", "subject": "Atlantis"}, "economies are US, CN"),
        ("search_news", {"query": "merger", "limit": 1_000}, "from 1 to 20"),
        ("open_document", {"id": "nowhere"}, "There is no document"),
        ("open_document", {"id": "c-1"}, "There is no document"),
        ("open_document", {"id": "\x00"}, "There is no document"),
        ("history", {"subject": "ZZZZQ"}, "There is no company or series"),
        ("history", {"subject": "US:CPI", "measure": "Revenue"}, "leave measure out"),
        ("history", {"subject": "US0", "measure": "Happiness"}, "call history without measure"),
        ("history", {"subject": "US0", "measure": "Revenu"}, "Like it are: Revenue"),
        ("history", {"subject": {"a": [1]}}, "must be a text"),
        ("history", {"sybject": "US0"}, "did you mean subject?"),
        ("calendar", {"subject": "US", "start": "2025-02-30"}, "a day that exists"),
        ("calendar", {"subject": "US", "start": "2025-12-31", "end": "2025-12-01"}, "on or before end"),
        ("find", {"text": "banks", "kind": "people"}, "one of any, company, series"),
        ("calculator", {"expression": "__import__('os')"}, "expression takes"),
        ("rulings", {}, "There is no tool 'rulings'; there are search_news"),
        ("history", "[" * 200_000, "at most 100000"),
        (None, {}, "There is no tool None"),
    ],
)
def test_a_bad_call_is_answered_with_what_is_expected(tools, name, arguments, said):
    found = tools.reply(name, arguments)
    assert not found.valid
    assert said in found.text
    assert len(found.text) < 3_000


def test_subsets_of_tools(vault):
    world = SimulatedWorld(vault, NOW)
    assert [tool.name for tool in suite_tools("search")] == ["search_news", "open_document", "calculator"]
    assert suite_tools("none") == ()
    for subset, names in SUBSETS.items():
        reply = ForecastTools(world, subset).reply("history", {"subject": "US:CPI"})
        assert reply.valid == ("history" in names)


def drawn(draw):
    """A call by chance: good arguments, days around the cut, and nonsense."""

    def day():
        return str(NOW.date() + timedelta(days=draw.choice([draw.randrange(-700, 300), draw.randrange(-4, 4), 10**5])))

    subject = draw.choice(["US:CPI", "JP:GDP", "GLOBAL:CBOE_VIX", "US0", "JP3", "UK1", "US", "Company US2", CANARY])
    arguments = {
        "query": " ".join(draw.sample(WORDS, 2)), "subject": subject, "limit": draw.randrange(1, 20), "part": 1,
        "id": draw.choice(["n-0", "n-3", "c-1", "n1"]), "periods": draw.randrange(1, 60), "start": day(), "end": day(),
        "measure": draw.choice(["Revenue", "Gross Margin", "EPS (Basic)", "Net Margin", "level", CANARY]),
        "text": draw.choice(["CPI", "company", CANARY, "retail"]), "kind": draw.choice(["any", "company", "series"]),
        "economy": draw.choice(["any", "US", "JP"]), "expression": "1+1",
    }  # fmt: skip
    tool = draw.choice(suite_tools())
    needed = tool.parameters["required"]
    return tool.name, {
        name: arguments[name] for name in tool.parameters["properties"] if name in needed or draw.random() < 0.5
    }


def test_later_rows_change_no_answer(vault, tmp_path):
    cut = ForecastTools(SimulatedWorld(vault.truncated(NOW, tmp_path / "cut"), NOW))
    whole = ForecastTools(SimulatedWorld(vault, NOW))
    draw = random.Random(7)
    good = 0
    for _ in range(400):
        name, arguments = drawn(draw)
        one, other = whole.reply(name, arguments), cut.reply(name, arguments)
        assert one.text.encode() == other.text.encode(), (name, arguments)
        assert one == other
        assert "987654" not in one.text
        assert CANARY not in one.text.replace(json.dumps(arguments), "") or CANARY in json.dumps(arguments)
        good += one.valid
    assert good > 200
    # The canaries are there for whoever may see them, but for those of the rulings, which no tool shows.
    later = ForecastTools(SimulatedWorld(vault, AFTER))
    assert later.reply("open_document", {"id": "c-1"}).valid
    assert "987654" in later.reply("history", {"subject": "GLOBAL:CBOE_VIX", "periods": 200}).text + json.dumps(
        [later.reply("history", {"subject": name, "periods": 200}).text for name in ("UK:GDP", "UK:CPI")]
    )


def test_no_tool_reads_the_rulings(vault):
    """In a world whose rulings cannot be read, every call is answered as before."""

    class Sealed(SimulatedWorld):
        def ruling(self, event):
            raise AssertionError("a tool asked what became of an event")

    sealed, plain = ForecastTools(Sealed(vault, NOW)), ForecastTools(SimulatedWorld(vault, NOW))
    draw = random.Random(11)
    for _ in range(200):
        name, arguments = drawn(draw)
        assert sealed.reply(name, arguments) == plain.reply(name, arguments)
