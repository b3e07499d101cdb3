"""The Gymnasium environment of tasks whose hidden windows are shown in the order of time: a step answers a window."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import spaces

from openfingym.envs.batch import Action, BatchEnv, Info, Observation, limits, predictions_of, submitted
from openfingym.envs.varying import Varying
from openfingym.errors import SubmissionError, UsageError
from openfingym.kinds import kind_of
from openfingym.kinds.walk import Walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task.episodes import EpisodeStep, FoldName

FOLDS: tuple[FoldName, ...] = ("private", "public")


class WalkEnv(BatchEnv):
    """Hidden windows in the order of time, each shown after the one before it was answered for good.

    ## Action space
    ``predictions``: ``Box(low, high, shape, float64)``, in the task's unit: the predictions of the window that was
    shown last. ``shape`` is that of a submission with this window's items alone; where every window has one item, its
    axis is left out. An action may have it all the same.
    ``code``: ``Text``, the source of a Python program that is run in isolation and walks through the windows by
    ``import interface``.

    ## Observation space
    ``predictions``: ``Dict`` of the arrays of numbers that a window shows; a forecast has ``inputs`` (items, lookback,
    channels), float64 in the task's unit. An item is one series, one curve or one row of those that are due together.
    Where windows have different numbers of items, spaces are :class:`~openfingym.envs.varying.Varying`. After the last
    window the observation shows it once more. Training data do not change: :meth:`load_train` has them.
    ``code``: ``Dict`` of every public array that holds numbers.

    ## Reward
    0 until the last window was answered, then as of :class:`~openfingym.envs.batch.BatchEnv`. An action that is refused
    ends the episode, and the rollout, with the reward of a submission that was refused.

    ## Episode end
    Terminated with the last window, or with an action that is refused. ``info`` of that step is as of
    :class:`~openfingym.envs.batch.BatchEnv`; of the others it has ``window``, the number of the window from 0,
    ``windows_left``, its own included, ``shape`` of its predictions, and what it shows beside numbers, such as dates
    and questions in words, as lists in ``shown``.

    ``reset(options={"fold": "public"})`` walks through the public fold instead, for practice: the reward is 0, and
    ``info`` of the last step has its ``feedback`` and how many walks for practice are left (``practice_left``). The
    ``reset`` after it goes on in the same rollout.

    ## Arguments
    As of :class:`~openfingym.envs.batch.BatchEnv`. With ``code``, an episode is one step.

    ## Version history
    v0: first version.
    """

    _at: EpisodeStep | None = None
    """The step at hand; None before the first episode."""
    _fold: FoldName = "private"
    """The fold that the episode at hand walks through."""

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Begin to walk through a fold.

        Args:
            seed: seed of the rollout; with a split, the instance to go on from follows from it too.
            options: ``fold`` is ``private`` (default) or ``public``, for practice; with a split, ``index`` is the
                number of the instance to take.

        Raises:
            UsageError: there is no such option, fold or instance, the seed is too large to be recorded, or no practice
                is left in this rollout.
        """
        return super().reset(seed=seed, options=options)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Answer the window that was shown last, and see the next one.

        Args:
            action: predictions of this window (an array, or a dict with the key ``predictions``); with
                ``action="code"``, a program's source.

        Raises:
            UsageError: called before ``reset`` or after the end; or the action is a program where predictions are
                expected, or the other way round.
            RuntimeFailureError, VerifierError: our machinery failed; there is no reward.
        """
        if not self._predicts:
            return super().step(action)
        self._require(action)
        answer = predictions_of(action)
        # Until this window is answered: what fails in between cannot go on.
        self._ready = False
        at, ticket, refusal = self._at, self._ticket, None
        assert at is not None, "an episode was begun"
        assert ticket is not None, "an episode was begun"
        try:
            message = {"predictions": self._fitting(answer).tolist()}
            at = self._at = self._leased().client.step(ticket.token, at.episode, at.step + 1, message)
        except SubmissionError as error:
            refusal = str(error)
        if refusal is None and not at.done:
            self._show(at)
            self._ready = True
            return self._observe(), 0.0, False, False, self._info(at)
        if refusal is None and at.fold == "public":
            return self._observe(), 0.0, True, False, self._practised(at)
        self._ticket = None
        return self._ended(self._finished(ticket, refusal), {})

    def load_train(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Training inputs and their targets, as ``interface.load_train()`` returns them to programs."""
        inputs, targets = (self.load(name) for name in self._public.contract["load_train"])
        return inputs, targets

    def load(self, name: str) -> NDArray[Any]:
        """A public array by its name, such as ``train_times``; ``arrays`` in the info of ``reset`` describes them.

        Raises:
            UsageError: there is no such array.
        """
        known = self._public.arrays
        if name not in known:
            raise UsageError(f"there is no public array {name!r}; there are {', '.join(sorted(known))}")
        return np.array(known[name])

    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        self._shown: dict[str, NDArray[np.generic]] = {}
        """The arrays of the window at hand, by name."""
        if not self._predicts:
            return super()._spaces()
        counts = self._counts()
        shape = self.package.manifest.submission_shape
        self._alone = set(counts) == {1} and len(shape) > 1
        """Whether the axis of items is left out in actions."""
        # Instances differ in their shapes, and windows of a panel with gaps in their numbers of items.
        fixed = self._instances is None and len(set(counts)) == 1
        space: Any = spaces.Box if fixed else Varying
        parts = {}
        for name, form in self._forms().items():
            dtype = np.dtype(form["dtype"])
            if dtype.kind not in "MU":
                parts[name] = space(*limits(dtype), (int(counts[0]), *form["shape"]), dtype.type)
        contract = self.task.spec.contract
        wanted = self._wanted(int(counts[0]))
        return spaces.Dict(parts), space(contract.low, contract.high, wanted, np.float64)

    def _counts(self) -> NDArray[np.int64]:
        """How many items each window of the task has."""
        contract, manifest = self.task.spec.contract, self.package.manifest
        # Dates of hidden windows are in the truth half, and no value is read from it.
        times = kind_of(self.task).due(contract, self.package.shown_array)
        return np.diff(Walk.of(times, (manifest.n_public, manifest.n_private)).starts)

    def _forms(self) -> Mapping[str, Any]:
        """The arrays that a window shows, by name, with the shape and the type of an item."""
        forms: Mapping[str, Any] = self._public.contract["window"]
        return forms

    def _wanted(self, items: int) -> tuple[int, ...]:
        """Shape of the predictions for so many items, as an action has it."""
        rest = self._public.manifest.submission_shape[1:]
        return rest if self._alone else (items, *rest)

    def _check(self, asked: dict[str, object]) -> None:
        others = dict(asked)
        fold = others.pop("fold", "private") if self._predicts else "private"
        if fold not in FOLDS:
            raise UsageError(f"fold is {reprlib.repr(fold)}; known: {', '.join(map(repr, FOLDS))}")
        super()._check(others)
        self._fold = fold

    def _begin(self) -> None:
        if not self._predicts:
            return
        last, ticket = self._at, self._ticket
        # Practice belongs to the rollout whose private fold is walked through after it.
        over = last is not None and last.fold == "public" and last.done
        if ticket is None or not over or ticket.task_digest != self._public.manifest.digest:
            ticket = self._created()
        try:
            at = self._leased().client.start_episode(ticket.token, self._fold)
        except SubmissionError as error:
            raise UsageError(f"{error} reset() without a fold walks through the private one") from None
        self._at, self._ticket = at, ticket
        self._show(at)

    def _show(self, at: EpisodeStep) -> None:
        """Take the window that the verifier shows for the one at hand."""
        forms = self._forms()
        found = cast("Mapping[str, list[Any]]", at.observation)
        self._shown = {
            name: np.array(found[name], form["dtype"]).reshape((len(found[name]), *form["shape"]))
            for name, form in forms.items()
        }
        if isinstance(self.action_space, Varying):
            self.action_space.current = self._wanted(self._items)

    @property
    def _items(self) -> int:
        """Number of items of the window at hand."""
        return len(next(iter(self._shown.values())))

    def _observe(self) -> Observation:
        if not self._predicts:
            return super()._observe()
        return {name: array.copy() for name, array in self._shown.items() if array.dtype.kind not in "MU"}

    def _described(self) -> Info:
        described = super()._described()
        if not self._predicts:
            return described
        assert self._at is not None, "an episode was begun"
        return {**described, **self._info(self._at), "windows": dict(self._public.contract["windows"])}

    def _info(self, at: EpisodeStep) -> Info:
        """What is said of the window at hand."""
        return {
            **self._provenance(),
            "fold": at.fold,
            "window": at.step,
            "windows_left": at.info["windows_left"],
            "shape": self._wanted(self._items),
            # As lists: Gymnasium's vector environments would stack arrays, which differ in their shapes.
            "shown": {
                name: array.astype("U").tolist() for name, array in self._shown.items() if array.dtype.kind in "MU"
            },
        }

    def _practised(self, at: EpisodeStep) -> Info:
        """What is said of a walk for practice that ended."""
        return {
            **self._provenance(),
            "fold": at.fold,
            "windows_left": 0,
            **{name: at.info[name] for name in ("feedback", "practice_left")},
        }

    def _fitting(self, answer: object) -> NDArray[np.float64]:
        """Predictions as the array that the verifier takes, with the axis of items.

        Raises:
            SubmissionError: they are no real numbers, not finite, or of another shape.
        """
        array = submitted(answer)
        if array.dtype.kind not in "fiu":
            raise SubmissionError(
                f"wrong-dtype: found an array of {array.dtype}; expected real numbers, float64", problem="wrong-dtype"
            )
        rest = self._public.manifest.submission_shape[1:]
        shape = (self._items, *rest)
        if self._items == 1 and array.shape == rest:
            array = array[None]
        if array.shape != shape:
            axes = ", ".join(self._public.manifest.submission_axes)
            raise SubmissionError(
                f"wrong-shape: found shape {array.shape}; expected {shape}: {axes}, the items of this window alone",
                problem="wrong-shape",
            )
        values = array.astype(np.float64)
        if not np.isfinite(values).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise SubmissionError(
                f"not-finite: found {values[where]} at {list(where)}; expected finite numbers", problem="not-finite"
            )
        return values
