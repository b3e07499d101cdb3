"""The episodes of a sequential task, played on behalf of a model in the process that holds the rollout's token."""

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
"""Most steps that are waited through in one call; longer than any episode."""


class Player:
    """The episodes of one rollout: practice as long as the budget lasts, then the private ones, one after the other.

    The agent begins the first private episode itself, as a program does: without one, a rollout is not scored.

    Attributes:
        over: whether all private episodes are played.
        rewards: the reward of each step of the private episodes, for the record.
        waiting: how long the verifier took for episodes and steps.
    """

    def __init__(self, client: VerifierClient, ticket: RolloutTicket, symbols: tuple[str, ...]) -> None:
        """Begin no episode yet.

        Args:
            client: speaks to the verifier.
            ticket: the rollout's ticket, with its token.
            symbols: names of the columns of the bars in an observation, in their order.
        """
        self.over = False
        self.rewards: list[StepReward] = []
        self.waiting = Stopwatch()
        self._client = client
        self._ticket = ticket
        self._symbols = symbols
        self._latest: EpisodeStep | None = None
        """The step that was reached last; None before the first episode."""
        self._total = 0.0
        """Sum of the rewards of the episode at hand."""

    @property
    def told(self) -> bool:
        """Whether an episode was begun, so that the agent has seen hidden bars."""
        return self._latest is not None

    @property
    def observation(self) -> Mapping[str, object] | None:
        """The latest observation whole, as a program would get it; None before the first episode."""
        return None if self._latest is None else self._latest.observation

    async def start(self, *, practice: bool = False) -> tuple[str, bool]:
        """Begin the next episode, and tell how it starts.

        Args:
            practice: whether to begin an episode on the public fold, which does not count.

        Returns:
            The text for the agent, and whether the episode was refused.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if self.over:
            return "All episodes are over.", True
        # Each private episode is played once: beginning the next one would end this one where it stands.
        if self._latest is not None and self._latest.fold == "private" and not self._latest.done:
            return f"Episode {self._latest.number + 1} is under way: go on with step.", True
        try:
            with self.waiting.running():
                self._latest = await asyncio.to_thread(
                    self._client.start_episode, self._ticket.token, "public" if practice else "private"
                )
        except SubmissionError as error:
            # The budget of practice is the agent's affair; a private episode that is left can always be begun.
            if practice:
                return f"Refused: {error}", True
            raise VerifierError(f"the next episode could not be begun: {error}") from error
        self._total = 0.0
        episodes = self._latest.number + 1 + self._latest.episodes_left
        name = "A practice episode" if practice else f"Episode {self._latest.number + 1} of {episodes}"
        return f"{name} begins.\n{first_text(self._latest, self._symbols)}", False

    async def step(self, action: object, wait: int, *, message: int) -> tuple[str, bool]:
        """Take an action, then do nothing for ``wait`` more steps, and tell what is seen then.

        Args:
            action: the action, a JSON value; None does nothing.
            wait: number of steps without an action that follow it.
            message: position in the record of the message that acted.

        Returns:
            The text for the agent, and whether the action was refused.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        if self.over:
            return "All episodes are over.", True
        if self._latest is None or self._latest.done:
            return "No episode is under way; begin one with start_episode.", True
        passed, earned = StepEvents(), 0.0
        for number in range(1 + max(0, min(wait, MAX_WAIT))):
            try:
                with self.waiting.running():
                    self._latest = await asyncio.to_thread(
                        self._client.step,
                        self._ticket.token,
                        self._latest.episode,
                        self._latest.step + 1,
                        None if number else action,
                    )
            except SubmissionError as error:
                return f"Refused, and nothing was done: {error}", True
            # NaN, the one number that is not equal to itself, counts as no reward: the record takes finite ones alone.
            reward = self._latest.reward if self._latest.reward == self._latest.reward else 0.0
            earned += reward
            self._total += reward
            passed.add(self._latest.observation)
            if self._latest.fold == "private":
                self.rewards.append(
                    StepReward(episode=self._latest.number, step=self._latest.step, reward=reward, message=message)
                )
            if self._latest.done:
                return await self._end_text(), False
        return next_text(self._latest, self._symbols, reward=earned, passed=passed), False

    async def _end_text(self) -> str:
        """Tell that the episode at hand is over; behind a private one, the next one is begun."""
        assert self._latest is not None
        name, earned = f"Episode {self._latest.number + 1}", f"is over; its rewards add up to {self._total:+.4f}."
        if self._latest.fold == "public":
            return f"The practice episode {earned} It does not count; begin the next one with start_episode."
        self.over = self._latest.episodes_left == 0
        following = " It was the last one." if self.over else f"\n\n{(await self.start())[0]}"
        return f"{name} {earned}{following}"
