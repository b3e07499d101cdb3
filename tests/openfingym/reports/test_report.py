"""The report for programs: JSON, CSV, and that it depends on nothing but its runs."""

from __future__ import annotations

import csv
import io
import json
import random
from datetime import UTC, datetime
from typing import get_args

import pytest

from openfingym.errors import UsageError
from openfingym.reports.formatting import figure, percent
from openfingym.reports.groups import KINDS, kind_order
from openfingym.reports.html import render
from openfingym.reports.report import REASON_LENGTH, make_report
from openfingym.reports.runs import DamagedRun, FoundRuns, RunConfig, find_runs
from openfingym.reports.tables import comparisons_in_words, overall, skill_table, task_table
from openfingym.task import DataKind
from openfingym.version import __version__
from tests.openfingym.reports.made import OWN_DATA, failed, runs, scored, write

TASKS = sorted([*OWN_DATA, "fx-forecast", "treasury-forecast"])
"""Eight tasks on six datasets."""


def some():
    spread = random.Random(0)
    return [
        scored(
            spread.lognormvariate(-0.2, 0.3),
            agent=agent,
            model=model,
            task=task,
            seed=seed,
            cost_usd=0.1 if model else None,
        )
        for agent, model in (("react", "m"), ("ridge", None))
        for task in TASKS
        for seed in range(2)
    ] + [failed("rejected", agent="react", model="m", seed=7, reason="a\nreason " + "x" * 500), failed("error", seed=8)]


def test_json_has_every_figure_under_the_names_of_its_row(tmp_path):
    report = make_report(FoundRuns(tuple(some()), (DamagedRun(tmp_path, "why"),), copies=2))
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (found["runs"], found["copies"], found["damaged"]) == (34, 2, [{"path": str(tmp_path), "reason": "why"}])
    assert found["method"] == {"level": 0.95, "power": 0.8, "fewest_units": 6}
    react, ridge = found["cells"]
    assert (react["agent"], react["model"], react["family"], ridge["agent"], ridge["model"]) == (
        "react",
        "m",
        "forecasting",
        "ridge",
        "-",
    )
    assert react["counts"] == {"scored": 16, "rejected": 1, "error": 0, "deferred": 0, "void": 0}
    assert react["success"] == pytest.approx(16 / 17)
    assert react["skill"] == {
        name: getattr(report.cells[0].skill, name) for name in ("value", "low", "high", "tasks", "over")
    }
    assert len(found["tasks"]) == 16
    (comparison,) = found["comparisons"]
    assert (comparison["a"], comparison["b"], comparison["tasks"]) == (["react", "m"], ["ridge", "-"], 8)
    assert comparison["sentence"] == report.comparisons[0].sentence
    by_state = {one["state"]: one for one in found["failures"]}
    assert (by_state["error"]["boundary"], by_state["rejected"]["boundary"]) == ("verifier", "agent")
    assert by_state["rejected"]["reason"].startswith("a reason xxx")
    assert len(by_state["rejected"]["reason"]) == REASON_LENGTH


def test_csv_is_read_back():
    report = make_report(runs(*some(), scored(0.5, agent='=1+1,"x"\n', task="ou-generation")))
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(lines) == len(report.cells)
    for line, cell in zip(lines, report.cells, strict=True):
        assert (line["data_kind"], line["family"], int(line["tasks"])) == (cell.data_kind, cell.family, cell.tasks)
        assert (float(line["skill"]) if line["skill"] else None) == cell.skill.value
        assert (float(line["usd_per_success"]) if line["usd_per_success"] else None) == cell.cost.usd
    # A spreadsheet must not run a name.
    assert {line["agent"] for line in lines} == {"react", "ridge", '\'=1+1,"x"\n'}


def test_a_report_depends_on_its_runs_and_not_on_their_order():
    results = some()
    report = make_report(runs(*results))
    shuffled = random.Random(1).sample(results, len(results))
    again = make_report(runs(*sorted(shuffled, key=lambda run: (run.task, run.agent, run.seed)))).to_dict()
    assert json.dumps(again) == json.dumps(
        make_report(runs(*sorted(results, key=lambda run: (run.task, run.agent, run.seed)))).to_dict()
    )
    # Another agent beside it changes no figure of this one.
    alone = make_report(runs(*(run for run in results if run.agent == "react")))
    assert alone.cells == tuple(cell for cell in report.cells if cell.row[0] == "react")
    assert alone.tasks == tuple(cell for cell in report.tasks if cell.row[0] == "react")


@pytest.mark.parametrize("by", [(), ("agent", "agent")])
def test_rows_need_fields_each_once(by):
    with pytest.raises(UsageError, match="grouped by"):
        make_report(runs(*some()), by)


def test_a_table_says_what_is_lacking():
    results = [
        scored(0.5, agent="few"),
        *(failed("rejected", agent="nop", task=task) for task in TASKS),
        failed("error", agent="ours"),
    ]
    table = skill_table(make_report(runs(*results), ("agent",)), "real")
    column = table.columns.index("skill")
    said = {row[0]: row[column : column + 2] for row in table.rows}
    assert said == {"few": ("+0.500", "too few to say"), "nop": ("never scored", ""), "ours": ("no run judged", "")}
    one = [scored(0.5, seed=seed, relative_interval=(0.4, 0.625)) for seed in range(6)]
    shown = skill_table(make_report(runs(*one), ("agent",)), "real").rows[0][column + 1]
    assert shown == "+0.375 to +0.600, these tasks alone"
    assert {row[0]: row[table.columns.index("left out")] for row in table.rows} == {
        "few": "",
        "nop": "",
        "ours": "1 error",
    }


def test_every_kind_of_data_has_its_place():
    assert sorted(KINDS) == sorted(get_args(DataKind))
    assert sorted(["else", "simulated", "real with hindsight", "real"], key=kind_order) == [
        "real",
        "simulated",
        "real with hindsight",
        "else",
    ]


def test_tables_are_rectangular():
    report = make_report(runs(*some()))
    for table in (skill_table(report, "real"), task_table(report, "real")):
        assert {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0%"), (1e-4, "<1%"), (0.5, "50%"), (0.9999, "99%"), (1.0, "100%")]
)
def test_only_all_is_all_and_only_none_is_none(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (0.04, "0.0400"),
        (25.04, "25.0"),
        (123.4, "123"),
        (999.7, "1,000"),
        (123456.0, "123,456"),
        (1e-5, "1.00e-05"),
    ],
)
def test_figures_have_three_digits(value, text):
    assert figure(value) == text


def every_caution(*results, made=None):
    return [(one.concern, one.sentence) for one in make_report(FoundRuns(results, configs=made or {})).cautions]


def cautions(*results, made=None):
    """Without that on unknown builds, which the made-up tasks of these tests are."""
    return [(concern, sentence) for concern, sentence in every_caution(*results, made=made) if concern != "skill"]


def test_builds_of_which_nothing_without_skill_is_recorded_are_named():
    ((concern, sentence),) = every_caution(scored(0.5), scored(0.5, seed=1))
    assert concern == "skill"
    assert "not recorded what answers without skill reach on this build of 1 task (treasury-forecast)" in sentence


def test_rounded_results_are_said_to_be():
    assert cautions(scored(0.5, disclosure="full")) == []
    ((concern, sentence),) = cautions(scored(0.5, disclosure="full"), scored(0.5, seed=1, disclosure="rounded"))
    assert concern == "disclosure"
    assert "1 of 2 runs are shown no finer than their sampling error" in sentence


def test_agents_of_one_name_that_are_not_the_same_are_said_to_be_pooled():
    first, second, other = scored(0.5), scored(0.6, seed=1), scored(0.5, agent="naive")
    ours = failed("error", seed=2)
    others = [failed("error", agent="naive", seed=seed) for seed in (1, 2)]
    made = {
        run.rollout_id: RunConfig(setting=name)
        for run, name in ((first, "a"), (second, "b"), (other, "c"), (ours, "d"))
    }
    ((concern, sentence),) = cautions(first, second, other, ours, *others, made=made)
    assert concern == "settings"
    assert "ridge on real data pools 2 settings" in sentence
    # A run that does not state its setting says nothing.
    assert cautions(first, second, made={first.rollout_id: RunConfig("a"), second.rollout_id: RunConfig()}) == []


def test_a_report_says_what_it_is_about(tmp_path):
    old, new, silent = write(tmp_path / "my-runs", *(scored(0.5, agent="react", model="m", seed=n) for n in range(3)))
    for folder, version in ((old, "0.0.9"), (new, "0.1.0")):
        config = {"openfingym": version, "base_url": f"http://{version}/v1"}
        (folder / "config.json").write_text(json.dumps(config))
    (silent / "config.json").unlink()
    before = datetime.now(UTC).replace(microsecond=0)
    report = make_report(find_runs([tmp_path / "my-runs"]))
    told = report.to_dict()
    assert before <= datetime.fromisoformat(str(told["made_at"])) <= datetime.now(UTC)
    assert told["folders"] == [str(tmp_path / "my-runs")]
    assert (told["openfingym"], told["versions"]) == (__version__, {"0.0.9": 1, "0.1.0": 1})
    page = render(report)
    for text in (*told["folders"], told["made_at"], __version__, "0.0.9 (1), 0.1.0 (1)", "m (http://0.0.9/v1)"):
        assert str(text) in page


def test_a_model_is_named_with_every_endpoint_that_it_was_asked_at():
    asked = [scored(0.5, agent="react", model=model, seed=seed) for model in ("a", "stand-in/b") for seed in range(2)]
    made = {
        run.rollout_id: RunConfig(endpoint=endpoint)
        for run, endpoint in zip(asked, ("http://one/v1", "http://two/v1", None, None), strict=True)
    }
    report = make_report(FoundRuns((*asked, scored(0.5)), configs=made))
    assert [(one.model, one.where, one.runs) for one in report.models] == [
        ("a", "http://one/v1", 1),
        ("a", "http://two/v1", 1),
        ("stand-in/b", "started for each rollout", 2),
    ]
    assert "http://two/v1" in render(report)
    assert report.to_dict()["models"][0] == {"model": "a", "endpoint": "http://one/v1", "runs": 1}
    ((concern, sentence),) = cautions(*asked, made=made)
    assert concern == "endpoints"
    assert "react / a on real data pools rollouts of a at 2 endpoints (http://one/v1, http://two/v1)" in sentence
    assert cautions(*asked, made={asked[0].rollout_id: made[asked[0].rollout_id]}) == []


def test_unlike_environments_are_said_of_all_rows_together():
    first, second = scored(0.5), scored(0.5, agent="naive")
    made = {first.rollout_id: RunConfig(environment="a"), second.rollout_id: RunConfig(environment="b")}
    ((concern, sentence),) = cautions(first, second, made=made)
    assert (concern, "programs ran in 2 environments" in sentence) == ("environments", True)
    assert cautions(first, scored(0.5, data_kind="simulated"), made=made) == []
    same = {run.rollout_id: RunConfig(environment="a") for run in (first, second)}
    assert cautions(first, second, made=same) == []


def test_rows_of_unlike_tasks_are_said_to_be():
    both = [scored(0.5, agent=agent, task=task) for agent in ("a", "b") for task in TASKS]
    assert cautions(*both) == []
    ((concern, sentence),) = cautions(*both[1:], failed("error", agent="a", task=TASKS[0]))
    assert concern == "tasks"
    assert f"of {len(TASKS) - 1} to {len(TASKS)} of {len(TASKS)}" in sentence


def test_runs_that_a_row_lacks_are_said_to_be_missing():
    """Whoever takes the failures of an agent away leaves a gap, whatever they were."""
    full = [scored(0.5, agent=agent, task=task, seed=seed) for agent in "ab" for task in TASKS[:2] for seed in range(3)]

    def said(*results):
        return [one.sentence for one in make_report(runs(*results), by=("agent",)).cautions if one.concern == "runs"]

    assert said(*full) == []
    # A failure of ours is no gap, as it is there to be seen.
    assert said(*full[:-1], failed("error", agent="b", task=TASKS[1], seed=2)) == []
    (sentence,) = said(*full[:-1])
    assert sentence == (
        "On real data the rows are not of the same seeds and attempts: 1 run that others have is not there (such as "
        f"seed 2 of b on {TASKS[1]}), and may have been taken away; the comparisons in pairs take common seeds alone"
    )
    again = scored(0.5, agent="a", task=TASKS[0], attempt=1)
    (sentence,) = said(*full, again)
    assert "3 runs that others have are not there (such as seed 0, attempt 1 of a on" in sentence
    # Of one row alone, too.
    assert "1 run that others have" in said(*full[:5])[0]
    # Tasks that a row lacks wholly are another caution.
    assert said(*full[:9]) == []


def test_a_baseline_with_fewer_seeds_lacks_nothing_as_long_as_its_runs_say_the_same():
    full = [scored(0.5 + 0.1 * seed, agent="mine", task=TASKS[0], seed=seed) for seed in range(4)]

    def warns(*results):
        return "runs" in [one.concern for one in make_report(runs(*full, *results), by=("agent",)).cautions]

    alike = [scored(1.0, agent="naive", task=TASKS[0], seed=seed) for seed in range(2)]
    assert not warns(*alike)
    assert not warns(alike[0])
    # Seeds that differ may have been chosen, a failure may not have been the only one, and names prove nothing.
    assert warns(scored(1.0, agent="gbm", task=TASKS[0]), scored(0.9, agent="gbm", task=TASKS[0], seed=1))
    assert warns(failed("rejected", agent="naive", task=TASKS[0]))
    assert warns(scored(1.0, agent="else", task=TASKS[0]))
    assert warns(scored(1.0, agent="naive", task=TASKS[0], model="m"))
    assert warns(scored(1.0, agent="naive", task=TASKS[0], isolation="outside"))
    # Others that lack a run are named as before.
    fewer = make_report(runs(*full, *alike, *full[:2], scored(0.5, agent="b", task=TASKS[0])), by=("agent",))
    (sentence,) = [one.sentence for one in fewer.cautions if one.concern == "runs"]
    assert "3 runs that others have are not there (such as seed 1 of b on" in sentence


def test_tasks_whose_data_is_not_known_are_named():
    ((concern, sentence),) = cautions(scored(0.5), scored(0.5, task="gone"), scored(0.5, task="lost"))
    assert concern == "datasets"
    assert "2 tasks are not in the catalogue here (gone, lost), and taken to be on data of their own" in sentence
    # Of a single task there are no others with which it may share data.
    assert cautions(scored(0.5, task="gone")) == []


def test_what_the_verifier_flagged_is_said():
    flagged = [scored(0.5, seed=seed, flags=("probing",)) for seed in range(2)]
    assert cautions(*flagged, scored(0.5, seed=2)) == [
        ("flags", "2 runs of ridge on real data: flagged by the verifier as probing; read what the agent did")
    ]


def test_advantages_within_sampling_error_are_said_to_be():
    unsure = [scored(0.9, seed=seed, relative_interval=(0.7, 1.2)) for seed in range(2)]
    others = [
        scored(0.5, seed=2, relative_interval=(0.4, 0.6)),
        scored(1.1, seed=3, relative_interval=(0.9, 1.3)),
        scored(0.9, seed=4),
    ]
    ((concern, sentence),) = cautions(*unsure, *others)
    assert concern == "sampling"
    assert sentence.startswith(
        "Of the 3 runs of ridge on real data with less loss than the baseline, 2 are within sampling error"
    )
    assert cautions(*others) == []


def test_the_table_of_tasks_shows_the_interval_over_the_items_of_each():
    one, two = TASKS[:2]
    report = make_report(runs(scored(0.5, task=one, relative_interval=(0.4, 0.7)), scored(0.5, task=two)))
    intervals = {
        row[0]: row[task_table(report, "real").columns.index("95 % interval")]
        for row in task_table(report, "real").rows
    }
    assert intervals == {one: "+0.300 to +0.643", two: "too few to say"}


def test_rows_of_too_few_tasks_rank_below_those_of_enough():
    results = [scored(0.9, agent="many", task=task) for task in TASKS]
    results += [scored(0.1, agent="often", seed=seed, relative_interval=(0.1, 0.1)) for seed in range(6)]
    results += [scored(0.01, agent="once"), failed("rejected", agent="never"), scored(0.8, agent="best", task="gone")]
    results += [scored(0.8, agent="best", task=task) for task in TASKS]
    found = [cell.row[0] for cell in overall(make_report(runs(*results), ("agent",)), "real")]
    assert found == ["best", "many", "once", "often", "never"]


def test_comparisons_that_cannot_be_made_are_counted_and_not_said():
    long, short = (
        [scored(loss, agent=agent, task=task) for agent, loss in (("a", 0.5), ("b", 1.0))] for task in ("x", "y")
    )
    able = [
        scored(loss, agent=agent, task=task) for task in TASKS for agent, loss in (("a", 0.5), ("b", 1.0), ("c", 2.0))
    ]
    sentences, rest = comparisons_in_words(make_report(runs(*able, scored(0.5, agent="d")), ("agent",)), "real", 2)
    assert (len(sentences), rest) == (2, "1 more, 3 too few to say; all are in the JSON.")
    sentences, rest = comparisons_in_words(make_report(runs(*long, *short), ("agent",)), "real", 2)
    assert (len(sentences), rest) == (1, "")
    assert comparisons_in_words(make_report(runs(*able), ("agent",)), "no such kind", 2) == ([], "")


def test_tapes_do_not_share_a_row_in_silence():
    given, fresh, twin = scored(0.5, seed=1), scored(0.5, seed=2, tape="fresh"), scored(0.5, seed=3, tape="twin")
    assert cautions(given) == cautions(fresh) == []
    ((concern, sentence),) = cautions(given, fresh)
    assert concern == "tapes"
    assert "1 fresh, 1 given" in sentence
    ((concern, sentence),) = cautions(twin)
    assert concern == "tapes"
    assert "1 of 1 runs were on twins" in sentence
    assert [concern for concern, _ in cautions(given, twin)] == ["tapes", "tapes"]


def test_what_may_be_memory_is_scored_apart(tmp_path):
    """A replayed run is in no figure, rank or comparison of the others, and in a table of its own."""
    fresh = [scored(0.9, task=task, agent=agent, seed=1) for task in TASKS[:2] for agent in ("x", "y")]
    again = [
        scored(0.1, task=TASKS[0], agent="x", replayed=True, shown_before=2, policy="strict"),
        # It was filed before, but what is not isolated may remember.
        scored(0.2, task=TASKS[0], agent="z", shown_before=1, policy="strict", isolation="outside"),
    ]
    known = [scored(0.3, task=TASKS[1], agent="x", shown_before=5, policy="local", isolation="outside", seed=2)]
    write(tmp_path / "fresh", *fresh, *known)
    write(tmp_path / "again", *again)
    alone, found = (find_runs([tmp_path / name for name in names]) for names in (["fresh"], ["fresh", "again"]))
    assert len(found.results) == 5, "what a local verifier counts leaves every report as it is"
    report, before = make_report(found), make_report(alone).to_dict()
    assert {name: report.to_dict()[name] for name in ("cells", "tasks", "comparisons")} == {
        name: before[name] for name in ("cells", "tasks", "comparisons")
    }
    assert [(cell.row, cell.task, cell.skill.value) for cell in report.replayed] == [
        (("x", "-"), TASKS[0], pytest.approx(0.9)),
        (("z (outside)", "-"), TASKS[0], pytest.approx(0.8)),
    ]
    assert [caution.concern for caution in report.cautions].count("replayed") == 1
    assert "Replayed, not ranked" in render(report, found.results, ["p"] * len(found.results))
    only = make_report(find_runs([tmp_path / "again"]))
    assert (only.cells, len(only.replayed)) == ((), 2)
    assert "Replayed, not ranked" in render(only, (), [])
