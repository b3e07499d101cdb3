"""The price of something at a time, from a market's own bars: the first price that is not older than that.

Whichever service is asked, a bar counts when it is complete, and what closes before the evaluation time never does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.questions.markets import answer_together
from openfingym.questions.prices.alpaca import AlpacaPrices
from openfingym.questions.prices.binance import BinancePrices
from openfingym.questions.prices.venue import FinalPrice, NotYet, PriceHistory, PriceVenue
from openfingym.questions.prices.yahoo import YahooPrices
from openfingym.questions.provider import ProviderAnswer, Truth
from openfingym.questions.query import require_query
from openfingym.questions.web import reading

if TYPE_CHECKING:
    from openfingym.questions.question import Form, Question

FORMS: tuple[Form, ...] = ("probability", "value", "quantiles", "interval")


def _venues() -> dict[str, PriceVenue]:
    return {"binance": BinancePrices(), "alpaca": AlpacaPrices(), "yahoo": YahooPrices()}


@dataclass(frozen=True)
class PriceProvider:
    """Prices; the query has ``venue`` and ``symbol``, and of a probability ``above``: that the price is above it."""

    venues: Mapping[str, PriceVenue] = field(default_factory=_venues)
    name: str = "price"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """See :class:`~openfingym.questions.provider.Provider`."""
        name = question.query.get("venue")
        venue = self.venues.get(str(name))
        if venue is None:
            raise UsageError(
                f"question {question.id}: venue of its query is {name!r}; expected one of {', '.join(self.venues)}"
            )
        level: dict[str, type] = {"above": float} if question.form == "probability" else {}
        require_query(question, {"venue": str, "symbol": str, **level}, optional=venue.keys, forms=FORMS)
        venue.check(question)

    @reading()
    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:  # noqa: ARG002
        """The newest price."""
        self.check(question)
        return self.venues[str(question.query["venue"])].now(question.query)

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """The prices at the evaluation times; each is asked for once, however many questions are about it."""
        return answer_together(questions, _about, lambda question: self._price(question, now_ns), _answer)

    @reading()
    def history(self, question: Question, bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The newest price of what a question is about, and the closes of so many bars before it; see
        :meth:`openfingym.questions.prices.venue.PriceVenue.history`.
        """
        self.check(question)
        return self.venues[str(question.query["venue"])].history(question.query, bar_s, count, now_ns)

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the exchange by whose hours something is traded; None where it is traded always."""
        return self.venues[str(query["venue"])].hours(query)

    def close(self) -> None:
        """Let go of connections."""
        for venue in self.venues.values():
            venue.close()

    def _price(self, question: Question, now_ns: int) -> FinalPrice | ProviderAnswer:
        self.check(question)
        found = self.venues[str(question.query["venue"])].at(question.query, question.evaluation_ns, now_ns)
        if isinstance(found, NotYet):
            return ProviderAnswer("waiting", reason=found.reason, source=found.source)
        if found.final_ns < question.evaluation_ns:
            raise DataError(f"{found.source}: the price is older than the time that was asked for")
        if not 0.0 < found.value < float("inf"):
            raise DataError(f"{found.source}: the price is {found.value}, expected one above 0")
        return found


def provider(secret: bytes) -> PriceProvider:  # noqa: ARG001
    """The provider, for the registry."""
    return PriceProvider()


def _about(question: Question) -> Hashable:
    asked = {key: value for key, value in question.query.items() if key != "above"}
    return question.evaluation_ns, *sorted(asked.items())


def _answer(question: Question, price: FinalPrice) -> ProviderAnswer:
    currency = price.evidence.get("currency")
    if currency and len(question.unit) == len(currency) and question.unit != currency:
        raise DataError(f"question {question.id} is in {question.unit}, and the price in {currency}")
    truth: Truth = price.value
    if question.form == "probability":
        truth = float(price.value > float(question.query["above"]))
    late = {"price": price.value, "at_ns": price.at_ns, "later_s": max(0, price.at_ns - question.evaluation_ns) / 1e9}
    evidence = {**price.evidence, **late}
    return ProviderAnswer("resolved", truth, source=price.source, evidence=evidence, provider_ns=price.final_ns)
