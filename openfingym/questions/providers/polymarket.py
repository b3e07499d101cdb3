"""Polymarket: a market is final when Gamma says so and a second service of Polymarket agrees about what it pays.

Prices near 0 and 1 are never taken for an outcome, and neither is the last trade: a proposed outcome is priced so while
it is still disputed, and the last trade may be in the other token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.questions.markets import answer_together, market_of
from openfingym.questions.payouts import earliest_ns, evidence, exact, instant_ns, listed, truth_of
from openfingym.questions.polymarket_books import Books, GammaMarket, labels_of, outcome_of
from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.query import require_query
from openfingym.questions.web import NotThereError, Web, WebReply, base_url, reading, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question

GAMMA, DATA, CLOB = (
    "https://gamma-api.polymarket.com",
    "https://data-api.polymarket.com",
    "https://clob.polymarket.com",
)
WHOLE = Decimal(1_000_000)
"""What the payouts of a resolution sum to, in the units in which they are stated."""
_CONDITION = re.compile(r"0x[0-9a-fA-F]{64}")
_MARKET = re.compile(rf"[0-9]{{1,20}}|{_CONDITION.pattern}")
_FINAL = frozenset({"resolved", "settled"})
"""Statuses of a resolution that nobody can dispute any more."""
_KEPT = (
    *("id", "conditionId", "question", "outcomes", "outcomePrices", "closed", "closedTime", "endDate", "negRisk"),
    *("umaResolutionStatus", "umaResolutionStatuses", "resolutionStatus", "automaticallyResolved", "lastTradePrice"),
)
"""Fields of a market that are kept as evidence."""
_KEPT_OF_RESOLUTION = (
    *("condition_id", "question_id", "status", "payouts", "price", "resolved_at", "last_update_timestamp", "reporter"),
    *("was_disputed", "was_arbitrated", "new_version_q", "resolution_source", "transaction_hash"),
)
"""Fields of a resolution that are kept as evidence."""
_TOKEN = ("token_id", "outcome", "price", "winner")
"""Fields of an order book's token that are kept as evidence."""


@dataclass(frozen=True)
class Polymarket:
    """Markets of Polymarket.

    The query has ``market``, Gamma's number of the market or its condition id, and for a probability ``outcome``, which
    is ``Yes`` where it is left out.
    """

    gamma: Web = field(default_factory=lambda: Web(base_url("POLYMARKET", GAMMA)))
    """The service that knows markets, their outcomes and whether they are closed."""
    data: Web = field(default_factory=lambda: Web(base_url("POLYMARKET_DATA", DATA)))
    """The service with the list of resolutions, which confirms what Gamma says."""
    clob: Web = field(default_factory=lambda: Web(base_url("POLYMARKET_CLOB", CLOB)))
    """The service of the order books, which confirms where the list of resolutions has nothing."""
    name: str = "polymarket"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        optional = {"outcome": str} if question.form == "probability" else None
        require_query(question, {"market": str}, optional=optional, forms=("probability", "probabilities", "choice"))
        if not _MARKET.fullmatch(str(question.query["market"])):
            raise UsageError(
                f"question {question.id}: market of its query is {str(question.query['market'])[:80]!r}; expected "
                "Gamma's number of the market, or its condition id (0x and 64 digits)"
            )

    @reading()
    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """The middle of the order book; None where one side is empty, or no orders are taken."""
        shown = self.references([question], now_ns)[question.id]
        if isinstance(shown, OpenFinGymError):
            raise shown
        return shown

    def references(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002
    ) -> Mapping[str, Mapping[str, Any] | OpenFinGymError | None]:
        """The references of many questions, with two requests for each hundred of them."""
        for question in questions:
            self.check(question)

        def alone(asked: str) -> GammaMarket:
            market, url, at_ns = self._market(asked, closed=False)
            return GammaMarket(market, at_ns, url)

        return Books(self.gamma, self.clob, alone).references(questions)

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """What Gamma and a second service say about each market, which are asked once for each."""
        return answer_together(questions, market_of, self._final, self._answer)

    def close(self) -> None:
        """Close connections."""
        for web in (self.gamma, self.data, self.clob):
            web.close()

    def _market(self, asked: str, *, closed: bool) -> tuple[dict[str, Any], str, int]:
        """A market as Gamma shows it, the address that was asked, and when Gamma answered.

        Args:
            asked: Gamma's number of the market, or its condition id.
            closed: whether the market is probably closed, so that closed ones are looked at first.
        """
        if not asked.startswith("0x"):
            reply = self.gamma.get(f"/markets/{asked}")
            market = reply.object()
            require_same(market.get("id"), asked, reply.url)
            return market, reply.url, reply.at_ns
        # Only the list knows condition ids, and it has either closed markets or open ones.
        for wanted in (closed, not closed):
            reply = self.gamma.get("/markets", {"condition_ids": asked, "closed": str(wanted).lower()})
            markets = reply.json()
            if not isinstance(markets, list) or not all(isinstance(market, dict) for market in markets):
                raise DataError(f"{reply.url}: the answer is no list of markets")
            if markets:
                require_same(str(markets[0].get("conditionId")).lower(), asked.lower(), reply.url)
                return markets[0], reply.url, reply.at_ns
        raise NotThereError(f"{reply.url}: there is no such market, open or closed")

    def _final(self, question: Question) -> _Final | ProviderAnswer:
        """What a market pays, or why it waits."""
        # A market that is not found waits, and is not void: a service may lose one for a while.
        try:
            market, url, _ = self._market(market_of(question), closed=True)
        except NotThereError as error:
            return ProviderAnswer("waiting", reason=f"orphaned: {error}")
        kept = evidence(market, _KEPT)
        labels, shown, why = labels_of(market), _prices(market), _why_open(market)
        if not why and len(shown) != len(labels):
            why = "it shows no prices of its outcomes"
        if not why and (sum(shown) != 1 or not labels):
            why = f"its outcome prices {[str(price) for price in shown]} are not final"
        condition = str(market.get("conditionId") or "")
        if not why and not _CONDITION.fullmatch(condition):
            why = "it has no condition id, by which a second service could confirm it"
        if why:
            return ProviderAnswer("waiting", reason=why, source=url, evidence=kept)
        confirmed = self._confirmed(condition, labels)
        kept |= confirmed.evidence
        if confirmed.payouts is None:
            return ProviderAnswer("waiting", reason=confirmed.why, source=url, evidence=kept)
        if confirmed.payouts != shown:
            why = f"Gamma shows {_written(shown)}, and the second service {_written(confirmed.payouts)}"
            return ProviderAnswer("waiting", reason=why, source=url, evidence=kept)
        # Forecasts from the close on do not count, not even those that came in before the close was noticed.
        at_ns = earliest_ns(market.get("closedTime"), confirmed.at) or instant_ns(market.get("umaEndDate"))
        return _Final(labels, shown, url, kept, at_ns)

    def _confirmed(self, condition: str, labels: list[str]) -> _Confirmed:
        """What a second service says: the list of resolutions or, where that has none, the order books' record."""
        reply = self._try(self.data, "/v2/resolutions", {"condition_id": condition})
        rows = [] if reply is None else _rows(reply, condition)
        if rows:
            # A resolution that was reset has several rows, of which the last counts.
            row = max(rows, key=lambda row: instant_ns(row.get("last_update_timestamp")) or 0)
            kept = {"resolution": evidence(row, _KEPT_OF_RESOLUTION)}
            if row.get("status") != "resolved":
                return _Confirmed(None, kept, f"its resolution is {str(row.get('status'))[:40]!r}")
            paid = [exact(payout, "a payout", 0, None) for payout in listed(row.get("payouts"), "payouts")]
            if len(paid) != len(labels) or sum(paid) != WHOLE:
                return _Confirmed(None, kept, f"its payouts {_written(paid)} do not sum to {WHOLE}")
            return _Confirmed([payout / WHOLE for payout in paid], kept, at=row.get("resolved_at"))
        reply = self._try(self.clob, f"/markets/{condition}", None)
        if reply is None:
            return _Confirmed(None, {}, "no second service confirms it yet")
        record = reply.object()
        require_same(str(record.get("condition_id")).lower(), condition.lower(), reply.url)
        tokens = [token for token in record.get("tokens") or [] if isinstance(token, dict)]
        kept = {"clob": {"closed": record.get("closed"), "tokens": [evidence(token, _TOKEN) for token in tokens[:10]]}}
        won = {token.get("outcome"): token.get("winner") is True for token in tokens}
        if record.get("closed") is not True or set(won) != set(labels) or sum(won.values()) != 1:
            return _Confirmed(None, kept, "no second service names one winner")
        return _Confirmed([Decimal(won[label]) for label in labels], kept)

    @staticmethod
    def _try(web: Web, path: str, query: Mapping[str, str | int] | None) -> WebReply | None:
        """The reply of a service; None where it has no such thing."""
        try:
            return web.get(path, query)
        except NotThereError:
            return None

    @staticmethod
    def _answer(question: Question, final: _Final) -> ProviderAnswer:
        truth = truth_of(question, final.labels, final.payouts, outcome_of(question))
        return ProviderAnswer(
            "resolved", truth, source=final.source, evidence=final.evidence, provider_ns=final.provider_ns
        )


@dataclass(frozen=True)
class _Final:
    """A market that is final: its outcomes, and what each pays."""

    labels: list[str]
    payouts: list[Decimal]
    source: str
    evidence: dict[str, Any]
    provider_ns: int | None


@dataclass(frozen=True)
class _Confirmed:
    """What a second service says about a market."""

    payouts: list[Decimal] | None
    """What each outcome pays; None where the service does not confirm it yet."""
    evidence: dict[str, Any]
    why: str = ""
    """Why there are no payouts."""
    at: object = None
    """When the market was resolved, as the service writes it; None where it does not say."""


def provider(secret: bytes) -> Polymarket:  # noqa: ARG001
    """The provider, for the registry."""
    return Polymarket()


def _why_open(market: Mapping[str, Any]) -> str:
    """Why a market is not final by Gamma's own fields; empty where it may be."""
    if market.get("closed") is not True:
        return "it is open"
    status, newer = market.get("umaResolutionStatus"), market.get("resolutionStatus")
    if status in {None, ""}:
        # An automatic market has no status; one that is being decided may show it in the history alone.
        history = listed(market.get("umaResolutionStatuses"), "umaResolutionStatuses")
        status = history[-1] if history and market.get("automaticallyResolved") is not True else None
    if status is not None and status not in _FINAL:
        return f"it is closed, and its resolution is {str(status)[:40]!r}"
    if newer not in {None, "", "resolved"}:
        return f"it is closed, and its resolution is {str(newer)[:40]!r}"
    return ""


def _prices(market: Mapping[str, Any]) -> list[Decimal]:
    return [exact(price, "an outcome's price") for price in listed(market.get("outcomePrices"), "outcomePrices")]


def _rows(reply: WebReply, condition: str) -> list[dict[str, Any]]:
    """The resolutions of a condition, from a list or from the one list in an object."""
    rows = reply.json()
    if isinstance(rows, dict):
        lists = [value for value in rows.values() if isinstance(value, list)]
        rows = lists[0] if len(lists) == 1 else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{reply.url}: the answer is no list of resolutions")
    for row in rows:
        require_same(str(row.get("condition_id")).lower(), condition.lower(), reply.url)
    return rows


def _written(numbers: Sequence[Decimal]) -> str:
    return "/".join(map(str, numbers))
