"""What markets of Polymarket show: the middle of their order books, for many markets with two requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from openfingym.errors import DataError, OpenFinGymError
from openfingym.questions.markets import closed_market, market_of, midpoint
from openfingym.questions.payouts import exact, instant_ns, listed, place
from openfingym.questions.web import NotThereError, our_error, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.questions.web import Web

BATCH = 100
"""The most markets, or order books, that one request asks about."""
References = dict[str, "Mapping[str, Any] | OpenFinGymError | None"]
"""What the markets of questions show, by the questions' ids."""


class GammaMarket(NamedTuple):
    """A market as Gamma shows it."""

    market: dict[str, Any]
    """Gamma's document."""
    at_ns: int
    """When Gamma answered, nanoseconds since the epoch."""
    url: str
    """Address that was asked."""


@dataclass(frozen=True)
class Books:
    """Reads the order books of markets."""

    gamma: Web
    """The service that knows markets and their outcomes."""
    clob: Web
    """The service that has the order books."""
    alone: Callable[[str], GammaMarket]
    """Asks Gamma about one market, open or closed."""

    def references(self, questions: Sequence[Question]) -> References:
        """What the markets of questions show; an error for a question whose market cannot be asked."""
        references: References = {}
        for first in range(0, len(questions), BATCH):
            references |= self._references(questions[first : first + BATCH])
        return references

    def _references(self, questions: Sequence[Question]) -> References:
        references: References = {}
        opened: list[tuple[Question, list[str]]] = []
        known = self._listed(list(dict.fromkeys(map(market_of, questions))))
        for question in questions:
            try:
                market, at_ns, url = known.get(market_of(question)) or self.alone(market_of(question))
                tokens = None if market.get("closed") is True else _tokens(question, market)
                references[question.id] = closed_market(at_ns, url) if market.get("closed") is True else None
                if tokens:
                    opened.append((question, tokens))
            # A stranger's document may lead to any error, which must stay that of its own question.
            except Exception as error:
                references[question.id] = our_error(error)
        try:
            books = self._books(list(dict.fromkeys(token for _, tokens in opened for token in tokens)))
        except Exception as error:
            return references | {question.id: our_error(error) for question, _ in opened}
        for question, tokens in opened:
            try:
                references[question.id] = _shown(question, [books.get(token) for token in tokens])
            except Exception as error:
                references[question.id] = our_error(error)
        return references

    def _listed(self, asked: Sequence[str]) -> dict[str, GammaMarket]:
        """The markets that Gamma's list has, open or closed, by the names by which they were asked for."""
        found: dict[str, GammaMarket] = {}
        # A request names either numbers or condition ids, and the list has either open markets or closed ones.
        for key, name in (("id", "id"), ("condition_ids", "conditionId")):
            for closed in ("false", "true"):
                some = [market for market in asked if market.startswith("0x") == (key != "id") and market not in found]
                # A single market is asked about alone, with one request in place of two.
                if len(some) < 2:
                    continue
                try:
                    reply = self.gamma.get("/markets", {key: some, "closed": closed, "limit": len(some)})
                    rows = reply.json()
                # Without the list each market is asked about alone, which says what is wrong.
                except OpenFinGymError:
                    break
                by_name = {market.lower(): market for market in some}
                for row in rows if isinstance(rows, list) else ():
                    market = by_name.get(str(row.get(name)).lower()) if isinstance(row, dict) else None
                    if market is not None:
                        found[market] = GammaMarket(row, reply.at_ns, reply.url)
        return found

    def _books(self, tokens: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The order books of tokens by the tokens' ids, each with ``source`` and ``at_ns``; a token without a book is
        left out.
        """
        if not tokens:
            return {}
        if len(tokens) == 1:
            try:
                reply = self.clob.get("/book", {"token_id": tokens[0]})
            except NotThereError:
                return {}
            require_same(reply.object().get("asset_id"), tokens[0], reply.url)
            rows = [reply.object()]
        else:
            reply = self.clob.get("/books", posted=[{"token_id": token} for token in tokens])
            rows = reply.json()
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise DataError(f"{reply.url}: the answer is no list of order books")
        wanted = set(tokens)
        return {
            row["asset_id"]: {**row, "source": f"{self.clob.url}/book?token_id={row['asset_id']}", "at_ns": reply.at_ns}
            for row in rows
            if row.get("asset_id") in wanted
        }


def labels_of(market: Mapping[str, Any]) -> list[str]:
    """Names of a market's outcomes.

    Raises:
        DataError: they are no list of texts.
    """
    labels = listed(market.get("outcomes"), "outcomes")
    if not all(isinstance(label, str) for label in labels):
        raise DataError(f"its outcomes are {str(labels)[:80]}, expected texts")
    return labels


def outcome_of(question: Question) -> str:
    """The outcome that a question for a probability is about; ``Yes`` where its query names none."""
    return str(question.query.get("outcome", "Yes"))


def _tokens(question: Question, market: Mapping[str, Any]) -> list[str]:
    """The tokens of the outcomes that a question is about; empty where the market takes no orders."""
    labels, tokens = labels_of(market), listed(market.get("clobTokenIds"), "clobTokenIds")
    if market.get("closed") is not False or market.get("acceptingOrders") is False:
        return []
    if len(tokens) != len(labels) or not labels:
        return []
    wanted = [outcome_of(question)] if question.form == "probability" else list(question.outcomes)
    return [str(tokens[place(labels, label, question)]) for label in wanted]


def _shown(question: Question, books: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """What the order books of a question's outcomes show together; None where one of them shows nothing."""
    middles = [middle for book in books if book is not None and (middle := _middle(book)) is not None]
    if len(middles) < len(books):
        return None
    if question.form == "probability":
        return middles[0]
    # Middles of separate books do not add up to 1.
    total = sum(middle["probability"] for middle in middles)
    if not total > 0.0:
        return None
    return {
        "probabilities": [middle["probability"] / total for middle in middles],
        "at_ns": min(middle["at_ns"] for middle in middles),
        "source": middles[0]["source"],
    }


def _middle(book: Mapping[str, Any]) -> dict[str, Any] | None:
    # The best prices, whatever order the levels come in.
    bids, asks = ([exact(row["price"], "a price") for row in book.get(side) or []] for side in ("bids", "asks"))
    at_ns = instant_ns(book.get("timestamp")) or book["at_ns"]
    return midpoint(max(bids, default=None), min(asks, default=None), at_ns, book["source"])
