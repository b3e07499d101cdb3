"""The questions of a task, played on behalf of a model in the process that holds the rollout's token."""

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
"""Words with which a message in text announces its answer; what stands before them is not part of the answer."""
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


AnswerHandler = Callable[[str], Awaitable[tuple[str, bool]]]
"""Takes an answer; returns the text for the model, and whether the answer could not be parsed."""


class QuestionPlayer:
    """The questions of one rollout that count, in their order; each is asked once.

    Attributes:
        over: whether all questions are over.
        rewards: always empty, since what an answer is worth is told with the score alone.
        waiting: how long the verifier took for questions and actions.
        asking: the suite that asks, and the task's options of it.
        simulated: whether the world that is asked about is made up.
        on_answer: what the tool ``answer`` does with an answer; :meth:`answer`, unless the agent sets another.
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
        """Ask nothing yet.

        Args:
            client: speaks to the verifier.
            ticket: the rollout's ticket, with its token.
            tools: the tools of the task's questions, which the model is offered as its own.
            asking: the suite that asks, and the task's options of it.
            simulated: whether the world that is asked about is made up.
        """
        # Where a rollout is resumed, the question that was open when its launcher died was shown, and is over.
        self.over = ticket.begun >= ticket.budget
        self.rewards: list[StepReward] = []
        self.waiting = Stopwatch()
        self.asking = asking
        self.simulated = simulated
        self.on_answer: AnswerHandler = self.answer
        self._tools = tuple(tools)
        self._client = client
        self._ticket = ticket
        self._latest: EpisodeStep | None = None
        """What the verifier said last; None before the first question."""
        self._question: SuiteQuestion | None = None
        self._closed = True
        """Whether the question at hand takes no more actions, although the verifier did not say that it is over."""

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools of a question, and the tool that answers it."""
        return (*self._tools, ANSWER)

    def allow(self, names: Sequence[str]) -> None:
        """Offer these tools alone, and the tool that answers the question."""
        self._tools = tuple(tool for tool in self._tools if tool.name in names)

    @property
    def told(self) -> bool:
        """Whether a question was asked, by this process or by one before it."""
        return self._latest is not None or self._ticket.begun > 0

    @property
    def question(self) -> SuiteQuestion:
        """The question at hand."""
        assert self._question is not None, "ask first"
        return self._question

    @property
    def open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._latest is not None and not self._latest.done and not self._closed

    @property
    def going(self) -> bool:
        """Whether the attempt at hand goes on."""
        return self.open and self._latest is not None and self._latest.info.get("attempt_over") is not True

    @property
    def steps_left(self) -> int:
        """Actions left of the attempt at hand, the answer included."""
        left = self._latest.info.get("steps_left") if self._latest is not None else 0
        return left if isinstance(left, int) else 0

    async def ask(self) -> str | None:
        """Begin the next question.

        Returns:
            The question, as it is put to the model; None where there is no other question.

        Raises:
            VerifierError: the verifier does not answer, or fails.
        """
        try:
            with self.waiting.running():
                self._latest = await asyncio.to_thread(self._client.start_episode, self._ticket.token, "private")
        except SubmissionError as error:
            if error.problem == "episodes-exhausted":  # programs may begin questions too
                self.over = True
                return None
            raise VerifierError(f"the next question could not be asked: {error}") from error
        self._closed = False
        seen, count = self._latest.observation, self._ticket.budget
        self._question = SuiteQuestion(
            str(self._latest.info["id"]), str(seen["question"]), str(seen["as_of"]), dict(_mapping(seen["query"]))
        )
        place = count - self._latest.episodes_left
        limit = self._latest.info.get("steps_left")
        return (
            f"Question {place} of {count}, asked as of {seen['as_of']}:\n\n{seen['question']}\n\n"
            f"The answer: {seen['answer']}\nYou may call tools {limit} times, the answer included."
        )

    def leave(self) -> None:
        """Leave the question at hand, whether or not it is open; it counts as it stands."""
        self._closed = True
        self.over = self._latest is not None and self._latest.episodes_left == 0

    async def call(self, tool: str, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """Call a tool.

        Returns:
            The text for the model, and whether the call could not be made.
        """
        return await self._step({"tool": tool, "arguments": dict(arguments)})

    async def observe(self, tool: str, arguments: Mapping[str, object]) -> Observation:
        """Call a tool on behalf of the suite, which puts what it finds into the prompt."""
        text, failed = await self.call(tool, arguments)
        value = None if failed or self._latest is None else self._latest.observation.get("value")
        return Observation(text, not failed, value)

    async def answer(self, answer: object, before: object = None) -> tuple[str, bool]:
        """Answer the question.

        Args:
            answer: the answer, a text or a JSON value.
            before: the answer of the last attempt, for the record, where the answers of several were voted on.

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
            number: number of the attempt, from 1.
            of: how many attempts there are.
            before: the answer that the attempt before came to, for the record; None where there was none.
        """
        await self._step({"attempt": number, "of": of, **({} if before is None else {"before": before})})

    async def code(self, text: str, tools: Sequence[str]) -> tuple[str, bool]:
        """Begin a block of code: calls of these tools are part of it until :meth:`ran` ends it.

        Returns:
            The text for the model, and whether the block could not be begun.
        """
        return await self._step({"code": text, "tools": list(tools)})

    async def ran(self, well: bool) -> str:
        """End the block of code.

        Args:
            well: whether the block ran to its end without an error.

        Returns:
            What the model is told beside what the block printed.
        """
        assert self._latest is not None
        # The block has called tools by its own program, so this side does not know how many steps were taken.
        with self.waiting.running():
            episode, step = await asyncio.to_thread(self._client.place, self._ticket.token)
        if episode != self._latest.episode:  # the block began another question
            self._closed, self.over = True, False
            return ""
        self._latest = replace(self._latest, step=step)
        text, _ = await self._step({"ran": well})
        # The first line says whether it ran, which the model has seen; limits follow it.
        return text.partition("\n")[2]

    async def _step(self, action: Mapping[str, object]) -> tuple[str, bool]:
        """Take an action of the question at hand; a refusal is a text for the model, not an error.

        Returns:
            The text for the model, and whether the action was invalid or refused.

        Raises:
            VerifierError: the verifier does not answer, fails, or refuses even a message.
        """
        if self._latest is None or not self.open:
            return "No question is open.", True
        if not (self.going or action.keys() & {"attempt", "answer"}):
            return "This attempt is over.", True
        try:
            with self.waiting.running():
                self._latest = await asyncio.to_thread(
                    self._client.step, self._ticket.token, self._latest.episode, self._latest.step + 1, action
                )
        except SubmissionError as error:
            if error.problem == "episode-over":
                self.leave()
                return "The question is over.", True
            if "message" in action:
                raise VerifierError(f"a message was refused: {error}") from error
            # A refused action costs nothing, and a model that makes no other would never come to an end: the message
            # in its place counts as an invalid action.
            refused = f"Refused, and nothing was done: {error}"
            await self._step({"message": refused[:300]})
            return refused, True
        self.over = self._latest.done and self._latest.episodes_left == 0
        left = self._latest.info.get("steps_left")
        text = str(self._latest.observation["text"])
        invalid = self._latest.observation.get("valid") is False
        if self._latest.done:
            return f"{text}\nThe question is over.", invalid
        if self._latest.info.get("attempt_over") is True:
            return f"{text}\nThis attempt is over.", invalid
        return f"{text}\n({left} calls left for this question)", invalid


def final_answer(text: str) -> str | None:
    """The text behind the last ``Final Answer:`` of a message, or in its last ``<answer>``; None where there is
    neither.
    """
    marks = [*_FINAL.finditer(text)]
    return text[marks[-1].end() :].partition("</answer>")[0].strip() if marks else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
