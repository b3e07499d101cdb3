"""Bars against pandas, in any order of the trades, with late, repeated, corrected and missing ones."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym.market.bars import DAY, BarBuilder
from openfingym.market.cells import TradeBar, exact_parts
from openfingym.market.ticks import SECOND, Correction, Trade

MINUTE = 60 * SECOND
START = 1_767_225_600 * SECOND  # a midnight, UTC
INTERVALS = (MINUTE, SECOND, 5 * SECOND, 3600 * SECOND, DAY)


def trade(number: int, time: float, price: float, size: float = 1.0, *, group: str = "", prices: bool = True) -> Trade:
    return Trade("S", number, price, size, START + round(time * SECOND), 1, group, prices)


def trades_of(rng: random.Random, count: int, span: float) -> list[Trade]:
    """Trades in order; some share a time, some carry no price."""
    times = sorted(rng.choice([rng.random() * span, rng.randint(0, int(span)) + 0.0]) for _ in range(count))
    return [
        trade(n, time, rng.randint(90, 110) / 7, rng.randint(1, 9) / 10, prices=rng.random() > 0.2)
        for n, time in enumerate(times)
    ]


def filled_bars(builder: BarBuilder, interval: int, begin: float, end: float) -> list[TradeBar]:
    return builder.bars(interval, START + int(begin * SECOND), START + int(end * SECOND))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(1, 120), st.sampled_from([0, 7 * SECOND, 3600 * SECOND]))
def test_bars_are_those_of_pandas(rng: random.Random, count: int, offset: int) -> None:
    trades = trades_of(rng, count, 400.0)
    frame = pd.DataFrame([(t.time, t.price, t.size, t.prices) for t in trades], columns=["t", "price", "size", "ok"])
    frame.index = pd.to_datetime(frame.t, unit="ns", utc=True)
    builder = BarBuilder(INTERVALS, offset=offset)
    for one in rng.sample(trades, count):
        assert builder.add(one)
        builder.add(one)
    for interval in INTERVALS:
        by = frame.resample(
            pd.Timedelta(interval, "ns"), origin=pd.Timestamp(START, unit="ns", tz="UTC"), offset=pd.Timedelta(offset)
        )
        price = frame.price.where(frame.ok).resample(
            pd.Timedelta(interval, "ns"), origin=pd.Timestamp(START, unit="ns", tz="UTC"), offset=pd.Timedelta(offset)
        )
        ohlc, volume, number = price.ohlc(), by["size"].sum(), by["size"].count()
        begin = int(ohlc.index[0].value)
        got = builder.bars(interval, begin, int(ohlc.index[-1].value) + 1)
        assert [bar.begin for bar in got] == [int(stamp.value) for stamp in ohlc.index]
        for bar, expected, sold, n in zip(got, ohlc.itertuples(index=False), volume, number, strict=True):
            assert (bar[2:6]) == pytest.approx(tuple(expected), rel=0, abs=0, nan_ok=True)
            assert bar.volume == pytest.approx(sold, rel=1e-12)
            assert (bar.trades, bar.complete) == (n, True)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_the_same_trades_and_corrections_give_the_same_bars_in_any_order(rng: random.Random, count: int) -> None:
    trades = trades_of(rng, count, 300.0)
    voided = rng.sample(trades, count // 4)
    corrections, instead = list[Correction](), list[Trade]()
    for n, one in enumerate(voided):
        other = rng.choice(
            [
                None,
                one._replace(price=400.0),
                one._replace(id=1000 + n, price=500.0),
                one._replace(time=one.time + 30 * SECOND, size=0.1 + 0.2),
            ]
        )
        corrections.append(Correction("S", one.id, "", other))
        instead += [other] if other else []
    left = [one for one in trades if one not in voided] + instead
    expected = BarBuilder(INTERVALS)
    for one in sorted(left, key=lambda t: t.time):
        expected.add(one)
    wanted = [expected.bars(i, START - DAY, START + 2 * DAY) for i in INTERVALS[3:]]
    wanted += [filled_bars(expected, i, 0, 400) for i in INTERVALS[:3]]
    canonical = list[list[object]]()
    for _ in range(3):
        events: list[Trade | Correction] = [*trades, *corrections, *rng.sample(trades, count // 3)]
        rng.shuffle(events)
        builder = BarBuilder(INTERVALS)
        for event in events:
            if isinstance(event, Trade):
                builder.add(event)
            else:
                builder.correct(event)
        got = [builder.bars(i, START - DAY, START + 2 * DAY) for i in INTERVALS[3:]]
        got += [filled_bars(builder, i, 0, 400) for i in INTERVALS[:3]]
        assert [[str(bar) for bar in bars] for bars in got] == [[str(bar) for bar in bars] for bars in wanted]
        canonical.append(builder.canonical()[1:4])
    assert canonical[0] == canonical[1] == canonical[2]


def test_an_empty_interval_is_said_to_be_empty() -> None:
    builder = BarBuilder((SECOND,))
    builder.add(trade(1, 0.5, 10.0))
    builder.add(trade(2, 2.0, 11.0))
    first, empty, last = filled_bars(builder, SECOND, 0, 3)
    assert (first.close, last.open) == (10.0, 11.0)
    assert (empty.trades, empty.volume, empty.complete) == (0, 0.0, True)
    assert all(math.isnan(price) for price in empty[2:6])
    assert BarBuilder().current() is None


def test_a_trade_without_a_price_adds_its_volume_alone() -> None:
    builder = BarBuilder((MINUTE,))
    builder.add(trade(1, 1, 500.0, 3.0, prices=False))
    bar = builder.current()
    assert bar is not None
    assert (bar.volume, bar.trades, math.isnan(bar.close)) == (3.0, 1, True)
    builder.add(trade(2, 2, 10.0))
    builder.add(trade(3, 3, 1.0, prices=False))
    bar = builder.current()
    assert bar is not None
    assert bar[2:8] == (10.0, 10.0, 10.0, 10.0, 5.0, 3)


def test_ids_count_within_their_group_alone() -> None:
    builder = BarBuilder()
    assert builder.add(trade(7, 1, 10.0, group="D/2026-01-01"))
    assert builder.add(trade(7, 1, 10.0, group="V/2026-01-01"))
    assert not builder.add(trade(7, 1, 10.0, group="V/2026-01-01"))


def test_a_cancelled_high_is_found_anew_also_among_what_has_settled() -> None:
    """The day's bar is older than what is kept to amend it."""
    builder = BarBuilder((DAY, SECOND), horizon=10 * SECOND)
    for n in range(100):
        builder.add(trade(n, n, 10.0 + n % 7, 0.1))
    builder.add(trade(1000, 99.5, 99.0, 5.0))
    assert len(builder._trades) < 20
    bar = builder.current(DAY)
    assert bar is not None
    assert (bar.high, bar.trades) == (99.0, 101)
    builder.correct(Correction("S", 1000, "", None))
    bar = builder.current(DAY)
    assert bar is not None
    assert (bar.open, bar.high, bar.low, bar.close, bar.trades) == (10.0, 16.0, 10.0, 10.0 + 99 % 7, 100)
    assert bar.volume == float(100 * Fraction(0.1))
    assert bar.complete


def test_a_trade_older_than_the_horizon_is_flagged() -> None:
    builder = BarBuilder((SECOND, 100 * SECOND), horizon=10 * SECOND)
    for n in range(50):
        builder.add(trade(n, n, 10.0))
    assert not builder.add(trade(1000, 5.5, 99.0))
    assert [bar.complete for bar in filled_bars(builder, SECOND, 4, 7)] == [True, False, True]
    bar = builder.current(100 * SECOND)
    assert bar is not None
    assert (bar.high, bar.trades, bar.complete) == (10.0, 50, False)
    builder.correct(Correction("S", 49, "", None))  # what is made anew stays flagged
    bar = builder.current(100 * SECOND)
    assert bar is not None
    assert (bar.trades, bar.complete) == (49, False)
    builder.correct(Correction("S", 3, "", None))
    assert builder.unmatched == 1


def test_bars_that_a_gap_touches_are_incomplete() -> None:
    builder = BarBuilder((SECOND,))
    for n in range(6):
        builder.add(trade(n, n + 0.5, 10.0))
    builder.watch(((START + 2 * SECOND + SECOND // 2, START + 4 * SECOND),))
    assert [bar.complete for bar in filled_bars(builder, SECOND, 0, 6)] == [True, True, False, False, False, True]
    builder.watch(())
    assert all(bar.complete for bar in filled_bars(builder, SECOND, 0, 6))


def test_nothing_settles_behind_a_gap_until_it_is_filled() -> None:
    builder = BarBuilder((SECOND,), horizon=5 * SECOND)
    builder.add(trade(0, 0, 10.0))
    builder.watch(((START, 1 << 62),), START)
    for n in range(100, 200):
        builder.add(trade(n, n, 10.0))
    assert all(builder.add(trade(n, n, 10.0)) for n in range(1, 100))
    builder.watch(())
    builder.add(trade(200, 200, 10.0))
    assert len(builder._trades) < 10
    assert [bar.trades for bar in filled_bars(builder, SECOND, 0, 201)] == [1] * 201


def test_memory_is_bounded() -> None:
    builder = BarBuilder((SECOND, MINUTE), horizon=20 * SECOND, keep=30)
    for n in range(5000):
        builder.add(trade(n, n, 10.0))
        builder.correct(Correction("S", -n, "", None))
    assert len(builder._trades) < 25
    assert len(builder._base.begins) == len(builder._base.cells) < 40
    day = BarBuilder((DAY,), horizon=20 * SECOND)
    for n in range(1000):
        day.add(trade(n, n, 10.0))
    assert len(day._trades) <= 120
    bar = day.current()
    assert bar is not None
    assert bar.trades == 1000


@pytest.mark.parametrize("intervals", [(), (0,), (SECOND // 2,), (SECOND * 3 // 2,), (2 * DAY,)])
def test_intervals_that_cannot_be_made(intervals: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="whole seconds"):
        BarBuilder(intervals)
    with pytest.raises(UsageError, match="no bars of"):
        BarBuilder((3 * MINUTE, 5 * MINUTE)).bars(MINUTE, 0, 1)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.floats(-1e12, 1e12), max_size=30))
def test_volumes_are_summed_exactly(values: list[float]) -> None:
    parts = list[float]()
    for value in values:
        parts = exact_parts([*parts, value])
    assert math.fsum(parts) == float(sum((Fraction(value) for value in values), Fraction(0)))
