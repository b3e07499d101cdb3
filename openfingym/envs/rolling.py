"""The Gymnasium environment of rolling-origin forecasts: predict, see the next bar, predict again."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from openfingym import catalog
from openfingym.envs.arguments import options_of, real_numbers
from openfingym.envs.hidden import Split
from openfingym.envs.stepped import SteppedEnv
from openfingym.errors import UsageError
from openfingym.kinds.bars.episodes import Window
from openfingym.kinds.rolling import RollingContract, RollingEpisode
from openfingym.packages.build import build
from openfingym.task import Task
from openfingym.task.episodes import Step

if TYPE_CHECKING:
    from openfingym.task.episodes import EpisodeStep

Observation = dict[str, NDArray[np.float64]]
Info = dict[str, object]

LARGEST = 1e18
"""Upper bound of prices and volumes in the observation space; none is larger."""


class RollingEnv(SteppedEnv[Observation, NDArray[np.float64]]):
    """Rolling-origin forecasts, step by step.

    ## Action space
    ``Box(low, high, (symbols,), float64)``: log return of each symbol's close over the next ``horizon`` bars.

    ## Observation space
    ``Dict`` with ``bars``: float64 (lookback, symbols, 5), open, high, low, close and volume of the last bars; the last
    row is the origin.

    ## Reward
    Minus the mean absolute error of the predictions whose horizon the newest bar completes; 0 before there are any.

    ## Episode end
    Truncated after ``steps`` predictions; never terminated.

    ## Arguments
    ``split``: ``train`` takes episodes from the training bars, which begin at random; ``practice`` and ``test`` step
    through the hidden ones behind the verifier, in order of time: those of the public fold, which do not count, and
    those of the private fold, each once. :meth:`result` then gives the verified score. ``fresh``: other hidden bars for
    each rollout (docs/serving.md).

    ## Version history
    v0: first version.
    """

    def __init__(self, task: str | Path | Task, *, split: Split = "train", fresh: bool = False) -> None:
        self.task = task if isinstance(task, Task) else catalog.load_task(task)
        contract = self.task.spec.contract
        if not isinstance(contract, RollingContract):
            raise UsageError(f"{self.task.name!r} is a {contract.kind} task; this environment is for rolling forecasts")
        super().__init__(build(self.task), split, fresh=fresh)
        self._contract = contract
        shape = (contract.lookback, len(contract.symbols), 5)
        # Gymnasium's Dict is not generic in its values.
        bars = spaces.Box(0.0, LARGEST, shape, np.float64)
        self.observation_space = spaces.Dict({"bars": bars})  # type: ignore[assignment]
        self.action_space = spaces.Box(contract.low, contract.high, (len(contract.symbols),), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Begin an episode.

        Args:
            seed: seed from which the beginning of a training episode is drawn; with a hidden split it is only recorded.
            options: must be empty; no options are known.

        Raises:
            UsageError: every hidden episode of this rollout was played; :meth:`result` ends the rollout.
        """
        super().reset(seed=seed)
        if unknown := options_of(options):
            raise UsageError(f"unknown reset options: {', '.join(map(str, unknown))}")
        shown: Step | EpisodeStep
        if self._hidden is not None:
            shown = self._hidden.start(seed)
        else:
            self._train = RollingEpisode(self._contract, self._training_window())
            shown = self._train.start()
        self._over = False
        return self._observed(shown), self._info(shown)

    def step(self, action: NDArray[np.float64]) -> tuple[Observation, float, bool, bool, Info]:
        """Predict, and see the next bar.

        Raises:
            UsageError: called before ``reset`` or after the end, or the action is not in the action space.
        """
        if self._over:
            raise UsageError("call reset() first; the episode is over")
        try:
            values = real_numbers(action)
        except ValueError as error:
            raise UsageError(
                f"an action is real numbers of shape {self.action_space.shape}; found {reprlib.repr(action)}: {error}"
            ) from error
        if values.shape != self.action_space.shape:
            raise UsageError(f"an action has shape {self.action_space.shape}, found {values.shape}")
        shown = self._take({"predictions": values.tolist()})
        return self._observed(shown), shown.reward, shown.terminated, shown.truncated, self._info(shown)

    def _training_window(self) -> Window:
        """A stretch of the training bars as long as a hidden episode, which begins at random."""
        contract = self._contract
        bars, times = self.package.array("train_bars"), self.package.array("train_times")
        length = contract.lookback - 1 + contract.steps + contract.horizon
        if len(bars) < length:
            raise UsageError(f"{self.task.name!r} has {len(bars)} training bars; an episode needs {length}")
        first = int(self.np_random.integers(len(bars) - length + 1))
        rows = slice(first, first + length)
        # The public training arrays hold no splits and dividends: a ratio of 1 and no cash in every row.
        nothing = np.broadcast_to(np.array([1.0, 0.0]), (length, bars.shape[1], 2))
        return Window("public", first, np.asarray(bars[rows]), nothing, np.asarray(times[rows]))

    def _observed(self, shown: Step | EpisodeStep) -> Observation:
        return {"bars": np.array(shown.observation["bars"], dtype=np.float64)}

    def _info(self, shown: Step | EpisodeStep) -> Info:
        manifest = self.package.manifest
        return {**shown.info, "task": manifest.name, "task_digest": manifest.digest, "data_kind": manifest.data_kind}
