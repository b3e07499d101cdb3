"""Judging an answer with a model: it is asked by a published protocol, and its reply is read strictly."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from openfingym.answers import decide
from openfingym.judging.guarding import LONGEST, addresses_judge, decoy
from openfingym.judging.protocols import in_words, protocol_of
from openfingym.judging.replies import JudgeReply, read_reply

if TYPE_CHECKING:
    from openfingym.answers import Reference
    from openfingym.judging.protocols import JudgingProtocol
    from openfingym.models import LanguageModel

JudgedState = Literal["judged", "judge-error", "instructs", "control", "no-truth"]
"""``judged``: the judge gave a score. ``judge-error``: no reply could be read, and there is no score. ``instructs``:
the answer speaks to the judge, which is not asked, and scores 0. ``control``: the answer was found right by a wrong
truth too, and scores 0. ``no-truth``: the judge says that the truth has no numbers, and there is no score."""
TRIES = 3
"""How often a judge is asked for one judgement, where its reply cannot be read."""
REPLY_TOKENS = 1500
"""Most output tokens of a reply."""


@dataclass(frozen=True)
class Judgement:
    """What a judge made of an answer."""

    score: Literal[0, 1] | None
    """1 for right, 0 for wrong; None where there is no score: an error of the judge's is no fault of the answer's."""
    state: JudgedState
    reason: str
    """Why there is no score, or why it is 0; empty where the judge gave it."""
    agreement: float | None
    """Share of the repeated judgements that agree with the score; None where the judge gave none."""
    protocol: str
    """Name of the protocol by which the judge was asked."""
    calls: int
    """Requests to the model."""
    cost_usd: float | None
    """US dollars of all requests; None where the price of the model is not known."""
    replies: tuple[str, ...] = field(default=(), repr=False)
    """Texts of all replies, which may tell the truth."""


@dataclass
class _Costs:
    """What judging one answer has taken so far."""

    calls: int = 0
    cost_usd: float | None = 0.0
    replies: list[str] = field(default_factory=list)


class Judge:
    """A model that judges answers, with the settings by which it is asked; it remembers nothing."""

    def __init__(self, model: LanguageModel, *, repeats: int = 1, tries: int = TRIES, control: bool = True) -> None:
        """Set up a judge.

        Args:
            model: the model that judges.
            repeats: how often each answer is judged; the majority decides, and a tie counts as 0.
            tries: how often each judgement is asked for, where its reply cannot be read.
            control: whether an answer that is judged right is judged against a wrong truth too.
        """
        self._model, self._repeats, self._tries, self._control = model, repeats, tries, control

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def judge(self, question: str, reference: Reference, answer: str) -> Judgement:
        """Judge an answer, whatever rules say of it.

        Args:
            question: text of the question.
            reference: the right answer, with the criteria of its scoring where there are any.
            answer: text of the answer.

        Raises:
            ModelUnavailableError: the model cannot be asked; nothing is judged.
        """
        protocol, costs = protocol_of(reference), _Costs()
        if spoken := addresses_judge(answer):
            return Judgement(0, "instructs", f"it speaks to the judge: {spoken!r}", None, protocol.name, 0, 0.0)
        truth, criteria = in_words(reference), reference.criteria
        replies = [await self._ask(protocol, question, truth, criteria, answer, costs) for _ in range(self._repeats)]
        scores = [reply.score for reply in replies if reply.score is not None]

        def judged(score: Literal[0, 1] | None, state: JudgedState, reason: str, agreement: float | None) -> Judgement:
            texts = tuple(costs.replies)
            return Judgement(score, state, reason, agreement, protocol.name, costs.calls, costs.cost_usd, texts)

        if not scores:
            if all(reply.problem == "null" for reply in replies):
                return judged(None, "no-truth", "the truth has no numbers", None)
            return judged(None, "judge-error", replies[-1].problem, None)
        score: Literal[0, 1] = 1 if 2 * sum(scores) > len(scores) else 0
        agreement = sum(other == score for other in scores) / len(scores)
        if score and self._control:
            # Another decoy each time, so that no answer can be written against it; and without criteria, which are
            # about the truth.
            wrong = decoy(truth, secrets.randbits(32))
            control = await self._ask(protocol, question, wrong, "", answer, costs)
            if control.score is None:
                return judged(None, "judge-error", f"of the wrong truth: {control.problem}", None)
            if control.score == 1:
                return judged(0, "control", "it was found right by a wrong truth as well", agreement)
        return judged(score, "judged", "", agreement)

    async def _ask(
        self, protocol: JudgingProtocol, question: str, truth: str, criteria: str, answer: str, costs: _Costs
    ) -> JudgeReply:
        """One judgement, which is asked for again where its reply cannot be read."""
        reply = JudgeReply(None, "not asked")
        for _ in range(self._tries):
            # A token of its own for each request: one that an earlier reply showed may be quoted.
            token = secrets.token_hex(8)
            messages = protocol.messages(question, truth, criteria, answer[:LONGEST], token)
            completion = await self._model.complete(messages, max_tokens=REPLY_TOKENS, temperature=0.0)
            costs.calls += 1
            cost = completion.cost_usd
            costs.cost_usd = None if costs.cost_usd is None or cost is None else costs.cost_usd + cost
            costs.replies.append(completion.message.content)
            reply = read_reply(completion.message.content, protocol, token)
            # "null" is an answer of the judge's too: asked again, it would say the same.
            if reply.score is not None or reply.problem == "null":
                break
        return reply


def needs_judge(reference: Reference, answer: str) -> bool:
    """Whether no rule decides an answer."""
    return decide(reference, answer).outcome == "undecided"
