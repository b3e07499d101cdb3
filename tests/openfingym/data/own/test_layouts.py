"""Files as vendors and libraries write them are read, and what cannot be told is refused for its own reason."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from openfingym.data.own.headers import BINANCE
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.data.plausibility import oddities
from openfingym.errors import DataError, UsageError
from openfingym.kinds.own_bars import bars_per_year, bars_table

OHLCV = ["10,12,9,11,100", "11,13,10,12,200", "12,14,11,13,300"]
"""Three bars: open, high, low, close, volume."""
BARS = [[10, 12, 9, 11, 100], [11, 13, 10, 12, 200], [12, 14, 11, 13, 300]]
DAYS = ["2024-01-02", "2024-01-03", "2024-01-04"]
HOURS = ["2023-01-01T00:00", "2023-01-01T01:00", "2023-01-01T02:00"]
SECONDS = [1672531200, 1672534800, 1672538400]
ZEROS = ["0,0,0,0,0,0"] * 3


def rows(*columns: list[object]) -> str:
    """Lines of a file from columns of cells, some of which hold several."""
    return "".join(f"{','.join(map(str, cells))}\n" for cells in zip(*columns, strict=True))


def stamps(unit: int) -> list[object]:
    return [second * unit for second in SECONDS]


LAYOUTS = {
    # header, lines, first times, symbol
    "own": ("date,open,high,low,close,volume\n", rows(DAYS, OHLCV), DAYS, "x"),
    "capitals": ("Date,Open,High,Low,Close,Volume\n", rows(DAYS, OHLCV), DAYS, "x"),
    "alpaca": ("symbol,timestamp,open,high,low,close,volume,trade_count,vwap\n",
               rows(["AAA"] * 3, [f"{day}T05:00:00+00:00" for day in DAYS], OHLCV, [7, 8, 9], [1.5] * 3),
               [f"{day}T05:00" for day in DAYS], "AAA"),
    "binance futures": (
        f"{','.join(BINANCE)}\n",
        rows(stamps(1000), OHLCV, [time + 3_599_999 for time in stamps(1000)], [5] * 3, [6] * 3, [7] * 3, [8] * 3,
             [0] * 3), HOURS, "x"),
    "binance spot, no header": (
        "", rows(stamps(1000), OHLCV, [time + 3_599_999 for time in stamps(1000)], [5] * 3, [6] * 3, [7] * 3, [8] * 3,
                 [0] * 3), HOURS, "x"),
    "binance spot, microseconds": (
        "", rows(stamps(10**6), OHLCV, [time + 3_599_999_999 for time in stamps(10**6)], [5] * 3, [6] * 3, [7] * 3,
                 [8] * 3, [0] * 3), HOURS, "x"),
    "ccxt": ("timestamp,open,high,low,close,volume\n", rows(stamps(1000), OHLCV), HOURS, "x"),
    "polygon": ("ticker,volume,open,close,high,low,window_start,transactions\n",
                rows(["AAA"] * 3, [f"{row[4]},{row[0]},{row[3]},{row[1]},{row[2]}" for row in BARS], stamps(10**9),
                     [4] * 3), HOURS, "AAA"),
    "databento": ("ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n",
                  rows([f"{hour}:00.000000000Z" for hour in HOURS], [34] * 3, [1] * 3, [29] * 3, OHLCV, ["ESH4"] * 3),
                  HOURS, "ESH4"),
    "stooq bulk": ("<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n",
                   rows(["AAPL.US"] * 3, ["D"] * 3, ["20230101"] * 3, ["000000", "010000", "020000"], OHLCV, [0] * 3),
                   HOURS, "AAPL.US"),
    "kaggle": ("date,open,high,low,close,volume,Name\n", rows(DAYS, OHLCV, ["AAL"] * 3), DAYS, "AAL"),
    "finrl": (",date,open,high,low,close,volume,tic,day\n", rows([0, 1, 2], DAYS, OHLCV, ["AXP"] * 3, [0, 1, 2]), DAYS,
              "AXP"),
    "firstrate, no header": ("", rows([hour.replace("T", " ") + ":00" for hour in HOURS], OHLCV), HOURS, "x"),
    "cryptodatadownload": (
        "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount\n",
        rows(stamps(1), [hour.replace("T", " ") + ":00" for hour in HOURS], ["BTC/USDT"] * 3, OHLCV, [9e9] * 3,
             [7] * 3), HOURS, "BTC/USDT"),
    "yfinance, new": ("Price,Open,High,Low,Close,Volume\nTicker,MSFT,MSFT,MSFT,MSFT,MSFT\nDate,,,,,\n",
                      rows(DAYS, OHLCV), DAYS, "x"),
    "yfinance, old": ("Date,Open,High,Low,Close,Volume,Adj Close\n", rows(DAYS, OHLCV, [1.0] * 3), DAYS, "x"),
    "tradingview": ("time,open,high,low,close,Volume\n", rows(stamps(1), OHLCV), HOURS, "x"),
    "adjusted close": ("date,open,high,low,close,volume,adj_close\n", rows(DAYS, OHLCV, [1.0] * 3), DAYS, "x"),
    "date and time": ("Date,Time,Open,High,Low,Close,Volume\n",
                      rows(["2023-01-01"] * 3, ["0:00", "1:00", "2:00"], OHLCV), HOURS, "x"),
}  # fmt: skip


def cells(table: DataTable, first: int = 0, last: int | None = None) -> list[list[float]]:
    found: list[list[float]] = np.asarray(table.values)[:, first:last].tolist()
    return found


def read(tmp_path: Path, text: str) -> DataTable:
    path = tmp_path / "x.csv"
    path.write_text(text)
    return read_tables([path])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bars_of_a_vendor_are_read(tmp_path: Path, layout: str) -> None:
    header, lines, times, symbol = LAYOUTS[layout]
    table = bars_table(read(tmp_path, header + lines), "x")
    assert table.channels == tuple(f"{symbol}_{name}" for name in ("open", "high", "low", "close", "volume"))
    assert cells(table) == BARS
    assert table.times is not None
    assert table.times.tolist() == np.array(times, dtype="datetime64[ns]").tolist()


def test_levels_of_several_tickers(tmp_path: Path) -> None:
    names = "Price,Open,Open,High,High,Low,Low,Close,Close,Volume,Volume\nTicker,A,B,A,B,A,B,A,B,A,B\nDate,,,,,,,,,,\n"
    lines = rows(DAYS, [",".join(f"{cell},{2 * cell}" for cell in row) for row in BARS])
    for text in (names + lines, names.replace("Price", "").replace("Ticker", "") + lines):
        table = bars_table(read(tmp_path, text), "x")
        assert cells(table, 0, 5) == BARS
        assert cells(table, 5) == (2 * np.array(BARS)).tolist()
    frame = pd.DataFrame(
        np.hstack([BARS, 2 * np.array(BARS)]),
        index=pd.to_datetime(DAYS),
        columns=pd.MultiIndex.from_tuples(
            [(name, who) for who in "AB" for name in ("Open", "High", "Low", "Close", "Volume")]
        ),
    )
    frame.to_parquet(tmp_path / "x.parquet")
    assert cells(bars_table(read_tables([tmp_path / "x.parquet"]), "x"), 5) == cells(table, 5)


@pytest.mark.parametrize(
    ("text", "channels", "times"),
    [
        ("snapped_at,price,total_volume\n2024-01-02 00:00:00 UTC,1,2\n2024-01-03 00:00:00 UTC,2,3\n",
         ("price", "total_volume"), DAYS[:2]),
        ("unix,close\n1672531200,1\n1672534800,2\n", ("close",), HOURS[:2]),
        ("ts,close\n1672531200000,1\n1672534800000,2\n", ("close",), HOURS[:2]),
        ("ts,close\n1.6725312e18,1\n 1.6725348e18 ,2\n", ("close",), HOURS[:2]),
        # Midnights of exchanges in two zones are days.
        ("date,name,close\n2024-01-02T00:00:00-05:00,A,1\n2024-01-02T00:00:00+09:00,B,2\n", ("A", "B"), DAYS[:1]),
        ("Instrument,Date,Price Close\nVOD.L,2024-01-02T00:00:00Z,1\nVOD.L,2024-01-03T00:00:00Z,2\n", ("VOD.L",),
         DAYS[:2]),
        ("Date,Time,Close\n2023-01-01,00:00,1\n2023-01-01,01:00,2\n", ("Close",), HOURS[:2]),
        ("date,time,close\n2023-01-01,00:00:00,1\n2023-01-01,01:00:00,2\n", ("close",), HOURS[:2]),
        ("date,close\n20240102,1\n20240103,2\n", ("close",), DAYS[:2]),
    ],
)  # fmt: skip
def test_series_and_their_times(tmp_path: Path, text: str, channels: tuple[str, ...], times: list[str]) -> None:
    table = read(tmp_path, text)
    assert table.channels == channels
    assert table.times is not None
    assert table.times.tolist() == np.array(times, dtype="datetime64[ns]").tolist()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2024-01-02,1.5,2.5\n2024-01-03,1.6,2.6\n", "its first row has values .* and no names"),
        ("1,2,3\n4,5,6\n", "its first row has values"),
        # Highs and lows that fit nowhere: the order of the columns cannot be told.
        ("2024-01-02,10,9,12,11,5\n2024-01-03,11,10,13,12,5\n", "its first row has values"),
        ("20230101 000000;1;2;1;2;0\n", "separated by semicolons"),
        ("<DATE>\t<TIME>\t<OPEN>\n2023.01.01\t00:00:00\t1\n", "separated by tabs"),
        ("date,close\n02/01/2024,1\n", "not all are ISO dates"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read(tmp_path, text)


def test_a_row_without_a_bar_is_a_halt(tmp_path: Path) -> None:
    lines = "2024-01-01,A,10,12,9,11,100\n2024-01-02,A,11,13,10,12,100\n2024-01-02,B,20,21,19,20.5,5\n"
    lines += "2024-01-03,A,12,13,11,12,100\n2024-01-04,A,12,13,11,12,100\n2024-01-04,B,21,22,20,21,6\n"
    table = bars_table(read(tmp_path, "date,ticker,open,high,low,close,volume\n" + lines), "x")
    assert cells(table, 5) == [[20, 21, 19, 20.5, 5], [20.5, 20.5, 20.5, 20.5, 0], [21, 22, 20, 21, 6]]
    assert any("1 rows left out, before the first" in step for step in table.steps)
    assert any("1 rows without a bar of B are its halts" in step for step in table.steps)
    dropped = bars_table(read(tmp_path, "date,ticker,open,high,low,close,volume\n" + lines), "x", "drop")
    assert cells(dropped, 5) == [[20, 21, 19, 20.5, 5], [21, 22, 20, 21, 6]]


def prices(*closes: float, **more: list[float]) -> DataTable:
    fields = {"open": closes, "high": closes, "low": closes, "close": closes, "volume": [5.0] * len(closes), **more}
    days = np.array("2024-01-01", dtype="datetime64[ns]") + np.arange(len(closes)) * np.timedelta64(1, "D")
    return DataTable(days, tuple(fields), np.array([*fields.values()], dtype=np.float64).T)


@pytest.mark.parametrize(
    ("closes", "split", "taken"),
    [
        ((400.0, 404.0, 100.0, 101.0), [0.0, 0.0, 4.0, 0.0], True),
        ((100.0, 101.0, 100.0, 101.0), [0.0, 0.0, 4.0, 0.0], False),
        ((100.0, 101.0, 100.0, 101.0), [0.0, 0.0, 0.0, 0.0], False),
        ((1.0, 1.0, 10.2, 10.0), [1.0, 1.0, 0.1, 1.0], True),
    ],
)
def test_splits_and_dividends_are_taken_where_prices_are_without_them(closes, split, taken) -> None:
    table = bars_table(prices(*closes, **{"Stock Splits": split, "Dividends": [0.0, 1.0, 0.0, 0.0]}), "x")
    assert ("x_split" in table.channels) is taken
    if taken:
        assert table.channels[5:] == ("x_split", "x_dividend")
        assert cells(table, 5) == [[one or 1.0, paid] for one, paid in zip(split, [0, 1, 0, 0], strict=True)]
    else:
        assert any("left out" in step for step in table.steps)


def test_prices_that_show_one_split_of_two_are_refused() -> None:
    table = prices(400.0, 100.0, 100.0, 101.0, split=[1.0, 4.0, 1.0, 2.0])
    with pytest.raises(DataError, match="prices do not show its split by 2"):
        bars_table(table, "x")


def test_a_volume_that_nobody_knows_makes_no_halts() -> None:
    for volume in ([0.0] * 3, [np.nan] * 3):
        table = bars_table(prices(1.1, 1.2, 1.3, volume=volume), "eurusd")
        assert cells(table, 4) == [[1.0], [1.0], [1.0]]
        assert any("the volume of eurusd is not known" in step for step in table.steps)


def test_half_a_bar_is_refused() -> None:
    with pytest.raises(DataError, match="x at 2024-01-02 lacks high, and has other prices"):
        bars_table(prices(1.0, 2.0, 3.0, high=[1.0, np.nan, 3.0]), "x")


@pytest.mark.parametrize(
    ("step", "count", "year"),
    [("1h", 3000, 8760.0), ("1D", 800, 365.0), ("B", 800, 252.0), ("7D", 200, 52.0), ("15min", 5000, 35064.0)],
)
def test_bars_a_year_come_from_the_dates(step: str, count: int, year: float) -> None:
    times = pd.date_range("2020-01-01", periods=count, freq=step).to_numpy()
    assert bars_per_year(times)[0] == year


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t, x: (np.delete(t, range(50, 80)), np.delete(x, range(50, 80))), "1 hole between rows .* 1.29 days"),
        (lambda t, x: (t, np.where((np.arange(300) > 99) & (np.arange(300) < 130), x[99], x)),
         "close repeats one value in 31 rows from 2024-01-05T03:00"),
        (lambda t, x: (t, np.where(np.arange(300) > 250, x / 4.0, x)), r"factor of 4.* \(hidden\), as a split would"),
        (lambda t, x: (t, np.where(np.arange(300) > 99, x * 100.0, x)), "as a change of unit would"),
        (lambda t, x: (t, np.where(np.arange(300) % 50 == 7, 0.0, x)), "close is 0 in 6 rows"),
        (lambda t, x: (t, np.where(np.arange(300) == 7, -x, x)), "close is below 0 in 1 of 300 rows"),
        (lambda t, x: (np.where(np.arange(300) < 150, t + (np.arange(300) - 150) * np.timedelta64(23, "h"), t), x),
         "the distance of rows changes from 1 days to 1 h"),
    ],
)  # fmt: skip
def test_what_is_odd_is_said_once(change, said: str) -> None:
    times = np.array("2024-01-01", dtype="datetime64[ns]") + np.arange(300) * np.timedelta64(1, "h")
    values = 100.0 * np.exp(np.cumsum(0.01 * np.random.default_rng(1).standard_normal(300)))
    assert oddities(times, ("close",), values[:, None], hidden_from=180) == ()
    at, changed = change(times, values)
    found = [line for line in oddities(at, ("close",), changed[:, None], hidden_from=180) if "hole" not in line
             or "hole" in said]  # fmt: skip
    assert len(found) == 1
    assert re.search(said, found[0])


def test_a_market_that_closes_at_weekends_has_no_holes() -> None:
    times = pd.bdate_range("2022-01-03", periods=400).to_numpy()
    values = np.arange(101.0, 501.0)[:, None]
    assert oddities(times, ("close",), values, hidden_from=300) == ()
    assert "1 hole" in oddities(np.delete(times, range(100, 110)), ("close",), np.delete(values, range(100, 110), 0),
                                hidden_from=300)[0]  # fmt: skip


def test_bars_are_not_interpolated(tmp_path: Path) -> None:
    from openfingym.kinds import KINDS
    from openfingym.kinds.start import Given

    path = tmp_path / "x.csv"
    path.write_text("date,open,high,low,close,volume\n" + rows(DAYS, OHLCV))
    with pytest.raises(UsageError, match="nobody quoted"):
        KINDS["trading"].start_from(Given((path,), fill="interpolate"))
