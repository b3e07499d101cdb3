"""Manifold: a market is final when it is resolved, to YES, NO, a probability (MKT), an answer, several answers with the
share of each (CHOOSE_MULTIPLE), or not at all (CANCEL).

The probability that a market shows is never taken for what it pays, unless it is resolved to that probability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.questions.markets import answer_together, closed_market, market_of
from openfingym.questions.payouts import evidence, exact, instant_ns, place, truth_of
from openfingym.questions.provider import ProviderAnswer, Truth
from openfingym.questions.query import require_query
from openfingym.questions.web import NotThereError, Web, base_url, reading, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

API = "https://api.manifold.markets/v0"
LABELS = ("Yes", "No")
_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")
_FIXED = {"YES": Decimal(1), "NO": Decimal(0)}
"""What YES pays, by the resolution."""
_KEPT = (
    *("id", "slug", "question", "outcomeType", "isResolved", "resolution", "resolutionProbability", "resolutions"),
    *("resolutionTime", "resolverId", "closeTime", "probability", "token", "min", "max", "isLogScale", "url"),
)
"""Fields of a market that are kept as evidence."""
_KEPT_OF_ANSWER = ("id", "text", "resolution", "resolutionProbability", "resolutionTime", "probability")
MOST_ANSWERS = 200
"""The most answers of a market that are read."""
_ANSWERS_KEPT = 20
"""The most answers of a market that are kept as evidence."""


@dataclass(frozen=True)
class Manifold:
    """Markets of Manifold.

    The query has ``market``, the market's id, and for a probability ``outcome``: ``Yes`` or ``No`` of a binary market,
    or the text or id of an answer of a market with several.
    """

    web: Web = field(default_factory=lambda: Web(base_url("MANIFOLD", API), per_second=5.0))
    name: str = "manifold"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        optional = {"outcome": str} if question.form == "probability" else None
        require_query(question, {"market": str}, optional=optional)
        if not _ID.fullmatch(str(question.query["market"])):
            raise UsageError(
                f"question {question.id}: market of its query is {str(question.query['market'])[:80]!r}; expected the "
                "id of a market (not its slug, which may be changed)"
            )

    @reading()
    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:  # noqa: ARG002
        """The probability that the market shows."""
        self.check(question)
        market, url, at_ns = self._ask(str(question.query["market"]))
        closes = instant_ns(market.get("closeTime"))
        if market.get("isResolved") is True or (closes is not None and closes <= at_ns):
            return closed_market(at_ns, url)
        if market.get("isResolved") is not False:
            return None
        shown = {"at_ns": at_ns, "source": url}
        if question.numeric:
            return {**shown, "price": _number(market, exact(market.get("probability"), "its probability"))}
        if market.get("outcomeType") == "MULTIPLE_CHOICE":
            answers = _answers(market)
            labels, prices = _named(answers), [exact(one.get("probability"), "a probability") for one in answers]
        else:
            yes = exact(market.get("probability"), "its probability")
            labels, prices = list(LABELS), [yes, 1 - yes]
        if question.form == "probability":
            wanted = _place(question, labels, market)
            if market.get("outcomeType") == "MULTIPLE_CHOICE" and answers[wanted].get("resolution"):
                return closed_market(at_ns, url)
            return {**shown, "probability": float(prices[wanted])}
        asked = [float(prices[place(labels, label, question)]) for label in question.outcomes]
        # A question may name some of a market's answers, whose prices do not add up to 1.
        total = math.fsum(asked)
        return {**shown, "probabilities": [price / total for price in asked]} if total > 0 else None

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """What each market says, which is asked for once."""

        def ask(question: Question) -> tuple[dict[str, Any], str] | ProviderAnswer:
            try:
                return self._ask(market_of(question))[:2]
            except NotThereError as error:
                return ProviderAnswer("waiting", reason=f"orphaned: {error}")

        return answer_together(questions, market_of, ask, _answer)

    def close(self) -> None:
        """Close connections."""
        self.web.close()

    def _ask(self, market: str) -> tuple[dict[str, Any], str, int]:
        """A market's document, the address that was asked, and when the service answered."""
        reply = self.web.get(f"/market/{market}")
        document = reply.object()
        require_same(document.get("id"), market, reply.url)
        return document, reply.url, reply.at_ns


def provider(secret: bytes) -> Manifold:  # noqa: ARG001
    """The provider, for the registry."""
    return Manifold()


def _answer(question: Question, asked: tuple[dict[str, Any], str]) -> ProviderAnswer:
    market, url = asked
    kept = evidence(market, _KEPT)
    kind = market.get("outcomeType")
    if kind == "MULTIPLE_CHOICE":
        return _of_several(question, market, url, kept)
    if market.get("isResolved") is not True:
        return ProviderAnswer("waiting", reason="it is not resolved", source=url, evidence=kept)
    at_ns = instant_ns(market.get("resolutionTime"))
    if market.get("resolution") == "CANCEL":
        return ProviderAnswer("void", reason="cancelled", source=url, evidence=kept, provider_ns=at_ns)
    if kind not in {"BINARY", "PSEUDO_NUMERIC"} or question.numeric != (kind == "PSEUDO_NUMERIC"):
        raise DataError(f"question {question.id} has the form {question.form}, and its market is {kind}")
    pays = _pays(market)
    if pays is None:
        why = f"it is resolved to {str(market.get('resolution'))[:40]!r}, without what it pays"
        return ProviderAnswer("waiting", reason=why, source=url, evidence=kept)
    truth: Truth
    if question.numeric:
        truth = _number(market, pays)
    else:
        truth = truth_of(question, LABELS, (pays, 1 - pays), str(question.query.get("outcome", "Yes")))
    return ProviderAnswer("resolved", truth, source=url, evidence=kept, provider_ns=at_ns)


def _of_several(question: Question, market: dict[str, Any], url: str, kept: dict[str, Any]) -> ProviderAnswer:
    """The answer to a question about a market with several answers, which are resolved together or each by itself."""
    if question.numeric:
        raise DataError(f"question {question.id} has the form {question.form}, and its market is MULTIPLE_CHOICE")
    answers = _answers(market)
    labels = _named(answers)
    wanted = (
        [_place(question, labels, market)]
        if question.form == "probability"
        else [place(labels, label, question) for label in question.outcomes]
    )
    kept["answers"] = [evidence(answers[at], _KEPT_OF_ANSWER) for at in wanted[:_ANSWERS_KEPT]]
    decided = market.get("isResolved") is True
    if decided and market.get("resolution") == "CANCEL":
        at_ns = instant_ns(market.get("resolutionTime"))
        return ProviderAnswer("void", reason="cancelled", source=url, evidence=kept, provider_ns=at_ns)
    alone = market.get("shouldAnswersSumToOne") is False
    shares = _shares(market, answers) if decided else {}
    pays: list[Decimal] = []
    for at in wanted:
        answer = answers[at]
        if not decided and not (alone and answer.get("resolution")):
            return ProviderAnswer("waiting", reason="it is not resolved", source=url, evidence=kept)
        if answer.get("resolution") == "CANCEL":
            return ProviderAnswer("void", reason="cancelled", source=url, evidence=kept)
        paid = _pays(answer)
        if shares:
            share = shares.get(str(answer["id"]), Decimal(0))
            # The probability of an answer that is resolved to MKT is what it showed, and not what it pays.
            own = _FIXED.get(str(answer.get("resolution")))
            paid = share if own in {None, share} else None
        if paid is None:
            why = f"its answer {labels[at][:60]!r} does not say what it pays, or contradicts the market"
            return ProviderAnswer("waiting", reason=why, source=url, evidence=kept)
        pays.append(paid)
    times = [instant_ns(answers[at].get("resolutionTime")) for at in wanted]
    # Final with the last of the answers that it is about.
    at_ns = max((time for time in times if time is not None), default=instant_ns(market.get("resolutionTime")))
    if question.form == "probability":
        return ProviderAnswer("resolved", float(pays[0]), source=url, evidence=kept, provider_ns=at_ns)
    if not any(pays):
        why = "none of the outcomes that were asked for happened"
        return ProviderAnswer("void", reason=why, source=url, evidence=kept, provider_ns=at_ns)
    truth = truth_of(question, question.outcomes, pays, "")
    return ProviderAnswer("resolved", truth, source=url, evidence=kept, provider_ns=at_ns)


def _shares(market: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    """What YES pays for each answer of a resolved market that pays any, by its id; empty where the market does not say.

    A market that is resolved to one answer names its id, and that answer takes all; one that is resolved to several
    names their weights, of which Manifold pays each its share of the sum.

    Raises:
        DataError: a weight is no positive number, or of no answer.
    """
    ids, resolution = {str(answer["id"]) for answer in answers}, str(market.get("resolution"))
    if resolution in ids:
        return {resolution: Decimal(1)}
    if resolution not in {"CHOOSE_MULTIPLE", "MKT"} or market.get("shouldAnswersSumToOne") is False:
        return {}
    stated = market.get("resolutions")
    if not isinstance(stated, dict) or not stated:
        return {}
    weights = {str(name): exact(weight, "a weight of its resolutions", 0, None) for name, weight in stated.items()}
    total = sum(weights.values(), Decimal(0))
    if unknown := sorted(weights.keys() - ids):
        raise DataError(f"market {market.get('id')} is resolved to {unknown[0][:40]!r}, which is none of its answers")
    if not total:
        raise DataError(f"market {market.get('id')} is resolved to answers of no weight")
    return {name: weight / total for name, weight in weights.items() if weight}


def _pays(resolved: Mapping[str, Any]) -> Decimal | None:
    """What YES pays in a resolved market, or for one of its answers; None where it does not say."""
    resolution = resolved.get("resolution")
    if resolution == "MKT" and resolved.get("resolutionProbability") is not None:
        return exact(resolved["resolutionProbability"], "resolutionProbability")
    return _FIXED.get(str(resolution))


def _number(market: Mapping[str, Any], share: Decimal) -> float:
    """The number that a probability of a numeric market stands for."""
    if market.get("outcomeType") != "PSEUDO_NUMERIC":
        raise DataError(
            f"market {market.get('id')} is {market.get('outcomeType')}, expected PSEUDO_NUMERIC of a number"
        )
    low, high = (float(exact(market.get(end), end, None, None)) for end in ("min", "max"))
    if not low < high:
        raise DataError(f"market {market.get('id')} goes from {low} to {high}, expected in this order")
    # Manifold's own formula, which gives the lower end for a share of 0 and the upper one for 1.
    if market.get("isLogScale") is True:
        return low - 1.0 + math.pow(high - low + 1.0, float(share))
    return low + (high - low) * float(share)


def _answers(market: Mapping[str, Any]) -> list[dict[str, Any]]:
    answers = market.get("answers")
    if not isinstance(answers, list) or not all(isinstance(answer, dict) and answer.get("id") for answer in answers):
        raise DataError(f"market {market.get('id')} has no list of answers with ids")
    if len(answers) > MOST_ANSWERS:
        raise DataError(f"market {market.get('id')} has {len(answers)} answers, expected at most {MOST_ANSWERS}")
    return answers


def _named(answers: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(answer.get("text")) for answer in answers]


def _place(question: Question, labels: Sequence[str], market: Mapping[str, Any]) -> int:
    """The position of the outcome that a probability is about, by its text or an answer's id."""
    wanted = str(question.query.get("outcome", "Yes"))
    ids = [str(answer["id"]) for answer in market.get("answers") or []]
    return ids.index(wanted) if wanted in ids else place(labels, wanted, question)
