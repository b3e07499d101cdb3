"""Rollouts on instances: what is kept of them, what their agents see, and that none becomes a score."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import openfingym
from openfingym.adversarial.marks import skill_of
from openfingym.agents import Agent, resolve
from openfingym.cli import cli
from openfingym.errors import ReceiptError, UsageError
from openfingym.instances import build_instance
from openfingym.packages.package import BuiltPackage
from openfingym.reports.runs import find_runs
from openfingym.results import RolloutResult, read_run
from openfingym.rollouts import Plan, RunFolder, select
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.rollouts.selection import expand
from openfingym.verifiers.receipt_check import check_run

TASK = "treasury-forecast"
LOOKING = """
import os, interface
seen = []
for place, folders, files in os.walk("/", followlinks=False):
    if place == "/":
        folders[:] = [name for name in folders if name not in {"proc", "sys", "dev", "usr", "lib", "lib64", "opt"}]
    seen += [os.path.join(place, name) for name in files if name.endswith(".npy") or name == "truth.json"]
print(*sorted({os.path.basename(path) for path in seen}))
print([path for path in seen if "truth" in path], next(iter(interface.iter_test())).inputs.shape)
"""


@pytest.fixture(scope="module")
def launcher(treasury: BuiltPackage) -> Iterator[Launcher]:
    with Launcher([treasury], backend="inline") as running:
        yield running


@pytest.fixture(scope="module")
def trained(launcher: Launcher, treasury: BuiltPackage, tmp_path_factory: pytest.TempPathFactory) -> RolloutResult:
    """A kept rollout of the oracle on an instance."""
    out = tmp_path_factory.mktemp("runs")
    return launcher.run(treasury, resolve("oracle"), RolloutOrder(split="train", instance=3), out=out)


@pytest.fixture
def copied(trained: RolloutResult, tmp_path: Path) -> Path:
    assert trained.path is not None
    return Path(shutil.copytree(trained.path, tmp_path / "runs" / trained.path.name))


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=True)


def test_a_result_says_what_it_is_of(trained: RolloutResult, treasury: BuiltPackage, tmp_path: Path) -> None:
    instance = build_instance(treasury, "train", 3, tmp_path)
    assert (trained.state, trained.split, trained.instance) == ("scored", "train", 3)
    assert trained.relative_total == pytest.approx(0.01), "the oracle's, on the labels of the instance"
    assert trained.task_digest == instance.manifest.digest
    assert trained.path is not None
    config = json.loads((trained.path / "config.json").read_text())
    assert (config["split"], config["instance"], config["task_digest"]) == ("train", 3, trained.task_digest)
    assert read_run(trained.path) == trained
    assert check_run(trained.path).verified["split"] == "train"
    assert "train instance 3: no score" in trained._repr_html_()
    assert skill_of(trained) is None


def test_results_of_before_are_of_the_test(copied: Path) -> None:
    document = json.loads((copied / "result.json").read_text())
    del document["split"], document["instance"]
    assert (RolloutResult.from_dict(document).split, RolloutResult.from_dict(document).instance) == ("test", None)


def test_a_report_refuses_it_and_a_table_says_what_it_is(copied: Path) -> None:
    with pytest.raises(UsageError, match="1 of 1 runs were on instances cut from training data"):
        find_runs([copied.parent])
    (row,) = openfingym.read_runs(copied.parent).to_dict("records")
    assert (row["split"], row["instance"]) == ("train", 3)
    assert "no score" in str(invoke("report", copied.parent).exception)


@pytest.mark.parametrize("renamed", [False, True])
def test_a_training_result_that_says_it_is_a_score(copied: Path, renamed: bool) -> None:
    changed(copied / "result.json", split="test", instance=None)
    changed(copied / "config.json", split="test", instance=None)
    folder = copied.rename(copied.with_name("ridge-s0-a0-0123456789abcdef")) if renamed else copied
    found = find_runs([folder.parent])
    assert not found.results
    assert "split test, and verified.json train: one was changed" in found.damaged[0].reason
    with pytest.raises(ReceiptError, match="says split = 'test', the verifier 'train'"):
        check_run(folder)
    # The verifier's own document cannot say otherwise: the log has its digest.
    changed(folder / "verified.json", split="test", instance=None)
    assert not any(config.backed for config in find_runs([folder.parent]).configs.values())
    with pytest.raises(ReceiptError, match=r"verified\.json is not the result"):
        check_run(folder)


def test_a_training_result_under_the_digest_of_the_task(copied: Path, treasury: BuiltPackage) -> None:
    changed(copied / "result.json", task_digest=treasury.manifest.digest)
    assert "another task digest than verified.json" in find_runs([copied.parent]).damaged[0].reason


@pytest.mark.sandbox
def test_an_agent_sees_the_instance_and_nothing_else(treasury: BuiltPackage) -> None:
    said = []
    with Launcher([treasury], backend="sandbox") as launcher:
        for _ in range(2):
            launcher.run(
                treasury,
                Agent("looking", "program", LOOKING),
                RolloutOrder(split="train", instance=3),
                hooks=RolloutHooks(ended=lambda outcome: said.append(outcome.output.decode())),
            )
        with launcher.instances.hold(treasury, "train", 3) as package:
            shape = (1, *package.contract["window"]["inputs"]["shape"])
        assert launcher.instances.built == 1
    assert said[0] == said[1]
    names, found = said[0].splitlines()
    assert names.split() == ["train_inputs.npy", "train_targets.npy", "train_times.npy"]
    assert found == f"[] {shape}"


def test_a_group_shares_one_instance_and_nothing_stays(
    treasury: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    with Launcher([treasury], backend="inline") as launcher:

        def rollout(seed: int) -> str:
            return launcher.run(
                treasury, resolve("naive"), RolloutOrder(seed=seed, split="train", instance=8)
            ).task_digest

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(rollout, range(4)))) == 1
        assert launcher.instances.built == 1
    assert not list((tmp_path / ".instances").iterdir())


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"split": "train"}, "say which"),
        ({"instance": 1}, "leave out the instance"),
        ({"split": "train", "instance": 10_000}, "numbered from 0 to 9999"),
        ({"split": "practice", "instance": 1}, "one of train, validation"),
    ],
)
def test_what_cannot_be_run(launcher: Launcher, treasury: BuiltPackage, place: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        launcher.run(treasury, resolve("naive"), RolloutOrder(**place))  # type: ignore[arg-type]


def test_a_plan_of_instances(treasury: BuiltPackage) -> None:
    stated = {"tasks": [TASK], "agents": ["naive"], "seeds": 2, "split": "train"}
    plan = Plan.make({**stated, "instances": "4:6"})
    assert plan.instances == (4, 5)
    assert Plan.make({**stated, "instances": 3}).instances == (0, 1, 2)
    assert Plan.make({**stated, "instances": [7, 5]}).instances == (7, 5)
    specs = expand(plan, select(plan), {TASK: treasury.manifest.digest})
    assert [(spec.instance, spec.seed) for spec in specs] == [(4, 0), (4, 1), (5, 0), (5, 1)]
    assert len({spec.identity for spec in specs}) == 4
    assert "naive-train-4-s0-a0-" in specs[0].folder
    for wrong in ({}, {"instances": "6:4"}, {"instances": "x"}, {"instances": [-1]}, {"instances": "0:10001"},
                  {"instances": 1, "fresh": True}, {"instances": 1, "split": "test"}):  # fmt: skip
        with pytest.raises(UsageError, match=r"instances|split"):
            Plan.make({**stated, **wrong})


def test_rollouts_of_the_test_keep_their_identity(treasury: BuiltPackage) -> None:
    plan = Plan.make({"tasks": [TASK], "agents": ["naive"]})
    (spec,) = expand(plan, select(plan), {TASK: treasury.manifest.digest})
    assert not {"split", "instance"} & spec.inputs.keys()


def test_the_commands(treasury: BuiltPackage, tmp_path: Path) -> None:
    where = ("--split", "train", "--instance", "3")
    shown = invoke("task", "show", TASK, *where)
    assert shown.exit_code == 0, shown.output
    assert "This is a part of the training data" in shown.output
    contract = json.loads(invoke("task", "show", TASK, *where, "--json").stdout)
    assert contract["submission_shape"]
    assert contract["digest"] != treasury.manifest.digest
    out = tmp_path / "runs"
    ran = invoke("run", TASK, "--backend", "inline", "--out", out, *where)
    assert ran.exit_code == 0, ran.output
    assert f"{TASK}: instance 3 of the split train, cut from training data: no score" in ran.output
    assert "leave out --fresh" in str(invoke("run", TASK, "--out", out, *where, "--fresh").exception)
    assert "say which" in str(invoke("run", TASK, "--out", out, "--split", "train").exception)
    group = invoke("rollout", "--tasks", TASK, "--agent", "naive", "--backend", "inline", "--split", "validation",
                   "--instances", "0:2", "--out", tmp_path / "group")  # fmt: skip
    assert group.exit_code == 0, group.output
    assert "instances of the split validation, cut from training data: no score" in group.output
    kept = [read_run(path.parent) for path in (tmp_path / "group").glob("*/*/result.json")]
    assert sorted((one.split, one.instance) for one in kept) == [("validation", 0), ("validation", 1)]
    assert len(RunFolder.look(tmp_path / "group").finished) == 2
