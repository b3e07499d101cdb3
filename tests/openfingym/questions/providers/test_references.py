"""Whatever a service answers, what is shown of a market is a number or nothing, and what fails is an error of ours."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import OpenFinGymError
from openfingym.questions.prices.alpaca import AlpacaPrices
from openfingym.questions.prices.binance import BinancePrices
from openfingym.questions.prices.yahoo import YahooPrices
from openfingym.questions.providers.kalshi import Kalshi
from openfingym.questions.providers.manifold import Manifold
from openfingym.questions.providers.polymarket import Polymarket
from openfingym.questions.providers.price import PriceProvider
from openfingym.questions.providers.release import Releases
from openfingym.questions.web import WebReply
from tests.openfingym.questions.providers.questions import END, ask

NAMES = (
    *(
        "id",
        "closed",
        "outcomes",
        "outcomePrices",
        "clobTokenIds",
        "conditionId",
        "market",
        "ticker",
        "status",
        "result",
    ),
    *("yes_bid_dollars", "isResolved", "probability", "outcomeType", "answers", "closeTime", "chart", "meta", "bids"),
    *("symbol", "price", "bars", "trades", "BTC/USD", "observations", "date", "value", "resolution", "asset_id"),
)
WORDS = st.sampled_from(
    ["604489", "KX", "5CuA1234", "BTCUSDT", "finalized", "active", "BINARY", "YES", '["Yes"]', "1", ""]
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)


class Answered:
    url = "http://somewhere"

    def __init__(self, document):
        self.body = json.dumps(document).encode()

    def get(self, path, query=None, **more):
        return WebReply(path, self.body, END)

    def close(self):
        pass


def providers(web):
    venues = {"binance": BinancePrices(web), "alpaca": AlpacaPrices(web), "yahoo": YahooPrices(web)}
    return [
        (Polymarket(web, web, web), {"market": "604489"}, "probability"),
        (Kalshi(web), {"market": "KX"}, "probability"),
        (Manifold(web), {"market": "5CuA1234"}, "probability"),
        (Manifold(web), {"market": "5CuA1234"}, "choice"),
        (PriceProvider(venues), {"venue": "binance", "symbol": "BTCUSDT"}, "value"),
        (PriceProvider(venues), {"venue": "alpaca", "symbol": "BTC/USD"}, "value"),
        (PriceProvider(venues), {"venue": "yahoo", "symbol": "AAPL"}, "value"),
        (Releases(web, web, web, "key"), {"source": "fred", "series": "GDP", "period": "2026-07-01"}, "value"),
    ]


@given(DOCUMENTS)
def test_any_document_is_an_answer_or_an_error_of_ours(document):
    for provider, query, form in providers(Answered(document)):
        question = ask(provider.name, query, form)
        try:
            shown = provider.reference(question, END)
        except OpenFinGymError:
            shown = None
        assert shown is None or {"at_ns", "source"} < set(shown)
        found = provider.answers([question], END)[question.id]
        assert isinstance(found, OpenFinGymError) or found.status in {"waiting", "void", "resolved"}


@pytest.mark.parametrize(
    "book", [{"asset_id": "1", "bids": [3]}, {"asset_id": "1", "bids": {"price": 1}}, {"bids": []}]
)
def test_a_book_of_another_form_is_an_error_of_ours(book):
    market = {"id": "604489", "closed": False, "outcomes": ["Yes", "No"], "clobTokenIds": ["1", "2"]}
    polymarket = Polymarket(Answered(market), Answered({}), Answered(book))
    with pytest.raises(OpenFinGymError):
        polymarket.reference(ask("polymarket", {"market": "604489"}), END)
