"""What a check of a venue finds: at a local one, at one that refuses, and where nobody answers."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.market import checkup, keys
from openfingym.market.brokers import alpaca, binance
from openfingym.market.brokers.broker import Standing
from openfingym.market.checkup import CheckedVenue, VenueCheck, check_venue, venue_named
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.keys import NAMES, Keys
from openfingym.market.sim.faults import VenueFault
from tests.openfingym.market.brokers.local_venue import KEYS, SYMBOL, LocalVenue


def at(local: LocalVenue, found: Keys = KEYS) -> CheckedVenue:
    venue = local.venue
    return CheckedVenue(
        "binance",
        lambda _: BinanceFeed([SYMBOL], stream_url=venue.stream_url, rest_url=venue.rest_url, simulated=True),
        local.broker,
        lambda: found,
        "a demo account",
    )


def checked(venue: CheckedVenue, timeout_s: float = checkup.TIMEOUT_S) -> dict[str, VenueCheck]:
    return {check.check: check for check in asyncio.run(check_venue(venue, timeout_s=timeout_s))}


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in NAMES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "_from_keyring", lambda venue, entry: None)


def test_the_simulated_venue_passes_and_says_that_it_is_one(no_keys: None) -> None:
    result = CliRunner().invoke(cli, ["doctor", "--venue", "simulated", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["ok"]
    assert found["simulated"]
    assert [row["check"] for row in found["checks"]] == ["keys", "market data", "clock", "account", "events"]
    assert set(found["checks"][2]["measured"]) == {"latency", "difference"}
    result = CliRunner().invoke(cli, ["doctor", "--venue", "simulated"])
    assert "SIMULATED" in result.output
    assert "ok" in result.output.split()


def test_without_keys_it_says_which_and_how_and_that_market_data_of_binance_need_none(
    no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalVenue() as local:
        known = at(local)
        asked = CheckedVenue("binance", known.feed, known.broker, lambda: Keys.of("binance"), known.account)
        monkeypatch.setattr(checkup, "venue_named", lambda name, real_money: asked)
        result = CliRunner().invoke(cli, ["doctor", "--venue", "binance", "--json"])
    assert result.exit_code == 4
    rows = {row["check"]: row for row in json.loads(result.output)["checks"]}
    assert [row["ok"] for row in rows.values()] == [False, True, True]
    for words in ("BINANCE_API_KEY", "keyring set openfingym-binance", "Market data of binance need no keys"):
        assert words in rows["keys"]["detail"]


def test_alpaca_without_keys_is_not_asked(no_keys: None) -> None:
    result = CliRunner().invoke(cli, ["doctor", "--venue", "alpaca"])
    assert result.exit_code == 4
    assert "APCA_API_KEY_ID" in result.output
    assert "not tried" in result.output


def test_where_nobody_answers_it_says_so_soon() -> None:
    nowhere = CheckedVenue(
        "alpaca",
        lambda _: AlpacaFeed(
            ["BTC/USD"], KEYS, feed="us", stream_url="ws://127.0.0.1:1", rest_url="http://127.0.0.1:1"
        ),
        lambda found: alpaca.Alpaca([], found, rest="http://127.0.0.1:1", stream="ws://127.0.0.1:1"),
        lambda: KEYS,
        "a paper account",
    )
    began = time.monotonic()
    found = checked(nowhere)
    assert time.monotonic() - began < 2 * checkup.TIMEOUT_S
    assert [(name, check.ok) for name, check in found.items()] == [
        ("keys", True),
        ("market data", False),
        ("clock", False),
    ]
    assert "cannot be connected to" in found["market data"].detail
    assert "does not answer" in found["clock"].detail


@pytest.mark.parametrize("wrong", [Keys(KEYS.key, "not-the-secret-of-ann"), Keys("not-the-key-of-ann", KEYS.secret)])
def test_keys_that_are_refused_are_named_by_their_variables_alone(wrong: Keys) -> None:
    with LocalVenue() as local:
        found = checked(at(local, wrong))
    assert not found["account"].ok
    assert "set BINANCE_API_KEY and BINANCE_API_SECRET" in found["account"].detail
    assert "events" not in found
    said = repr(found)
    assert wrong.secret not in said
    assert wrong.key not in said


def test_a_clock_that_is_off_is_said_and_by_how_much() -> None:
    with LocalVenue(start=time.time_ns() - 90 * 10**9) as local:
        clock = checked(at(local))["clock"]
    assert not clock.ok
    assert "NTP" in clock.detail
    assert -91_000 < clock.measured["difference"] < -60_000


def test_a_stream_that_does_not_begin_is_said_in_bounded_time() -> None:
    with LocalVenue() as local:
        local.faults.append(VenueFault("mute"))
        found = checked(at(local), timeout_s=1.0)
    for name in ("market data", "events"):
        assert "did not confirm" in found[name].detail
    assert found["account"].ok


def test_an_account_of_real_money_is_left_alone_unless_told() -> None:
    with LocalVenue() as local:
        known = at(local)
        real = CheckedVenue(
            "binance", known.feed, lambda found: binance.Binance([], found, rest=binance.REAL), known.keys, ""
        )
        found = checked(real)
    assert list(found) == ["keys", "market data", "account"], "not even its clock was asked for"
    assert "--real-money" in found["account"].detail
    assert not found["account"].ok


def test_only_known_addresses_cost_no_money() -> None:
    def real(rest: str) -> bool:
        return binance.Binance([], KEYS, rest=rest).real

    assert not venue_named("binance").broker(KEYS).real
    assert venue_named("binance", real_money=True).broker(KEYS).real
    assert not venue_named("alpaca").broker(KEYS).real
    assert venue_named("alpaca", real_money=True).broker(KEYS).real
    assert not real(f"{binance.TESTNET}/")
    assert not real("http://127.0.0.1:8000")
    for address in (
        "https://api1.binance.com",
        "https://demo-api.binance.com.example.org",
        "https://localhost.example",
    ):
        assert real(address)


def test_what_alpaca_says_of_an_account_and_of_the_time() -> None:
    broker = alpaca.Alpaca([], KEYS)
    good = {"status": "ACTIVE", "trading_blocked": False, "account_blocked": False, "trade_suspended_by_user": False}
    assert broker.read_standing(json.dumps(good).encode()) == Standing(True, "")
    stopped = broker.read_standing(json.dumps({**good, "trading_blocked": True}).encode())
    assert stopped == Standing(False, "trading_blocked")
    assert not broker.read_standing(json.dumps({**good, "status": "ONBOARDING"}).encode()).trades
    assert broker.read_clock(b'{"timestamp":"2026-01-02T03:04:05.5Z"}') == 1_767_323_045_500_000_000


def test_real_money_without_a_venue_is_refused() -> None:
    assert CliRunner().invoke(cli, ["doctor", "--real-money"]).exit_code == 2
    assert CliRunner().invoke(cli, ["doctor", "--venue", "simulated", "--real-money"]).exit_code == 2
