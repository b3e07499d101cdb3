"""Judging an answer with a model: asked by a published protocol, read strictly, asked again without a score."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from openfingym.answers import Reference, decide
from openfingym.judging.guarding import LONGEST, addresses_judge, decoy
from openfingym.judging.protocols import in_words, protocol_of
from openfingym.judging.replies import JudgeReply, read_reply

if TYPE_CHECKING:
    from openfingym.judging.protocols import JudgingProtocol
    from openfingym.models import LanguageModel

JudgedState = Literal["judged", "judge-error", "instructs", "control", "no-truth"]
"""``judged``: it has a score. ``judge-error``: no reply could be read, and there is no score. ``instructs``: the answer
speaks to the judge, and scores 0 unasked. ``control``: a wrong truth was found to fit as well, and it scores 0.
``no-truth``: the judge says that the truth has no numbers, and there is no score."""
TRIES = 3
"""How often a judge is asked where its reply cannot be read."""
REPLY_TOKENS = 1500


@dataclass(frozen=True)
class Judgement:
    """What a judge made of an answer."""

    score: Literal[0, 1] | None
    """None where there is none: an error of the judge's is no fault of the answer's."""
    state: JudgedState
    reason: str
    agreement: float | None
    """Share of the repeats that say what the score says; None without a score of the judge's."""
    protocol: str
    calls: int
    cost_usd: float | None
    """None where the price of the model is not known."""
    replies: tuple[str, ...] = field(default=(), repr=False)


@dataclass
class _Costs:
    calls: int = 0
    cost_usd: float | None = 0.0
    replies: list[str] = field(default_factory=list)


class Judge:
    """A model that judges answers; it holds nothing but how it is asked."""

    def __init__(self, model: LanguageModel, *, repeats: int = 1, tries: int = TRIES, control: bool = True) -> None:
        """Set up a judge.

        Args:
            model: any model.
            repeats: judgements of each answer, of which the majority decides; of as many on both sides, 0.
            tries: how often each is asked for where a reply cannot be read.
            control: judge what is found right against a wrong truth too.
        """
        self._model, self._repeats, self._tries, self._control = model, repeats, tries, control

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def judge(self, question: str, reference: Reference, answer: str) -> Judgement:
        """Judge an answer, whatever rules say of it.

        Raises:
            ModelUnavailableError: the model cannot be asked; nothing is judged.
        """
        protocol, costs = protocol_of(reference), _Costs()
        if spoken := addresses_judge(answer):
            return Judgement(0, "instructs", f"it speaks to the judge: {spoken!r}", None, protocol.name, 0, 0.0)
        truth = in_words(reference)
        found = [await self._asked(protocol, question, truth, reference, answer, costs) for _ in range(self._repeats)]
        scores = [reply.score for reply in found if reply.score is not None]

        def made(score: Literal[0, 1] | None, state: JudgedState, reason: str, agreement: float | None) -> Judgement:
            replies = tuple(costs.replies)
            return Judgement(score, state, reason, agreement, protocol.name, costs.calls, costs.cost_usd, replies)

        if not scores:
            if all(reply.problem == "null" for reply in found):
                return made(None, "no-truth", "the truth has no numbers", None)
            return made(None, "judge-error", found[-1].problem, None)
        score: Literal[0, 1] = 1 if 2 * sum(scores) > len(scores) else 0
        agreement = sum(one == score for one in scores) / len(scores)
        if score and self._control:
            wrong = decoy(truth, secrets.randbits(32))
            control = await self._asked(
                protocol, question, wrong, Reference(text=wrong, group=reference.group), answer, costs
            )
            if control.score is None:
                return made(None, "judge-error", f"of the wrong truth: {control.problem}", None)
            if control.score == 1:
                return made(0, "control", "it was found right by a wrong truth as well", agreement)
        return made(score, "judged", "", agreement)

    async def _asked(
        self, protocol: JudgingProtocol, question: str, truth: str, reference: Reference, answer: str, costs: _Costs
    ) -> JudgeReply:
        """One judgement, asked for again where its reply cannot be read."""
        reply = JudgeReply(None, "not asked")
        for _ in range(self._tries):
            token = secrets.token_hex(8)
            messages = protocol.messages(question, truth, reference.criteria, answer[:LONGEST], token)
            completion = await self._model.complete(messages, max_tokens=REPLY_TOKENS, temperature=0.0)
            costs.calls += 1
            cost = completion.cost_usd
            costs.cost_usd = None if costs.cost_usd is None or cost is None else costs.cost_usd + cost
            costs.replies.append(completion.message.content)
            reply = read_reply(completion.message.content, protocol, token)
            if reply.score is not None or reply.problem == "null":
                break
        return reply


def needs_judge(reference: Reference, answer: str) -> bool:
    """Whether no rule decides an answer."""
    return decide(reference, answer).outcome == "undecided"
