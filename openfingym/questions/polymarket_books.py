"""What markets of Polymarket show: the middle of their order books, of many markets with two requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from openfingym.errors import DataError, OpenFinGymError
from openfingym.questions.markets import closed_market, market_of, midpoint
from openfingym.questions.payouts import exact, instant_ns, listed, place
from openfingym.questions.web import NotThereError, one_error, require_same

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.questions.web import Web

BATCH = 100
"""Markets, or order books, that are asked about together."""
References = dict[str, "Mapping[str, Any] | OpenFinGymError | None"]
"""By the ids of questions."""


class GammaMarket(NamedTuple):
    """A market as Gamma shows it."""

    market: dict[str, Any]
    at_ns: int
    """When it answered."""
    url: str


@dataclass(frozen=True)
class Books:
    """The order books of markets."""

    gamma: Web
    clob: Web
    alone: Callable[[str], GammaMarket]
    """Asks Gamma about one market, open or closed."""

    def references(self, questions: Sequence[Question]) -> References:
        """What the markets of questions show; of each an error where it cannot be asked."""
        found: References = {}
        for first in range(0, len(questions), BATCH):
            found |= self._references(questions[first : first + BATCH])
        return found

    def _references(self, questions: Sequence[Question]) -> References:
        found: References = {}
        opened: list[tuple[Question, list[str]]] = []
        known = self._listed(list(dict.fromkeys(map(market_of, questions))))
        for question in questions:
            try:
                market, at_ns, url = known.get(market_of(question)) or self.alone(market_of(question))
                tokens = None if market.get("closed") is True else _tokens(question, market)
                found[question.id] = closed_market(at_ns, url) if market.get("closed") is True else None
                if tokens:
                    opened.append((question, tokens))
            except Exception as error:  # whatever a stranger's document leads to
                found[question.id] = one_error(error)
        try:
            books = self._books(list(dict.fromkeys(token for _, tokens in opened for token in tokens)))
        except Exception as error:
            return found | {question.id: one_error(error) for question, _ in opened}
        for question, tokens in opened:
            try:
                found[question.id] = _shown(question, [books.get(token) for token in tokens])
            except Exception as error:
                found[question.id] = one_error(error)
        return found

    def _listed(self, asked: Sequence[str]) -> dict[str, GammaMarket]:
        """Those of many markets that the list has, open ones or closed."""
        found: dict[str, GammaMarket] = {}
        for key, name in (("id", "id"), ("condition_ids", "conditionId")):
            for closed in ("false", "true"):
                some = [one for one in asked if one.startswith("0x") == (key != "id") and one not in found]
                if len(some) < 2:
                    continue
                try:
                    reply = self.gamma.get("/markets", {key: some, "closed": closed, "limit": len(some)})
                    rows = reply.json()
                except OpenFinGymError:
                    break  # each is asked about alone, and says what is wrong
                by_name = {one.lower(): one for one in some}
                for row in rows if isinstance(rows, list) else ():
                    market = by_name.get(str(row.get(name)).lower()) if isinstance(row, dict) else None
                    if market is not None:
                        found[market] = GammaMarket(row, reply.at_ns, reply.url)
        return found

    def _books(self, tokens: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The order books of some tokens by their ids, each with its address and ``at_ns``; not those there are none
        of.
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
    """The outcomes of a market."""
    labels = listed(market.get("outcomes"), "outcomes")
    if not all(isinstance(label, str) for label in labels):
        raise DataError(f"its outcomes are {str(labels)[:80]}, expected texts")
    return labels


def outcome_of(question: Question) -> str:
    """The outcome that a probability is of."""
    return str(question.query.get("outcome", "Yes"))


def _tokens(question: Question, market: Mapping[str, Any]) -> list[str]:
    """The tokens of the outcomes that a question is about; none where the market takes no orders."""
    labels, tokens = labels_of(market), listed(market.get("clobTokenIds"), "clobTokenIds")
    if market.get("closed") is not False or market.get("acceptingOrders") is False:
        return []
    if len(tokens) != len(labels) or not labels:
        return []
    wanted = [outcome_of(question)] if question.form == "probability" else list(question.outcomes)
    return [str(tokens[place(labels, label, question)]) for label in wanted]


def _shown(question: Question, books: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """What the order books of a question's outcomes show together; None where one of them shows nothing."""
    shown = [None if book is None else _middle(book) for book in books]
    known = [one for one in shown if one is not None]
    if len(known) < len(shown):
        return None
    if question.form == "probability":
        return known[0]
    total = sum(one["probability"] for one in known)
    if not total > 0.0:
        return None
    return {
        "probabilities": [one["probability"] / total for one in known],
        "at_ns": min(one["at_ns"] for one in known),
        "source": known[0]["source"],
    }


def _middle(book: Mapping[str, Any]) -> dict[str, Any] | None:
    # In whatever order the levels come.
    bids, asks = ([exact(row["price"], "a price") for row in book.get(side) or []] for side in ("bids", "asks"))
    at_ns = instant_ns(book.get("timestamp")) or book["at_ns"]
    return midpoint(max(bids, default=None), min(asks, default=None), at_ns, book["source"])
