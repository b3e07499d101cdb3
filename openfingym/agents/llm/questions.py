"""Asking a model the questions of a task, one after the other, in the process that holds the rollout's token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openfingym.errors import SubmissionError, VerifierError
from openfingym.models.messages import Tool
from openfingym.trajectory.record import StepReward
from openfingym.verifiers.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.task.episodes import EpisodeStep
    from openfingym.verifiers.client import RolloutTicket, VerifierClient

FINAL = "Final Answer:"
"""What an answer in text begins with; what is before it is not part of it."""
ANSWER = Tool(
    "answer",
    "Answer the question, once. What follows is another question.",
    {
        "type": "object",
        "properties": {"answer": {"type": "string", "description": "The answer, in the form that is asked for."}},
        "required": ["answer"],
    },
)


class QuestionPlayer:
    """The questions of one rollout that count, in their order; each is asked once.

    Attributes:
        over: whether all are over.
        rewards: none: what an answer is worth is told with the score.
        waiting: how long the verifier took.
    """

    def __init__(self, client: VerifierClient, ticket: RolloutTicket, tools: Sequence[Tool]) -> None:
        # Of a rollout that is gone on with, the question that was open when its launcher died was shown, and is over.
        self.over = ticket.begun >= ticket.budget
        self.rewards: list[StepReward] = []
        self.waiting = Stopwatch()
        self.offered = (*tools, ANSWER)
        self._client = client
        self._ticket = ticket
        self._at: EpisodeStep | None = None

    @property
    def told(self) -> bool:
        """Whether a question was asked."""
        return self._at is not None or self._ticket.begun > 0

    @property
    def open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._at is not None and not self._at.done

    async def ask(self) -> str:
        """Begin the next question.

        Returns:
            The question, as it is put to the model.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        try:
            with self.waiting.running():
                self._at = await asyncio.to_thread(self._client.start_episode, self._ticket.token, "private")
        except SubmissionError as error:
            raise VerifierError(f"the next question could not be asked: {error}") from error
        seen, count = self._at.observation, self._ticket.budget
        place = count - self._at.episodes_left
        limit = self._at.info.get("steps_left")
        return (
            f"Question {place} of {count}, asked as of {seen['as_of']}:\n\n{seen['question']}\n\n"
            f"The answer: {seen['answer']}\nYou may call tools {limit} times, the answer included."
        )

    async def call(self, tool: str, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """Call a tool.

        Returns:
            The text for the model, and whether the call was none.
        """
        return await self._step({"tool": tool, "arguments": dict(arguments)})

    async def answer(self, answer: object) -> tuple[str, bool]:
        """Answer the question.

        Returns:
            The text for the model, and whether the answer could not be parsed.
        """
        return await self._step({"answer": answer})

    async def _step(self, action: object) -> tuple[str, bool]:
        if self._at is None or self._at.done:
            return "No question is open.", True
        try:
            with self.waiting.running():
                self._at = await asyncio.to_thread(
                    self._client.step, self._ticket.token, self._at.episode, self._at.step + 1, action
                )
        except SubmissionError as error:
            return f"Refused, and nothing was done: {error}", True
        self.over = self._at.done and self._at.episodes_left == 0
        left = self._at.info.get("steps_left")
        text = str(self._at.observation["text"])
        if self._at.done:
            return f"{text}\nThe question is over.", self._at.observation.get("valid") is False
        return f"{text}\n({left} calls left for this question)", self._at.observation.get("valid") is False


def final_answer(text: str) -> str | None:
    """What stands behind the last ``Final Answer:`` of a message; None where there is none."""
    _, found, answer = text.rpartition(FINAL)
    return answer.strip() if found else None
