"""The Gymnasium environment of a batch task: one step, whose action is a whole submission."""

from __future__ import annotations

import copy
import reprlib
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy import ma
from numpy.typing import NDArray

from openfingym import catalog
from openfingym.agents import PROGRAM_LIMIT, Agent
from openfingym.envs.arguments import options_of, require_recordable
from openfingym.envs.code import program_info
from openfingym.envs.instances import InstanceCycle, PublicHalf
from openfingym.envs.lease import Lease, as_result
from openfingym.envs.varying import Varying
from openfingym.errors import RuntimeFailureError, SubmissionError, UsageError, VerifierError
from openfingym.instances import place_of
from openfingym.packages.build import build
from openfingym.packages.tapes import require_renewal
from openfingym.results import RolloutResult, SplitName
from openfingym.results.result import RewardName
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.order import RolloutOrder
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
    ``Dict`` of every public array that holds numbers; a task to generate from a context has ``train_inputs`` (n_train,
    lookback, channels), ``train_targets`` (n_train, horizon, channels) and ``test_inputs`` (n_test, lookback,
    channels), float64 in the task's unit. ``info`` of ``reset`` describes the axes, and has public ``texts``, such as
    training questions in words, as lists by the name of their array. The hidden values are in the verifier's process
    only.

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
    ``fresh``: each rollout has hidden data of its own, drawn from the simulator (docs/serving.md). With ``predictions``
    the observation holds that rollout's inputs; a program finds them where it runs, and the observation keeps those of
    the package.

    ``split``: ``train`` or ``validation`` for instances of the task, which are cut from its training data
    (docs/training.md): each ``reset`` goes on to the next one, from the one that its seed says, or from 0 on;
    ``reset(options={"index": 3})`` chooses one, and ``index`` keeps to one. Observation, reward and ``instruction`` are
    the instance's. Instances differ in their shapes, which ``info`` of ``reset`` states, and so the spaces are
    :class:`~openfingym.envs.varying.Varying`, of which Gymnasium's vector environments make tuples.

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
        split: SplitName = "test",
        index: int | None = None,
    ) -> None:
        if action not in {"predictions", "code"}:
            raise UsageError(f"action is {action!r}; known: 'predictions', 'code'")
        if reward not in {"loss", "grpo", "relative"}:
            raise UsageError(f"reward is {reward!r}; known: 'loss', 'grpo', 'relative'")
        self.task = task if isinstance(task, Task) else catalog.load_task(task)
        self.package = build(self.task)
        if fresh:
            require_renewal(self.package)
        if fresh and split != "test":
            raise UsageError("an instance has hidden data of its own; leave out fresh, or the split")
        self._fresh = fresh
        self._instances = None if split == "test" else InstanceCycle(self.package, split, index)
        if split == "test":
            place_of(split, index)  # refuses an index, which the task itself does not have
        self._ticket: RolloutTicket | None = None
        self.render_mode = None
        self._reward: RewardName = reward
        self._backend = backend
        self._lease: Lease | None = None
        self._seed = 0
        self.rollout_id: str | None = None
        self._ready = False
        self._predicts = action == "predictions"
        self._fresh_arrays: Observation = {}
        """Arrays of a fresh rollout, which take the place of the package's."""
        self._public = PublicHalf.of(self.package) if self._instances is None else self._instances.first()
        """The public half of the task, or of the instance at hand."""
        self.observation_space, self.action_space = self._spaces()

    @property
    def instruction(self) -> str:
        """The instruction of the task, in Markdown, as an agent gets it; with a split, that of the instance at hand."""
        return self._public.instruction

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Start a new rollout.

        The observation is the same every time, except for the inputs of a fresh rollout and for instances.

        Args:
            seed: seed of the rollout, which a program finds as ``OPENFINGYM_SEED``; with a split, the instance to go on
                from follows from it too.
            options: with a split, ``index`` is the number of the instance to take; no other options are known.

        Raises:
            UsageError: there is no such option or instance, or the seed is too large to be recorded.
        """
        asked = options_of(options)
        require_recordable(seed)
        super().reset(seed=seed)
        self._check(asked)
        self._seed = seed if seed is not None else 0
        if self._instances is not None:
            self._public = self._instances.next(seed, asked.get("index"))
        self._ready = False
        self._begin()
        self._ready = True
        return self._observe(), self._described()

    def _described(self) -> Info:
        """What ``reset`` says of the task, or of the instance at hand."""
        manifest, texts = self._public.manifest, self._public.texts
        return {
            **self._provenance(),
            "family": self.task.spec.family,
            "unit": self.task.spec.contract.unit,
            "kind": self.task.spec.contract.kind,
            "arrays": copy.deepcopy(self._public.contract["arrays"]),
            "submission_shape": manifest.submission_shape,
            "submission_axes": manifest.submission_axes,
            "labels": list(manifest.labels),
            "metrics": {metric.name: metric.weight for metric in self.task.spec.scoring.metrics},
            "dataset": manifest.dataset,
            **({"texts": {name: text.tolist() for name, text in texts.items()}} if texts else {}),
        }

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Submit, and be scored on the private fold.

        Args:
            action: predictions (an array, or a dict with the key ``predictions``); with ``action="code"``, a program's
                source.

        Raises:
            UsageError: called before ``reset``, or a second time after it; or the action is a program where predictions
                are expected, or the other way round.
            RuntimeFailureError, VerifierError: our machinery failed; there is no reward.
        """
        self._require(action)
        self._ready = False
        lease = self._leased()
        ran: Info = {}
        result = self._run_code(lease, action, ran) if isinstance(action, str) else self._submit(lease, action)
        return self._ended(result, ran)

    def close(self) -> None:
        """Release the verifier; the last environment of a task stops it."""
        self._ready, self._ticket = False, None
        if self._lease is not None:
            self._lease.give_back()
            self._lease = None

    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """The spaces of observations and of actions."""
        space_of = partial(_box, bounded=not self._fresh) if self._instances is None else varying
        observation = spaces.Dict({name: space_of(array) for name, array in self._public.observation.items()})
        if not self._predicts:
            return observation, spaces.Text(PROGRAM_LIMIT, min_length=0, charset=_CODE_CHARACTERS)
        contract, shape = self.task.spec.contract, self._public.manifest.submission_shape
        space: Any = spaces.Box if self._instances is None else Varying
        return observation, space(contract.low, contract.high, shape, np.float64)

    def _check(self, asked: dict[str, object]) -> None:
        """Refuse options of ``reset`` that there are not, before anything changes.

        Raises:
            UsageError: there is no such option, or it cannot have this value.
        """
        known = set() if self._instances is None else {"index"}
        if unknown := sorted(map(str, asked.keys() - known)):
            raise UsageError(f"unknown reset options: {', '.join(unknown)}")

    def _begin(self) -> None:
        """Begin a rollout, as far as an observation needs one."""
        if isinstance(self.action_space, Varying):
            self.action_space.current = self._public.manifest.submission_shape
        # Predictions need the inputs of the fresh tape at once; a program's rollout is begun by the launcher.
        self._fresh_arrays = self._begin_fresh() if self._fresh and self._predicts else {}

    def _require(self, action: object) -> None:
        """Refuse an action without an end of the episode: it is an error in the caller's program, not an answer.

        Raises:
            UsageError: no episode is open, or the action is of the other form.
        """
        if not self._ready:
            raise UsageError("call reset() first; the episode is over, or none was begun")
        if isinstance(action, str) == self._predicts:
            expected = "predictions, an array" if self._predicts else "the source of a program"
            raise UsageError(
                f"an action is {expected}; found {reprlib.repr(action)}. openfingym.make with action='code' makes an "
                "environment that takes programs, with action='predictions' one that takes arrays"
            )

    def _ended(self, result: RolloutResult, ran: Info) -> tuple[Observation, float, bool, bool, Info]:
        """The last step of an episode, of which ``ran`` says how its program ended."""
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

    def _observe(self) -> Observation:
        """The observation, as new arrays each time: a caller may keep and change them."""
        arrays = self._public.observation
        return {name: self._fresh_arrays.get(name, array).copy() for name, array in arrays.items()}

    def _begin_fresh(self) -> dict[str, NDArray[np.generic]]:
        """Begin a rollout on a tape of its own, and return the arrays that replace the package's."""
        self._ticket = self._created()
        return self._leased().client.data(self._ticket.rollout_id)

    def _created(self) -> RolloutTicket:
        """A new rollout of the task, or of the instance at hand.

        Raises:
            VerifierError: the verifier would cut another instance.
        """
        split, instance = self._split_and_instance()
        ticket = self._leased().client.create_rollout(
            self.package.manifest.name, agent=AGENT, seed=self._seed, fresh=self._fresh, split=split, instance=instance
        )
        # The verifier cuts the instance itself; with another digest it would score an answer to another question.
        if instance is not None and ticket.task_digest != self._public.manifest.digest:
            raise VerifierError(
                f"the verifier has another instance {instance} of {split} than this process: it is of another version"
            )
        return ticket

    def _leased(self) -> Lease:
        """The share of a verifier, taken on first use."""
        self._lease = self._lease or Lease.take(self.package, self._backend)
        return self._lease

    def _split_and_instance(self) -> tuple[SplitName, int | None]:
        """The split, and the number of the instance at hand; None for the task itself."""
        return ("test", None) if self._instances is None else (self._instances.split, self._instances.index)

    def _provenance(self) -> Info:
        manifest, (split, instance) = self._public.manifest, self._split_and_instance()
        return {
            "split": split,
            "instance": instance,
            "task": manifest.name,
            "task_version": manifest.version,
            "task_digest": manifest.digest,
            "data_kind": manifest.data_kind,
        }

    def _run_code(self, lease: Lease, source: str, ran: Info) -> RolloutResult:
        """Run a program to its result, and note in ``ran`` how it ended."""
        before, (split, instance) = time.monotonic(), self._split_and_instance()
        result = lease.launcher.run(
            self.package,
            Agent("code", "program", source),
            RolloutOrder(seed=self._seed, fresh=self._fresh, split=split, instance=instance),
            hooks=RolloutHooks(ended=lambda outcome: ran.update(program_info(outcome))),
        )
        ran["wall_s"] = round(time.monotonic() - before, 3)
        # A failure of ours must not reach a trainer as a reward.
        if result.state == "error":
            raise RuntimeFailureError(result.reason or "the rollout failed for a reason of ours")
        return result

    def _submit(self, lease: Lease, action: NDArray[np.float64] | dict[str, NDArray[np.float64]]) -> RolloutResult:
        answer = predictions_of(action)
        # A fresh rollout was begun by ``reset``; any other begins with its submission.
        ticket, self._ticket = self._ticket or self._created(), None
        refusal = None
        try:
            lease.client.submit(ticket.token, submitted(answer))
        except SubmissionError as error:
            # The agent's fault, and so a result: the rollout ends without a score.
            refusal = str(error)
        return self._finished(ticket, refusal)

    def _finished(self, ticket: RolloutTicket, refusal: str | None) -> RolloutResult:
        """End a rollout whose predictions were made here, of which ``refusal`` says why they were refused."""
        verified = self._leased().client.finalize(ticket.rollout_id)
        return as_result(verified, self._public.manifest, AGENT, self._seed, refusal)


def predictions_of(action: object) -> object:
    """The predictions of an action: an array, or a dict with the one key ``predictions``.

    Raises:
        UsageError: a dict has other keys.
    """
    if not isinstance(action, dict):
        return action
    if set(action) != {"predictions"}:
        raise UsageError(f"an action dict has the one key 'predictions', found {sorted(action)}")
    return action["predictions"]


def submitted(action: object) -> NDArray[Any]:
    """Predictions as the array that is submitted, of whatever type: the verifier refuses a wrong one.

    Raises:
        SubmissionError: NumPy makes no array of the action, or values of it are masked.
    """
    try:
        array = np.asanyarray(action)
    except (TypeError, ValueError, OverflowError) as error:
        raise SubmissionError(
            f"wrong-dtype: found {reprlib.repr(action)}, which is no array of numbers: {error}", problem="wrong-dtype"
        ) from error
    # Else what is behind the mask would be submitted, which nobody means.
    if ma.is_masked(array):
        raise SubmissionError(
            "wrong-dtype: values of the array are masked; expected a number in each place", problem="wrong-dtype"
        )
    return np.asarray(array)


def varying(array: NDArray[np.generic]) -> Varying:
    """The space of an array that has another shape in every instance."""
    low, high = limits(array.dtype)
    return Varying(float(low), float(high), array.shape, array.dtype.type)


def limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The lowest and the highest number that a space of arrays of a type has, where nothing else bounds it."""
    return (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype.str).min, np.iinfo(dtype.str).max)


def _box(array: NDArray[np.generic], *, bounded: bool) -> spaces.Box:
    """The space of a public array.

    Args:
        array: the array, as the package has it.
        bounded: whether its own lowest and highest value bound it; False where each rollout has another array.
    """
    if not bounded:
        low, high = limits(array.dtype)
        return spaces.Box(low, high, array.shape, array.dtype.type)  # type: ignore[arg-type]  # any type of number
    lowest: Any = array.min() if array.size else 0
    highest: Any = array.max() if array.size else 1
    if lowest == highest:
        highest = lowest + 1  # Gymnasium takes a space of a single point for a mistake.
    return spaces.Box(lowest, highest, array.shape, array.dtype.type)  # type: ignore[arg-type]  # any type of number
