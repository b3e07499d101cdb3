"""The Gymnasium environment of a batch task: one step, whose action is a whole submission."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from openfingym import catalog
from openfingym.agents import PROGRAM_LIMIT, Agent
from openfingym.envs.code import told_of
from openfingym.envs.lease import Lease, as_result
from openfingym.errors import RuntimeFailureError, SubmissionError, UsageError
from openfingym.packages.build import build
from openfingym.packages.tapes import require_renewal
from openfingym.results import RewardName, RolloutResult
from openfingym.task import Task
from openfingym.verifiers.answers import RolloutTicket

Observation = dict[str, NDArray[np.generic]]
Action = NDArray[np.float64] | dict[str, NDArray[np.float64]] | str
Info = dict[str, object]

AGENT = "array"
"""Name under which the results of array submissions are kept."""
_CODE_CHARACTERS = "".join(map(chr, range(32, 127))) + "\n\t"


class BatchEnv(gymnasium.Env[Observation, Action]):
    """A batch task as a one-step environment.

    ## Action space
    ``predictions``: ``Box(low, high, submission_shape, float64)``, in the task's unit.
    ``code``: ``Text``, the source of a Python program that is run in isolation and submits through
    ``import interface``.

    ## Observation space
    ``Dict`` of every public array that holds numbers; a forecast has ``train_inputs`` (n_train, lookback,
    channels), ``train_targets`` (n_train, horizon, channels) and ``test_inputs`` (n_test, lookback, channels),
    float64 in the task's unit. ``info`` of ``reset`` describes the axes, and has public ``texts``, such as questions in
    words, as lists by the name of their array. The hidden values are in the verifier's
    process only.

    ## Reward
    Higher is better, finite, from the private fold. ``loss``: -min(total loss, 99), and -100 for a
    submission that was refused. ``grpo``: -min(total loss, 5), and -6 (OpenFinGym paper, appendix B).
    ``relative``: as ``loss``, of the relative total.
    A failure of ours raises; it is never a reward.

    ## Episode end
    Always terminated after one step. ``info`` of that step has ``state``, ``reason``, ``total`` (the
    paper's weighted loss), ``relative_total``, their 95 % intervals ``total_interval`` and ``relative_interval``,
    ``standard_errors`` of the metrics, ``verdict`` (better or worse than the baseline beyond the sampling error, or no
    difference), ``direction``, ``metrics``, ``baseline`` with its total and metrics, ``skill`` and provenance. With
    ``code`` also what its program printed, ``output``; the ``traceback`` in it if it crashed, else None; ``ended_by``
    (exit, timeout, memory, output, ...) and ``exit_code``; and ``program_s`` and ``wall_s``, the seconds of the program
    and of the whole step. The
    attribute ``rollout_id`` names the last rollout in the verifier's log.

    ## Arguments
    ``fresh``: each rollout has hidden data of its own, drawn from the simulator (docs/trust.md). With ``predictions``
    the observation holds that rollout's inputs; a program finds them where it runs, and the observation keeps those of
    the package.

    ## Version history
    v0: first version.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self,
        task: str | Path | Task,
        *,
        action: Literal["predictions", "code"] = "predictions",
        reward: RewardName = "loss",
        backend: str = "auto",
        fresh: bool = False,
    ) -> None:
        if action not in {"predictions", "code"}:
            raise UsageError(f"action is {action!r}; known: 'predictions', 'code'")
        if reward not in {"loss", "grpo", "relative"}:
            raise UsageError(f"reward is {reward!r}; known: 'loss', 'grpo', 'relative'")
        self.task = task if isinstance(task, Task) else catalog.load_task(task)
        self.package = build(self.task)
        if fresh:
            require_renewal(self.package)
        self._fresh = fresh
        self._ticket: RolloutTicket | None = None
        self.render_mode = None
        self._reward: RewardName = reward
        self._backend = backend
        self._lease: Lease | None = None
        self._seed = 0
        self.rollout_id: str | None = None
        self._ready = False
        self._predicts = action == "predictions"
        self._own: Observation = {}
        arrays = {name: np.asarray(self.package.array(name)) for name in self.package.contract["arrays"]}
        self._observation = {name: array for name, array in arrays.items() if array.dtype.kind not in "MU"}
        self._texts = {name: array for name, array in arrays.items() if array.dtype.kind == "U"}
        self.observation_space = spaces.Dict(
            {name: _box(array, bounded=not fresh) for name, array in self._observation.items()}
        )  # type: ignore[assignment]  # Gymnasium's Dict is not generic in its values
        contract, shape = self.task.spec.contract, self.package.manifest.submission_shape
        self.action_space = (
            spaces.Box(contract.low, contract.high, shape, np.float64)
            if action == "predictions"
            else spaces.Text(PROGRAM_LIMIT, min_length=0, charset=_CODE_CHARACTERS)
        )

    @property
    def instruction(self) -> str:
        """The instruction of the task, in Markdown, as an agent gets it."""
        return self.package.read_instruction()

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Start a new rollout; the observation is the same every time, but for a fresh one's inputs to predict.

        Args:
            seed: given to a program as ``OPENFINGYM_SEED``.
            options: must be empty; no options are known.
        """
        super().reset(seed=seed)
        if options:
            raise UsageError(f"unknown reset options: {', '.join(map(str, options))}")
        self._seed = seed if seed is not None else 0
        self._ready = True
        self._own = self._begin() if self._fresh and self._predicts else {}
        manifest = self.package.manifest
        return self._observe(), {
            **self._provenance(),
            "family": self.task.spec.family,
            "unit": self.task.spec.contract.unit,
            "kind": self.task.spec.contract.kind,
            "arrays": copy.deepcopy(self.package.contract["arrays"]),
            "submission_shape": manifest.submission_shape,
            "submission_axes": manifest.submission_axes,
            "labels": list(manifest.labels),
            "metrics": {metric.name: metric.weight for metric in self.task.spec.scoring.metrics},
            "dataset": manifest.dataset,
            **(
                {"texts": {name: self._own.get(name, texts).tolist() for name, texts in self._texts.items()}}
                if self._texts
                else {}
            ),
        }

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Submit, and be scored on the private fold.

        Args:
            action: predictions (an array, or a dict with the key ``predictions``), or a program's source.

        Raises:
            UsageError: called before ``reset``, or a second time after it.
            RuntimeFailureError, VerifierError: our machinery failed; there is no reward.
        """
        if not self._ready:
            raise UsageError("call reset() first; an episode of a batch task is one step long")
        self._ready = False
        lease = self._taken()
        ran: Info = {}
        result = self._run_code(lease, action, ran) if isinstance(action, str) else self._submit(lease, action)
        self.rollout_id = result.rollout_id
        reward = result.reward(self._reward)
        info: Info = {
            **self._provenance(),
            "state": result.state,
            "reason": result.reason,
            "total": result.total,
            "direction": result.direction,
            "metrics": dict(result.metrics),
            "relative_total": result.relative_total,
            "relative_interval": result.relative_interval,
            "total_interval": result.total_interval,
            "standard_errors": dict(result.standard_errors),
            "verdict": result.verdict,
            "baseline": result.baseline,
            "baseline_total": result.baseline_total,
            "baseline_metrics": dict(result.baseline_metrics),
            "skill": result.skill,
            "tape": result.tape,
            **ran,
        }
        return self._observe(), reward, True, False, info

    def close(self) -> None:
        """Release the verifier; the last environment of a task stops it."""
        self._ready = False
        if self._lease is not None:
            self._lease.give_back()
            self._lease = None

    def _observe(self) -> Observation:
        """Fresh arrays each time: what a caller keeps or changes is the caller's."""
        return {name: self._own.get(name, array).copy() for name, array in self._observation.items()}

    def _begin(self) -> dict[str, NDArray[np.generic]]:
        """Begin a rollout on a tape of its own, and return the arrays that replace the package's."""
        client = self._taken().client
        self._ticket = client.create_rollout(self.package.manifest.name, agent=AGENT, seed=self._seed, fresh=True)
        return client.data(self._ticket.rollout_id)

    def _taken(self) -> Lease:
        self._lease = self._lease or Lease.take(self.package, self._backend)
        return self._lease

    def _provenance(self) -> Info:
        manifest = self.package.manifest
        return {
            "task": manifest.name,
            "task_version": manifest.version,
            "task_digest": manifest.digest,
            "data_kind": manifest.data_kind,
        }

    def _run_code(self, lease: Lease, source: str, ran: Info) -> RolloutResult:
        """Run a program to its result, and note in ``ran`` how it ended."""
        before = time.monotonic()
        result = lease.launcher.run(
            self.package,
            Agent("code", "program", source),
            seed=self._seed,
            fresh=self._fresh,
            ended=lambda outcome: ran.update(told_of(outcome)),
        )
        ran["wall_s"] = round(time.monotonic() - before, 3)
        if result.state == "error":
            raise RuntimeFailureError(result.reason or "the rollout failed for a reason of ours")
        return result

    def _submit(self, lease: Lease, action: NDArray[np.float64] | dict[str, NDArray[np.float64]]) -> RolloutResult:
        if isinstance(action, dict):
            if set(action) != {"predictions"}:
                raise UsageError(f"an action dict has the one key 'predictions', found {sorted(action)}")
            action = action["predictions"]
        client = lease.client
        ticket, self._ticket = (
            self._ticket or client.create_rollout(self.package.manifest.name, agent=AGENT, seed=self._seed),
            None,
        )
        refusal = None
        try:
            client.submit(ticket.token, np.asarray(action))
        except SubmissionError as error:
            refusal = str(error)
        return as_result(client.finalize(ticket.rollout_id), self.package, AGENT, self._seed, refusal)


def _box(array: NDArray[np.generic], *, bounded: bool) -> spaces.Box:
    """The space of one array of ours: bounds that it keeps, or where it may be another each time, none."""
    if not bounded:
        kind = np.dtype(array.dtype)
        low, high = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind.str).min, np.iinfo(kind.str).max)
        return spaces.Box(low, high, array.shape, array.dtype.type)  # type: ignore[arg-type]  # any type of number
    lowest, highest = (array.min(), array.max()) if array.size else (0, 1)
    if lowest == highest:
        highest = lowest + 1  # Gymnasium takes a space of a single point for a mistake.
    return spaces.Box(lowest, highest, array.shape, array.dtype.type)  # type: ignore[arg-type]  # any type of number
