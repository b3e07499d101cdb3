"""A question that an agent plays in this process: its tools are opened as of the time of answering, and no verifier is
asked. What is said goes through the same episode that a verifier plays, with the same limits.
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
    """One question, with what an agent asks of a verifier."""

    def __init__(self, episode: QuestionEpisode) -> None:
        self._episode = episode
        self._steps = -1
        self._done = False

    @property
    def ticket(self) -> RolloutTicket:
        """A rollout of this question alone."""
        return RolloutTicket("", "", "", "", "", 1)

    def start_episode(self, token: str, fold: FoldName) -> EpisodeStep:  # noqa: ARG002 - as the verifier's client
        """Ask the question, once."""
        if self._steps >= 0:
            raise SubmissionError("there is no other question", problem="episodes-exhausted")
        self._steps = 0
        return self._at(self._episode.start())

    def step(self, token: str, episode: int, step: int, action: object) -> EpisodeStep:  # noqa: ARG002
        """Take an action."""
        if self._done:
            raise SubmissionError("the question is over", problem="episode-over")
        found = self._episode.step(action)
        self._steps += 1
        return self._at(found)

    def place(self, token: str) -> tuple[int, int]:  # noqa: ARG002
        """Where it stands."""
        return 1, max(self._steps, 0)

    def _at(self, step: Step) -> EpisodeStep:
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
    """In the place of a rollout's programs: forecasts are made without a container."""

    def __init__(self) -> None:
        nothing: Any = None
        super().__init__(
            nothing, nothing, nothing, nothing, seed=0, limits=nothing, wall_s=0.0, max_body_bytes=0, max_calls=0
        )

    async def workspace(self) -> Workspace:
        """There is none.

        Raises:
            UsageError: always.
        """
        raise UsageError("forecasts are made without a container, in which blocks of code could run")
