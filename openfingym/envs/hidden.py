"""Hidden episodes played through the verifier, which sequential environments step through with ``split="test"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from openfingym.envs.arguments import require_recordable
from openfingym.envs.lease import Lease, as_result
from openfingym.errors import SubmissionError, UsageError
from openfingym.packages.tapes import require_renewal

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult
    from openfingym.task.episodes import EpisodeStep, FoldName
    from openfingym.verifiers.client import RolloutTicket

Split = Literal["train", "practice", "test"]
"""The data that a sequential environment is on: the training data, which everybody has, or the hidden data of the
public fold (``practice``) or of the private fold (``test``)."""


class HiddenEpisodes:
    """The episodes of one rollout at a time, played through the verifier.

    Private ones come in order of time, each once; when all are played, the rollout can be finished.
    """

    def __init__(self, package: BuiltPackage, *, fold: FoldName, agent: str = "policy", fresh: bool = False) -> None:
        """Prepare; the verifier is started, and the rollout begun, with the first episode.

        Args:
            package: built package of a sequential task.
            fold: fold whose episodes are played: ``private`` is scored, ``public`` is practice.
            agent: name of the agent that is recorded with the result.
            fresh: whether each rollout gets hidden bars of its own instead of the package's.

        Raises:
            UsageError: ``fresh`` is asked for, and the task cannot have other hidden bars.
        """
        if fresh:
            require_renewal(package)
        self.package = package
        self._fold: FoldName = fold
        self._agent = agent
        self._fresh = fresh
        self._lease: Lease | None = None
        self._ticket: RolloutTicket | None = None
        self._last: EpisodeStep | None = None
        """The last step of the episode at hand."""
        self._seed = 0
        self._result: RolloutResult | None = None
        """The result of the rollout that ended last, until another one begins."""

    @property
    def rollout_id(self) -> str | None:
        """The rollout in the verifier's log; None before the first episode."""
        return None if self._ticket is None else self._ticket.rollout_id

    def start(self, seed: int | None = None) -> EpisodeStep:
        """Begin the next episode; one that is not over ends as if nothing more were done in it.

        Args:
            seed: seed that is recorded with the rollout, if this is its first episode.

        Raises:
            UsageError: all episodes of the fold have been played, the budget for practice is spent, or the seed is too
                large to be recorded.
            VerifierError: the verifier does not answer, or fails.
        """
        require_recordable(seed)
        lease = self._lease = self._lease or Lease.take(self.package, "auto")
        client = lease.client
        # A rollout begins with its first episode, so that an environment that was only made leaves none behind.
        if self._ticket is None:
            self._seed, self._result = seed or 0, None
            self._ticket = client.create_rollout(
                self.package.manifest.name, agent=self._agent, seed=self._seed, fresh=self._fresh
            )
        try:
            self._last = client.start_episode(self._ticket.token, self._fold)
        except SubmissionError as error:
            raise UsageError(
                f"{error}; result() gives the score of this rollout, and the reset() after it begins another"
            ) from None
        return self._last

    def step(self, action: Mapping[str, object] | None) -> EpisodeStep:
        """Take one action.

        Raises:
            SubmissionError: the action has a wrong form; the episode is unchanged.
            UsageError: no episode is open; call :meth:`start` first.
            VerifierError: the verifier does not answer, or fails.
        """
        if self._last is None or self._last.done or self._ticket is None or self._lease is None:
            raise UsageError("call reset() first; the episode is over")
        # The number of the step makes a repeated request harmless: the verifier answers it as before.
        number = self._last.step + 1
        self._last = self._lease.client.step(self._ticket.token, self._last.episode, number, action)
        return self._last

    def finish(self) -> RolloutResult:
        """End the rollout and get its verified result, again and again; the next episode begins another rollout.

        Raises:
            UsageError: no episode was begun, so there is nothing to score.
            VerifierError: the verifier does not answer, or fails.
        """
        if self._result is not None:
            return self._result
        if self._ticket is None or self._lease is None:
            raise UsageError("no episode was begun, so there is nothing to score")
        verified = self._lease.client.finalize(self._ticket.rollout_id)
        # The verifier stays leased: the next rollout needs it.
        self._ticket = self._last = None
        self._result = as_result(verified, self.package.manifest, self._agent, self._seed)
        return self._result

    def close(self) -> None:
        """Release the verifier; a rollout that was not finished stays without a result."""
        if self._lease is not None:
            self._lease.give_back()
            self._lease = None
        self._ticket = self._last = None


FOLDS: Mapping[str, FoldName] = {"practice": "public", "test": "private"}
"""The fold of each split that is hidden."""


def hidden_episodes(package: BuiltPackage, split: Split, *, fresh: bool = False) -> HiddenEpisodes | None:
    """The source of a split's hidden episodes; None for training, which needs no verifier.

    Raises:
        UsageError: there is no such split, or fresh bars are asked for where there are none.
    """
    if split != "train" and split not in FOLDS:
        raise UsageError(f"split is {split!r}; known: 'train', {', '.join(map(repr, FOLDS))}")
    if split == "train":
        if fresh:
            raise UsageError("fresh is for hidden bars; training bars are the same for everybody")
        return None
    return HiddenEpisodes(package, fold=FOLDS[split], fresh=fresh)
