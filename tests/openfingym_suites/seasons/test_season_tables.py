"""The layout of the tables and the page, against seasons made by hand."""

from __future__ import annotations

import html
import json
import re

import pytest
from sklearn.metrics import cohen_kappa_score

from openfingym_suites.findeepforecast.truth.adjudicating import Proposal
from openfingym_suites.findeepforecast.truth.evidence import Evidence
from openfingym_suites.findeepforecast.truth.verdicts import VerdictQueue
from openfingym_suites.seasons import season_report
from openfingym_suites.seasons.accuracy_grids import market_grid, overall_grid, quadrant_grid, week_grid
from openfingym_suites.seasons.grid import names_of
from openfingym_suites.seasons.grids import composition_grid, cost_grid, distribution_grid, mistake_grid, states_grid
from openfingym_suites.seasons.page import labels
from tests.openfingym.reports.browser import opened
from tests.openfingym_suites.seasons.made import FIRST, SERIES, Asked, drawn_season, season_ledger

CORPORATE, MACRO = "recurrent corporate", "recurrent macro"
EVENT, RULING = "non-recurrent corporate", "non-recurrent macro"
BY_HAND = [
    Asked("r1", CORPORATE, "US", 0, 1435.0, {"o3": 2900.0, "gpt": 1400.0}, "Operating Cash Flow", "BKNG"),
    Asked("r2", CORPORATE, "US", 0, 1435.0, {"o3": 1500.0, "gpt": 1400.0}, "Operating Cash Flow", "BKNG"),
    Asked("r3", CORPORATE, "JP", 1, 50.0, {"o3": 60.0, "gpt": 90.0}, "Operating Cash Flow", "ITOCHU"),
    Asked("r4", CORPORATE, "JP", 1, 50.0, {"o3": 50.0}, "Revenue", "ITOCHU"),
    Asked("m1", MACRO, "CN", 0, 1.2885, {"o3": 1.35, "gpt": 1.2885}, "3-month yield", "CN", "week", "rate"),
    Asked("e1", EVENT, "FR", 0, 1.0, {"o3": 0.0, "gpt": 1.0}, "Expansions", "AI", "month"),
    Asked("e2", EVENT, "FR", 1, 0.0, {"o3": 0.1, "gpt": 0.3}, "Expansions", "AI", "month"),
    Asked("g1", RULING, "UK", 1, 0.0, {"o3": 0.9, "gpt": 1.0}, "Budget", "UK", "week"),
    Asked("g2", RULING, "UK", 1, None, {"o3": 0.9, "gpt": 1.0}, "Budget", "UK", "week", state="pending"),
    Asked("g3", RULING, "UK", 1, None, {"o3": 0.9}, "Budget", "UK", "week", state="void", reason="came early"),
]


def records(folder, **lines):
    """Write the records of agents, a list of lines each, into a series' folder; of one week."""
    for agent, mine in lines.items():
        file = folder / "2025-W44" / "records" / f"{agent}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps({'agent': agent, 'version': '1'} | line)}\n" for line in mine))
    return folder


def line(key, state="sent", **more):
    cost = {"prompt_tokens": 100, "completion_tokens": 50, "cost_usd": 0.01, "seconds": 2.0}
    return {"question": f"{SERIES}/2025-W44/source/{key}", "state": state, "reason": ""} | cost | more


@pytest.fixture(scope="module")
def season(tmp_path_factory):
    folder = tmp_path_factory.mktemp("season")
    model = {"method": "Deep Research", "model": "o3", "endpoint": "https://host.example/v1", "cutoff": "2025-01"}
    own = records(
        folder / "series",
        o3=[line("r1", **model), line("r1", "error", **model), line("r2", **model), line("e1", **model)],
        gpt=[line("r1", method="T", model="gpt", cutoff=None), line("r9", "unparsed", method="T", model="gpt")],
    )
    return season_report(season_ledger(folder / "ledger", BY_HAND), SERIES, folder=own).seasons[0]


def texts(grid):
    """The rows of a table as text, with its headings."""
    return [(heading, [(row.name, *(cell.text for cell in row.cells)) for row in rows]) for heading, rows in grid.parts]


def names(season):
    return names_of(season, labels(season))


def test_accuracy_by_track_and_level_is_laid_out_as_table_2(season):
    grid = quadrant_grid(season, names(season))
    assert grid.over == (("Non-rec.", 3), ("Rec.", 3))
    assert grid.columns == ("Method", "Corp.", "Mac.", "Ovr.", "Corp.", "Mac.", "Ovr.")
    assert texts(grid) == [
        ("LLM (Thinking)", [("gpt", "100.0", "0.0", "66.7", "50.0", "100.0", "60.0")]),
        ("Deep Research", [("o3", "50.0", "0.0", "33.3", "50.0", "0.0", "40.0")]),
    ]
    marks = {row.name: [cell.mark for cell in row.cells] for _, rows in grid.parts for row in rows}
    assert marks["gpt"] == ["best"] * 6
    assert marks["o3"] == ["second", "best", "second", "best", "second", "second"]


def test_accuracy_by_market_is_laid_out_as_table_3(season):
    grid = market_grid(season, names(season))
    assert grid.columns == ("Method", "US", "CN", "JP", "UK", "FR")
    assert texts(grid)[0] == ("LLM (Thinking)", [("gpt", "100.0", "100.0", "0.0", "0.0", "100.0")])
    assert week_grid(season, names(season)).columns == ("Method", "W44", "W45")


def test_what_is_asked_about_is_laid_out_as_tables_16_and_17(season):
    (_, rows) = texts(distribution_grid(season))[0]
    assert distribution_grid(season).columns == ("category", "US", "CN", "JP", "UK", "FR", "total")
    assert rows == [
        (MACRO, "0", "1", "0", "0", "0", "1"),
        (CORPORATE, "2", "0", "2", "0", "0", "4"),
        (RULING, "0", "0", "0", "3", "0", "3"),
        (EVENT, "0", "0", "0", "0", "2", "2"),
        ("total", "2", "1", "2", "3", "2", "10"),
    ]
    made = {name: cells for name, *cells in texts(composition_grid(season))[0][1]}
    assert made["companies or economies"] == ["1", "2", "1", "1"]
    assert made["metrics or event types"] == ["1", "2", "1", "1"]
    assert made["horizons"] == ["W", "Q", "W", "M"]
    assert made["of events, happened"] == ["-", "-", "0.0", "50.0"]


def test_the_error_analysis_is_laid_out_as_table_19(season):
    o3 = next(row.forecaster for row in season.rows if row.forecaster.agent == "o3")
    (_, rows) = texts(mistake_grid(season, o3, "o3"))[0]
    assert rows == [
        (EVENT, "2", "1", "0", "50.00", "Expansions (100.0%)\nQ: What becomes of e1?\nGold: YES   Pred: NO"),
        (RULING, "1", "1", "0", "100.00", "Budget (100.0%)\nQ: What becomes of g1?\nGold: NO   Pred: 0.9"),
        (
            CORPORATE,
            "4",
            "2",
            "0",
            "50.00",
            "Operating Cash Flow (100.0%)\nQ: What becomes of r3?\nGold: 50   Pred: 60",
        ),
        (MACRO, "1", "1", "0", "100.00", "3-month yield (100.0%)\nQ: What becomes of m1?\nGold: 1.2885   Pred: 1.35"),
    ]
    gpt = next(row.forecaster for row in season.rows if row.forecaster.agent == "gpt")
    corporate = texts(mistake_grid(season, gpt, "gpt"))[0][1][2]
    # Of one error each, the first by name is told; a missing answer is no example.
    assert corporate[:5] == (CORPORATE, "4", "2", "1", "50.00")
    assert corporate[5].startswith("Operating Cash Flow (50.0%)\nQ: What becomes of r3?")


def test_states_are_counted_with_reasons(season):
    grid = states_grid(season)
    assert texts(grid)[0][1][-1] == ("total", "10", "8", "1", "1", "0")
    assert grid.note == "Void: came early (1)."


def test_records_tell_methods_costs_and_what_is_missing(season):
    overall = dict(texts(overall_grid(season, names(season))))
    assert overall["LLM (Thinking)"][0][:6] == ("gpt", "-", "62.5", "71.4", "8", "1")
    cost = dict(texts(cost_grid(season, names(season))))
    # Three questions, four tries.
    assert cost["Deep Research"] == [("o3", "o3", "3", "200", "0.0133", "2.67")]
    # A truth that is made up was in no training data, whatever the cut-off.
    assert overall["Deep Research"][0][-1] == "-"


def test_the_cut_off_is_set_against_the_dates_of_a_replayed_season(tmp_path):
    past = [
        Asked(f"q{week}", week=week, truth=1.0, said={"m": 1.0, "n": 1.0}, clock=f"replayed/{SERIES}", simulated=False)
        for week in range(3)
    ]
    # Deadlines are 2 November, 9 November and 16 November 2025.
    own = records(
        tmp_path / "series",
        m=[line("q0", method="T", model="m", cutoff="2025-11-08")],
        n=[line("q0", method="T", model="n")],
    )
    (season,) = season_report(season_ledger(tmp_path / "ledger", past), SERIES, folder=own).seasons
    found = {row.forecaster.agent: row.contamination for row in season.rows}
    assert (found["m"].standing, found["m"].before, found["m"].questions) == ("within", 1, 3)
    rows = dict(texts(overall_grid(season, names(season))))["LLM (Thinking)"]
    assert [row[-1] for row in rows] == ["within (2025-11-08): 1", "unknown"]


def test_records_that_are_none_spoil_no_figure(tmp_path):
    own = records(
        tmp_path / "series",
        a=[
            line("q", model="m", cutoff="soon", cost_usd=float("nan"), seconds=None, prompt_tokens=True),
            {"state": "sent"},
        ],
    )
    with (own / "2025-W44" / "records" / "a.jsonl").open("a") as file:
        file.write('[1]\n{"question": "cut off')
    # Another principal's agent of the same name has no records.
    asked = [Asked("q", truth=1.0, said={"a": 1.0, ("a", "mallory"): 2.0}, clock="real", simulated=False)]
    report = season_report(season_ledger(tmp_path / "ledger", asked), SERIES, folder=own)
    assert report.damaged_records == 3
    found = {row.forecaster.principal: row for row in report.seasons[0].rows}
    assert (found["operator"].how.models, found["operator"].contamination) == (("m",), None)
    assert (found["operator"].cost.usd, found["operator"].cost.seconds) == (None, None)
    assert (found["mallory"].how.models, found["mallory"].cost) == ((), None)
    assert "3 lines of records could not be read" in report.html()
    json.loads(report.to_json())


def test_proposals_from_evidence_are_compared_with_verdicts(tmp_path):
    # Kept with the verdict in the ledger, or in the queue of the series where another decided.
    kept = [
        Asked(f"e{n}", EVENT, truth=1.0, said={"a": 0.5}, evidence={"proposal": {"outcome": "YES"}}) for n in (0, 1)
    ]
    waiting = [Asked(f"w{n}", EVENT, truth=0.0, said={"a": 0.5}) for n in range(3)]
    queue = VerdictQueue.of_series(tmp_path / "series")
    evidence = Evidence("e", FIRST.isoformat(), (), over=True)
    for one, outcome in zip(waiting, ("NO", "YES", "indeterminate"), strict=True):
        queue.propose(one.question().id, "", Proposal(outcome, "", (), "rules", FIRST.isoformat()), evidence)
    folder = season_ledger(tmp_path / "ledger", [*kept, *waiting])
    (season,) = season_report(folder, SERIES, folder=tmp_path / "series").seasons
    found = season.agreement
    assert (found.decided, found.compared, found.same) == (5, 4, 3)
    assert found.kappa == pytest.approx(cohen_kappa_score([1, 1, 0, 0], [1, 1, 0, 1]))
    assert "3 of 4 agree with what was decided (75.0 %); 1 proposed neither" in states_grid(season).note


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = season_ledger(tmp_path_factory.mktemp("page"), drawn_season(0.1, seed=1))
    return season_report(folder, SERIES, title="A made-up season").html()


def test_the_page_loads_nothing_and_says_what_is_simulated(page):
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"<(script|link|img|iframe)\b|\b(src|url)\s*[=(]|https?:", page)
    assert page.count("SIMULATED") == 1
    # Every entry of the menu leads somewhere.
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page


def test_a_browser_draws_every_mark_inside_of_its_plot(page, tmp_path):
    document = opened(page, tmp_path / "page.html")
    percents = [float(one) for one in re.findall(r'(?:c[xy]|x[12]|y[12]|width)="(-?[\d.]+)%"', document)]
    assert len(percents) > 50
    assert all(0.0 <= one <= 100.0 for one in percents)


def test_names_and_questions_of_strangers_are_text(tmp_path):
    evil = "<script>alert(1)</script>"
    asked = [Asked("q", truth=1.0, said={(evil, "x"): 2.0}, subtype=evil, market="US", text=evil)]
    made = season_report(season_ledger(tmp_path, asked), SERIES, title=evil).html()
    assert "<script" not in made
    assert "&lt;script&gt;" in made


def test_a_season_without_truths_has_a_page(tmp_path):
    asked = [Asked("q", truth=None, said={"a": 2.0}, state="pending"), Asked("r", truth=None, state="pending")]
    report = season_report(season_ledger(tmp_path, asked), SERIES)
    assert "No forecast is scored yet" in report.html()
    assert json.loads(report.to_json())["seasons"][0]["states"][0]["pending"] == 2
