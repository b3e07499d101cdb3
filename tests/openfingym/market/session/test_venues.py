"""Where sessions are: feeds of tapes, which need no keys, real venues, and local ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import DataError, UsageError
from openfingym.kinds.live import live_contract, session_terms
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.keys import Keys
from openfingym.market.session.live import LiveSession
from openfingym.market.session.taped import TapedSession, replayed
from openfingym.market.session.terms import SessionTerms
from openfingym.market.session.venues import feed_of, real_venue, simulated_venue
from openfingym.market.tape_reader import TapeReader
from openfingym.metrics.performance import RecordColumn
from openfingym.trading.market import MarketRules

KEYS = Keys("the-key-of-an-account", "the-secret-of-an-account")
NAMES = ("AAPL", "MSFT")
TERMS = SessionTerms(("aapl", "msft"), NAMES, 1, 3, 5, 100_000.0, MarketRules(fee_bps=1.0, lot=1.0, tick=0.01))


def test_a_tapes_feed_is_made_without_keys_and_alike() -> None:
    feed = AlpacaFeed(NAMES, KEYS, rest_url="http://localhost:1", channels=("trades", "quotes"), simulated=True)
    assert "account" not in str(feed.arguments())
    made = feed_of("alpaca", NAMES, feed.arguments())
    assert (made.arguments(), made.symbols, made.kinds) == (feed.arguments(), feed.symbols, feed.kinds)
    assert made.simulated
    for venue, arguments in (("nowhere", {}), ("alpaca", {"feed": "none"}), ("alpaca", {"unknown": 1})):
        with pytest.raises(DataError, match=r"sessions are known of alpaca, binance|cannot be made"):
            feed_of(venue, NAMES, arguments)


def test_the_real_venue_takes_keys_and_says_which_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APCA_API_KEY_ID", KEYS.key)
    monkeypatch.setattr("openfingym.market.keys._from_keyring", lambda venue, entry: None)
    monkeypatch.delenv("APCA_API_SECRET_KEY", raising=False)
    with pytest.raises(UsageError, match="alpaca needs keys, and APCA_API_SECRET_KEY is set neither"):
        real_venue("alpaca", NAMES)
    monkeypatch.setenv("APCA_API_SECRET_KEY", KEYS.secret)
    with real_venue("alpaca", NAMES) as feed:
        assert (feed.secrets, feed.simulated) == ((KEYS.key, KEYS.secret), False)
        assert feed.stream().url == "wss://stream.data.alpaca.markets/v2/iex"
    with pytest.raises(UsageError, match="no venue 'nowhere'; expected one of alpaca, binance"):
        real_venue("nowhere", NAMES)


def test_an_hour_of_stocks_has_the_share_of_a_year_that_markets_are_open() -> None:
    contract = live_contract(load_task("equity-trading-live").spec.contract)
    own, minute = session_terms(contract), session_terms(contract, 60)
    assert (own.interval_s, own.steps, minute.interval_s) == (60, 60, 1)
    assert own.rules.bars_per_year == 252 * 390
    assert minute.rules.bars_per_year == 252 * 390 * 60


def test_stocks_trade_at_a_local_venue_and_again_on_the_tape(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    venue = simulated_venue("alpaca", NAMES, seed=4, before_s=90.0)
    with LiveSession(venue, TERMS, tape) as session:
        secrets = session.machine.feed.secrets
        first = session.begin()
        second = session.step({"weights": [0.4, 0.4]})
        session.leave()
        record = session.outcome().copy()
    assert session.simulated
    bars = np.array(first.observation["bars"])
    assert bars.shape == (TERMS.lookback, 2, 5)
    assert bars[:, :, 4].sum() > 0.0, "bars of a second are made of trades"
    assert first.info["gap"] == [], "a venue without books lacks none"
    filled = second.observation["fills"]
    traded = {fill["symbol"] for fill in filled}  # type: ignore[attr-defined]
    assert traded == {"aapl", "msft"}, second.observation["rejections"]
    assert record[1, RecordColumn.LONG] > 0.0

    machine, found = replayed(tape)
    assert (found.difference, machine.record.tobytes()) == (None, record.tobytes())
    with TapedSession(tape) as other:
        mark = other.begin()
        while not mark.done:
            mark = other.step(None)
        assert other.outcome()[:, RecordColumn.EQUITY].tolist() == [100_000.0] * 4
    with TapeReader(tape) as reader:
        held = [str(reader.header), *(str(record.payload) for record in reader)]
    assert all(secret and not any(secret in text for text in held) for secret in secrets)
