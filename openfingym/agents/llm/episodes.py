"""Playing a sequential task for a model, step by step, from the side that holds the rollout's token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from openfingym.agents.llm.observations import Events, first_text, next_text
from openfingym.errors import SubmissionError, VerifierError
from openfingym.trajectory.record import StepReward

if TYPE_CHECKING:
    from openfingym.client import RolloutTicket, VerifierClient
    from openfingym.episodes import EpisodeStep

MAX_WAIT = 100_000


class Player:
    """The private episodes of one rollout, one after the other.

    Attributes:
        over: whether all of them are played.
        rewards: of each step, for the record.
    """

    def __init__(self, client: VerifierClient, ticket: RolloutTicket, symbols: tuple[str, ...]) -> None:
        self.over = False
        self.rewards: list[StepReward] = []
        self._client = client
        self._ticket = ticket
        self._symbols = symbols
        self._at: EpisodeStep | None = None
        self._total = 0.0

    async def begin(self) -> str:
        """Begin the next episode, and tell how it starts.

        Raises:
            VerifierError: the verifier failed.
        """
        try:
            self._at = await asyncio.to_thread(self._client.start_episode, self._ticket.token)
        except SubmissionError as error:  # one that is left can be begun
            raise VerifierError(f"the next episode could not be begun: {error}") from error
        self._total = 0.0
        episodes = self._at.number + 1 + self._at.episodes_left
        return f"Episode {self._at.number + 1} of {episodes} begins.\n{first_text(self._at, self._symbols)}"

    async def step(self, action: object, wait: int, *, message: int) -> tuple[str, bool]:
        """Take an action, then do nothing for ``wait`` more steps, and tell what is seen then.

        Args:
            action: a JSON value.
            wait: steps.
            message: position in the record of the message that acted.

        Returns:
            What to tell, and whether the action was refused.

        Raises:
            VerifierError: the verifier failed.
        """
        if self._at is None or self.over:
            return "All episodes are over.", True
        passed, earned = Events(), 0.0
        for number in range(1 + max(0, min(wait, MAX_WAIT))):
            try:
                self._at = await asyncio.to_thread(
                    self._client.step, self._ticket.token, self._at.episode, self._at.step + 1, None if number else action
                )
            except SubmissionError as error:
                return f"Refused, and nothing was done: {error}", True
            # A reward that is not a number is none.
            reward = self._at.reward if self._at.reward == self._at.reward else 0.0
            earned += reward
            self._total += reward
            passed.add(self._at.observation)
            self.rewards.append(StepReward(episode=self._at.number, step=self._at.step, reward=reward, message=message))
            if self._at.done:
                return await self._next_episode(), False
        return next_text(self._at, self._symbols, reward=earned, passed=passed), False

    async def _next_episode(self) -> str:
        assert self._at is not None
        ended = f"Episode {self._at.number + 1} is over; its rewards add up to {self._total:+.4f}."
        self.over = self._at.episodes_left == 0
        return f"{ended} It was the last one." if self.over else f"{ended}\n\n{await self.begin()}"
