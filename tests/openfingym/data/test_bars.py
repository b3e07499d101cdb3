"""Bars: what is refused and where, halts, views, and features that read no later row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openfingym.data import load_panel
from openfingym.data.bars import FEATURES, FIELDS, VOLUME_WINDOW, Bars
from openfingym.errors import DataError

NAN = np.nan
DAYS = np.datetime64("2024-01-02") + np.arange(4)
GOOD: dict[str, list[list[float]]] = {
    "open": [[10.0, 50.0], [11.0, 51.0], [12.0, 52.0], [13.0, 53.0]],
    "high": [[11.0, 52.0], [12.0, 53.0], [13.0, 54.0], [14.0, 55.0]],
    "low": [[9.0, 49.0], [10.0, 50.0], [11.0, 51.0], [12.0, 52.0]],
    "close": [[10.5, 51.0], [11.5, 52.0], [12.5, 53.0], [13.5, 54.0]],
    "volume": [[100.0, 200.0], [110.0, 210.0], [120.0, 220.0], [130.0, 230.0]],
}


def made(changes: dict[tuple[str, int, int], float] | None = None, **more: NDArray[np.float64]) -> Bars:
    """The good bars with single cells changed."""
    fields = {name: np.array(rows) for name, rows in GOOD.items()}
    for (field, row, symbol), value in (changes or {}).items():
        fields[field][row, symbol] = value
    return Bars.from_arrays(DAYS, ("aa", "bb"), **fields, **more)


def halted(row: int, symbol: int) -> dict[tuple[str, int, int], float]:
    return {(field, row, symbol): NAN for field in FIELDS}


def test_what_is_held_is_what_was_given_read_only_and_apart_from_it() -> None:
    fields = {name: np.array(rows) for name, rows in GOOD.items()}
    bars = Bars.from_arrays(DAYS, ["aa", "bb"], **fields)
    fields["close"][:] = 0.0
    assert bars.close.tolist() == GOOD["close"]
    assert bars.times.dtype == np.dtype("datetime64[ns]")
    assert bars.tradable.all()
    assert (bars.split == 1.0).all()
    assert (bars.dividend == 0.0).all()
    for name in (*FIELDS, "split", "dividend", "tradable"):
        array = getattr(bars, name)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    assert bars.to_array()[:, 1].tolist() == [[GOOD[field][t][1] for field in FIELDS] for t in range(4)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({("high", 2, 1): 50.5}, r"bars, row 2 \(2024-01-04.*\), column 'bb_high': 50\.5 is below the low"),
        ({("open", 1, 0): 12.5}, r"row 1 .*, column 'aa_open': 12\.5 is outside the bar's low and high"),
        ({("close", 3, 1): 51.0}, r"row 3 .*, column 'bb_close': 51 is outside the bar's low and high"),
        ({("low", 0, 0): 0.0}, r"row 0 .*, column 'aa_low': 0 is not a positive price"),
        ({("low", 1, 0): -3.0}, r"row 1 .*, column 'aa_low': -3 is not a positive price"),
        ({("volume", 2, 0): -1.0}, r"row 2 .*, column 'aa_volume': -1 is negative"),
        ({("volume", 2, 0): NAN}, r"column 'aa_volume': nan is missing beside prices"),
        ({("close", 2, 0): NAN}, r"column 'aa_close': nan beside an open that is missing or not"),
        ({("open", 2, 0): NAN}, r"column 'aa_high': 13 beside an open that is missing or not"),
        ({("high", 2, 0): np.inf}, r"column 'aa_high': inf is not finite"),
        ({**halted(2, 0), ("volume", 2, 0): 5.0}, r"column 'aa_volume': 5 was traded at no price"),
        (halted(0, 1), r"row 0 .*, column 'bb_close': nan in a halt: a symbol must trade in the first row"),
    ],
)
def test_a_bar_that_contradicts_itself_is_named(changes: dict[tuple[str, int, int], float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        made(changes)


def test_times_must_increase() -> None:
    fields = {name: np.array(rows) for name, rows in GOOD.items()}
    with pytest.raises(DataError, match=r"row 2, column 'time': 2024-01-03.* occurs twice"):
        Bars.from_arrays(DAYS[[0, 1, 1, 3]], ("aa", "bb"), **fields)
    with pytest.raises(DataError, match=r"row 2, column 'time': 2024-01-02.* is before the row above \(2024-01-03"):
        Bars.from_arrays(DAYS[[0, 1, 0, 3]], ("aa", "bb"), **fields)
    with pytest.raises(DataError, match=r"open must be numbers of shape \[3, 2\]"):
        Bars.from_arrays(DAYS[:3], ("aa", "bb"), **fields)
    with pytest.raises(DataError, match="different names"):
        Bars.from_arrays(DAYS, ("aa", "aa"), **fields)
    with pytest.raises(DataError, match="column 'aa_split': 0 is no ratio"):
        made(split=np.zeros((4, 2)))
    with pytest.raises(DataError, match="column 'aa_dividend': -1 is no amount"):
        made(dividend=-np.ones((4, 2)))


def test_a_halt_carries_the_close_forward_over_as_many_rows_as_it_lasts() -> None:
    bars = made({**halted(1, 0), **halted(2, 0), ("volume", 3, 1): 0.0})
    assert bars.tradable.tolist() == [[True, True], [False, True], [False, True], [True, False]]
    for field in ("open", "high", "low", "close"):
        assert getattr(bars, field)[:3, 0].tolist() == (
            [10.5] * 3 if field == "close" else [GOOD[field][0][0], 10.5, 10.5]
        )
        assert getattr(bars, field)[3, 1] == 53.0, "prices of a bar without volume are those of the last trade"
    assert bars.volume[:, 0].tolist() == [100.0, 0.0, 0.0, 130.0]


def test_a_split_in_a_halt_changes_the_price_that_stands() -> None:
    split = np.ones((4, 2))
    split[2, 0] = 4.0
    bars = made({**halted(1, 0), **halted(2, 0)}, split=split)
    assert bars.close[:3, 0].tolist() == [10.5, 10.5, 10.5 / 4]


def test_between_copies_nothing_and_keeps_a_halt_at_its_first_row() -> None:
    bars = made(halted(1, 0))
    part = bars.between(slice(1, 3))
    assert len(part) == 2
    for name in (*FIELDS, "split", "dividend", "tradable", "times"):
        assert np.shares_memory(getattr(part, name), getattr(bars, name)), name
    assert part.close.tolist() == bars.close[1:3].tolist()
    assert not part.tradable[0, 0]
    with pytest.raises(DataError, match="no stretch"):
        bars.between(slice(2, 2))
    with pytest.raises(DataError, match="no stretch"):
        bars.between(slice(0, 4, 2))


def test_panels_by_symbol_in_the_order_asked_for() -> None:
    panel = load_panel("us-stocks-ohlcv")
    bars = Bars.from_panel(panel, ("msft", "aapl"))
    assert bars.symbols == ("msft", "aapl")
    assert np.array_equal(bars.volume[:, 1], panel.values[:, panel.channels.index("aapl_volume")])
    assert Bars.from_panel(panel).symbols == ("aapl", "ibm", "msft")
    alone = Bars.from_panel(load_panel("goog-ohlcv"))
    assert alone.symbols == ("goog-ohlcv",)
    assert Bars.from_panel(load_panel("goog-ohlcv"), ("goog",)).close.tolist() == alone.close.tolist()
    with pytest.raises(DataError, match="no bars of 'mfst', channel 'mfst_open' is not there; did you mean 'msft'"):
        Bars.from_panel(panel, ("mfst",))
    with pytest.raises(DataError, match="holds no bars"):
        Bars.from_panel(load_panel("ust-par-yields"))


def test_features_by_hand() -> None:
    bars = made(halted(2, 0))
    found = bars.features()
    assert found.dtype == np.float32
    assert found.shape == (4, 2, len(FEATURES))
    assert not found[0].any()
    assert not found[2, 0].any()
    own = [np.log(11.5 / 10.5), np.log(11.0 / 10.5), np.log(12.0 / 11.5), np.log(10.0 / 11.5), np.log(110.0 / 100.0)]
    assert found[1, 0] == pytest.approx(own, rel=1e-6)
    # After a halt the return is from the last close, and the halt counts as a bar without volume.
    assert found[3, 0, 0] == pytest.approx(np.log(13.5 / 11.5), rel=1e-6)
    assert found[3, 0, 4] == pytest.approx(np.log(130.0 / 70.0), rel=1e-6)


def test_a_split_is_no_return() -> None:
    split = np.ones((4, 2))
    split[2, 1] = 2.0
    fields = {name: np.array(rows) for name, rows in GOOD.items()}
    for field in ("open", "high", "low", "close"):
        fields[field][2:, 1] /= 2.0
    bars = Bars.from_arrays(DAYS, ("aa", "bb"), **fields, split=split)
    assert bars.features()[2, 1, :4] == pytest.approx(made().features()[2, 1, :4], rel=1e-5)


@st.composite
def random_bars(draw: st.DrawFn) -> Bars:
    """Consistent bars with halts here and there."""
    rows, width = draw(st.integers(2, 60)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    prices = np.sort(np.exp(rng.normal(3.0, 0.5, (rows, width, 4))), axis=2)
    ends = np.sort(rng.uniform(prices[:, :, 0], prices[:, :, 3], (2, rows, width)), axis=0)
    volume = rng.uniform(1.0, 1e6, (rows, width))
    dead = rng.random((rows, width)) < draw(st.sampled_from([0.0, 0.2, 0.9]))
    dead[0] = False
    fields = {"open": ends[0], "high": prices[:, :, 3], "low": prices[:, :, 0], "close": ends[1], "volume": volume}
    for values in fields.values():
        values[dead] = NAN
    split = np.where(rng.random((rows, width)) < 0.05, rng.choice([0.5, 2.0, 3.0], (rows, width)), 1.0)
    times = np.datetime64("2020-01-01") + np.cumsum(rng.integers(1, 4, rows))
    return Bars.from_arrays(times, [f"s{i}" for i in range(width)], **fields, split=split)


@settings(max_examples=60)
@given(random_bars(), st.data())
def test_features_of_a_row_read_no_later_one(bars: Bars, data: st.DataObject) -> None:
    row = data.draw(st.integers(1, len(bars)))
    assert np.array_equal(bars.between(slice(row)).features(), bars.features()[:row])
    assert np.isfinite(bars.features()).all()


@settings(max_examples=60)
@given(random_bars())
def test_bars_read_back_from_their_array_are_the_same(bars: Bars) -> None:
    """A carried price is a fixed point: a halt stays one, at the same price, whether it is checked again or not."""
    actions = np.stack([bars.split, bars.dividend], axis=2)
    for again in (
        Bars.from_array(bars.times, bars.symbols, bars.to_array(), split=bars.split),
        Bars.restored(bars.times, bars.symbols, bars.to_array(), actions),
    ):
        for name in (*FIELDS, "split", "dividend", "tradable", "times"):
            assert np.array_equal(getattr(again, name), getattr(bars, name)), name
    assert (bars.low <= np.minimum(bars.open, bars.close)).all()
    assert (bars.high >= np.maximum(bars.open, bars.close)).all()
    assert (bars.tradable == (bars.volume > 0.0)).all()


@settings(max_examples=60)
@given(random_bars(), st.integers(0, 2**32))
def test_a_broken_cell_is_always_found(bars: Bars, seed: int) -> None:
    """Whatever cell is broken, and how, the message names its row and its symbol."""
    rng = np.random.default_rng(seed)
    alive = np.argwhere(bars.tradable)
    row, symbol = alive[rng.integers(len(alive))]
    field = FIELDS[rng.integers(5)]
    values = bars.to_array()
    wrong = [-1.0, np.inf, NAN] if field == "volume" else [0.0, -1.0, np.inf, NAN]
    values[row, symbol, FIELDS.index(field)] = wrong[rng.integers(len(wrong))]
    with pytest.raises(DataError, match=rf"row {row} \(.*'s{symbol}_"):
        Bars.from_array(bars.times, bars.symbols, values)


def test_volume_is_compared_with_bars_before_it_alone() -> None:
    rows = 3 * VOLUME_WINDOW
    volume = np.random.default_rng(0).uniform(1.0, 100.0, (rows, 1))
    one = np.full((rows, 1), 10.0)
    bars = Bars.from_arrays(
        np.datetime64("2020-01-01") + np.arange(rows), ("a",), open=one, high=one, low=one, close=one, volume=volume
    )
    found = bars.features()[:, 0, 4]
    for t in (1, 5, VOLUME_WINDOW, VOLUME_WINDOW + 1, rows - 1):
        past = volume[max(0, t - VOLUME_WINDOW) : t, 0]
        assert found[t] == pytest.approx(np.log(volume[t, 0] / past.mean()), rel=1e-5)


def test_a_frozen_value_is_shared_by_copies() -> None:
    bars = made()
    assert replace(bars, symbols=("x", "y")).close is bars.close
