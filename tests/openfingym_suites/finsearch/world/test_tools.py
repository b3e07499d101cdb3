"""The tools: what they answer, as of a time, and what is wrong with a bad call."""

import json
import random
from datetime import date, timedelta

import pandas as pd
import pytest

from openfingym.suites.calculator import calculate
from openfingym.suites.calls import BadCallError
from openfingym.vault import Source, VaultWriter
from openfingym_suites.finsearch.lookup.web import PAGE_CHARACTERS
from openfingym_suites.finsearch.tools import SUBSETS, FinanceTools, suite_tools
from openfingym_suites.finsearch.world.specs import PAGES, STATEMENTS

CANARY = "xylophonequartz"
NOW = "2021-05-14T20:30:00Z"


@pytest.fixture(scope="module")
def tools(small):
    return FinanceTools(small.vault.as_of(NOW))


def answer(tools, name, **arguments):
    found = tools.reply(name, arguments)
    assert found.valid, found.text
    assert json.loads(found.text) == found.value
    return found.value


def rows(value):
    return [dict(zip(value["columns"], row, strict=True)) for row in value["rows"]]


def test_real_prices_are_quoted(tools):
    first = rows(answer(tools, "quote", symbol="AAPL", start="2012-09-21", end="2012-09-21"))
    assert [(row["date"], row["close"]) for row in first] == [("2012-09-21", 700.095)]
    pair = answer(tools, "quote", symbol="USD/CNY", start="2020-01-01", end="2020-12-31", interval="month")
    assert len(pair["rows"]) == 12
    assert pair["kind"] == "fx reference"
    assert not pair["simulated"]


def test_a_quote_is_of_what_was_closed(tools, small):
    found = answer(tools, "quote", symbol="HLVP.US")
    assert found["last_session"]["close_at"] == "2021-05-14T20:00:00+00:00"
    before = FinanceTools(small.vault.as_of("2021-05-14T19:59:59Z"))
    assert answer(before, "quote", symbol="HLVP.US")["rows"][0][0] == "2021-05-13"
    assert found["simulated"]
    holiday = answer(tools, "quote", symbol="660010.SH", start="2021-05-01", end="2021-05-04")
    assert holiday["rows"] == []
    assert "2021-04-30" in holiday["note"]


def test_long_answers_go_on_elsewhere(tools):
    found = answer(tools, "quote", symbol="660010.SH", start="2019-01-01")
    seen = rows(found)
    while "more_from" in found:
        found = answer(tools, "quote", symbol="660010.SH", start=found["more_from"])
        seen += rows(found)
    days = [row["date"] for row in seen]
    assert days == sorted(set(days))
    assert days[-1] == "2021-05-14"


def test_months_are_made_of_days(tools):
    daily = pd.DataFrame(rows(answer(tools, "quote", symbol="C500.IDX", start="2021-03-01", end="2021-03-31")))
    (month,) = rows(answer(tools, "quote", symbol="C500.IDX", start="2021-03-01", end="2021-03-31", interval="month"))
    assert month["open"] == daily["open"].iloc[0]
    assert month["close"] == daily["close"].iloc[-1]
    assert month["high"] == daily["high"].max()
    assert month["low"] == daily["low"].min()
    assert month["sessions"] == len(daily)


def test_series_have_vintages(tools):
    found = rows(answer(tools, "series", id="UNRATE", start="2016-01-01", end="2016-12-01", vintage="all"))
    assert found[0]["value"] == 4.9
    assert all(row["known_from"] <= "2021" for row in found)
    first = rows(answer(tools, "series", id="CN_RETAIL", start="2020-01-01", end="2020-06-01", vintage="first"))
    last = rows(answer(tools, "series", id="CN_RETAIL", start="2020-01-01", end="2020-06-01"))
    assert [row["release"] for row in first] == ["first"] * 6
    assert {row["release"] for row in last} <= {"revised", "benchmark"}
    assert answer(tools, "series", id="UST10Y", end="2019-08-26")["rows"][-1][:2] == ["2019-08-26", 1.54]
    assert "CN_PMI_MFG" in {each["series"] for each in answer(tools, "series", id="中国制造业")["candidates"]}


def test_statements_of_real_issuers_are_as_filed(tools):
    found = answer(tools, "statement", company="Snowflake", item="net income", start="2021-01-31", end="2021-01-31")
    (year,) = [row for row in rows(found) if row["period_start"] == "2020-02-01"]
    assert (year["value"], year["unit"], year["form"]) == (-539102000.0, "USD", "10-K")
    refused = tools.reply("statement", {"company": "NVDA", "fiscal_year": 2021})
    assert not refused.valid
    assert "filing" in refused.text


def test_statements_of_simulated_companies_by_either_name(tools, small):
    company = next(each for each in small.world.companies if each.home == "cn")
    english = answer(tools, "statement", company=company.lines[0].symbol, item="Revenue", fiscal_year=2020)
    chinese = answer(tools, "statement", company=company.name_zh, item="营业收入", fiscal_year=2020)
    assert english["rows"] == chinese["rows"]
    assert {row["fiscal_period"] for row in rows(english)} == {"Q1", "H1", "9M", "FY"}
    assert english["simulated"]


def test_pages_are_found_in_chinese_and_read_in_parts(tools):
    found = answer(tools, "search", query="人民币中间价", limit=3, language="zh")["results"]
    assert any("中间价" in each["snippet"] or "中间价" in each["title"] for each in found)
    page = answer(tools, "open_page", url=found[0]["url"])
    assert page["title"] == found[0]["title"]
    assert "flaw" not in json.dumps(page)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "x" * 10_000}, "at most 500 characters; received 10000"),
        ("search", {"query": "gold", "limit": 1_000}, "from 1 to 20"),
        ("search", {"query": "gold", "limit": True}, "whole number"),
        ("search", {"query": "\ud800"}, "Unicode"),
        ("open_page", {"url": "https://nowhere.example/"}, "There is no page"),
        ("quote", {"symbol": "ZZZZQ"}, "There is no instrument 'ZZZZQ'"),
        ("quote", {"symbol": "AAPL", "start": "2021-12-31"}, "on or before 2021-05-15"),
        ("quote", {"symbol": "AAPL", "start": "2012-02-30"}, "a day that exists"),
        ("quote", {"symbol": "AAPL", "start": "2012-12-01", "end": "2012-01-01"}, "on or before end"),
        ("quote", {"symbol": {"a": [1]}}, "must be a text"),
        ("quote", {"sybol": "AAPL"}, "did you mean symbol?"),
        ("quote", {}, "needs the argument symbol"),
        ("quote", [1], "JSON object"),
        ("quote", "{" * 5_000, "JSON object"),
        ("quote", "[" * 200_000, "at most 100000"),
        ("series", {"id": "UNRATE", "vintage": "future"}, "one of latest, first, all"),
        ("statement", {"company": "zzqq"}, "There is no"),
        ("nope", {}, "There is no tool 'nope'; there are search"),
        (None, {}, "There is no tool None"),
    ],
)
def test_a_bad_call_is_answered_with_what_is_expected(tools, name, arguments, said):
    found = tools.reply(name, arguments)
    assert not found.valid
    assert said in found.text
    assert len(found.text) < 3_000


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(5.2 - 4.8) / 4.8 * 100", pytest.approx(8.3333333)),
        ("sum([1, 2, 3]) / len([1, 2, 3])", 2.0),
        ("2^10", 1024),
        ("round(2/3, 2)", 0.67),
        ("-7 // 2", -4),
        ("max(1, 2.5)", 2.5),
        ("0.1 + 0.2 - 0.3", pytest.approx(0, abs=1e-15)),
        ("stdev([1, 2, 3])", 1.0),
        ("1_000 × 3", 3000),
    ],
)
def test_the_calculator_calculates(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9", "9**9**9**9", "(9**99)**99", "10.0**400", "1e308*10", "2**-2000000000 * 1e999", "1/0", "log(0)",
        "sqrt(-1)", "(-8)**0.5", "__import__('os')", "().__class__", "sum", "[1]+[2]", "'a'*9", "lambda: 1", "True",
        "(" * 900 + ")" * 900, "-" * 900 + "1", "prod([9**99]*99)", "max([])", "round(1.5, 10**9)", "1 if 1 else 2",
        "[x for x in [1]]", "9" * 1900 + "*9", "", "sum([[1]])", "0**-1", "1j", "\x00", "1+", "len(5, [1])",
        "f(" + "+".join(["1"] * 990) + ")", "x" + ".a" * 990, "x" + "[1]" * 660, "not " * 490 + "1",
    ],
)  # fmt: skip
def test_bombs_are_refused_by_the_calculator(expression):
    with pytest.raises(BadCallError):
        calculate(expression)


def test_subsets_of_tools(small):
    view = small.vault.as_of(NOW)
    assert [tool.name for tool in suite_tools("search")] == ["search", "open_page", "calculator"]
    assert suite_tools("none") == ()
    for subset, names in SUBSETS.items():
        tools = FinanceTools(view, subset)
        assert tools.reply("quote", {"symbol": "AAPL"}).valid == ("quote" in names)


def test_a_page_of_50_megabytes_and_a_world_of_pages_alone(tmp_path):
    text = "gold " + f"{'x' * 999_999} " * 50 + "the end"
    row = {"url": "u", "title": "Large", "site": "s", "language": "en", "kind": "news", "symbols": [], "flaw": "",
           "published": "2020-01-01", "text": text, "simulated": True, "known_at": "2020-01-01"}  # fmt: skip
    source = Source(name="test", licence="none")
    with VaultWriter(tmp_path / "v", name="large", title="Large", sources=[source]) as writer:
        writer.add(PAGES, pd.DataFrame([row]))
        vault = writer.finish()
    tools = FinanceTools(vault.as_of(NOW))
    (hit,) = answer(tools, "search", query="gold")["results"]
    assert len(hit["snippet"]) < 400
    page = answer(tools, "open_page", url="u")
    assert len(page["text"]) == PAGE_CHARACTERS
    assert answer(tools, "open_page", url="u", part=page["parts"])["text"].endswith("the end")
    assert not tools.reply("open_page", {"url": "u", "part": page["parts"] + 1}).valid
    for name, arguments in (("quote", {"symbol": "A"}), ("series", {"id": "A"}), ("statement", {"company": "A"})):
        assert "in this world" in tools.reply(name, arguments).text


def test_a_world_of_statements_alone_knows_companies_by_their_ids(tmp_path):
    row = {"company": "ACME", "statement": "income", "item": "Revenue", "item_zh": "", "segment": "",
           "fiscal_year": 2020, "fiscal_period": "FY", "period_start": "2020-01-01", "period_end": "2020-12-31",
           "standard": "IFRS", "currency": "USD", "unit": "million USD", "scale": 1e6, "value": 5.0,
           "form": "annual report", "report": "r", "filed": "2021-02-01", "known_at": "2021-02-01"}  # fmt: skip
    with VaultWriter(tmp_path / "v", name="s", title="S", sources=[Source(name="test", licence="none")]) as writer:
        writer.add(STATEMENTS, pd.DataFrame([row]))
        vault = writer.finish()
    tools = FinanceTools(vault.as_of("2022-01-01T00:00:00Z"))
    assert answer(tools, "statement", company="ACME")["count"] == 1
    other = tools.reply("statement", {"company": "Other"})
    assert not other.valid
    assert "company with statements" in other.text


def drawn(draw, small):
    """A call by chance: good arguments, days around the cut, and nonsense."""
    symbols = [line.symbol for company in small.world.companies for line in company.lines]
    names = [company.name_zh or company.name for company in small.world.companies]
    cut = date(2021, 5, 14)

    def day():
        return str(cut + timedelta(days=draw.choice([draw.randrange(-700, 300), draw.randrange(-4, 4)])))

    anything = [
        *symbols,
        *names,
        "AAPL",
        "USDCNY",
        "XAUUSD-LONDON",
        "TN2109.FUT",
        "TN2206.FUT",
        "gold",
        "SNOW",
        "TEN.IDX",
    ]
    words = ["revenue", "restated", "人民币", "净利润", "gold", "dividend", "split", CANARY, *names]
    arguments = {
        "query": " ".join(draw.sample(words, 2)), "url": draw.choice(["u", "later"]), "symbol": draw.choice(anything),
        "company": draw.choice(anything), "id": draw.choice(["UNRATE", "CN_RETAIL", "CHE", "China", "GDP", "UST10Y"]),
        "item": draw.choice(["Revenue", "净利润", "Assets", "profit"]), "start": day(), "end": day(),
        "interval": draw.choice(["day", "week", "month"]), "vintage": draw.choice(["latest", "first", "all"]),
        "fiscal_year": draw.choice([2019, 2020, 2021]), "segments": draw.choice(["none", "only", "all"]),
        "language": draw.choice(["en", "zh"]), "before": day(), "after": day(), "limit": draw.randrange(1, 20),
        "expression": "1+1", "site": "marketwire.simulated.example", "part": 1,
        "fiscal_period": draw.choice(["FY", "H1", "any"]),
    }  # fmt: skip
    tool = draw.choice(suite_tools())
    needed = tool.parameters["required"]
    return tool.name, {
        name: arguments[name] for name in tool.parameters["properties"] if name in needed or draw.random() < 0.4
    }


def test_later_rows_change_no_answer(small, tmp_path):
    before = small.vault.as_of(NOW)
    cut = FinanceTools(small.vault.truncated(NOW, tmp_path / "cut").as_of(NOW))
    whole = FinanceTools(before)
    draw = random.Random(7)
    good = 0
    for _ in range(400):
        name, arguments = drawn(draw, small)
        one, other = whole.reply(name, arguments), cut.reply(name, arguments)
        assert one.text.encode() == other.text.encode(), (name, arguments)
        assert one == other
        good += one.valid
    assert good > 150


def test_no_answer_has_a_word_that_came_later(small, tmp_path):
    """Every text after the cut is a canary, and so is every name; the tables are otherwise the same."""
    everything = small.vault.hindsight(NOW)
    cut = pd.Timestamp(NOW)
    about = small.vault.manifest
    with VaultWriter(tmp_path / "v", name="canary", title="Canary", sources=about.sources) as writer:
        for entry in about.tables:
            frame = pd.DataFrame(everything.rows(entry.name), columns=list(entry.spec.types))
            later = frame["known_at"] > cut
            texts = [name for name, kind in entry.columns.items() if kind == "VARCHAR" and name not in entry.key]
            for name in texts:
                frame[name] = frame[name].where(~later, f"{CANARY} gold revenue 人民币 {name}")
            writer.add(entry.spec, frame)
        vault = writer.finish()
    tools, plain = FinanceTools(vault.as_of(NOW)), FinanceTools(small.vault.as_of(NOW))
    draw = random.Random(11)
    for _ in range(250):
        name, arguments = drawn(draw, small)
        found = tools.reply(name, arguments)
        given = json.dumps(arguments)
        assert CANARY not in found.text or CANARY in given
        assert found.text == plain.reply(name, arguments).text
    seen = FinanceTools(vault.as_of("2100-01-01T00:00:00Z")).reply("search", {"query": CANARY})
    assert CANARY in seen.text
