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
from openfingym.agents.llm.setup import ModelSetup
from openfingym.agents.llm.usefulness import USELESS_IN_A_ROW
from openfingym.errors import RuntimeFailureError
from openfingym.kinds.qa_episodes import AnswerState, QuestionEpisode
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance
from openfingym.models.prices import PriceTable
from openfingym.plugins import is_own
from openfingym.rounds.forecaster import Batch, QuestionInContext, QuestionWithTools, Said, said_of
from openfingym.rounds.references import answer_document
from openfingym.suites.suite import Asking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.agents import Agent
    from openfingym.agents.llm.playing import PlayedConversation
    from openfingym.agents.llm.session import ModelAgent
    from openfingym.models.model import LanguageModel
    from openfingym.models.spec import ModelSpec
    from openfingym.results import Isolation
    from openfingym.verifiers.client import VerifierClient

STEPS, INVALID, REPEATED, ATTEMPTS = 20, 3, 3, 10
"""Limits of a question, as tasks with questions have them: actions, invalid actions in a row, times that the same call
may be made, and attempts."""
LONGEST_NAME = 100
"""Most characters of an agent's name in a ledger."""


@dataclass(frozen=True)
class ModelForecaster:
    """An agent that asks a language model, as a forecaster."""

    agent: Agent
    spec: ModelSpec
    model: LanguageModel
    """The model of :attr:`spec`, open."""
    conversations: ConversationRunner
    """Runs the agent's conversations on its event loop."""
    allowance: Allowance
    """What may be spent on one question."""
    prices: PriceTable
    """The table by which the model's costs are counted."""
    parallel: int = 1
    """How many questions it is asked at once, each in a conversation of its own."""
    version: str = "1"
    uses_others: bool = False

    @property
    def name(self) -> str:
        """The agent's name with its settings, and its model's."""
        return f"{self.agent.name} with {self.spec.name}"[:LONGEST_NAME]

    @property
    def isolation(self) -> Isolation:
        """``programs inside`` with a loop of this library, whose programs could not run outside; else ``outside``."""
        return "programs inside" if is_own(self.agent.acts) else "outside"

    @property
    def method(self) -> str:
        """The method's class: thinking alone (T), with search (T+S), or Deep Research."""
        settings = _settings(self.agent)
        if settings.tools == NOTHING or settings.method in {"direct", "zero-shot-cot"}:
            return "T"
        return "Deep Research" if isinstance(self.agent.acts, DeepResearch) else "T+S"

    def forecast(self, batch: Batch) -> None:
        """See :class:`openfingym.rounds.forecaster.Forecaster`."""
        cancel = threading.Event()
        with ThreadPoolExecutor(self.parallel) as threads:
            answers = [threads.submit(self._forecast_one, batch, asked, cancel) for asked in batch.asked]
            try:
                for answer in answers:
                    answer.result()
            except BaseException:
                # Leaving the pool waits for what is under way: the event ends conversations that have begun, and those
                # that have not are never begun.
                cancel.set()
                for answer in answers:
                    answer.cancel()
                raise

    def _forecast_one(self, batch: Batch, asked: QuestionInContext, cancel: threading.Event) -> None:
        """Play one question, and keep what came of it.

        Raises:
            OpenFinGymError: a failure of ours or of a service's; it is kept as an ``error`` first.
        """
        if cancel.is_set():
            return
        if batch.over():
            batch.keep(Said(asked.question.id, "late", reason="its time was over"))
            return
        to_play = _to_play(asked, batch)
        asking = Asking(to_play.suite, to_play.suite.options({}), ATTEMPTS)
        _settings(self.agent).require_known(asking)
        offered = to_play.suite.tools(asking.options)
        episode = QuestionEpisode(
            to_play.question,
            to_play.suite.question_form(to_play.question, asking.options),
            offered,
            lambda: to_play.lookup,
            steps=STEPS,
            invalid=INVALID,
            repeated=REPEATED,
            attempts=ATTEMPTS,
        )
        started = time.monotonic()
        tools = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in offered)
        played = self._play(LocalQuestion(episode), to_play, asking, tools, cancel)
        record = self._record(played, time.monotonic() - started)
        if played.failure is not None:
            batch.keep(Said(asked.question.id, "error", reason=str(played.failure), record=record))
            raise played.failure
        # Nothing is kept of a question that was cancelled, so that it is asked when the round is gone on with.
        if played.ending.how == "cancelled":
            return
        batch.keep(_said(asked, to_play, episode.outcome(), played, record))

    def _play(
        self,
        local: LocalQuestion,
        to_play: QuestionWithTools,
        asking: Asking,
        tools: tuple[Tool, ...],
        cancel: threading.Event,
    ) -> PlayedConversation:
        """Let the agent play one question; blocks until the conversation is over.

        Raises:
            RuntimeFailureError: the conversation was cancelled before it came to anything.
        """
        prepared = PreparedRollout(
            ModelSetup(cast("ModelAgent", self.agent.acts), self.spec, self.model, self.allowance, self.prices),
            Assignment("forecast", "", sequential=True),
            NoPrograms(),
            cast("VerifierClient", local),
            local.ticket,
            lookups=tools,
            asking=asking,
            simulated=to_play.simulated,
        )
        try:
            return self.conversations.run(play(prepared), cancel)
        except CancelledError:
            raise RuntimeFailureError("the conversation was cancelled") from None

    def _record(self, played: PlayedConversation, seconds: float) -> dict[str, Any]:
        """What goes on record beside the answer; see :attr:`openfingym.rounds.forecaster.Said.record`."""
        spent, turns = played.spent, [turn.model_dump(mode="json", exclude_defaults=True) for turn in played.turns]
        replies = [turn.content for turn in played.turns if turn.role == "assistant"]
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
            "raw": replies[-1] if replies else "",
            "conversation": turns,
        }


def _said(
    asked: QuestionInContext,
    to_play: QuestionWithTools,
    outcome: NDArray[np.float64],
    played: PlayedConversation,
    record: dict[str, Any],
) -> Said:
    """What a played question came to.

    Args:
        asked: the question, and what it is about.
        to_play: the question as it was played.
        outcome: float64[1 + numbers] of :meth:`QuestionEpisode.outcome`: how it ended, then the numbers of the answer.
        played: the conversation that was played about the question.
        record: what goes on record beside the answer.
    """
    state = AnswerState(int(outcome[0]))
    if state is not AnswerState.ANSWERED:
        reason = f"{state.name.lower().replace('_', ' ')}: {played.ending.detail}"
        return Said(asked.question.id, "unparsed", reason=reason, record=record)
    numbers = to_play.numbers(outcome[1:])
    if numbers is None:
        return Said(asked.question.id, "unparsed", reason="no number can be read from its answer", record=record)
    return said_of(asked.question, answer_document(asked.question, [float(number) for number in numbers]), record)


def _to_play(asked: QuestionInContext, batch: Batch) -> QuestionWithTools:
    """A question with the suite that asks it, and its tools; without tools if its generator has none."""
    if asked.with_tools is not None:
        return asked.with_tools(batch.as_of)
    plain = PlainQuestion(asked.question)
    question = plain.suite_question(batch.as_of.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return QuestionWithTools(plain, question, plain.lookup(None, question, {}), plain.simulated(""))


def _settings(agent: Agent) -> Answering:
    """How the agent answers questions; :func:`find_forecasters` has refused agents that answer none."""
    settings = getattr(agent.acts, "questions", None)
    assert isinstance(settings, Answering)
    return settings


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
    """Agents as forecasters, with one model that is open during the block and shared by all of them.

    Args:
        agents: agents that answer questions.
        spec: the model that they ask.
        allowance: limits on what an agent may spend on one question; what is not stated has defaults.
        prices: the table by which the model's costs are counted; None for the table of the library.
        patience_s: seconds for which an endpoint that does not answer is asked again.
        question_s: seconds that a question may take.
        parallel: how many questions each agent is asked at once.

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
        yield [ModelForecaster(agent, spec, model, conversations, allowed, table, parallel) for agent in agents]
