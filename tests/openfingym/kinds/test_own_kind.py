"""A kind of task that another distribution brings: one file, found by its entry point in every process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openfingym.agents import resolve, suited
from openfingym.agents.builtin import fitting
from openfingym.errors import TaskError, UsageError
from openfingym.kinds import KINDS, Kind, kind_of
from openfingym.kinds.forecast import kind as of_forecasts
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from openfingym.task.known_kinds import CONTRACTS, OWN, installed_kinds, register_contract

FILE = Path(__file__).with_name("own_kind.py")
Install = Callable[..., Path]

USE = """
import json, sys
import numpy as np
import openfingym
from click.testing import CliRunner
from openfingym.agents import fitting
from openfingym.cli import cli

new = CliRunner().invoke(cli, ["task", "new", "my-highs", "--kind", "highs"], catch_exceptions=False)
check = CliRunner().invoke(cli, ["task", "check", sys.argv[1], "--json"], catch_exceptions=False)
env = openfingym.make(sys.argv[1])
observation, info = env.reset(seed=0)
terminated = False
while not terminated:
    observation, reward, terminated, _, told = env.step(observation["inputs"][:, -1:])
env.close()
run = openfingym.run(sys.argv[1], agent="oracle", backend="inline")
naive = openfingym.run(sys.argv[1], agent="naive", backend="inline")
print(json.dumps({
    "naive": [naive.state, naive.reason or naive.relative_total], "fit": fitting(openfingym.load_task(sys.argv[1])),
    "new": new.output, "check": json.loads(check.stdout), "env": f"{type(env).__module__}:{type(env).__name__}",
    "kind": info["kind"], "state": told["state"], "relative": told["relative_total"],
    "oracle": [run.state, run.relative_total],
}))
"""


def write_distribution(folder: Path, entry: str, name: str = "highs", code: str = "") -> Path:
    """A folder that holds an installed distribution with this entry point; and this module, or that of the own kind."""
    info = folder / "own_kind-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-kind\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[openfingym.kinds]\n{name} = {entry}\n")
    if code:
        (folder / f"{entry.partition(':')[0]}.py").write_text(code)
    else:
        shutil.copy(FILE, folder / "own_kind.py")
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution onto the path of this process, until the test is over."""
    before, loaded = dict(CONTRACTS), dict(KINDS._loaded)

    def put(entry: str, **options: str) -> Path:
        folder = write_distribution(tmp_path / "site", entry, **options)
        monkeypatch.syspath_prepend(folder)
        installed_kinds.cache_clear()
        return folder

    yield put
    monkeypatch.undo()
    for held, kept in ((CONTRACTS, before), (KINDS._loaded, loaded)):
        held.clear()
        held.update(kept)  # type: ignore[arg-type]  # each its own
    sys.modules.pop("own_kind", None)
    installed_kinds.cache_clear()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Runs Python where the own kind is installed."""
    site = write_distribution(tmp_path / "site", "own_kind:KIND")
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "OPENFINGYM_HOME": str(tmp_path / "home")}

    def program(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], check=False, env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return program


def test_a_task_of_an_own_kind_is_written_checked_and_scored(run: Callable[..., str], tmp_path: Path) -> None:
    """Its contract, scaffold, arrays, checks, baseline, environment and scores: nothing of the library knows its
    name."""
    folder = tmp_path / "my-highs"
    found = json.loads(run("-c", USE, str(folder)).splitlines()[-1])
    assert "starts from your own CSV" in found["new"]
    assert 'baseline = "last price"' in (folder / "task.toml").read_text()
    assert json.dumps(found["check"]).count('"passed": true') > 8
    assert '"passed": false' not in json.dumps(found["check"])
    assert found["env"] == "own_kind:HighsEnv"
    assert (found["kind"], found["state"]) == ("highs", "scored")
    assert found["relative"] == pytest.approx(1.0)
    assert found["oracle"] == ["scored", pytest.approx(0.01)]
    # The kind's own program, which answers as its reference does; the library's knows no such task.
    assert found["naive"] == ["scored", pytest.approx(1.0)]
    assert found["fit"] == ["naive"]
    with pytest.raises(
        TaskError,
        match=r"contract\.kind: unknown kind 'highs'; known: array, curves, forecast, generation, graphs, live, nodes",
    ):
        Task.read(folder)


def test_keys_of_an_own_contract_are_checked(install: Install, tmp_path: Path) -> None:
    install("own_kind:KIND")
    config = new_task("my-highs", tmp_path, "highs") / "task.toml"
    assert kind_of(Task.read(config.parent)).name == "highs"
    config.write_text(config.read_text().replace("lookback = 10", "lokback = 10"))
    with pytest.raises(
        TaskError, match=r"contract\.lookback: required.*contract\.lokback: unknown key; did you mean 'lookback'"
    ):
        Task.read(config.parent)


def test_a_kind_is_loaded_when_it_is_named_and_listed_before(install: Install) -> None:
    install("own_kind:KIND")
    assert tuple(KINDS) == (*OWN, "array", "highs")  # the first of the tests' own
    assert "own_kind" not in sys.modules
    assert isinstance(KINDS["highs"], Kind)
    assert len(KINDS) == len(OWN) + 2
    with pytest.raises(KeyError):
        KINDS["lows"]


@pytest.mark.parametrize(
    ("entry", "options", "message"),
    [
        (
            "broken:KIND",
            {"code": "KIND = 1 / 0"},
            r"the kind 'highs' of own-kind .* cannot be loaded: division by zero",
        ),
        ("broken:KIND", {"code": "OTHER = 1"}, r"the kind 'highs' of own-kind .* cannot be loaded: .*KIND"),
        (
            "broken:KIND",
            {"code": "KIND = 1"},
            r"1 is no kind of task: its attribute 'contract' must be a subclass of Contract",
        ),
        ("own_kind:KIND", {"name": "lows"}, r"the entry point 'lows' of own-kind .* is a kind of another name"),
        ("own_kind:KIND", {"name": "forecast"}, r"the kind 'forecast' of own-kind .* has the name of another kind"),
    ],
)
def test_a_broken_distribution_is_named(
    install: Install, tmp_path: Path, entry: str, options: dict[str, str], message: str
) -> None:
    config = new_task("mine", tmp_path) / "task.toml"
    config.write_text(
        config.read_text().replace(
            'kind = "forecast"', f'kind = "{"lows" if options.get("name") == "lows" else "highs"}"'
        )
    )
    install(entry, **options)
    with pytest.raises(TaskError, match=message):
        Task.read(config.parent)
    sys.modules.pop("broken", None)


def test_a_kind_may_be_registered_in_a_process(install: Install) -> None:
    import tests.openfingym.kinds.own_kind as other

    KINDS.register(other.KIND)
    assert KINDS["highs"] is other.KIND
    with pytest.raises(UsageError, match="there is a kind 'highs' already"):
        KINDS.register(other.HighsKind())
    with pytest.raises(UsageError, match=r"expected an instance of a subclass of openfingym\.kinds\.Kind, found"):
        KINDS.register(other.HighsKind)  # type: ignore[arg-type]  # the class, and no instance
    with pytest.raises(UsageError, match="there is a kind 'forecast' already"):
        KINDS.register(of_forecasts.ForecastKind())


def test_without_a_naive_program_a_kind_is_not_run_with_another(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("own_kind:KIND")
    task = Task.read(new_task("my-highs", tmp_path, "highs"))
    assert suited(resolve("naive"), task).program == kind_of(task).naive_program
    monkeypatch.setattr(type(kind_of(task)), "naive_program", None)
    assert fitting(task) == []
    with pytest.raises(UsageError, match="'naive' knows no highs task: its kind brings no naive_program"):
        suited(resolve("naive"), task)
    with pytest.raises(UsageError, match="agents that fit are none of the built-in ones"):
        suited(resolve("ridge"), task)


def test_a_contract_states_one_kind(install: Install) -> None:
    from openfingym.task.contracts import Contract

    class Loose(Contract):
        pass

    class Brings:
        contract = Loose

    with pytest.raises(UsageError, match=r"Loose\.kind must be a Literal of the kind's name"):
        register_contract(Brings())
