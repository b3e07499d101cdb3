"""Kalshi: a market is final when its status is ``finalized``, and pays what its settlement value says.

A result that is determined may be disputed and amended, so it is not final. Markets that were settled months ago are in
another part of the service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.questions.markets import answer_together, closed_market, market_of, midpoint
from openfingym.questions.payouts import earliest_ns, evidence, exact, truth_of
from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.query import require_query
from openfingym.questions.web import NotThereError, Web, base_url, reading, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

TRADE_API = "https://external-api.kalshi.com/trade-api/v2"
BATCH = 100
"""Number of markets that one request asks about, far below the thousand that it may."""
LABELS = ("Yes", "No")
_TICKER = re.compile(r"[A-Z0-9][A-Z0-9._-]{0,99}")
_PAYS = {"yes": Decimal(1), "all_yes": Decimal(1), "no": Decimal(0), "all_no": Decimal(0)}
_OVER = frozenset({"closed", "determined", "disputed", "amended", "settled", "finalized"})
"""Statuses of a market that no longer trades."""
_KEPT = (
    *("ticker", "event_ticker", "title", "status", "result", "settlement_value_dollars", "settlement_value"),
    *("settlement_ts", "expiration_value", "close_time", "last_price_dollars", "is_provisional", "strike_type"),
    *("floor_strike", "cap_strike"),
)
"""Fields of a market that are kept as evidence."""


@dataclass(frozen=True)
class Kalshi:
    """Markets of Kalshi.

    The query has ``market``, the market's ticker, and for a probability ``outcome``: ``Yes``, the default, or ``No``.
    """

    web: Web = field(default_factory=lambda: Web(base_url("KALSHI", TRADE_API)))
    name: str = "kalshi"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        optional = {"outcome": str} if question.form == "probability" else None
        require_query(question, {"market": str}, optional=optional, forms=("probability", "probabilities", "choice"))
        if not _TICKER.fullmatch(str(question.query["market"])):
            raise UsageError(
                f"question {question.id}: market of its query is {str(question.query['market'])[:80]!r}; expected a "
                "ticker, such as KXBTCD-26NOV2017-T95000"
            )
        named = question.outcomes or (_outcome(question),)
        if not {name.casefold() for name in named} <= {"yes", "no"}:
            raise UsageError(
                f"question {question.id}: its outcomes are {list(named)}; a market of Kalshi has Yes and No"
            )

    @reading()
    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:  # noqa: ARG002
        """The middle of bid and ask; None where the market does not trade at the moment, or has no orders."""
        self.check(question)
        market, url, at_ns = self._live(str(question.query["market"]))
        if market.get("status") in _OVER:
            return closed_market(at_ns, url)
        # "open" is what "active" was called in earlier versions of the interface.
        if market.get("status") not in {"active", "open"}:
            return None
        bid, ask = _dollars(market, "yes_bid"), _dollars(market, "yes_ask")
        # A side without orders is shown as 0 or 1, and says nothing where both are; one side alone still does.
        if bid is None or ask is None or (bid == 0 and ask == 1):
            return None
        shown = midpoint(bid, ask, at_ns, url)
        if shown is None:
            return None
        if question.form == "probability":
            if _outcome(question).casefold() == "yes":
                return shown
            return midpoint(1 - ask, 1 - bid, at_ns, url)
        yes = shown["probability"]
        by_name = {"yes": yes, "no": 1.0 - yes}
        prices = [by_name[name.casefold()] for name in question.outcomes]
        return {"probabilities": prices, "at_ns": at_ns, "source": url}

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """What each market says, with one request for many markets."""
        tickers = list(dict.fromkeys(map(market_of, questions)))
        known: dict[str, tuple[dict[str, Any], str]] = {}
        failed: OpenFinGymError | None = None
        if len(tickers) > 1:
            try:
                known.update(self._listed(tickers))
            except OpenFinGymError as error:
                failed = error

        def ask(question: Question) -> _Final | ProviderAnswer:
            ticker = market_of(question)
            # Asking for each market alone would meet the same failure many times.
            if failed is not None:
                raise failed
            return _final(*(known[ticker] if ticker in known else self._market(ticker)))

        return answer_together(questions, market_of, ask, _answer)

    def close(self) -> None:
        """Close connections."""
        self.web.close()

    def _listed(self, tickers: Sequence[str]) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
        """The markets that the service lists among those asked for, by their tickers, each with its own address."""
        for first in range(0, len(tickers), BATCH):
            asked = tickers[first : first + BATCH]
            reply = self.web.get("/markets", {"tickers": ",".join(asked), "limit": 1000})
            markets = reply.object().get("markets")
            if not isinstance(markets, list):
                raise DataError(f"{reply.url}: the answer has no list of markets")
            for market in markets:
                if isinstance(market, dict) and market.get("ticker") in asked:
                    yield str(market["ticker"]), (market, f"{self.web.url}/markets/{market['ticker']}")

    def _live(self, ticker: str, tier: str = "") -> tuple[dict[str, Any], str, int]:
        """A market in one part of the service, the address that was asked, and when the service answered."""
        reply = self.web.get(f"{tier}/markets/{ticker}")
        market = reply.object().get("market")
        if not isinstance(market, dict):
            raise DataError(f"{reply.url}: the answer has no market")
        require_same(market.get("ticker"), ticker, reply.url)
        return market, reply.url, reply.at_ns

    def _market(self, ticker: str) -> tuple[dict[str, Any] | None, str]:
        """A market and its address, from the live or the historical part of the service; None where neither has it."""
        for tier in ("", "/historical"):
            try:
                return self._live(ticker, tier)[:2]
            except NotThereError:
                pass
        return None, f"{self.web.url}/historical/markets/{ticker}"


@dataclass(frozen=True)
class _Final:
    """A market that is final."""

    yes: Decimal
    """What Yes pays, in dollars; No pays the rest of one dollar."""
    source: str
    evidence: dict[str, Any]
    provider_ns: int | None


def provider(secret: bytes) -> Kalshi:  # noqa: ARG001
    """The provider, for the registry."""
    return Kalshi()


def _final(market: Mapping[str, Any] | None, url: str) -> _Final | ProviderAnswer:
    """What a market pays, or why it waits or never will."""
    if market is None:
        return ProviderAnswer(
            "waiting", reason="orphaned: neither a live nor a historical market has this ticker", source=url
        )
    kept = evidence(market, _KEPT)

    def waiting(why: str) -> ProviderAnswer:
        return ProviderAnswer("waiting", reason=why, source=url, evidence=kept)

    if market.get("status") != "finalized":
        return waiting(f"its status is {str(market.get('status'))[:40]!r}, not final")
    value, result = _dollars(market, "settlement_value"), market.get("result")
    # Forecasts from the close on do not count, not even those that came in before the close was noticed.
    at_ns = earliest_ns(market.get("settlement_ts"), market.get("close_time"))
    if result == "void":
        return ProviderAnswer("void", reason="void", source=url, evidence=kept, provider_ns=at_ns)
    if value is None:
        value = _PAYS.get(str(result))
        if value is None:
            return waiting("it is finalized without a settlement value")
    # A market may pay a part of what its result says, but not the opposite.
    elif str(result) in _PAYS and abs(value - _PAYS[str(result)]) == 1:
        return waiting(f"it contradicts itself: the result is {result!r}, and the settlement value {value}")
    return _Final(value, url, kept, at_ns)


def _answer(question: Question, final: _Final) -> ProviderAnswer:
    truth = truth_of(question, LABELS, (final.yes, 1 - final.yes), _outcome(question))
    return ProviderAnswer(
        "resolved", truth, source=final.source, evidence=final.evidence, provider_ns=final.provider_ns
    )


def _dollars(market: Mapping[str, Any], name: str) -> Decimal | None:
    """A price in dollars, from the text of newer answers or the cents of older ones; None where neither is there."""
    if market.get(f"{name}_dollars") not in {None, ""}:
        return exact(market[f"{name}_dollars"], f"{name}_dollars")
    if market.get(name) not in {None, ""}:
        return exact(market[name], name, 0, 100) / 100
    return None


def _outcome(question: Question) -> str:
    return str(question.query.get("outcome", "Yes"))
