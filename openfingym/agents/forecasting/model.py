"""Agents that ask a language model, as forecasters: each question is a conversation of its own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from openfingym.agents.forecasting.local import LocalQuestion, NoPrograms
from openfingym.agents.forecasting.plain import PlainQuestion
from openfingym.agents.llm.conversation_runner import ConversationRunner
from openfingym.agents.llm.launching import TURNS
from openfingym.agents.llm.playing import PreparedRollout, play
from openfingym.agents.llm.research import DeepResearch
from openfingym.agents.llm.session import Assignment
from openfingym.agents.llm.settings import NOTHING, Answering
from openfingym.agents.llm.usefulness import USELESS_IN_A_ROW
from openfingym.errors import RuntimeFailureError
from openfingym.kinds.qa_episodes import AnswerState, QuestionEpisode
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance
from openfingym.models.prices import PriceTable
from openfingym.rounds.forecaster import Batch, QuestionInContext, Said, said_of
from openfingym.rounds.references import answer_document
from openfingym.suites.findeepforecast.asking import MARK
from openfingym.suites.findeepforecast.suite import SUITE, number_of, suite_question
from openfingym.suites.findeepforecast.tools import lookup_in
from openfingym.suites.suite import Asking, Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.agents import Agent
    from openfingym.agents.llm.playing import PlayedConversation
    from openfingym.agents.llm.session import ModelAgent
    from openfingym.models.model import LanguageModel
    from openfingym.models.spec import ModelSpec
    from openfingym.suites.suite import Lookup, Suite, SuiteQuestion
    from openfingym.verifiers.client import VerifierClient

STEPS, INVALID, REPEATED, ATTEMPTS = 20, 3, 3, 10
"""Limits of a question, as tasks with questions have them."""
LONGEST_NAME = 100
"""Characters of an agent's name in a ledger."""


@dataclass(frozen=True)
class QuestionToPlay:
    """A question as an agent plays it."""

    suite: Suite
    question: SuiteQuestion
    lookup: Lookup
    simulated: bool


@dataclass(frozen=True)
class ModelForecaster:
    """An agent with its model."""

    agent: Agent
    spec: ModelSpec
    model: LanguageModel
    conversations: ConversationRunner
    allowance: Allowance
    parallel: int = 1
    version: str = "1"
    uses_others: bool = False

    @property
    def name(self) -> str:
        """The agent's, with its settings and its model."""
        return f"{self.agent.name} with {self.spec.name}"[:LONGEST_NAME]

    @property
    def method(self) -> str:
        """The class of its method: from what it knows (T), with search (T+S), or Deep Research."""
        settings = _settings(self.agent)
        if settings.tools == NOTHING or settings.method in {"direct", "zero-shot-cot"}:
            return "T"
        return "Deep Research" if isinstance(self.agent.acts, DeepResearch) else "T+S"

    def forecast(self, batch: Batch) -> None:
        """See :class:`openfingym.rounds.forecaster.Forecaster`."""
        cancel = threading.Event()
        with ThreadPoolExecutor(self.parallel) as threads:
            waiting = [threads.submit(self._keep, batch, asked, cancel) for asked in batch.asked]
            try:
                for one in waiting:
                    one.result()
            except BaseException:
                cancel.set()
                for one in waiting:
                    one.cancel()
                raise

    def _keep(self, batch: Batch, asked: QuestionInContext, cancel: threading.Event) -> None:
        if cancel.is_set():
            return
        if batch.over():
            batch.keep(Said(asked.question.id, "late", reason="its time was over"))
            return
        one = _played(asked, batch)
        asking = Asking(one.suite, one.suite.options({}), ATTEMPTS)
        _settings(self.agent).require_known(asking)
        offered = one.suite.tools(asking.options)
        episode = QuestionEpisode(
            one.question,
            one.suite.question_form(one.question, asking.options),
            offered,
            lambda: one.lookup,
            steps=STEPS,
            invalid=INVALID,
            repeated=REPEATED,
            attempts=ATTEMPTS,
        )
        started = time.monotonic()
        played = self._play(LocalQuestion(episode), one, asking, tuple(_tool(tool) for tool in offered), cancel)
        record = self._record(played, time.monotonic() - started)
        if played.failure is not None:
            batch.keep(Said(asked.question.id, "error", reason=str(played.failure), record=record))
            raise played.failure
        if played.ending.how == "cancelled":
            return
        batch.keep(_said(asked, episode.outcome(), played, record))

    def _play(
        self,
        local: LocalQuestion,
        one: QuestionToPlay,
        asking: Asking,
        tools: tuple[Tool, ...],
        cancel: threading.Event,
    ) -> PlayedConversation:
        prepared = PreparedRollout(
            cast("ModelAgent", self.agent.acts),
            Assignment("forecast", "", sequential=True),
            NoPrograms(),
            cast("VerifierClient", local),
            local.ticket,
            self.model,
            self.allowance,
            lookups=tools,
            asking=asking,
            simulated=one.simulated,
        )
        try:
            return self.conversations.run(play(prepared), cancel)
        except CancelledError:
            raise RuntimeFailureError("the conversation was cancelled") from None

    def _record(self, played: PlayedConversation, seconds: float) -> dict[str, Any]:
        spent, turns = played.spent, [one.model_dump(mode="json", exclude_defaults=True) for one in played.turns]
        said = [turn.content for turn in played.turns if turn.role == "assistant"]
        return {
            "method": self.method,
            "model": self.spec.name,
            "endpoint": self.spec.endpoint,
            "cutoff": self.spec.cutoff,
            "prompt_tokens": spent.usage.prompt,
            "completion_tokens": spent.usage.completion,
            "cost_usd": spent.cost_usd,
            "seconds": round(seconds, 3),
            "ending": played.ending.how,
            "raw": said[-1] if said else "",
            "conversation": turns,
        }


def _said(
    asked: QuestionInContext, outcome: NDArray[np.float64], played: PlayedConversation, record: dict[str, Any]
) -> Said:
    """What a played question came to."""
    state = AnswerState(int(outcome[0]))
    if state is not AnswerState.ANSWERED:
        reason = f"{state.name.lower().replace('_', ' ')}: {played.ending.detail}"
        return Said(asked.question.id, "unparsed", reason=reason, record=record)
    numbers = [float(number) for number in outcome[1:]]
    if asked.problem is not None:
        found = number_of(outcome[1:], asked.problem)
        if found is None:
            return Said(asked.question.id, "unparsed", reason="no number can be read from its answer", record=record)
        numbers = [found]
    return said_of(asked.question, answer_document(asked.question, numbers), record)


def _played(asked: QuestionInContext, batch: Batch) -> QuestionToPlay:
    """A question with the suite that asks it, and its tools."""
    if asked.problem is not None and asked.world is not None:
        question = suite_question(asked.problem, batch.as_of)
        if not asked.world.simulated:
            question = replace(question, text=question.text.removeprefix(MARK))
        return QuestionToPlay(SUITE, question, lookup_in(asked.world), asked.world.simulated)
    plain = PlainQuestion(asked.question)
    nothing = Observation("There are no tools.", valid=False)
    return QuestionToPlay(plain, plain.suite_question(_text(batch)), lambda *_: nothing, plain.simulated(""))


def _text(batch: Batch) -> str:
    return batch.as_of.strftime("%Y-%m-%dT%H:%M:%SZ")


def _settings(agent: Agent) -> Answering:
    found = getattr(agent.acts, "questions", None)
    assert isinstance(found, Answering)
    return found


def _tool(one: Any) -> Tool:
    return Tool(one.name, one.description, one.parameters)


@contextlib.contextmanager
def opened_forecasters(
    agents: Sequence[Agent],
    spec: ModelSpec,
    allowance: Allowance | None,
    prices: PriceTable | None,
    *,
    patience_s: float,
    question_s: float,
    parallel: int,
) -> Iterator[list[ModelForecaster]]:
    """Agents with their model, which is open during the block.

    Raises:
        UsageError: there is no key or no price for the model, or the extra ``llm`` is missing.
    """
    given = allowance or Allowance()
    allowed = replace(
        given,
        turns=given.turns or TURNS,
        useless=given.useless or USELESS_IN_A_ROW,
        wall_s=given.wall_s or question_s,
    )
    table = prices or PriceTable.load()
    with (
        ConversationRunner(patience_s=patience_s) as conversations,
        conversations.model(spec, table, priced=allowed.cost_usd is not None) as model,
    ):
        yield [ModelForecaster(agent, spec, model, conversations, allowed, parallel) for agent in agents]
