"""One question of a round, played in this process by an agent that usually plays with a verifier.

The question's tools are opened as of the time of answering, and no verifier is asked. Actions go through the same
episode that a verifier plays, with the same limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.errors import SubmissionError, UsageError
from openfingym.task.episodes import EpisodeStep
from openfingym.verifiers.answers import RolloutTicket

if TYPE_CHECKING:
    from openfingym.kinds.qa_episodes import QuestionEpisode
    from openfingym.task.episodes import FoldName, Step
    from openfingym.workspace import Workspace


class LocalQuestion:
    """One question behind those methods of a :class:`~openfingym.verifiers.client.VerifierClient` that playing uses."""

    def __init__(self, episode: QuestionEpisode) -> None:
        self._episode = episode
        self._steps = -1
        """Steps that were taken; -1 before the question is asked."""
        self._done = False

    @property
    def ticket(self) -> RolloutTicket:
        """The ticket of a rollout whose budget is this one question."""
        return RolloutTicket("", "", "", "", "", 1)

    def start_episode(self, token: str, fold: FoldName) -> EpisodeStep:  # noqa: ARG002 - as the verifier's client
        """Ask the question, once.

        Raises:
            SubmissionError: the question was asked before.
        """
        if self._steps >= 0:
            raise SubmissionError("there is no other question", problem="episodes-exhausted")
        self._steps = 0
        return self._reached(self._episode.start())

    def step(self, token: str, episode: int, step: int, action: object) -> EpisodeStep:  # noqa: ARG002
        """Take an action.

        Raises:
            SubmissionError: the question is over, or the action has no form that an episode knows.
        """
        if self._done:
            raise SubmissionError("the question is over", problem="episode-over")
        # Counted only once the episode has taken it: a refused action leaves the episode where it was.
        reached = self._episode.step(action)
        self._steps += 1
        return self._reached(reached)

    def place(self, token: str) -> tuple[int, int]:  # noqa: ARG002
        """The number of the episode, always 1, and how many steps of it were taken."""
        return 1, max(self._steps, 0)

    def _reached(self, step: Step) -> EpisodeStep:
        self._done = step.done
        return EpisodeStep(
            1,
            "private",
            0,
            0,
            self._steps,
            step.observation,
            step.reward,
            step.terminated,
            step.truncated,
            step.info,
        )


class NoPrograms(ProgramRunner):
    """Stands in for a rollout's programs, of which a forecast has none: it is made without a container."""

    def __init__(self) -> None:
        # No backend, package or gate is reached: agents that answer questions run programs in the workspace alone.
        nothing: Any = None
        super().__init__(
            nothing, nothing, nothing, nothing, seed=0, limits=nothing, wall_s=0.0, max_body_bytes=0, max_calls=0
        )

    async def workspace(self) -> Workspace:
        """Refuse: there is no workspace.

        Raises:
            UsageError: always.
        """
        raise UsageError("forecasts are made without a container, in which blocks of code could run")
