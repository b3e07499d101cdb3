"""Finished trading runs as a Minari dataset, for offline reinforcement learning (extra ``minari``).

A run's folder holds what its agent did, not what it saw. The observations are made again by playing the actions, and
the account that comes out must be the one that the verifier kept.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from openfingym.envs.hidden import HiddenEpisodes
from openfingym.envs.registration import spec_of
from openfingym.envs.trading_hidden import HiddenTradingEnv
from openfingym.errors import StoreError, UsageError
from openfingym.kinds import SequentialKind, kind_of
from openfingym.kinds.trading.kind import contract_of
from openfingym.reports.trading.replay import package_of, read_actions, replay
from openfingym.results import read_run
from openfingym.task.episodes import EpisodeStep
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult
    from openfingym.task.episodes import Step, SteppedEpisode


@dataclass
class SeenEpisode:
    """One episode as its agent saw it: n steps, and one observation more."""

    observations: list[NDArray[np.float32]] = field(default_factory=list)
    """Flat observations, float32[size] each."""
    actions: list[NDArray[np.float64]] = field(default_factory=list)
    """Target weights, float64[S] each; where the agent held, the weights that it had."""
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)
    infos: dict[str, list[Any]] = field(default_factory=lambda: {"equity": [], "held": [], "prices": []})


class _ReplayedEpisodes(HiddenEpisodes):
    """Hidden episodes that are played again in this process, which holds the truth half of the package."""

    def __init__(self, package: BuiltPackage) -> None:
        super().__init__(package, fold="private")
        self._truth = package.read_truth()
        self._next = 0
        self._episode: SteppedEpisode | None = None

    def start(self, seed: int | None = None) -> EpisodeStep:
        """Begin the next private episode."""
        self._seed = seed or 0
        kind, manifest = kind_of(self.package.task), self.package.manifest
        assert isinstance(kind, SequentialKind)
        number = manifest.n_public + self._next
        self._episode = kind.episode(self.package.task.spec, self.package.array, self._truth, number)
        self._next += 1
        return self._shown(self._episode.start(), 0)

    def step(self, action: Mapping[str, object] | None) -> EpisodeStep:
        """Take one action again."""
        assert self._episode is not None
        assert self._last is not None
        return self._shown(self._episode.step(action), self._last.step + 1)

    def _shown(self, step: Step, number: int) -> EpisodeStep:
        self._last = EpisodeStep(
            self._next,
            "private",
            self._next - 1,
            self.package.manifest.n_private - self._next,
            number,
            step.observation,
            step.reward,
            step.terminated,
            step.truncated,
            step.info,
        )
        return self._last


class _ReplayedEnv(HiddenTradingEnv):
    """The environment of hidden bars, on episodes that are played again as they were."""

    def __init__(self, package: BuiltPackage, lookback: int) -> None:
        super().__init__(package, lookback=lookback)
        self._hidden = _ReplayedEpisodes(package)

    def replay(self, actions: Sequence[object]) -> SeenEpisode:
        """Play the next episode up to its last action, and no further.

        Args:
            actions: the actions that the agent took, as the verifier recorded them; None where it held.
        """
        seen = SeenEpisode()
        observation, info = self.reset()
        self._append(seen, observation, info, held=False)
        for number, action in enumerate(actions, 1):
            seen.actions.append(self._weights_of(action))
            # Not by ``step``: the episode gets the action as it was recorded, None included.
            shown = self._hidden.step(cast("Mapping[str, object] | None", action))
            observation, info = self._observed(shown), self._info(shown)
            self._append(seen, observation, info, held=action is None)
            seen.rewards.append(shown.reward)
            seen.terminations.append(shown.terminated)
            # An agent that stopped midway is cut off there.
            seen.truncations.append(shown.truncated or (number == len(actions) and not shown.terminated))
        return seen

    def _weights_of(self, action: object) -> NDArray[np.float64]:
        """The target weights of an action, float64[S]; where the agent held, the weights that it had."""
        if action is None:
            return np.array(self._weights, np.float64)
        weights = action.get("weights") if isinstance(action, Mapping) else None
        if weights is None:
            raise UsageError(
                "the run sent orders, which have no place in a Minari dataset of target weights; export runs of agents "
                "that state target weights"
            )
        return np.array([math.nan if weight is None else weight for weight in weights], np.float64)

    @staticmethod
    def _append(seen: SeenEpisode, observation: NDArray[np.float32], info: Mapping[str, Any], *, held: bool) -> None:
        seen.observations.append(observation)
        for name, value in (("equity", info["equity"]), ("prices", info["prices"]), ("held", held)):
            seen.infos[name].append(value)


def seen_episodes(folder: Path, *, lookback: int = 16) -> tuple[BuiltPackage, list[SeenEpisode]]:
    """The private episodes of a finished run as its agent saw them; an episode in which it did nothing is left out.

    Args:
        folder: folder of the run, on the machine that holds the truth half of its task.
        lookback: number of bars that an observation shows.

    Returns:
        The package of the run's task, and the episodes in order of time.

    Raises:
        StoreError: the folder is no run, or its actions do not lead to the account that the verifier kept.
        UsageError: the run is not of a trading task, has no score, was made with another build of its task, sent
            orders, or is the oracle's, whose actions tell of bars that no agent had seen.
    """
    result = read_run(folder)
    package = package_of(result)
    if result.agent == "oracle":
        raise UsageError(f"{folder}: the oracle's actions tell of bars that no agent had seen; export other runs")
    actions = read_actions(folder)
    env, seen = _ReplayedEnv(package, lookback), []
    for place, replayed in enumerate(replay(folder)):
        episode = env.replay(actions.get(place, ()))
        # To the last bit: a difference means that the actions or the bars are not those of the run.
        equity = replayed.trace.record[: len(episode.infos["equity"]), 0]
        if not np.array_equal(episode.infos["equity"], equity):
            raise StoreError(f"{folder}: the account of episode {place} differs from the one that was recorded")
        if episode.rewards:
            seen.append(episode)
    return package, seen


def to_minari(
    folders: Sequence[Path], name: str, *, author: str | None = None, lookback: int = 16, data_format: str = "hdf5"
) -> Any:
    """Write runs of one trading task into Minari's local datasets.

    Args:
        folders: folders of finished runs; each private episode of each becomes an episode of the dataset.
        name: id of the dataset, such as ``equity-trading/momentum-v0``.
        author: name of the dataset's author; None for an unknown one.
        lookback: number of bars that an observation shows.
        data_format: format of Minari's files, such as ``hdf5``.

    Returns:
        The ``minari.MinariDataset``.

    Raises:
        StoreError: a run cannot be played again as it was.
        UsageError: Minari is not installed or refuses the name, there is nothing to export, or the runs are not of one
            build of one trading task.
    """
    minari = import_minari()
    results = _runs_of_one_build(folders)
    played = [seen_episodes(folder, lookback=lookback) for folder in folders]
    episodes = [episode for _, of_run in played for episode in of_run]
    if not episodes:
        raise UsageError(
            "no episode was played in these runs; give the folders of trading runs in which an agent acted"
        )
    package = played[0][0]
    manifest, info = package.manifest, kind_of(package.task).load(package.task).info
    options = {"task": manifest.name, "split": "train", "action": "weights", "lookback": lookback}
    spaces = HiddenTradingEnv(package, lookback=lookback)
    symbols = contract_of(package.task.spec.contract).symbols
    kind = {"real": "Real data", "simulated": "SIMULATED data, not a real market"}.get(info.kind, "Synthetic data")
    # The training environment, which anybody can make: it has the same spaces as the hidden one.
    spec = spec_of(manifest.name, options)
    try:
        dataset = minari.create_dataset_from_buffers(
            name,
            _buffers(minari, episodes),
            env=spec,
            eval_env=spec,
            observation_space=spaces.observation_space,
            action_space=spaces.action_space,
            algorithm_name=", ".join(dict.fromkeys(result.agent for result in results)),
            author=author or "unknown",
            author_email=author or "unknown",
            code_permalink="unknown",
            description=(
                f"{kind}: {info.source}. Licence: {info.licence}. Trading of {', '.join(symbols)} in the private "
                f"episodes of {manifest.name!r}: what is trained on it must not be scored on that task."
            ),
            requirements=[f"openfingym=={__version__}"],
            data_format=data_format,
        )
    except ValueError as error:
        raise UsageError(f"Minari refuses the dataset {name!r}: {error}") from error
    dataset.storage.update_metadata(
        {
            "data_kind": info.kind,
            "licence": info.licence,
            "source": info.source,
            "task_digest": manifest.digest,
            "rollouts": [result.rollout_id for result in results],
        }
    )
    # Read again, so that the dataset has the metadata that were added last.
    return minari.MinariDataset(dataset.storage.data_path)


def _runs_of_one_build(folders: Sequence[Path]) -> list[RolloutResult]:
    """The results of runs.

    Raises:
        UsageError: the runs are not of one build of one task.
    """
    results = [read_run(folder) for folder in folders]
    if len({(result.task, result.task_digest) for result in results}) > 1:
        tasks = ", ".join(sorted({f"{result.task} ({result.task_digest[:12]})" for result in results}))
        raise UsageError(
            f"a dataset is of one build of one task; found {tasks}; choose one with --task, or give the folders of one "
            "build alone"
        )
    return results


def _buffers(minari: Any, episodes: Sequence[SeenEpisode]) -> list[Any]:
    """Episodes in the form that Minari takes."""
    return [
        minari.data_collector.EpisodeBuffer(
            id=number,
            observations=episode.observations,
            actions=episode.actions,
            rewards=episode.rewards,
            terminations=episode.terminations,
            truncations=episode.truncations,
            infos=episode.infos,
        )
        for number, episode in enumerate(episodes)
    ]


def import_minari() -> Any:
    """The package ``minari``.

    Raises:
        UsageError: it is not installed.
    """
    try:
        importlib.import_module("h5py")
        return importlib.import_module("minari")
    except ImportError as error:
        raise UsageError("Minari is not installed; pip install 'openfingym[minari]'") from error
