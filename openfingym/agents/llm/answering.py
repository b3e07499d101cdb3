"""Answering the questions of a task one by one: each in a conversation of its own, or in several whose answers vote.

Prompts, forms of answers, tools and the vote are the suite's. The limits of a question are the verifier's
(:mod:`openfingym.kinds.qa_episodes`), except for its time, which is kept here.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from openfingym.agents.llm.actions import Action, react_action, tagged_action
from openfingym.agents.llm.questions import final_answer
from openfingym.agents.llm.session import Conversation
from openfingym.agents.llm.settings import NOTHING, Answering
from openfingym.agents.llm.tools import execution_text
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
"""Most characters of a message of no use that are sent to the verifier, which keeps them."""
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


class Respondent:
    """One rollout's answers to the questions of its task."""

    def __init__(
        self, session: Conversation, questions: QuestionPlayer, settings: Answering, sampling: Sampling, system: str
    ) -> None:
        """Ask nothing yet.

        Args:
            session: the conversation of the rollout.
            questions: the questions of the rollout, through which tools are called and answers given.
            settings: how questions are answered.
            sampling: how the model is asked.
            system: the system message where tools are called natively.
        """
        self._session = session
        self._questions = questions
        self._settings = settings
        self._sampling = sampling
        self._system = system
        asking = questions.asking
        assert asking is not None, "who asks is known of every task with questions"
        self._suite, self._options = asking.suite, asking.options
        self._usual_form = not settings.answer
        """Whether the answer is asked for in the form that the verifier reads, and not in another of the suite's."""
        self._by_tool: NDArray[np.float64] | None = None
        """The answer to vote on that the model gave last by the tool ``answer``."""
        self._allowed = self._suite.subsets(self._options)[settings.tools if settings.method == "react" else NOTHING]

    @property
    def _form(self) -> AnswerForm:
        """The form in which the model is asked for its answer to the question at hand."""
        if self._usual_form:
            return self._suite.question_form(self._questions.question, self._options)
        return self._suite.forms(self._options)[self._settings.answer]

    async def answer_all(self) -> None:
        """Answer every question that is left."""
        # Started before the first question, whose time the start of a workspace must not take.
        if self._settings.action == "block":
            await self._session.tools.programs.workspace()
        self._questions.allow(self._allowed)
        self._questions.on_answer = self._take_answer
        while not self._questions.over:
            text = await self._questions.ask()
            if text is None:
                return
            limit = asyncio.timeout(self._settings.question_s)
            try:
                async with limit:
                    await self._answer(text)
            except TimeoutError:
                # A timeout of something inside, not of the question's time.
                if not limit.expired():
                    raise
                self._session.asker.require_endpoint()
            self._questions.leave()

    async def _answer(self, text: str) -> None:
        """Answer one question: by one attempt, or by the vote of several.

        Args:
            text: the question as it is put to a model that calls tools natively.
        """
        settings, questions = self._settings, self._questions
        retrieved = await self._retrieve() if settings.method == "rag" else None
        if settings.votes == 1:
            await self._attempt(text, retrieved)
            return
        answers: list[NDArray[np.float64]] = []
        before: object = None
        for number in range(1, settings.votes + 1):
            await questions.begin_attempt(number, settings.votes, before)
            answer = await self._attempt(text, retrieved)
            before = None if answer is None else self._form.write(answer)
            answers += [] if answer is None else [answer]
        if answers:
            await questions.answer(self._form.write(self._suite.vote(answers)), before)

    async def _attempt(self, text: str, retrieved: object) -> NDArray[np.float64] | None:
        """One conversation about the question.

        Args:
            text: the question as it is put to a model that calls tools natively.
            retrieved: what was looked up for the question; None where nothing was.

        Returns:
            The answer, where it is to be voted on; None where there is none, or the verifier has it already.
        """
        settings, questions, session = self._settings, self._questions, self._session
        native = settings.method == "react" and settings.action == "tool"
        if native and self._usual_form:
            session.begin(text, system=self._system, sampling=self._sampling)
        else:
            way = settings.approach(steps=questions.steps_left, simulated=questions.simulated)
            prompt = self._suite.prompt(questions.question, way, self._options, retrieved)
            system = f"{self._system}\n\n{prompt.system}".strip() if native else prompt.system
            session.begin(prompt.user, system=system, sampling=self._sampling)
        while questions.going:
            message = await session.ask(tools=native, sampling=self._sampling, anything=True)
            if message.tool_calls:
                by_tool = await self._call(message)
                if by_tool is not None:
                    return by_tool
                continue
            answer, observed = await self._act(self._text_of(message))
            # Every other method has one message for a question, whatever stands in it.
            if answer is not None or settings.method != "react":
                return answer
            if questions.going and observed:
                session.tell(self._as_observation(observed))
        return None

    async def _call(self, message: Message) -> NDArray[np.float64] | None:
        """Make the native calls of a message; returns the answer to vote on, if one of them gave it."""
        self._by_tool = None
        if not await self._session.call(message.tool_calls, judged=False) and self._questions.going:
            await self._record_useless(message.content)
        return self._by_tool

    def _text_of(self, message: Message) -> str:
        """The text of a message in which an action is looked for.

        Thinking models call within their thoughts: what they went on to think after a call was made up without its
        result, so it is cut off and not shown to them again.
        """
        if self._settings.action != "tags":
            return message.content
        # The text as the model wrote it, where its thoughts were taken out of it or came beside it.
        text = message.said if message.said is not None else f"{message.reasoning or ''}{message.content}"
        text = text.partition("</function_call>")[0] + ("</function_call>" if "</function_call>" in text else "")
        if not self._sampling.append_only:
            self._session.show_again(text)
        return text

    async def _act(self, content: str) -> tuple[NDArray[np.float64] | None, str]:
        """Do what a message asks for: answer, run a block of code, or call a tool.

        Returns:
            The answer, where it is to be voted on, else None; and what the model is told.
        """
        settings = self._settings
        action = self._action(content)
        if action is None:
            return None, await self._record_useless(content)
        if action.kind == "answer":
            final = final_answer(action.text)
            return await self._give_answer(action.text if final is None else final)
        if settings.action == "block":
            if action.kind != "code":
                return None, await self._record_useless(content)
            return None, await self._run(action.text)
        try:
            name, arguments = self._suite.read_call(action.text, self._options)
        except UnreadableCallError as error:
            await self._record_useless(content)
            return None, str(error)
        # The verifier would serve every tool of the question: it does not know that this agent is held to a subset.
        if name not in self._allowed:
            observed = await self._record_useless(content)
            return None, f"There is no function {name[:60]!r} here. {observed}"
        observed, _ = await self._questions.call(name, arguments)
        return None, observed

    def _action(self, content: str) -> Action | None:
        """The action of a message that makes no native call; None where it holds none."""
        if self._settings.method != "react":
            return Action("answer", without_thoughts(content))
        if self._settings.action == "tags":
            return tagged_action(content)
        text = without_thoughts(content)
        if self._settings.action == "tool":
            return None if final_answer(text) is None else Action("answer", text)
        return react_action(text)

    async def _give_answer(self, text: str) -> tuple[NDArray[np.float64] | None, str]:
        """Give the verifier the answer, or keep it for the vote.

        Returns:
            The answer to vote on, or None; and what the model is told.
        """
        try:
            numbers = self._form.read(text)
        except UnreadableAnswerError as error:
            if self._settings.votes > 1:
                await self._record_useless(text)
                return None, f"{error}\nExpected: {self._form.expected}"
            # The verifier gets it all the same, so that its record says that there was an answer, which was unreadable.
            observed, _ = await self._questions.answer(text)
            return None, observed if self._usual_form else f"{error}\nExpected: {self._form.expected}"
        if self._settings.votes > 1:
            return numbers, ""
        # The verifier reads the usual form alone, so an answer in another is written anew from its numbers.
        observed, _ = await self._questions.answer(text if self._usual_form else self._form.write(numbers))
        return None, observed

    async def _take_answer(self, text: str) -> tuple[str, bool]:
        """What the tool ``answer`` does; see :attr:`QuestionPlayer.on_answer`."""
        self._by_tool, observed = await self._give_answer(text)
        return observed or "The answer is taken.", self._by_tool is None and self._questions.going

    async def _run(self, code: str) -> str:
        """Run a block of code, whose calls of tools count as this question's; returns what the model is told."""
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
            well, printed = execution.ended_by == "exit" and execution.exit_code == 0, execution_text(execution)
        # Told also of a block that failed: until then, the verifier counts every call as part of the block.
        ending = await questions.ran(well)
        return f"{printed}\n{ending}".strip()

    async def _record_useless(self, content: str) -> str:
        """Record with the verifier a message that neither calls nor answers; returns what the model is told."""
        observed, _ = await self._questions.message(content[:LONGEST_MESSAGE])
        return observed

    async def _retrieve(self) -> object:
        """What the suite looks up for the question, as its prompt takes it."""
        questions, suite = self._questions, self._suite
        # The last one holds all that the suite retrieves.
        what = self._settings.retrieve or suite.retrieves[-1]
        # The answer is an action too, and one is left for it.
        retrieval = suite.retrieval(questions.question, what, self._options, questions.steps_left - 1)
        try:
            name, arguments = next(retrieval)
            while True:
                name, arguments = retrieval.send(await questions.observe(name, arguments))
        except StopIteration as end:
            return end.value

    def _as_observation(self, text: str) -> str:
        """What the model is told, in the form that its way of acting expects."""
        if self._settings.action == "tags":
            return f"<observation>{text}</observation>"
        return text if self._settings.action == "tool" else f"Observation: {text}"


def without_thoughts(text: str) -> str:
    """A message without what stands in ``<think>`` tags, of which the first or the last may be missing."""
    text = _THOUGHT.sub("", text)
    # Chat templates may open the thoughts themselves, and then the answer holds the closing tag alone.
    text = text.rpartition("</think>")[2]
    return text.partition("<think>")[0].strip()
