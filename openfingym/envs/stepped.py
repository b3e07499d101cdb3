"""What environments of sequential tasks have in common whose training episodes are plain objects in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import gymnasium

from openfingym.envs.hidden import Split, hidden_episodes
from openfingym.errors import SubmissionError, UsageError

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult
    from openfingym.task.episodes import EpisodeStep, Step, SteppedEpisode

Observation = TypeVar("Observation")
Action = TypeVar("Action")


class SteppedEnv(gymnasium.Env[Observation, Action]):
    """Episodes on training data are stepped here, hidden ones at the verifier; a subclass begins and shows them."""

    metadata = {"render_modes": []}  # noqa: RUF012  # Gymnasium's convention

    def __init__(self, package: BuiltPackage, split: Split, *, fresh: bool) -> None:
        """Prepare; the verifier is started with the first hidden episode.

        Args:
            package: built package of the task.
            split: ``train`` for training episodes; ``practice`` or ``test`` for hidden ones.
            fresh: whether each rollout gets hidden data of its own instead of the package's.

        Raises:
            UsageError: there is no such split, or fresh data are asked for where there are none.
        """
        self.package = package
        self.render_mode = None
        self._hidden = hidden_episodes(package, split, fresh=fresh)
        self._train: SteppedEpisode | None = None
        """The training episode at hand; None before the first, and with a hidden split."""
        self._over = True
        """Whether ``reset`` must come next."""

    def _take(self, message: Mapping[str, object] | None) -> Step | EpisodeStep:
        """Take an action, as JSON values, in the episode at hand.

        Raises:
            UsageError: the action does not have the form that the task states; the episode is unchanged.
        """
        shown: Step | EpisodeStep
        try:
            if self._hidden is not None:
                shown = self._hidden.step(message)
            else:
                assert self._train is not None
                shown = self._train.step(message)
        except SubmissionError as error:
            raise UsageError(str(error)) from None
        self._over = shown.done
        return shown

    def result(self) -> RolloutResult:
        """End the rollout of the hidden episodes and get its verified score.

        Raises:
            UsageError: the environment is on the training split, or no episode was begun.
        """
        if self._hidden is None:
            raise UsageError("training episodes have no verified score; make the environment with split='test'")
        self._over = True
        return self._hidden.finish()

    def close(self) -> None:
        """End the episode, and release the verifier."""
        self._over = True
        if self._hidden is not None:
            self._hidden.close()
