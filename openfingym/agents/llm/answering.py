"""Answering the questions of a task one by one: each in a conversation of its own, or in several that vote.

What is a suite's, such as its prompts, its forms of answers and its vote, comes from the suite. Limits of a question
are the verifier's (:mod:`openfingym.kinds.qa_episodes`), but for its time.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

from openfingym.agents.llm.actions import Action, react_action, tagged_action
from openfingym.agents.llm.questions import final_answer
from openfingym.agents.llm.session import OUTAGE_S, Conversation
from openfingym.agents.llm.settings import NOTHING, Answering
from openfingym.agents.llm.tools import told
from openfingym.errors import ModelUnavailableError
from openfingym.suites.asking import UnreadableCallError
from openfingym.suites.suite import UnreadableAnswerError
from openfingym.workspace import WorkspaceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.agents.llm.asking import Sampling
    from openfingym.agents.llm.questions import QuestionPlayer
    from openfingym.models.messages import Message
    from openfingym.suites.suite import AnswerForm

BLOCK = "block.py"
RUN_BLOCK = f"import interface\n\ninterface.run_block({BLOCK!r})\n"
LONGEST_MESSAGE = 2_000
"""Characters of a message that was of no use which are kept with the verifier's record."""
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


class Respondent:
    """One rollout's answers to the questions of its task."""

    def __init__(
        self, session: Conversation, questions: QuestionPlayer, settings: Answering, sampling: Sampling, system: str
    ) -> None:
        """Ask nothing yet.

        Args:
            session: the rollout.
            questions: asks, calls tools and answers.
            settings: how it is answered.
            sampling: how the model is asked.
            system: system message where tools are called natively.
        """
        self._session = session
        self._questions = questions
        self._settings = settings
        self._sampling = sampling
        self._system = system
        asking = questions.asking
        assert asking is not None, "who asks is known of every task with questions"
        self._suite, self._options = asking.suite, asking.options
        self._usual = not settings.answer
        self._given: NDArray[np.float64] | None = None
        """The answer to vote on that the tool ``answer`` took last."""
        self._allowed = self._suite.subsets(self._options)[settings.tools if settings.method == "react" else NOTHING]

    @property
    def _form(self) -> AnswerForm:
        """What an answer to the question at hand is, as the model is told."""
        if self._usual:
            return self._suite.question_form(self._questions.question, self._options)
        return self._suite.forms(self._options)[self._settings.answer]

    async def answer_all(self) -> None:
        """Answer every question that is left."""
        if self._settings.action == "block":
            await self._session.tools.programs.workspace()  # whose start is no question's time
        self._questions.allow(self._allowed)
        self._questions.taking = self._taken
        while not self._questions.over:
            text = await self._questions.ask()
            if text is None:
                return
            limit = asyncio.timeout(self._settings.question_s)
            try:
                async with limit:
                    await self._answer(text)
            except TimeoutError:
                if not limit.expired():
                    raise
                self._require_endpoint()
            self._questions.leave()

    async def _answer(self, text: str) -> None:
        settings, questions = self._settings, self._questions
        found = await self._retrieved() if settings.method == "rag" else None
        if settings.votes == 1:
            await self._attempt(text, found)
            return
        answers: list[NDArray[np.float64]] = []
        before: object = None
        for number in range(1, settings.votes + 1):
            await questions.begin_attempt(number, settings.votes, before)
            answer = await self._attempt(text, found)
            before = None if answer is None else self._form.write(answer)
            answers += [] if answer is None else [answer]
        if answers:
            await questions.answer(self._form.write(self._suite.vote(answers)), before)

    async def _attempt(self, text: str, found: object) -> NDArray[np.float64] | None:
        """One conversation about the question; the answer that it came to, where that is to be voted on."""
        settings, questions, session = self._settings, self._questions, self._session
        native = settings.method == "react" and settings.action == "tool"
        if native and self._usual:
            session.begin(text, system=self._system, sampling=self._sampling)
        else:
            way = settings.approach(steps=questions.steps_left, simulated=questions.simulated)
            prompt = self._suite.prompt(questions.question, way, self._options, found)
            system = f"{self._system}\n\n{prompt.system}".strip() if native else prompt.system
            session.begin(prompt.user, system=system, sampling=self._sampling)
        while questions.going:
            message = await session.ask(tools=native, sampling=self._sampling, anything=True)
            if message.tool_calls:
                given = await self._call(message)
                if given is not None:
                    return given
                continue
            answer, observed = await self._act(self._said(message))
            if answer is not None or settings.method != "react":
                return answer
            if questions.going and observed:
                session.tell(self._as_observation(observed))
        return None

    async def _call(self, message: Message) -> NDArray[np.float64] | None:
        """Make the native calls of a message; the answer to vote on, if one of them gave it."""
        self._given = None
        if not await self._session.call(message.tool_calls, judged=False) and self._questions.going:
            await self._useless(message.content)
        return self._given

    def _said(self, message: Message) -> str:
        """What a message says. Thinking models call within their thoughts, whose end is where the call is: what they
        went on to think was made up, and is not shown to them again.
        """
        if self._settings.action != "tags":
            return message.content
        text = message.said if message.said is not None else f"{message.reasoning or ''}{message.content}"
        text = text.partition("</function_call>")[0] + ("</function_call>" if "</function_call>" in text else "")
        if not self._sampling.append_only:
            self._session.show_again(text)
        return text

    async def _act(self, content: str) -> tuple[NDArray[np.float64] | None, str]:
        """Do what a message asks for; the answer to vote on, and what is observed."""
        settings = self._settings
        action = self._action(content)
        if action is None:
            return None, await self._useless(content)
        if action.kind == "answer":
            behind = final_answer(action.text)
            return await self._answered(action.text if behind is None else behind)
        if settings.action == "block":
            if action.kind != "code":
                return None, await self._useless(content)
            return None, await self._run(action.text)
        try:
            name, arguments = self._suite.read_call(action.text, self._options)
        except UnreadableCallError as error:
            await self._useless(content)
            return None, str(error)
        if name not in self._allowed:
            observed = await self._useless(content)
            return None, f"There is no function {name[:60]!r} here. {observed}"
        observed, _ = await self._questions.call(name, arguments)
        return None, observed

    def _action(self, content: str) -> Action | None:
        if self._settings.method != "react":
            return Action("answer", without_thoughts(content))
        if self._settings.action == "tags":
            return tagged_action(content)
        text = without_thoughts(content)
        if self._settings.action == "tool":
            return None if final_answer(text) is None else Action("answer", text)
        return react_action(text)

    async def _answered(self, text: str) -> tuple[NDArray[np.float64] | None, str]:
        """Give the verifier the answer, or keep it for the vote."""
        try:
            numbers = self._form.read(text)
        except UnreadableAnswerError as error:
            if self._settings.votes > 1:
                await self._useless(text)
                return None, f"{error}\nExpected: {self._form.expected}"
            observed, _ = await self._questions.answer(text)
            return None, observed if self._usual else f"{error}\nExpected: {self._form.expected}"
        if self._settings.votes > 1:
            return numbers, ""
        observed, _ = await self._questions.answer(text if self._usual else self._form.write(numbers))
        return None, observed

    async def _taken(self, text: str) -> tuple[str, bool]:
        """What the tool ``answer`` does."""
        self._given, observed = await self._answered(text)
        return observed or "The answer is taken.", self._given is None and self._questions.going

    async def _run(self, code: str) -> str:
        """Run a block of code, whose calls of tools are of this question; what it printed."""
        questions, programs = self._questions, self._session.tools.programs
        observed, failed = await questions.code(code, self._allowed)
        if failed or not questions.going:
            return observed
        try:
            await (await programs.workspace()).write_file(BLOCK, code.encode("utf-8", "replace"))
            execution = await programs.run(RUN_BLOCK, timeout_s=self._settings.block_s)
        except WorkspaceError as error:
            programs.require_alive("killed")
            well, printed = False, str(error)
        else:
            well, printed = execution.ended_by == "exit" and execution.exit_code == 0, told(execution)
        ending = await questions.ran(well)
        return f"{printed}\n{ending}".strip()

    async def _useless(self, content: str) -> str:
        """A message that neither calls nor answers; what the model is told."""
        observed, _ = await self._questions.message(content[:LONGEST_MESSAGE])
        return observed

    async def _retrieved(self) -> object:
        """What the suite looks up for the question."""
        questions, suite = self._questions, self._suite
        what = self._settings.retrieve or suite.retrieves[-1]
        looking = suite.retrieval(questions.question, what, self._options, questions.steps_left - 1)
        try:
            name, arguments = next(looking)
            while True:
                name, arguments = looking.send(await questions.observe(name, arguments))
        except StopIteration as end:
            return end.value

    def _as_observation(self, text: str) -> str:
        if self._settings.action == "tags":
            return f"<observation>{text}</observation>"
        return text if self._settings.action == "tool" else f"Observation: {text}"

    def _require_endpoint(self) -> None:
        """Time that ran out while an endpoint was away is not the model's.

        Raises:
            ModelUnavailableError: it was.
        """
        since = self._session.asker.waiting_since
        waited = 0.0 if since is None else time.monotonic() - since
        if waited > OUTAGE_S:
            raise ModelUnavailableError(f"the endpoint gave no answer in the last {waited:.0f} s of a question's time")


def without_thoughts(text: str) -> str:
    """A message without what stands in ``<think>`` tags, of which the first or the last may be missing."""
    text = _THOUGHT.sub("", text)
    text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0].strip()
