"""Finished trading runs as a Minari dataset: what the agent saw and did, and nothing more.

Attacks: a dataset of a run that stopped early, of the oracle's run, or of changed actions, which got hidden bars that
no agent saw, or rewards that were not earned, into training data.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

import openfingym
from openfingym.cli import cli
from openfingym.envs.offline import seen_episodes, to_minari
from openfingym.errors import StoreError, UsageError

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("runs")
    found = {}
    for agent in ("momentum", "cash"):
        result = openfingym.run("equity-trading", agent, backend="sandbox", out=out)
        assert result.path is not None, result.reason
        found[agent] = result.path
    return found


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


def idle(run: Path, to: Path) -> tuple[Path, list[dict[str, object]]]:
    """A copy of a run that did nothing, and actions of its second episode that do nothing."""
    steps = [{"action": None, "episode": 1, "fold": "private", "number": 1, "step": step + 1} for step in range(200)]
    return Path(shutil.copytree(run, to / "copy")), steps


def written(folder: Path, actions: list[dict[str, object]]) -> Path:
    (folder / "actions.jsonl").write_text("".join(f"{json.dumps(action)}\n" for action in actions), encoding="utf-8")
    return folder


@pytest.mark.sandbox
def test_a_run_is_a_dataset(runs: dict[str, Path], local: Path) -> None:
    name = "equity-trading/momentum-v0"
    arguments = ["export", "minari", str(runs["momentum"]), "--name", name, "--author", "me", "--json"]
    arguments += ["--task", "equity-trading"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    none = CliRunner().invoke(cli, [*arguments[:3], "--name", "equity-trading/none-v0", "--task", "fx-forecast"])
    assert "no run of 'fx-forecast' in" in str(none.exception)
    dataset = minari.load_dataset(name)
    assert (told["episodes"], told["steps"], told["data_kind"]) == (5, 1000, "real")
    assert (dataset.total_episodes, dataset.total_steps) == (5, 1000)
    assert dataset.storage.metadata["author"] == {"me"}
    assert "bokeh" in dataset.storage.metadata["licence"]
    assert gymnasium.make(dataset.env_spec).observation_space.shape == dataset.observation_space.shape
    first = dataset[0]
    actions = [json.loads(line)["action"] for line in (runs["momentum"] / "actions.jsonl").read_text().splitlines()]
    with openfingym.make("equity-trading", split="test", action="weights") as env:
        assert env.observation_space == dataset.observation_space
        assert env.action_space == dataset.action_space
        observation, _ = env.reset(seed=0)
        for step in range(30):
            assert np.array_equal(observation, first.observations[step])
            held = actions[step] is None
            assert held == first.infos["held"][step + 1]
            if not held:
                assert np.array_equal(first.actions[step], actions[step]["weights"])
            shown = env._hidden.step(actions[step])
            observation = env._observed(shown)
            assert shown.reward == first.rewards[step]
    record = np.load(runs["momentum"] / "submissions" / "1.npy")[2:]
    for episode, kept in zip(dataset.iterate_episodes(), record, strict=True):
        assert math.isclose(episode.rewards.sum(), math.log(kept[-1, 0] / kept[0, 0]), abs_tol=1e-9)
        assert (episode.truncations.sum(), bool(episode.truncations[-1]), episode.terminations.any()) == (
            1,
            True,
            False,
        )
    with pytest.raises(UsageError, match="already"):
        to_minari([runs["momentum"]], name)


@pytest.mark.sandbox
def test_no_bar_after_the_agents_last_action_gets_out(runs: dict[str, Path], local: Path) -> None:
    folder, actions = idle(runs["cash"], local)
    _, (whole, *_) = seen_episodes(written(folder, actions))
    _, seen = seen_episodes(written(folder, actions[:5]))
    assert [len(episode.rewards) for episode in seen] == [5]
    assert np.array_equal(seen[0].observations, whole.observations[:6])
    assert (seen[0].truncations, any(seen[0].terminations)) == ([False] * 4 + [True], False)
    dataset = to_minari([folder], "equity-trading/stopped-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (1, 5)


@pytest.mark.sandbox
def test_what_cannot_be_exported_is_named(runs: dict[str, Path], local: Path) -> None:
    folder, actions = idle(runs["cash"], local)
    with pytest.raises(UsageError, match="sent orders"):
        seen_episodes(written(folder, [{**actions[0], "action": {"orders": []}}, *actions[1:]]))
    with pytest.raises(StoreError, match="comes out differently"):
        seen_episodes(written(folder, [{**actions[0], "action": {"weights": [1.0, 0.0, 0.0]}}, *actions[1:]]))
    with pytest.raises(UsageError, match="no episode was played"):
        to_minari([written(folder, [])], "equity-trading/nothing-v0")
    result = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**result, "agent": "oracle"}))
    with pytest.raises(UsageError, match="oracle"):
        seen_episodes(written(folder, actions))
    (folder / "result.json").write_text(json.dumps({**result, "task_digest": "0" * 64}))
    with pytest.raises(UsageError, match="one build of one task"):
        to_minari([runs["cash"], folder], "equity-trading/both-v0")
    assert not (local / "minari" / "equity-trading").exists(), "nothing is left of what failed"


@pytest.fixture
def collected(local: Path) -> Iterator[object]:
    pytest.importorskip("jax")
    env = minari.DataCollector(openfingym.make("crypto-trading", action="weights", steps=20), record_infos=False)
    for seed in range(3):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample() / 10)
            over = terminated or truncated
    yield env
    env.close()


@pytest.mark.filterwarnings("ignore")  # Minari's, on what the dataset does not state
def test_episodes_of_a_policy_are_collected(collected: object) -> None:
    create = collected.create_dataset  # type: ignore[attr-defined]
    dataset = create("crypto-trading/random-v0", algorithm_name="random")
    assert (dataset.total_episodes, dataset.total_steps) == (3, 60)
    env = dataset.recover_environment()
    observation, _ = env.reset(seed=1)
    assert np.array_equal(observation, dataset[1].observations[0])
    observation, reward, *_ = env.step(dataset[1].actions[0])
    assert (reward, observation.tolist()) == (dataset[1].rewards[0], dataset[1].observations[1].tolist())
