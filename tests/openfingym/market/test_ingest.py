"""The machine under the faults of a venue, in simulated time and without sockets."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.market.commands import RestAnswer, Send, Tell, ending, read_ending
from openfingym.market.feeds.alpaca import AlpacaFeed
from openfingym.market.feeds.binance import BinanceFeed
from openfingym.market.ingest import Ingest
from openfingym.market.keys import Keys
from openfingym.market.ticks import Quote, Trade
from tests.openfingym.market.plain import SECOND, PlainMarket, World, depth_frame, refusal, trade_frame


def test_an_open_connection_that_brings_nothing_is_replaced_and_its_trades_are_filled_in() -> None:
    world = World("BTCUSDT")
    world.run(5, world.trade)
    first = set(world.open)
    world.mute |= first
    world.run(40, world.trade)
    assert "silent" in world.kinds()
    assert world.open.isdisjoint(first)
    assert world.whole()


def test_silence_in_which_nothing_happens_raises_no_alarm_and_ever_fewer_questions() -> None:
    world = World("BTCUSDT", "THINUSDT")
    world.trade("THINUSDT")
    world.quote("THINUSDT", 9, 11)
    world.run(3600)
    assert len(world.connects) == 1
    assert "silent" not in world.kinds()
    assert sum("/ticker/" in request.path for request in world.asked) < 2 * 3600 / 320 + 16


def test_a_thin_symbol_that_is_mute_is_subscribed_anew_while_others_go_on() -> None:
    world = World("BTCUSDT", "THINUSDT")
    world.run(1, lambda: (world.trade("BTCUSDT"), world.trade("THINUSDT")))
    seen = len(world.sent)
    missed = 0
    while len(world.sent) == seen and missed < 100:
        missed += 1
        world.trade("THINUSDT", to=())
        world.run(1, lambda: world.trade("BTCUSDT"))
    assert [json.loads(frame)["method"] for _, frame in world.sent[seen:]] == ["UNSUBSCRIBE", "SUBSCRIBE"]
    assert all("thinusdt" in frame and "btcusdt" not in frame for _, frame in world.sent[seen:])
    world.trade("THINUSDT")
    world.run(5, lambda: world.trade("BTCUSDT"))
    assert len(world.connects) == 1
    assert world.whole()


def test_a_symbol_that_was_never_heard_is_found_mute() -> None:
    world = World("BTCUSDT", "THINUSDT")
    seen = len(world.sent)
    world.run(60, lambda: (world.trade("BTCUSDT"), world.trade("THINUSDT", to=())))
    assert len(world.sent) > seen
    assert "silent" in world.kinds()


def test_a_channel_that_stays_mute_costs_the_connection_in_the_end() -> None:
    world = World("BTCUSDT", "THINUSDT")
    world.run(200, lambda: (world.trade("BTCUSDT"), world.trade("THINUSDT", to=())))
    assert len(world.connects) > 1


def test_a_book_that_stays_behind_its_quotes_is_subscribed_anew() -> None:
    world = World("BTCUSDT")
    world.update = 7
    world.frame(1, depth_frame("BTCUSDT", 8, 8))
    world.run(1)
    seen = len(world.sent)
    prices = iter(range(10, 100_000))
    world.run(30, lambda: world.quote("BTCUSDT", next(prices), 200_000))
    assert len(world.sent) > seen


def test_refused_connections_are_tried_ever_more_seldom_and_never_before_the_venue_allows() -> None:
    world = World("BTCUSDT")
    world.refuse = lambda: refusal(429, 45.0)
    world.cut()
    world.run(44)
    assert len(world.connects) == 2
    world.refuse = lambda: refusal(503)
    world.run(600)
    assert 8 < len(world.connects) < 25
    world.refuse = lambda: None
    world.run(61)
    assert world.machine.connected


def test_clients_do_not_come_back_at_once() -> None:
    waits = set()
    for seed in range(20):
        world = World("BTCUSDT")
        world.machine = Ingest(world.feed, world.market, np.random.default_rng(seed))
        world.do(world.machine.start(world.at()))
        world.run(1)
        world.refuse = lambda: refusal(503)
        world.cut()
        begin, count = world.now, len(world.connects)
        while len(world.connects) == count:
            world.run(0.1)
        waits.add(world.now - begin)
    assert len(waits) > 1


def test_a_planned_end_loses_nothing_and_counts_nothing_twice() -> None:
    world = World("BTCUSDT", life_s=60.0)
    world.run(150, world.trade)
    assert len(world.connects) >= 3
    assert "lost" not in world.kinds()
    assert len(world.open) <= 2
    assert world.whole()
    assert not any("historicalTrades" in request.path for request in world.asked)


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_announced_end_opens_the_replacement_first(wrapped: bool) -> None:
    world = World("BTCUSDT")
    world.run(2, world.trade)
    event = {"e": "serverShutdown", "E": 1770123456789}
    world.frame(1, json.dumps({"stream": "!serverShutdown", "data": event} if wrapped else event))
    assert world.connects == [1, 2]
    assert world.open == {1, 2}
    world.run(8, world.trade)
    assert world.open == {2}
    assert world.whole()
    assert "lost" not in world.kinds()


def test_a_replacement_that_brings_nothing_does_not_take_over() -> None:
    world = World("BTCUSDT")
    world.run(2, world.trade)
    world.frame(1, json.dumps({"e": "serverShutdown", "E": 1}))
    world.mute.add(2)
    world.do(world.machine.frame(2, json.dumps({"result": None, "id": 1}), world.at()))
    world.run(8, world.trade)
    assert 1 in world.open
    assert 2 not in world.open
    assert world.whole()


def test_what_comes_late_is_told() -> None:
    world = World("BTCUSDT")
    world.run(2, world.trade)
    world.now += 7 * SECOND  # the reader was held up, and the venue's events waited
    old = world.history["BTCUSDT"][-1]
    late = old._replace(id=old.id + 1)
    world.history["BTCUSDT"].append(late)
    world.frame(1, trade_frame(late))
    assert "lagging" in world.kinds()
    assert world.machine.lag > 6 * SECOND


def test_one_bad_message_costs_nothing_else() -> None:
    world = World("BTCUSDT")
    world.trade()
    for bad in (
        "",
        "{",
        "[]",
        "\x00",
        '{"stream":"x","data":{"e":"trade","s":"BTCUSDT","p":"nan","q":"1","t":1,"T":1}}',
    ):
        world.frame(1, bad)
    world.trade()
    assert "unreadable" in world.kinds()
    assert len(world.connects) == 1
    assert world.whole()


def test_a_subscription_that_is_not_confirmed_is_tried_again() -> None:
    world = World("BTCUSDT")
    world.cut()
    world.acknowledge = False
    world.run(30)
    assert not world.machine.connected
    assert len(world.connects) >= 3
    world.acknowledge = True
    world.run(60)
    assert world.machine.connected


def test_a_refusal_that_no_other_try_changes_ends_the_feed() -> None:
    world = World("BTCUSDT")
    world.frame(1, json.dumps({"code": 2, "msg": "Invalid request: unknown variant"}))
    assert "unknown variant" in world.machine.failed
    assert world.open == set()
    world.run(300)
    assert len(world.connects) == 1
    assert "failed" in world.kinds()


def test_control_messages_keep_to_their_rate() -> None:
    world = World(*(f"S{number}USDT" for number in range(330)))
    begin = world.now
    count = 0
    while world.now - begin < 5 * SECOND:
        before = len(world.sent)
        world.run(1)
        count = max(count, len(world.sent) - before)
    assert len(world.sent) == 10  # 990 streams, 100 a message
    assert count <= 4
    assert world.machine.connected


def test_a_jump_in_the_numbers_is_filled_by_number() -> None:
    world = World("BTCUSDT")
    world.trade()
    for _ in range(2500):
        world.trade(to=())
    world.trade()
    assert world.market.gap_of("BTCUSDT") is not None
    world.run(2)
    assert world.whole()
    asked = [request.path for request in world.asked if "historicalTrades" in request.path]
    assert len(asked) == 3  # pages of a thousand
    assert list(world.kinds()).count("filled-gap") == 1


def test_trades_of_a_lost_connection_are_filled_though_none_follows() -> None:
    world = World("BTCUSDT", "THINUSDT")
    world.trade("THINUSDT")
    world.run(1)
    world.cut()
    for _ in range(3):
        world.trade("THINUSDT")
    world.run(5)
    assert world.whole()
    assert len(world.market.trades["THINUSDT"]) == 4


def test_answers_that_lag_the_stream_are_asked_for_again() -> None:
    world = World("BTCUSDT")
    world.trade()
    world.trade(to=())
    world.reply = lambda request: RestAnswer(200, b"[]") if "historicalTrades" in request.path else None
    world.trade()
    world.run(2)
    assert not world.whole()
    world.reply = lambda _: None
    world.run(10)
    assert world.whole()


def test_a_gap_that_the_venue_does_not_fill_is_given_up() -> None:
    world = World("BTCUSDT")
    world.trade()
    world.trade(to=())
    world.reply = lambda request: RestAnswer(400, b'{"code":-1121}') if "historicalTrades" in request.path else None
    world.trade()
    world.run(2)
    assert world.market.given_up == ["BTCUSDT"]
    assert "refused" in world.kinds()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_order_loss_or_repetition_of_trades_shows_in_the_end(data: st.DataObject) -> None:
    world = World("BTCUSDT")
    world.trade()
    for _ in range(data.draw(st.integers(1, 6))):
        what = data.draw(st.sampled_from(["send", "cut", "pass"]))
        if what == "cut":
            world.cut()
        elif what == "pass":
            world.run(data.draw(st.sampled_from([0.1, 1, 3])))
        fresh = [world.trade(to=()) for _ in range(data.draw(st.integers(1, 8)))]
        come = data.draw(st.lists(st.sampled_from(fresh), max_size=12))
        for connection in sorted(world.open):
            for trade in come:
                world.frame(connection, trade_frame(trade))
    world.run(70)
    world.trade()
    world.run(70)
    assert world.whole()


def test_a_book_is_asked_for_again_until_it_fits_the_changes_that_wait() -> None:
    world = World("BTCUSDT")
    world.update = 90  # a cached answer, older than the first change
    world.frame(1, depth_frame("BTCUSDT", 95, 99))
    world.run(3)
    assert world.market.wants_book("BTCUSDT")
    asked = sum("/depth" in request.path for request in world.asked)
    assert 2 <= asked <= 4
    world.update = 97
    world.run(3)
    assert world.market.books == {"BTCUSDT": 99}
    world.frame(1, depth_frame("BTCUSDT", 98, 99))  # an overlap moves nothing back
    assert world.market.books == {"BTCUSDT": 99}
    world.frame(1, depth_frame("BTCUSDT", 105, 106))  # a gap
    world.update = 110
    world.run(2)
    assert world.market.books == {"BTCUSDT": 110}


def test_a_book_that_is_soon_used_up_is_asked_for_once_a_second_at_most() -> None:
    world = World("BTCUSDT")
    world.market.wants_book = lambda _: True  # type: ignore[method-assign]  # as if each answer held a level or two
    world.run(5, lambda: world.frame(1, depth_frame("BTCUSDT", 95, 99)))
    assert sum("/depth" in request.path for request in world.asked) == 5


def test_the_wall_clock_may_be_set_at_any_time() -> None:
    world = World("BTCUSDT")
    world.run(5, world.trade)
    world.skew = -3600 * SECOND
    world.run(5, world.trade)
    world.skew = 3600 * SECOND
    world.run(5, world.trade)
    assert list(world.kinds()).count("clock") == 2
    assert "lagging" not in world.kinds()
    assert abs(world.machine.lag) < SECOND
    assert len(world.connects) == 1


def test_microseconds_are_told_from_milliseconds() -> None:
    world = World("BTCUSDT")
    for time in (1672515782136, 1672515782136000):
        data = {"e": "trade", "s": "BTCUSDT", "t": time, "p": "1", "q": "1", "T": time, "m": False}
        (found,) = world.feed.session().received(json.dumps({"stream": "", "data": data}))
        assert isinstance(found, Trade)
        assert found.time == 1672515782136000000


def test_many_silent_symbols_are_one_question_within_the_budget() -> None:
    world = World(*(f"S{number}USDT" for number in range(50)))
    for symbol in world.symbols:
        world.trade(symbol)
    world.run(15)
    asked = [request for request in world.asked if "/ticker/" in request.path]
    assert len(asked) == 4  # price and quote, at the beginning and after ten seconds
    world.do(world.machine.refresh(world.symbols, world.at()))
    world.do(world.machine.refresh(world.symbols, world.at()))
    assert len([request for request in world.asked if "/ticker/" in request.path]) == 6


def test_a_limited_venue_is_left_alone_for_as_long_as_it_says() -> None:
    world = World("BTCUSDT")
    world.trade()
    world.trade(to=())
    world.reply = lambda _: RestAnswer(429, b"{}", 30.0)
    world.trade()
    world.run(1)
    count = len(world.asked)
    world.run(25)
    assert len(world.asked) == count
    world.reply = lambda _: None
    world.run(10)
    assert world.whole()


def test_questions_never_cost_more_than_a_minute_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BinanceFeed, "weight_per_minute", 2000)
    world = World(*(f"S{number}USDT" for number in range(120)))
    world.run(5)
    for symbol in world.symbols:
        world.trade(symbol)
        world.trade(symbol, to=())
        world.trade(symbol)
    spent: list[tuple[int, int]] = []
    begin = world.now
    for _ in range(900):
        count = len(world.asked)
        world.run(0.1)
        spent += [(world.now, request.weight) for request in world.asked[count:]]
        assert sum(weight for time, weight in spent if time > world.now - 60 * SECOND) <= 2000
    assert world.now - begin > 60 * SECOND
    assert world.whole()


def test_an_answer_that_is_older_than_the_stream_changes_nothing() -> None:
    world = World("BTCUSDT")
    world.run(1)
    world.trade(price=10)
    world.rest_delay = 300_000_000
    world.do(world.machine.refresh(("BTCUSDT",), world.at()))
    world.run(0.1)
    world.trade(price=20)
    world.quote("BTCUSDT", 19, 21)
    world.history["BTCUSDT"].append(world.history["BTCUSDT"][0])  # the answer was made before
    world.run(1)
    assert world.market.prices == {"BTCUSDT": 20.0}
    assert world.market.quotes["BTCUSDT"].bid == 19


def test_an_answer_is_what_readers_get_while_the_stream_says_nothing() -> None:
    world = World("THINUSDT")
    world.history["THINUSDT"].append(Trade("THINUSDT", 1, 42.0, 1.0, world.time(), 1))
    world.quotes["THINUSDT"] = (41, 43)
    world.cut()
    world.run(2)
    world.do(world.machine.refresh(("THINUSDT",), world.at()))
    world.run(1)
    assert world.market.prices == {"THINUSDT": 42.0}
    assert world.market.trades["THINUSDT"] == {}
    assert world.market.quotes["THINUSDT"].ask == 43


def test_the_same_inputs_give_the_same_state_and_commands() -> None:
    def story() -> tuple[object, ...]:
        world = World("BTCUSDT", "THINUSDT")
        world.run(5, world.trade)
        world.cut()
        world.run(5, world.trade)
        return world.market.ticks, world.told, world.asked, world.sent

    assert story() == story()


def _alpaca() -> tuple[Ingest, PlainMarket]:
    feed = AlpacaFeed(["AAPL"], Keys("key", "secret"), channels=("trades",))
    market = PlainMarket(["AAPL"])
    return Ingest(feed, market, np.random.default_rng(0)), market


def test_too_many_connections_are_waited_for_and_wrong_keys_are_not() -> None:
    world = World("BTCUSDT")
    for code, ends in ((402, True), (409, True), (406, False), (407, False), (500, False)):
        machine, _ = _alpaca()
        world.do(machine.start(world.at())[:0])
        machine.opened(1, world.at())
        machine.frame(1, json.dumps([{"T": "error", "code": code, "msg": "no"}]), world.at())
        assert bool(machine.failed) is ends
    machine, _ = _alpaca()
    machine.start(world.at())
    machine.opened(1, world.at())
    machine.frame(1, '[{"T":"error","code":406,"msg":"connection limit exceeded"}]', world.at())
    world.now += 9 * SECOND
    assert machine.passed(world.at()) == []
    world.now += 2 * SECOND
    assert len(machine.passed(world.at())) == 1


def test_keys_are_in_no_text_of_a_command() -> None:
    world = World("BTCUSDT")
    machine, _ = _alpaca()
    commands = [*machine.start(world.at()), *machine.opened(1, world.at())]
    commands += machine.frame(1, '[{"T":"success","msg":"connected"}]', world.at())
    sends = [command for command in commands if isinstance(command, Send)]
    assert json.loads(sends[0].frame)["secret"] == "secret"
    assert "secret" not in repr(commands).replace("<secret>", "")


def test_a_subscription_that_lacks_something_is_refused() -> None:
    world = World("BTCUSDT")
    machine, _ = _alpaca()
    machine.start(world.at())
    machine.opened(1, world.at())
    machine.frame(1, '[{"T":"success","msg":"authenticated"}]', world.at())
    commands = machine.frame(1, '[{"T":"subscription","trades":[]}]', world.at())
    assert any(isinstance(command, Tell) and "trades:AAPL" in command.text for command in commands)
    assert not machine.connected


def test_quotes_of_two_connections_never_go_back() -> None:
    world = World("BTCUSDT")
    world.quote("BTCUSDT", 9, 11)
    world.frame(1, json.dumps({"e": "serverShutdown", "E": 1}))
    for connection, number, bid in ((1, 500, 12), (2, 499, 11), (2, 500, 12), (1, 501, 13), (2, 501, 13)):
        data = {"u": number, "s": "BTCUSDT", "b": str(bid), "B": "1", "a": "20", "A": "1"}
        world.frame(connection, json.dumps({"stream": "", "data": data}))
    bids = [tick.bid for tick in world.market.ticks if isinstance(tick, Quote)]
    assert bids == [9, 12, 13]


@given(st.text(max_size=20), st.none() | st.integers(0, 10**6))
def test_how_long_to_wait_is_part_of_what_is_recorded_of_an_ending(reason: str, wait: int | None) -> None:
    assert read_ending(ending(reason, wait)) == (reason, wait)
