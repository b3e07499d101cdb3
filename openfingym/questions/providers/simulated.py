"""Simulated markets, with which every life cycle of a question can be tried in seconds; what they say is SIMULATED.

A question's query names a market or a symbol. What becomes of it follows from the name, the times and a secret key that
the verifier alone holds: with the same key it is always the same, and without the key it cannot be computed.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openfingym.errors import UsageError
from openfingym.questions.provider import ProviderAnswer, Truth
from openfingym.questions.query import require_query
from openfingym.questions.question import REAL_CLOCK
from openfingym.questions.sim.market import OutcomePath, PricePath

if TYPE_CHECKING:
    from openfingym.questions.question import Question

HIGHEST_VOLATILITY = 5.0
"""Largest standard deviation of a log price in a year that a query may ask for."""
SOURCE = "simulated"


@dataclass(frozen=True)
class Simulated:
    """Simulated markets. The query has ``market``, or ``symbol`` for a price."""

    secret: bytes = field(repr=False)
    """Key from which prices and truths follow."""
    name: str = "simulated"
    simulated: bool = True

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        if "symbol" not in question.query:
            require_query(
                question,
                {"market": str},
                optional={"half_known_h": float},
                forms=("probability", "probabilities", "choice"),
            )
            _require_within(question, "half_known_h", 1e-6, 1e6)
            return
        level: dict[str, type] = {"above": float} if question.form == "probability" else {}
        require_query(
            question,
            {"symbol": str, **level},
            optional={"start": float, "volatility": float},
            forms=("probability", "value", "quantiles", "interval"),
        )
        _require_within(question, "above", 1e-12, 1e12)
        _require_within(question, "start", 1e-12, 1e12)
        _require_within(question, "volatility", 0.0, HIGHEST_VOLATILITY)

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """What the simulated market shows at a moment."""
        self.check(question)
        if "symbol" in question.query:
            path = self.prices(question.query, question.clock)
            price, at_ns = path.at(now_ns)
            shown: dict[str, Any] = {"price": price, "at_ns": at_ns, "source": SOURCE}
            if question.form == "probability":
                shown["probability"] = path.probability_above(
                    float(question.query["above"]), now_ns, question.evaluation_ns
                )
            return shown
        prices = self._outcomes(question).at(now_ns)
        # Of a probability's two outcomes, no and yes, the second is asked about.
        forecast = {"probability": prices[1]} if question.form == "probability" else {"probabilities": list(prices)}
        return {**forecast, "at_ns": min(now_ns, question.evaluation_ns), "source": SOURCE}

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer]:
        """The truths of the questions whose evaluation time has come; the others wait."""
        return {question.id: self._answer(question, now_ns) for question in questions}

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def prices(self, query: Mapping[str, str | float], clock: str = REAL_CLOCK) -> PricePath:
        """The price path of a query with a ``symbol``, from which an agent is shown past prices too.

        Args:
            query: query of a question, which names the symbol.
            clock: name of the clock by which the question is asked.
        """
        start, volatility = float(query.get("start", 100.0)), float(query.get("volatility", 0.5))
        return PricePath(self._key(clock), str(query["symbol"]), start, volatility)

    def _answer(self, question: Question, now_ns: int) -> ProviderAnswer:
        self.check(question)
        end = question.evaluation_ns
        if now_ns < end:
            return ProviderAnswer("waiting", reason="the evaluation time has not come", source=SOURCE)
        truth: Truth
        if "symbol" in question.query:
            price, end = self.prices(question.query, question.clock).at(end)
            truth = float(price > float(question.query["above"])) if question.form == "probability" else price
            evidence: dict[str, Any] = {"symbol": question.query["symbol"], "price": price}
        else:
            payouts = self._outcomes(question).at(end)
            truth = payouts[1] if question.form == "probability" else payouts
            evidence = {"market": question.query["market"], "payouts": list(payouts)}
        evidence |= {"at_ns": end, "simulated": True}
        return ProviderAnswer("resolved", truth, source=SOURCE, evidence=evidence, provider_ns=question.evaluation_ns)

    def _outcomes(self, question: Question) -> OutcomePath:
        count = 2 if question.form == "probability" else len(question.outcomes)
        hours = float(question.query.get("half_known_h", 24.0))
        return OutcomePath(
            self._key(question.clock), str(question.query["market"]), count, question.evaluation_ns, hours
        )

    def _key(self, clock: str) -> bytes:
        """The key of the markets by a clock.

        Each clock has markets of its own: what happened by a clock that is ahead tells nothing about the others.
        """
        if not self.secret:
            raise UsageError(
                "the simulated provider has no key, so that everybody could compute its truths; "
                "ask for it with find_provider('simulated', secret=...)"
            )
        # A key for this use alone, so that nothing else that is derived from the secret tells about these markets.
        key = hmac.digest(self.secret, b"openfingym simulated markets", "sha256")
        return key if clock == REAL_CLOCK else hmac.digest(key, clock.encode(), "sha256")


def provider(secret: bytes) -> Simulated:
    """The provider, for the registry."""
    return Simulated(secret)


def _require_within(question: Question, key: str, low: float, high: float) -> None:
    value = question.query.get(key)
    if value is not None and not (low <= float(value) <= high and math.isfinite(float(value))):
        raise UsageError(f"question {question.id}: {key} of its query is {value}; expected {low:g} to {high:g}")
