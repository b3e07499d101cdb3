"""Asking a model the questions of a task, one after the other, in the process that holds the rollout's token."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openfingym.errors import SubmissionError, VerifierError
from openfingym.models.messages import Tool
from openfingym.suites.suite import Observation, SuiteQuestion
from openfingym.trajectory.record import StepReward
from openfingym.verifiers.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.suites.suite import Asking
    from openfingym.task.episodes import EpisodeStep
    from openfingym.verifiers.client import RolloutTicket, VerifierClient

FINAL = "Final Answer:"
"""What an answer in text begins with; what is before it is not part of it."""
_FINAL = re.compile(r"final\s+answer\**\s*:\**|<answer>", re.IGNORECASE)
ANSWER = Tool(
    "answer",
    "Answer the question, once. What follows is another question.",
    {
        "type": "object",
        "properties": {"answer": {"type": "string", "description": "The answer, in the form that is asked for."}},
        "required": ["answer"],
    },
)


Taking = Callable[[str], Awaitable[tuple[str, bool]]]
"""Takes an answer; gives the text for the model, and whether the answer could not be parsed."""


class QuestionPlayer:
    """The questions of one rollout that count, in their order; each is asked once.

    Attributes:
        over: whether all are over.
        rewards: none: what an answer is worth is told with the score.
        waiting: how long the verifier took.
        asking: who asks.
        simulated: whether the world that is asked about is made up.
        taking: what the tool ``answer`` does with an answer.
    """

    def __init__(
        self,
        client: VerifierClient,
        ticket: RolloutTicket,
        tools: Sequence[Tool],
        asking: Asking | None = None,
        *,
        simulated: bool = False,
    ) -> None:
        # Of a rollout that is gone on with, the question that was open when its launcher died was shown, and is over.
        self.over = ticket.begun >= ticket.budget
        self.rewards: list[StepReward] = []
        self.waiting = Stopwatch()
        self.asking = asking
        self.simulated = simulated
        self.taking: Taking = self.answer
        self._tools = tuple(tools)
        self._client = client
        self._ticket = ticket
        self._at: EpisodeStep | None = None
        self._question: SuiteQuestion | None = None
        self._closed = True
        """Whether the question at hand takes no more actions, for another reason than what it said last."""

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools of a question, and that which answers it."""
        return (*self._tools, ANSWER)

    def allow(self, names: Sequence[str]) -> None:
        """Offer these tools alone."""
        self._tools = tuple(tool for tool in self._tools if tool.name in names)

    @property
    def told(self) -> bool:
        """Whether a question was asked."""
        return self._at is not None or self._ticket.begun > 0

    @property
    def question(self) -> SuiteQuestion:
        """The question at hand."""
        assert self._question is not None, "ask first"
        return self._question

    @property
    def open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._at is not None and not self._at.done and not self._closed

    @property
    def going(self) -> bool:
        """Whether the attempt at hand goes on."""
        return self.open and self._at is not None and self._at.info.get("attempt_over") is not True

    @property
    def steps_left(self) -> int:
        """Actions left of the attempt at hand."""
        left = self._at.info.get("steps_left") if self._at is not None else 0
        return left if isinstance(left, int) else 0

    async def ask(self) -> str | None:
        """Begin the next question.

        Returns:
            The question, as it is put to the model; None where there is no other.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        try:
            with self.waiting.running():
                self._at = await asyncio.to_thread(self._client.start_episode, self._ticket.token, "private")
        except SubmissionError as error:
            if error.problem == "episodes-exhausted":  # programs may begin questions too
                self.over = True
                return None
            raise VerifierError(f"the next question could not be asked: {error}") from error
        self._closed = False
        seen, count = self._at.observation, self._ticket.budget
        self._question = SuiteQuestion(
            str(self._at.info["id"]), str(seen["question"]), str(seen["as_of"]), dict(_mapping(seen["query"]))
        )
        place = count - self._at.episodes_left
        limit = self._at.info.get("steps_left")
        return (
            f"Question {place} of {count}, asked as of {seen['as_of']}:\n\n{seen['question']}\n\n"
            f"The answer: {seen['answer']}\nYou may call tools {limit} times, the answer included."
        )

    def leave(self) -> None:
        """Give the question at hand up, if it is open: it counts as it stands."""
        self._closed = True
        self.over = self._at is not None and self._at.episodes_left == 0

    async def call(self, tool: str, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """Call a tool.

        Returns:
            The text for the model, and whether the call was none.
        """
        return await self._step({"tool": tool, "arguments": dict(arguments)})

    async def observe(self, tool: str, arguments: Mapping[str, object]) -> Observation:
        """Call a tool for what is given with the question."""
        text, failed = await self.call(tool, arguments)
        return Observation(text, not failed, None if failed or self._at is None else self._at.observation.get("value"))

    async def answer(self, answer: object, before: object = None) -> tuple[str, bool]:
        """Answer the question.

        Args:
            answer: the answer, a text or a JSON value.
            before: the answer of the last attempt, for the record, where several were voted on.

        Returns:
            The text for the model, and whether the answer could not be parsed.
        """
        return await self._step({"answer": answer, **({} if before is None else {"before": before})})

    async def message(self, text: str) -> tuple[str, bool]:
        """Record a message that neither calls nor answers: an invalid action."""
        return await self._step({"message": text})

    async def begin_attempt(self, number: int, of: int, before: object) -> None:
        """Begin one of several attempts at the question.

        Args:
            number: which one, from 1.
            of: how many there are.
            before: the answer of the attempt before, for the record.
        """
        await self._step({"attempt": number, "of": of, **({} if before is None else {"before": before})})

    async def code(self, text: str, tools: Sequence[str]) -> tuple[str, bool]:
        """Begin a block of code, whose calls of these tools are part of it."""
        return await self._step({"code": text, "tools": list(tools)})

    async def ran(self, well: bool) -> str:
        """End the block of code; what the model is told beside what it printed."""
        assert self._at is not None
        with self.waiting.running():
            episode, step = await asyncio.to_thread(self._client.place, self._ticket.token)
        if episode != self._at.episode:  # the block began another question
            self._closed, self.over = True, False
            return ""
        self._at = replace(self._at, step=step)
        told, _ = await self._step({"ran": well})
        return told.partition("\n")[2]

    async def _step(self, action: Mapping[str, object]) -> tuple[str, bool]:
        if self._at is None or not self.open:
            return "No question is open.", True
        if not (self.going or action.keys() & {"attempt", "answer"}):
            return "This attempt is over.", True
        try:
            with self.waiting.running():
                self._at = await asyncio.to_thread(
                    self._client.step, self._ticket.token, self._at.episode, self._at.step + 1, action
                )
        except SubmissionError as error:
            if error.problem == "episode-over":
                self.leave()
                return "The question is over.", True
            if "message" in action:
                raise VerifierError(f"a message was refused: {error}") from error
            refused = f"Refused, and nothing was done: {error}"
            await self._step({"message": refused[:300]})
            return refused, True
        self.over = self._at.done and self._at.episodes_left == 0
        left = self._at.info.get("steps_left")
        text = str(self._at.observation["text"])
        if self._at.done:
            return f"{text}\nThe question is over.", self._at.observation.get("valid") is False
        if self._at.info.get("attempt_over") is True:
            return f"{text}\nThis attempt is over.", self._at.observation.get("valid") is False
        return f"{text}\n({left} calls left for this question)", self._at.observation.get("valid") is False


def final_answer(text: str) -> str | None:
    """What stands behind the last ``Final Answer:`` of a message, or in its last ``<answer>``; None where there is
    neither.
    """
    found = [*_FINAL.finditer(text)]
    return text[found[-1].end() :].partition("</answer>")[0].strip() if found else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
