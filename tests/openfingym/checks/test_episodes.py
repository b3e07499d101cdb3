"""The check of a sequential task: each way in which an episode could show too much, planted, is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.checks.episodes import check_episodes
from openfingym.errors import TaskError
from openfingym.kinds import rolling
from openfingym.kinds.rolling import RollingEpisode
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import Step
from tests.openfingym.kinds.stepping import rolling_task


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltPackage:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    (tmp_path / "tasks").mkdir()
    return build(rolling_task(tmp_path / "tasks"))


def with_shown(change: Callable[[RollingEpisode, Step], Step]) -> type[RollingEpisode]:
    """An episode that alters each step before it shows it."""

    class Altered(RollingEpisode):
        def _shown(self, reward: float) -> Step:
            return change(self, super()._shown(reward))

    return Altered


def tomorrow(episode: RollingEpisode, step: Step) -> Step:
    """The bar after the current one, instead of the first of the lookback."""
    rows = episode._window.bars
    shown = rows[episode._done + 1 : episode._done + 1 + episode._contract.lookback]
    return replace(step, observation={"bars": shown.tolist()})


def hint(episode: RollingEpisode, step: Step) -> Step:
    """A number beside the bars that knows what comes."""
    return replace(step, observation={**step.observation, "hint": float(episode._window.bars[-1, 0, 3])})


def forward_reward(episode: RollingEpisode, step: Step) -> Step:
    """A reward that judges a forecast before its outcome is known."""
    last = max(episode._done - 1, 0)
    return replace(step, reward=-float(np.abs(episode._predictions[last] - episode._returns[last]).mean()))


def restless(episode: RollingEpisode, step: Step) -> Step:
    """A number that is another one each time."""
    return replace(step, info={**step.info, "noise": float(np.random.default_rng().random())})


def skipping(episode: RollingEpisode, step: Step) -> Step:
    """A running number that runs ahead."""
    index = int(step.info["time_index"])  # type: ignore[call-overload]
    return replace(step, info={**step.info, "time_index": 2 * index})


def endless(episode: RollingEpisode, step: Step) -> Step:
    """An episode that never says it is over."""
    return replace(step, truncated=False)


def unspeakable(episode: RollingEpisode, step: Step) -> Step:
    """A number that JSON does not have."""
    return replace(step, reward=float("inf"))


def test_a_sound_task_passes_and_each_episode_is_told(package: BuiltPackage) -> None:
    told: list[str] = []
    assert check_episodes(package, package.read_truth(), progress=told.append).startswith(
        "6 episodes, 60 steps in all, show what is hidden in the order of time"
    )
    assert [f"episode {number} of 6: its best actions" in told for number in range(1, 8)] == [True] * 6 + [False]


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        (tomorrow, "episode 0, step 0: the bars shown are not those up to row 5"),
        (hint, "episode 0, step 0: what is shown depends on rows that come later .*'time_index': 5,"),
        (forward_reward, "depends on rows that come later"),
        (restless, "episode 0, step 0: what is shown depends|not shown the same twice"),
        (skipping, "episode 0, step 0: the bars shown are not those up to row 10"),
        (endless, "episode 0 does not end after its 10 actions"),
        (unspeakable, "episode 0 shows something that is no JSON value: Out of range float values"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_defect_is_found(
    package: BuiltPackage, monkeypatch: pytest.MonkeyPatch, defect: Callable[[RollingEpisode, Step], Step], message: str
) -> None:
    monkeypatch.setattr(rolling, "RollingEpisode", with_shown(defect))
    with pytest.raises(TaskError, match=message):
        check_episodes(package, package.read_truth())


def test_an_oracle_that_is_not_what_its_actions_lead_to(package: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = rolling.KIND.oracle
    monkeypatch.setattr(rolling.KIND, "oracle", lambda *arguments: 1.001 * honest(*arguments))
    with pytest.raises(TaskError, match="its best actions do not lead to the outcome that the oracle has"):
        check_episodes(package, package.read_truth())


def test_episodes_that_leave_rows_out(package: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Callable[..., Any] = rolling.bar_episodes.window
    # Every second episode: bars between two of them would be seen for the first time as the context of the later one.
    monkeypatch.setattr(
        rolling.bar_episodes,
        "window",
        lambda c, h, number, tail: honest(c, h, 2 * number if number < 2 else number, tail),
    )
    with pytest.raises(TaskError):
        check_episodes(package, package.read_truth())


def test_an_outcome_that_moves_on_its_own(package: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Drifting(RollingEpisode):
        def outcome(self) -> np.ndarray:
            return super().outcome() + (0.1 if self._done == 0 else 0.0)

    monkeypatch.setattr(rolling, "RollingEpisode", Drifting)
    with pytest.raises(TaskError, match="an episode that nobody plays has another outcome"):
        check_episodes(package, package.read_truth())
