"""The price of something at a time, from a market's own bars: the first price that is not older than that time.

Whichever service is asked, a bar counts once it is complete, and a bar that closes before the evaluation time never
does.
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
"""Forms of questions that a price can resolve."""


def _venues() -> dict[str, PriceVenue]:
    return {"binance": BinancePrices(), "alpaca": AlpacaPrices(), "yahoo": YahooPrices()}


@dataclass(frozen=True)
class PriceProvider:
    """Prices. The query has ``venue`` and ``symbol``, and for a probability ``above``: that the price is above it."""

    venues: Mapping[str, PriceVenue] = field(default_factory=_venues)
    """Services of prices, by the names that a query uses."""
    name: str = "price"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
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
        """The newest price, as a reference."""
        self.check(question)
        return self.venues[str(question.query["venue"])].now(question.query)

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """The prices at the evaluation times, each of which is asked for once, however many questions are about it."""
        return answer_together(questions, _about, lambda question: self._price(question, now_ns), _answer)

    @reading()
    def history(self, question: Question, bar_s: int, count: int, now_ns: int) -> PriceHistory:
        """The newest price of what a question is about, and the closes of the latest bars.

        Args:
            question: question whose query names the venue and the symbol.
            bar_s: length of a bar in seconds.
            count: number of bars whose closes are wanted.
            now_ns: the time by our clock, nanoseconds since the epoch.

        Raises:
            OpenFinGymError: see :meth:`openfingym.questions.prices.venue.PriceVenue.history`.
        """
        self.check(question)
        return self.venues[str(question.query["venue"])].history(question.query, bar_s, count, now_ns)

    def hours(self, query: Mapping[str, str | float]) -> str | None:
        """Code of the exchange by whose hours the symbol of a query is traded; None where it is traded always."""
        return self.venues[str(query["venue"])].hours(query)

    def close(self) -> None:
        """Close the connections of all venues."""
        for venue in self.venues.values():
            venue.close()

    def _price(self, question: Question, now_ns: int) -> FinalPrice | ProviderAnswer:
        self.check(question)
        price = self.venues[str(question.query["venue"])].at(question.query, question.evaluation_ns, now_ns)
        if isinstance(price, NotYet):
            return ProviderAnswer("waiting", reason=price.reason, source=price.source)
        # Whatever a venue does wrong, an old price must not resolve a question.
        if price.final_ns < question.evaluation_ns:
            raise DataError(f"{price.source}: the price is older than the time that was asked for")
        if not 0.0 < price.value < float("inf"):
            raise DataError(f"{price.source}: the price is {price.value}, expected one above 0")
        return price


def provider(secret: bytes) -> PriceProvider:  # noqa: ARG001
    """The provider, for the registry."""
    return PriceProvider()


def _about(question: Question) -> Hashable:
    """The price that a question is about, whatever it asks about it."""
    asked = {key: value for key, value in question.query.items() if key != "above"}
    return question.evaluation_ns, *sorted(asked.items())


def _answer(question: Question, price: FinalPrice) -> ProviderAnswer:
    # Units of other lengths, such as "USD per share", are not codes of currencies and cannot be compared.
    currency = price.evidence.get("currency")
    if currency and len(question.unit) == len(currency) and question.unit != currency:
        raise DataError(f"question {question.id} is in {question.unit}, and the price in {currency}")
    truth: Truth = price.value
    if question.form == "probability":
        truth = float(price.value > float(question.query["above"]))
    late = {"price": price.value, "at_ns": price.at_ns, "later_s": max(0, price.at_ns - question.evaluation_ns) / 1e9}
    evidence = {**price.evidence, **late}
    return ProviderAnswer("resolved", truth, source=price.source, evidence=evidence, provider_ns=price.final_ns)
