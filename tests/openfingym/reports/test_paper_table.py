"""The paper's table: its heading over its own figures alone, with these as the paper prints them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openfingym.reports.paper_table import paper_table, reward_table
from openfingym.reports.printed import table_4
from openfingym.reports.report import make_report
from openfingym.rollouts import Plan
from tests.openfingym.reports.made import failed, runs, scored

PLAN = Path(__file__).parents[3] / "examples" / "plans" / "paper-table-4.toml"
FORECASTING = ("commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast")


def table(*results, by=("agent", "model")):
    return paper_table(make_report(runs(*results), by), "real")


def oneshot(task="fx-forecast", **changes):
    return scored(0.5, agent="oneshot", model="m", task=task, **changes)


def test_the_figures_are_those_of_the_paper():
    # Table 4 of arXiv 2606.26350, row by row: reward and success in forecasting, generation, trading and fraud.
    printed = {
        "GPT-4o": (0.052, 100, 7.377, 70, 19.912, 100, 1.290, 100),
        "GPT-5.1-codex-mini": (0.036, 100, 11.212, 80, 18.090, 100, 1.205, 100),
        "Haiku 4.5": (0.058, 100, 14.772, 90, 11.490, 100, 1.147, 100),
        "Sonnet 4.6": (0.053, 100, 7.114, 90, 12.044, 100, 1.630, 100),
    }
    families = ("forecasting", "generation", "trading", "fraud")
    assert list(table_4().families) == list(families)
    found = {
        model: tuple(value for name in families for value in (row[name].reward, 100 * row[name].success))
        for model, row in table_4().rows
    }
    assert found == {model: pytest.approx(row) for model, row in printed.items()}


def test_every_task_of_the_plan_is_one_of_the_papers_and_none_of_another_protocol():
    chosen = Plan.read(PLAN)
    assert [agent.name for agent in chosen.agents] == [table_4().agent]
    families = table_4().families
    assert sum(family.count for family in families.values()) == 24
    for pattern in chosen.tasks:
        family, slash, _ = pattern.partition("/")
        assert family in families if slash else any(one.has(pattern) for one in families.values()), pattern
    for task in ("fx-forecast-v2", "crypto-trading-live", "mirai-relation-forecast", "equity-rolling-forecast"):
        assert not any(family.has(task) for family in families.values()), task


def test_the_papers_rows_stand_below_ours_and_say_how_much_is_compared():
    results = [oneshot(task) for task in FORECASTING]
    made = table(
        *results, oneshot("crypto-trading"), failed("rejected", agent="oneshot", model="m", task="ou-generation")
    )
    assert made is not None
    assert made.title == "As in the paper's Table 4"
    assert [row[:2] for row in made.rows] == [("oneshot", "m"), *(("paper", model) for model, _ in table_4().rows)]
    assert made.columns == (
        *("agent", "model", "forecasting reward ↓", "success ↑", "generation reward ↓", "success ↑"),
        *("trading reward ↑", "success ↑"),
    )
    assert made.rows[0][2:] == ("0.0500", "100%", "-", "0%", "-0.0500", "100%")
    assert made.rows[1][2:] == ("0.052", "100%", "7.377", "70%", "19.912", "100%")
    assert "5 of 5 in forecasting, 1 of 10 in generation, 1 of 2 in trading" in made.note


@pytest.mark.parametrize(
    "results",
    [
        [scored(0.5, agent="ridge")],
        [oneshot("fx-forecast-v2")],
        [oneshot(), oneshot("fx-forecast-v2")],
        [oneshot("finsearch", questions="1-3")],
        [oneshot(task_digest="a" * 64), oneshot(task_digest="b" * 64)],
    ],
    ids=["another agent", "another task", "more tasks of the family", "questions", "two builds of a task"],
)
def test_figures_that_the_paper_has_not_are_not_under_its_name(results):
    assert table(*results) is None
    # They have a table of their own, which names no paper's.
    made = reward_table(make_report(runs(*results)), "real")
    assert made.title == "Reward and success by family"
    assert made.rows


def test_another_agent_is_no_row_of_the_papers_setting():
    made = table(oneshot(), scored(0.4, agent="ridge", task="fx-forecast-v2"), scored(0.4, agent="ridge"))
    assert made is not None
    assert {row[0] for row in made.rows} == {"oneshot", "paper"}


def test_rows_by_other_fields_name_the_papers_models_too():
    assert table(oneshot(), by=("agent",)).rows[1][0] == "paper: GPT-4o"
    assert table(oneshot(), by=("backend", "model")).rows[1][:2] == ("-", "GPT-4o")
    assert re.match("paper: ", table(oneshot(), by=("backend",)).rows[-1][0])


def test_each_kind_of_data_is_compared_by_its_own_tasks():
    results = [
        oneshot(),
        oneshot("treasury-forecast", data_kind="simulated"),
        oneshot("fx-forecast-v2", data_kind="odd"),
    ]
    report = make_report(runs(*results))
    notes = {kind: made.note for kind in ("real", "simulated") if (made := paper_table(report, kind)) is not None}
    assert {kind: "1 of 5 in forecasting" in note for kind, note in notes.items()} == {"real": True, "simulated": True}
    assert paper_table(report, "odd") is None
