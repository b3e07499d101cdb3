"""Reading runs: everything is found once, and what is damaged is named."""

from __future__ import annotations

import json
import shutil

import pytest

from openfingym.errors import UsageError
from openfingym.reports.runs import find_runs
from openfingym.results.result import FORMAT
from tests.openfingym.reports.made import failed, scored, write


def change(folder, **changes):
    path = folder / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_runs_are_found_at_any_depth_whatever_path_leads_to_them(tmp_path):
    first, _ = write(tmp_path / "t4" / "ridge", scored(0.5), scored(0.6, seed=1))
    write(tmp_path / "t4" / "naive", failed("error", agent="naive"))
    (tmp_path / "t4" / "config.json").write_text("{}")
    found = find_runs([tmp_path, tmp_path / "t4", first, tmp_path / "t4" / ".." / "t4"])
    states = [(run.agent, run.seed, run.state) for run in found.results]
    assert states == [("naive", 0, "error"), ("ridge", 0, "scored"), ("ridge", 1, "scored")]
    assert found.results[1].path == first
    assert (found.damaged, found.copies) == ((), 0)


def test_what_is_being_written_is_not_read(tmp_path):
    (folder,) = write(tmp_path, scored(0.5))
    shutil.copytree(folder, tmp_path / f".{folder.name}.partial")
    (tmp_path / ".attic").mkdir()
    write(tmp_path / ".attic", scored(0.5, seed=1))
    assert len(find_runs([tmp_path]).results) == 1
    assert len(find_runs([tmp_path / ".attic"]).results) == 1


def test_a_copy_of_a_rollout_counts_once(tmp_path):
    (folder,) = write(tmp_path / "a", scored(0.5))
    shutil.copytree(folder, tmp_path / "b" / folder.name)
    found = find_runs([tmp_path])
    assert (len(found.results), found.copies) == (1, 1)


def test_a_failure_kept_beside_its_repetition_is_another_run(tmp_path):
    write(tmp_path / "first", failed("error"))
    write(tmp_path / "again", scored(0.5))
    assert sorted(run.state for run in find_runs([tmp_path]).results) == ["error", "scored"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "fine"}, "expected one of"),
        ({"relative_total": float("nan")}, "relative total"),
        ({"relative_total": 0.0}, "relative total"),
        ({"relative_total": 1e-300}, "relative total"),
        ({"relative_total": 0.0099}, "expected a number from 0.01 to 100"),
        ({"relative_total": 100.1}, "expected a number from 0.01 to 100"),
        ({"total": 1e300}, "its total is 1e+300"),
        ({"total": 10**400}, "its total is 1"),
        ({"relative_total": None}, "relative total"),
        ({"total": None}, "its total is None"),
        ({"total": True}, "its total is True"),
        ({"state": "rejected", "boundary": "agent"}, "it is rejected, and states a score"),
        (
            {"state": "void", "total": None, "relative_total": None, "relative_interval": [0.1, 0.2]},
            "it is void, and states a score",
        ),
        ({"task": None}, "names"),
        ({"model": 7}, "names"),
        ({"metrics": {"mae": "low"}}, "metrics"),
        ({"standard_errors": {"mae": None}}, "standard errors"),
        ({"relative_interval": [0.9, 0.1]}, "intervals"),
        ({"total_interval": [0.1]}, "intervals"),
        ({"relative_interval": 0.5}, "not a readable result"),
        ({"cost_usd": float("inf")}, "cost"),
        ({"cost_usd": -0.01}, "its cost_usd is -0.01, expected a number that is not below 0"),
        ({"wall_s": -1}, "its wall_s is -1"),
        ({"completion_tokens": -1}, "its completion_tokens is -1"),
        ({"wall_s": None}, "time"),
        ({"seed": "one"}, "seed"),
        ({"flags": None}, "not a readable result"),
        ({"format": FORMAT + 1}, "update openfingym"),
    ],
)
def test_a_damaged_result_is_named_and_in_no_figure(tmp_path, changes, words):
    good, bad = write(tmp_path, scored(0.5), scored(0.6, seed=1))
    change(bad, **changes)
    found = find_runs([tmp_path])
    assert [run.path for run in found.results] == [good]
    (damaged,) = found.damaged
    assert damaged.path == bad
    assert words in damaged.reason
    assert str(bad / "result.json") in damaged.reason


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"text"', "{}", "\x00\xff", "[" * 100_000])
def test_a_result_that_is_no_result_is_named(tmp_path, text):
    (bad,) = write(tmp_path, scored(0.5))
    (bad / "result.json").write_text(text)
    found = find_runs([tmp_path])
    assert (found.results, [one.path for one in found.damaged]) == ((), [bad])


def test_a_run_without_a_result_is_named(tmp_path):
    good, bad = write(tmp_path, scored(0.5), scored(0.6, seed=1))
    (bad / "result.json").unlink()
    found = find_runs([tmp_path])
    assert ([run.path for run in found.results], [one.path for one in found.damaged]) == ([good], [bad])


def test_nothing_to_report_on_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="no run was found"):
        find_runs([tmp_path])
    with pytest.raises(UsageError, match="is not a folder"):
        find_runs([tmp_path / "missing"])


def test_what_a_rollout_was_made_of_is_read_where_it_is_stated(tmp_path):
    folders = write(tmp_path, *(scored(0.5, seed=seed) for seed in range(6)))
    stated = [
        {
            "inputs": {"agent_digest": "x", "allowance": {"turns": 3}},
            "environment": {"digest": "e"},
            "base_url": "http://u:pw@h/v1",
        },
        {"inputs": {"allowance": {"turns": 3}, "agent_digest": "x"}, "environment": None},
        {"inputs": {"agent_digest": "y"}, "environment": {"image": "i"}},
        {"inputs": "text", "environment": "text"},
        ["base_url"],
    ]
    for folder, config in zip(folders, stated, strict=False):
        (folder / "config.json").write_text(json.dumps(config))
    (folders[5] / "config.json").write_text("{")
    found = find_runs([tmp_path])
    assert (len(found.results), found.damaged) == (6, ())
    made = [found.configs[run.rollout_id] for run in found.results]
    same, again, other, *silent = made
    assert same.setting == again.setting != other.setting
    assert [one.environment for one in made] == ["e", *[None] * 5]
    assert [one.endpoint for one in made] == ["http://h/v1", *[None] * 5]
    assert [one.setting for one in silent] == [None] * 3


@pytest.mark.parametrize("changes", [{"started_at": "2026-01-01T00:00:00Z", "attempt": 3}, {"relative_total": 0.1}])
def test_of_folders_that_differ_over_one_rollout_none_counts_without_a_receipt(tmp_path, changes):
    (folder,) = write(tmp_path / "a", scored(0.5))
    shutil.copytree(folder, tmp_path / "b" / folder.name)
    shutil.copytree(folder, tmp_path / "c" / folder.name)
    change(tmp_path / "b" / folder.name, **changes)
    found = find_runs([tmp_path])
    assert (found.results, found.copies) == ((), 0)
    assert [run.path.parent.name for run in found.damaged] == ["a", "b", "c"]
    assert all("no receipt says which is right" in run.reason for run in found.damaged)
