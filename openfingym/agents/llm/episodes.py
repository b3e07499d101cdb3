"""Playing a sequential task on behalf of a model, step by step, in the process that holds the rollout's token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openfingym.agents.llm.observations import StepEvents, first_text, next_text
from openfingym.errors import SubmissionError, VerifierError
from openfingym.trajectory.record import StepReward
from openfingym.verifiers.stopwatch import Stopwatch

if TYPE_CHECKING:
    from openfingym.task.episodes import EpisodeStep
    from openfingym.verifiers.client import RolloutTicket, VerifierClient

MAX_WAIT = 100_000


class Player:
    """The episodes of one rollout: practice as long as the budget lasts, then the private ones, one after the other.

    To begin one is the agent's own deed, as it is a program's: the verifier scores whoever began a private episode.

    Attributes:
        over: whether all private ones are played.
        rewards: the reward of each step of the private episodes, for the record.
        waiting: how long the verifier took for episodes and steps.
    """

    def __init__(self, client: VerifierClient, ticket: RolloutTicket, symbols: tuple[str, ...]) -> None:
        self.over = False
        self.rewards: list[StepReward] = []
        self.waiting = Stopwatch()
        self._client = client
        self._ticket = ticket
        self._symbols = symbols
        self._at: EpisodeStep | None = None
        self._total = 0.0

    @property
    def told(self) -> bool:
        """Whether an episode was begun: its first observation is of hidden bars."""
        return self._at is not None

    @property
    def observation(self) -> Mapping[str, object] | None:
        """The latest one whole, as a program would get it; None before the first episode."""
        return None if self._at is None else self._at.observation

    async def start(self, *, practice: bool = False) -> tuple[str, bool]:
        """Begin the next episode, and tell how it starts.

        Returns:
            The text for the agent, and whether the episode was refused.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if self.over:
            return "All episodes are over.", True
        if self._at is not None and self._at.fold == "private" and not self._at.done:
            return f"Episode {self._at.number + 1} is under way: go on with step.", True
        try:
            with self.waiting.running():
                self._at = await asyncio.to_thread(
                    self._client.start_episode, self._ticket.token, "public" if practice else "private"
                )
        except SubmissionError as error:
            if practice:
                return f"Refused: {error}", True
            raise VerifierError(
                f"the next episode could not be begun: {error}"
            ) from error  # one that is left can be begun
        self._total = 0.0
        episodes = self._at.number + 1 + self._at.episodes_left
        name = "A practice episode" if practice else f"Episode {self._at.number + 1} of {episodes}"
        return f"{name} begins.\n{first_text(self._at, self._symbols)}", False

    async def step(self, action: object, wait: int, *, message: int) -> tuple[str, bool]:
        """Take an action, then do nothing for ``wait`` more steps, and tell what is seen then.

        Args:
            action: the action, a JSON value.
            wait: number of steps without an action that follow.
            message: position in the record of the message that acted.

        Returns:
            The text for the agent, and whether the action was refused.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if self.over:
            return "All episodes are over.", True
        if self._at is None or self._at.done:
            return "No episode is under way; begin one with start_episode.", True
        passed, earned = StepEvents(), 0.0
        for number in range(1 + max(0, min(wait, MAX_WAIT))):
            try:
                with self.waiting.running():
                    self._at = await asyncio.to_thread(
                        self._client.step,
                        self._ticket.token,
                        self._at.episode,
                        self._at.step + 1,
                        None if number else action,
                    )
            except SubmissionError as error:
                return f"Refused, and nothing was done: {error}", True
            # A reward that is not a number is none.
            reward = self._at.reward if self._at.reward == self._at.reward else 0.0
            earned += reward
            self._total += reward
            passed.add(self._at.observation)
            if self._at.fold == "private":
                self.rewards.append(
                    StepReward(episode=self._at.number, step=self._at.step, reward=reward, message=message)
                )
            if self._at.done:
                return await self._ended(), False
        return next_text(self._at, self._symbols, reward=earned, passed=passed), False

    async def _ended(self) -> str:
        assert self._at is not None
        name, earned = f"Episode {self._at.number + 1}", f"is over; its rewards add up to {self._total:+.4f}."
        if self._at.fold == "public":
            return f"The practice episode {earned} It does not count; begin the next one with start_episode."
        self.over = self._at.episodes_left == 0
        following = " It was the last one." if self.over else f"\n\n{(await self.start())[0]}"
        return f"{name} {earned}{following}"
