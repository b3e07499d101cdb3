"""Files as vendors and libraries write them are read, and what cannot be told is refused for its own reason."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.data.own.gaps import without_gaps
from openfingym.data.own.headers import BINANCE
from openfingym.data.own.tables import DataTable, read_tables
from openfingym.data.plausibility import oddities
from openfingym.errors import DataError, UsageError
from openfingym.kinds import KINDS
from openfingym.kinds.bars.own import bars_per_year, bars_table
from openfingym.kinds.start import Given

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
    "databento, as stored": (
        "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n",
        rows(stamps(10**9), [34] * 3, [1] * 3, [29] * 3,
             [",".join(str(cell * 10**9) for cell in row[:4]) + f",{row[4]}" for row in BARS], ["ESH4"] * 3),
        HOURS, "ESH4"),
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
    "yfinance, new": ("Price,Close,High,Low,Open,Volume\nTicker,MSFT,MSFT,MSFT,MSFT,MSFT\nDate,,,,,\n",
                      rows(DAYS, [f"{row[3]},{row[1]},{row[2]},{row[0]},{row[4]}" for row in BARS]), DAYS, "x"),
    "yfinance, old": ("Date,Open,High,Low,Close,Adj Close,Volume\n",
                      rows(DAYS, [f"{','.join(map(str, row[:4]))},1.0,{row[4]}" for row in BARS]), DAYS, "x"),
    "tradingview": ("time,open,high,low,close,Volume\n", rows(stamps(1), OHLCV), HOURS, "x"),
    "adjusted close": ("date,open,high,low,close,volume,adj_close\n", rows(DAYS, OHLCV, [1.0] * 3), DAYS, "x"),
    "tiingo": ("date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n",
               rows(DAYS, [f"{row[3]},{row[1]},{row[2]},{row[0]},{row[4]}" for row in BARS], [1.0] * 3, [1.0] * 3,
                    [1.0] * 3, [1.0] * 3, [5] * 3, [0.0] * 3, [1.0] * 3), DAYS, "x"),
    "freqtrade": ("date,open,high,low,close,volume\n",
                  rows([hour.replace("T", " ") + ":00+00:00" for hour in HOURS], OHLCV), HOURS, "x"),
    "date and time": ("Date,Time,Open,High,Low,Close,Volume\n",
                      rows(["2023-01-01"] * 3, ["0:00", "1:00", "2:00"], OHLCV), HOURS, "x"),
    "alpaca, interface": ("t,o,h,l,c,v,n,vw\n", rows([f"{day}T05:00:00Z" for day in DAYS], OHLCV, [7] * 3, [1.5] * 3),
                          [f"{day}T05:00" for day in DAYS], "x"),
    "polygon, interface": ("v,vw,o,c,h,l,t,n\n",
                           rows([f"{row[4]},1.5,{row[0]},{row[3]},{row[1]},{row[2]}" for row in BARS], stamps(1000),
                                [7] * 3), HOURS, "x"),
    "polygon futures": (
        "ticker,window_start,session_end_date,open,high,low,close,volume,dollar_volume,transactions,exchange\n",
        rows(["AAA"] * 3, stamps(10**9), ["2023-01-01"] * 3, OHLCV, [5e6] * 3, [4] * 3, [3] * 3), HOURS, "AAA"),
    "ccxt, no header": ("", rows(stamps(1000), OHLCV), HOURS, "x"),
    "kraken": ("", rows(stamps(1), OHLCV, [7] * 3), HOURS, "x"),
    "histdata, metatrader": ("", rows(["2023.01.01"] * 3, ["00:00", "01:00", "02:00"], OHLCV), HOURS, "x"),
    "histdata": ("", rows(["20230101 000000", "20230101 010000", "20230101 020000"], OHLCV).replace(",", ";"), HOURS,
                 "x"),
    "metatrader": ("<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n",
                   rows(["2023.01.01"] * 3, ["00:00:00", "01:00:00", "02:00:00"],
                        [f"{','.join(map(str, row[:4]))},7,{row[4]},1" for row in BARS]).replace(",", "\t"),
                   HOURS, "x"),
    "metatrader, daily": ("<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n",
                          rows([day.replace("-", ".") for day in DAYS],
                               [f"{','.join(map(str, row[:4]))},7,{row[4]},1" for row in BARS]).replace(",", "\t"),
                          DAYS, "x"),
    "tradingview, upload": ("", rows([f"{day.replace('-', '')}T" for day in DAYS], OHLCV), DAYS, "x"),
    "nasdaq data link": (
        "ticker,date,open,high,low,close,volume,ex-dividend,split_ratio,adj_open,adj_high,adj_low,adj_close,adj_volume\n",
        rows(["AAA"] * 3, DAYS, OHLCV, [0.0] * 3, [1.0] * 3, OHLCV), DAYS, "AAA"),
    "sharadar": ("ticker,date,open,high,low,close,volume,closeadj,closeunadj,lastupdated\n",
                 rows(["AAA"] * 3, DAYS, OHLCV, [1.0] * 3, [1.0] * 3, ["2024-02-01"] * 3), DAYS, "AAA"),
    "alpha vantage": (
        "timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient\n",
        rows(DAYS[::-1], [f"{','.join(map(str, row[:4]))},1.0,{row[4]}" for row in BARS[::-1]], ["0.0000"] * 3,
             ["1.0"] * 3), DAYS, "x"),
    "alpha vantage, interface": ("date,1. open,2. high,3. low,4. close,5. volume\n", rows(DAYS, OHLCV), DAYS, "x"),
    "eodhd": ("Date,Open,High,Low,Close,Adjusted_close,Volume\n",
              rows(DAYS, [f"{','.join(map(str, row[:4]))},1.0,{row[4]}" for row in BARS]), DAYS, "x"),
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


SERIES = {
    "coingecko": "snapped_at,price,market_cap,total_volume\n2013-04-28 00:00:00 UTC,135.3,1500517590,0\n"
    "2013-04-29 00:00:00 UTC,141.96,1575032004.0,0.0\n",
    "reuters": "Instrument,Date,Price Close\nVOD.L,2024-01-02T00:00:00Z,1.0\nVOD.L,2024-01-03T00:00:00Z,1.1\n",
}
"""Layouts of vendors without bars."""
REFUSED = {
    "coinbase": "1672531200,9,12,10,11,100\n1672534800,10,13,11,12,200\n",
    "investing.com": '"Date","Price","Open","High","Low","Vol.","Change %"\n'
    '"01/13/2026","12.30","11.99","12.37","11.99","32.94M","3.62%"\n',
    "nasdaq.com": "Date,Close/Last,Volume,Open,High,Low\n12/13/2024,$191.38,18883220,$192.71,$194.34,$191.26\n",
}
"""Layouts of vendors that are refused."""


DOCUMENTED = {
    # layout: where its rows were found, the rows with their first lines, time and bar of the earliest row
    "polygon": (
        "Massive, flat files",
        ("ticker,volume,open,close,high,low,window_start,transactions\n"
        "O:SPY230327P00390000,200,11.82,9.83,11.82,8.09,1678680000000000000,62\n"),
        "2023-03-13T04:00", [11.82, 11.82, 8.09, 9.83, 200.0]),
    "polygon indices": (
        "Massive, flat files",
        ("ticker,open,close,high,low,window_start\n"
        "I:AAVE100,69.86160000000000,69.83720000000000,69.88340000000000,69.83720000000000,1679988600000000000\n"
        "I:AAVE100,69.8381,69.8507,69.8632,69.8255,1679988660000000000\n"),
        "2023-03-28T07:30", [69.8616, 69.8834, 69.8372, 69.8372, 1.0]),
    "alpaca, interface": (
        "Alpaca, market data",
        "t,o,h,l,c,v,n,vw\n2022-02-28T05:00:00Z,163.02,165.42,162.43,165.12,90552883,743379,164.274348\n",
        "2022-02-28T05:00", [163.02, 165.42, 162.43, 165.12, 90552883.0]),
    "ccxt, no header": (
        "CCXT, manual",
        "1504541580000,4235.4,4240.6,4230.0,4230.7,37.72941911\n",
        "2017-09-04T16:13", [4235.4, 4240.6, 4230.0, 4230.7, 37.72941911]),
    "histdata, metatrader": (
        "HistData, formats",
        ("2012.02.01,00:00,1.306600,1.306600,1.306560,1.306560,0\n"
        "2012.02.01,00:01,1.306570,1.306570,1.306470,1.306560,0\n"
        "2012.02.01,00:02,1.306520,1.306560,1.306520,1.306560,0\n"
        "2012.02.01,00:03,1.306610,1.306610,1.306450,1.306450,0\n"),
        "2012-02-01T00:00", [1.3066, 1.3066, 1.30656, 1.30656, 1.0]),
    "histdata": (
        "HistData, formats",
        ("20120201 000000;1.306600;1.306600;1.306560;1.306560;0\n"
        "20120201 000100;1.306570;1.306570;1.306470;1.306560;0\n"
        "20120201 000200;1.306520;1.306560;1.306520;1.306560;0\n"
        "20120201 000300;1.306610;1.306610;1.306450;1.306450;0\n"),
        "2012-02-01T00:00", [1.3066, 1.3066, 1.30656, 1.30656, 1.0]),
    "metatrader": (
        "copies",
        ("<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n"
        "2010.01.04\t00:00:00\t1096.70\t1123.65\t1093.05\t1121.00\t25942\t0\t0\n"),
        "2010-01-04", [1096.7, 1123.65, 1093.05, 1121.0, 1.0]),
    "stooq bulk": (
        "copies",
        ("<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
        "4IG.HU,D,20140702,000000,42.116,42.116,41.46,41.46,12200,0\n"),
        "2014-07-02", [42.116, 42.116, 41.46, 41.46, 12200.0]),
    "kaggle": (
        "copies", "date,open,high,low,close,volume,Name\n2013-02-08,15.07,15.12,14.63,14.75,8407500,AAL\n",
        "2013-02-08", [15.07, 15.12, 14.63, 14.75, 8407500.0]),
    "cryptodatadownload": (
        "copies",
        ("https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USD\n"
        "1646106180,2022-03-01 03:43:00,BTC/USD,43046.58,43046.58,43046.58,43046.58,0.00000000,0.0\n"),
        "2022-03-01T03:43", [43046.58, 43046.58, 43046.58, 43046.58, 1.0]),
    "yfinance, new": (
        "yfinance, price adjustment",
        ("Price,Close,High,Low,Open,Volume\nTicker,NVDA,NVDA,NVDA,NVDA,NVDA\nDate,,,,,\n"
        "2024-01-02,48.17,49.10,47.50,48.00,411254000\n"),
        "2024-01-02", [48.0, 49.1, 47.5, 48.17, 411254000.0]),
    "alpha vantage": (
        "copies",
        ("timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient\n"
        "2023-02-01,134.49,135.79,132.8,135.09,135.09,5428898,0.0000,1.0\n"
        "2023-01-31,135.5,135.65,133.76,134.73,134.73,7206448,0.0000,1.0\n"),
        "2023-01-31", [135.5, 135.65, 133.76, 134.73, 7206448.0]),
    "alpha vantage, interface": (
        "copies",
        "date,1. open,2. high,3. low,4. close,5. volume\n2025-05-16,212.36,212.57,209.77,211.26,54737850.0\n",
        "2025-05-16", [212.36, 212.57, 209.77, 211.26, 54737850.0]),
    "nasdaq data link": (
        "Quandl, WIKI",
        ("ticker,date,open,high,low,close,volume,ex-dividend,split_ratio,adj_open,adj_high,adj_low,adj_close,adj_volume\n"
        "AAPL,1980-12-12,28.75,28.87,28.75,28.75,2093900.0,0.0,1.0,0.42270591588018,0.42447025361603,"
        "0.42270591588018,0.42270591588018,117258400.0\n"),
        "1980-12-12", [28.75, 28.87, 28.75, 28.75, 2093900.0]),
    "sharadar": (
        "copies",
        ("ticker,date,open,high,low,close,volume,closeadj,closeunadj,lastupdated\n"
        "AAPL,2026-07-31,304.81,310.69,300,308.91,127398000,308.91,308.91,2026-08-01\n"
        "AAPL,2026-07-30,333.13,334.75,329.59,333.43,55502000,333.43,333.43,2026-08-01\n"),
        "2026-07-30", [333.13, 334.75, 329.59, 333.43, 55502000.0]),
    "eodhd": (
        "copies",
        ("Date,Open,High,Low,Close,Adjusted_close,Volume\n"
        "2023-05-23,288.15,288.5,285.44,286.37,284.8579,2943900.99\n"),
        "2023-05-23", [288.15, 288.5, 285.44, 286.37, 2943900.99]),
    "tiingo": (
        "copies",
        ("date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n"
        "2012-01-03,665.41,668.15,652.37,652.94,7345600,333.735208618,335.109450771,327.195019681,327.480902173,"
        "7345600,0.0,1.0\n"),
        "2012-01-03", [652.94, 668.15, 652.37, 665.41, 7345600.0]),
}  # fmt: skip
"""Rows as vendors' documentation shows them, or as others quote them from vendors' files ("copies")."""


@pytest.mark.parametrize("layout", DOCUMENTED)
def test_bars_of_a_vendors_documentation_are_read(tmp_path: Path, layout: str) -> None:
    _, text, time, bar = DOCUMENTED[layout]
    table = bars_table(read(tmp_path, text), "x")
    assert table.times is not None
    assert str(table.times[0]) == str(np.datetime64(time, "ns"))
    assert cells(table)[0] == bar
    assert [name.rpartition("_")[2] for name in table.channels] == ["open", "high", "low", "close", "volume"]


CHECKED = {
    **{name: source for name, (source, *_) in DOCUMENTED.items() if name in LAYOUTS},
    **{name: "Binance, public data" for name in LAYOUTS if name.startswith("binance")},
    **{name: "Databento, standards" for name in LAYOUTS if name.startswith("databento")},
    "polygon, interface": "copies",
    "polygon futures": "Massive, flat files",
    "kraken": "Kraken, support",
    "tradingview, upload": "TradingView, seeds",
    "finrl": "FinRL, source",
    "yfinance, old": "yfinance, price adjustment",
    "alpaca": "copies",
    "coingecko": "copies",
    "metatrader, daily": "copies",
    "investing.com": "copies",
    "nasdaq.com": "copies",
}
"""What the columns and times of a layout were compared with."""


def form_of(steps: tuple[str, ...]) -> str:
    """How the times of a table were written, as the table of layouts calls it."""
    unit = re.search(r"read as Unix time in (\w+)", " ".join(steps))
    return f"Unix, {unit[1]}" if unit else "date, time of day" if any("joined" in step for step in steps) else "ISO"


def test_the_table_of_layouts_says_what_is_read(tmp_path: Path) -> None:
    """docs/data.md has a row for each layout that is tried here, with its first lines and what becomes of it."""
    docs = Path(__file__).parents[4] / "docs" / "data.md"
    section = docs.read_text().partition("### Layouts of vendors")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line[:1] == "|"
    ]
    stated = {name: (head, times, outcome, checked) for name, head, times, outcome, checked in cells[2:]}
    found = {}
    for name, text in {
        **{name: head + lines for name, (head, lines, _, _) in LAYOUTS.items()}, **SERIES, **REFUSED
    }.items():  # fmt: skip
        lines = text.splitlines()
        count = LAYOUTS[name][0].count("\n") if name in LAYOUTS else 0 if name == "coinbase" else 1
        head = "none" if not count else " / ".join(f"`{line}`".replace("\t", " ") for line in lines[:count])
        refusal = stated[name][2].removeprefix("refused: ") if name in REFUSED and name in stated else ""
        if name in REFUSED:
            with pytest.raises(DataError, match=re.escape(refusal)):
                read(tmp_path, text)
            assert len(refusal) > 20, f"a row of {name}, with its reason"
            found[name] = (head, "-", f"refused: {refusal}", CHECKED.get(name, "-"))
        else:
            form = form_of(read(tmp_path, text).steps)
            found[name] = (head, form, "series" if name in SERIES else "bars", CHECKED.get(name, "-"))
    assert stated == found


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
        # Of several numbers with commas one that has no other reading tells that they are decimal ones.
        ("date;a;b\n2024-01-02;1,234;1\n2024-01-03;0,5;2\n", ("a", "b"), DAYS[:2]),
        ('date;"a, b";c\n2024-01-02;1;1\n2024-01-03;2;2\n', ("a, b", "c"), DAYS[:2]),
        ("date|name|close\n2024-01-02|3M, Inc|1\n2024-01-03|3M, Inc|2\n", ("3M, Inc",), DAYS[:2]),
        ("date\tclose\r\n2024/01/02\t1\r\n2024/01/03\t2\r\n", ("close",), DAYS[:2]),
    ],
)  # fmt: skip
def test_series_and_their_times(tmp_path: Path, text: str, channels: tuple[str, ...], times: list[str]) -> None:
    table = read(tmp_path, text)
    assert table.channels == channels
    assert table.times is not None
    assert table.times.tolist() == np.array(times, dtype="datetime64[ns]").tolist()


ZONES = ("EST the whole year (UTC-5)", "in its broker's zone", "its broker's, the latter's EST", "no zone")
"""What is said of the zone of times."""


def test_decimal_commas_become_points(tmp_path: Path) -> None:
    table = read(tmp_path, "2024-01-02;10,5;12,25;9,125;11,0;100\n2024-01-03;11,0;13,0;10,5;12,0;200\n")
    assert cells(bars_table(table, "x")) == [[10.5, 12.25, 9.125, 11, 100], [11, 13, 10.5, 12, 200]]
    assert table.steps[:2] == ("cells are separated by semicolons", "commas in numbers read as decimal ones")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAYOUTS["histdata"][1], ["EST the whole year (UTC-5)", "no zone"]),
        ("".join(LAYOUTS["metatrader"][:2]), ["in its broker's zone", "no zone"]),
        ("".join(LAYOUTS["metatrader, daily"][:2]), ["in its broker's zone"]),
        (LAYOUTS["histdata, metatrader"][1], ["its broker's, the latter's EST", "no zone"]),
        ("".join(LAYOUTS["date and time"][:2]), ["no zone"]),
        ("time,close\n2024-01-02 10:00,1\n2024-01-02 11:00Z,2\n", ["no zone"]),
        ("time,close\n2024-01-02 10:00+01:00,1\n2024-01-02 11:00 UTC,2\n", []),
        ("time,close\n2024-01-02 00:00:00,1\n2024-01-03 00:00:00,2\n", []),
        ("".join(LAYOUTS["ccxt"][:2]), []),
        ("".join(LAYOUTS["alpaca"][:2]), []),
    ],
)
def test_times_without_a_zone_are_named(tmp_path: Path, text: str, said: list[str]) -> None:
    steps = " | ".join(read(tmp_path, text).steps)
    assert [words for words in ZONES if words in steps] == said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # Kraken's columns, and a seventh that counts no trades.
        ("1672531200,10,12,9,11,100,7.5\n1672534800,11,13,10,12,200,8\n", "its first row has values"),
        ("2024-01-02,1.5,2.5\n2024-01-03,1.6,2.6\n", "its first row has values .* and no names"),
        ("1,2,3\n4,5,6\n", "its first row has values"),
        # Highs and lows that fit nowhere: the order of the columns cannot be told.
        ("2024-01-02,10,9,12,11,5\n2024-01-03,11,10,13,12,5\n", "its first row has values"),
        # One row, of which the order of its columns cannot be told.
        ("20230101 000000;1;2;1;2;0\n", "its first row has values"),
        # A comma that may stand between thousands, or before decimals.
        ("date;close\n2024-01-02;1,234\n2024-01-03;1,250\n", r"'1,234' \(row 2\) may have a decimal comma or one"),
        ("date;close\n2024-01-02;0.5\n2024-01-03;1,25\n", r"have commas \('1,25', row 3\) and points \('0.5', row 2"),
        ("date\tclose\n2024-01-02\t1,234,567\n", r"'1,234,567' is no number, where tabs separate cells"),
        ("date\tclose\n2024-01-02\t1.234,5\n", r"'1.234,5' is no number"),
        ("date;close;\n2024-01-02;5\n", "line 2: 2 cells separated by semicolons, and 3 in the first row"),
        ('date;close\n2024-01-02;"5\n', "line 2: unexpected end of data, where semicolons"),
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


PAID = [0.0, 2.0, 0.0, 0.0, 1.0, 0.0]
"""Dividends of six rows."""
BEFORE = [100.0, 99.0, 101.0, 102.0, 100.0, 103.0]
FACTORS = np.array([(1 - 2 / 100) * (1 - 1 / 102), *[1 - 1 / 102] * 3, 1.0, 1.0])
"""What closes that are adjusted for these dividends are of the closes."""


@pytest.mark.parametrize(
    ("adjusted", "said"),
    [
        (FACTORS * BEFORE, "2 dividends of x taken: its adjusted closes show that its prices are without them"),
        (np.round(FACTORS * BEFORE, 2), "2 dividends of x taken"),
        (np.array(BEFORE), "2 dividends of x left out: its prices are adjusted for them"),
        (np.sqrt(FACTORS) * BEFORE, "2 dividends of x left out: whether its prices are without them cannot be told"),
    ],
)
def test_adjusted_closes_tell_whether_prices_are_without_dividends(adjusted, said: str) -> None:
    table = bars_table(prices(*BEFORE, **{"dividend_amount": PAID, "Adj Close": list(adjusted)}), "x")
    assert any(said in step for step in table.steps)
    assert "columns left out, which are no part of a bar: Adj Close" in table.steps
    taken = "taken" in said
    assert table.channels[5:] == (("x_split", "x_dividend") if taken else ())
    if taken:
        assert cells(table, 5) == [[1.0, paid] for paid in PAID]


@pytest.mark.parametrize("name", ["split_ratio", "split_coefficient", "8. split coefficient"])
def test_splits_are_known_by_the_names_of_vendors(tmp_path: Path, name: str) -> None:
    lines = [",".join([str(price)] * 4) for price in (40, 10, 10)]
    table = read(tmp_path, f"date,open,high,low,close,{name}\n" + rows(DAYS, lines, [1, 4, 1]))
    assert cells(bars_table(table, "x"), 5) == [[1.0, 0.0], [4.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("header", "more", "channels", "said"),
    [
        ("open,high,low,close,volume,Dividends,Stock Splits,Capital Gains", [5, 0, 1, 0],
         ("open", "high", "low", "close", "volume"), "'Dividends', 'Stock Splits'"),
        ("open,high,low,close,volume,day", [5, 0], ("open", "high", "low", "close", "volume"),
         "'day' left out, which is no price"),
        ("open,high,low,close,volume", [0], ("open", "high", "low", "close"), "column 'volume' left out"),
        ("open,high,low,close,vol,funding", [5, -1], ("open", "high", "low", "close", "vol"), "'funding' left out"),
    ],
)  # fmt: skip
def test_what_stands_beside_bars_makes_no_levels_of_them(tmp_path: Path, header, more, channels, said) -> None:
    """The prices keep their returns, and what was left out is said with its reason."""
    walk = 100.0 + np.random.default_rng(1).standard_normal(300).cumsum() * 0.1
    days = pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d")
    (tmp_path / "x.csv").write_text(
        f"date,{header}\n" + "".join(
            f"{day},{price},{price + 1},{price - 1},{price},{','.join(str(cell if row % 2 else 5) for cell in more)}\n"
            for row, (day, price) in enumerate(zip(days, walk, strict=True))))  # fmt: skip
    own = KINDS["forecast"].start_from(Given((tmp_path / "x.csv",))).own_data
    assert own is not None
    assert own.measure == "price"
    assert own.content["data.csv"].partition(b"\n")[0].decode() == ",".join(("time", *channels))
    assert said in " ".join(own.steps)
    assert "--kind trading" in own.hint
    whole = KINDS["forecast"].start_from(Given((tmp_path / "x.csv",), measure="mixed")).own_data
    assert whole is not None
    assert whole.steps == ()


def test_a_dry_run_of_bars_names_the_kinds_that_take_them_as_bars(tmp_path: Path) -> None:
    lines = rows(
        pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d"), ["10,12,9,11,100", "11,13,10,12,99"] * 150
    )
    for name, header, hinted in (("x", "date,open,high,low,close,volume", 1), ("y", "date,a,b,c,d,e", 0)):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"{header}\n{lines}")
        done = CliRunner().invoke(cli, ["task", "new", name, "--from", str(path), "--dry-run", "--to", str(tmp_path)])
        assert done.exit_code == 0
        assert done.stdout.count("  hint: these are bars, ") == hinted
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x.csv", tmp_path / "y.csv"]


def test_volumes_of_0_beside_a_price_leave_its_returns(tmp_path: Path) -> None:
    """CoinGecko has volumes of 0 in the first months of a coin."""
    days = pd.date_range("2013-04-28", periods=300).strftime("%Y-%m-%d 00:00:00 UTC")
    (tmp_path / "x.csv").write_text(
        "snapped_at,price,market_cap,total_volume\n"
        + "".join(f"{day},{100 + row % 7},{1000 + row},{max(row - 90, 0)}\n" for row, day in enumerate(days))
    )
    own = KINDS["forecast"].start_from(Given((tmp_path / "x.csv",))).own_data
    assert own is not None
    assert (own.measure, own.hint) == ("price", "")
    assert own.content["data.csv"].startswith(b"time,price,market_cap\n")


def test_bars_with_gaps_name_the_kind_that_takes_them(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        "date,open,high,low,close\n2024-01-02,1,1,1,1\n2024-01-03,,,,\n2024-01-04,1,1,1,1\n"
    )
    with pytest.raises(DataError, match=r"leave out every row with a gap\)\. These are bars, .* --kind trading"):
        KINDS["forecast"].start_from(Given((tmp_path / "x.csv",)))
    (tmp_path / "x.csv").write_text("date,close\n2024-01-02,1\n2024-01-03,\n")
    with pytest.raises(DataError, match=r"leave out every row with a gap\)$"):
        KINDS["forecast"].start_from(Given((tmp_path / "x.csv",)))
    with pytest.raises(DataError, match=r"no bars: .* found close\. Series .* for other kinds"):
        KINDS["trading"].start_from(Given((tmp_path / "x.csv",)))


def test_prices_that_show_one_split_of_two_are_refused() -> None:
    table = prices(400.0, 100.0, 100.0, 101.0, split=[1.0, 4.0, 1.0, 2.0])
    with pytest.raises(DataError, match="prices do not show its split by 2"):
        bars_table(table, "x")


def test_a_volume_that_nobody_knows_makes_no_halts() -> None:
    for volume in ([0.0] * 3, [np.nan] * 3):
        table = bars_table(prices(1.1, 1.2, 1.3, volume=volume), "eurusd")
        assert cells(table, 4) == [[1.0], [1.0], [1.0]]
        assert any("the volume of eurusd is not known" in step for step in table.steps)


def test_half_a_bar_is_refused_or_left_out() -> None:
    table = prices(1.0, 2.0, 3.0, high=[1.0, np.nan, 3.0])
    with pytest.raises(DataError, match=r"x at 2024-01-02 lacks high, and has other prices; .* --fill drop"):
        bars_table(table, "x")
    assert cells(bars_table(table, "x", "drop"), 0, 4) == [[1.0] * 4, [3.0] * 4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        # FinRL's downloader puts the adjusted close beside raw prices.
        ({"close": [0.9] * 300},
         r"x\.csv: the close of x is outside of its low and high in 300 of 300 rows, first 0\.9 at 2024-01-01"),
        ({"close": [1.0] * 299 + [0.9]}, r"x\.csv, row 299 .* 'x_close': 0\.9 is outside the bar's low and high"),
        ({"volume": [0.0] + [1.0] * 299}, "a symbol must trade in the first row"),
        ({"low": [1.0] * 299 + [-1.0]}, "is not a positive price"),
    ],
)  # fmt: skip
def test_bars_that_contradict_themselves_are_refused_before_they_are_written(tmp_path: Path, change, said) -> None:
    fields = {"open": [1.0] * 300, "high": [1.0] * 300, "low": [1.0] * 300, "close": [1.0] * 300, "volume": [1.0] * 300}
    frame = pd.DataFrame({**fields, **change}, index=pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d"))
    frame.to_csv(tmp_path / "x.csv", index_label="date")
    with pytest.raises(DataError, match=said):
        KINDS["trading"].start_from(Given((tmp_path / "x.csv",)))


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
         "the distance of rows changes from 1 day to 1 h at"),
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


def test_holes_of_two_frequencies_are_those_of_each() -> None:
    hour = np.timedelta64(1, "h")
    times = np.datetime64("2024-01-01", "ns") + np.concatenate([np.arange(200) * 24, 200 * 24 + np.arange(600)]) * hour
    values = np.arange(801.0, 1601.0)[:, None]
    said = (
        "the distance of rows changes from 1 day to 1 h at 2024-07-19T00:00: rows of two frequencies are no one series"
    )
    assert oddities(times, ("close",), values) == (said,)
    holed = np.delete(times, [*range(100, 110), *range(500, 503)])
    first, second, last = oddities(holed, ("close",), values[: len(holed)])
    assert last == said
    assert (
        first == "1 hole between rows that are usually 1 day apart; the longest, of 11 days, begins at 2024-04-09T00:00"
    )
    assert second == "1 hole between rows that are usually 1 h apart; the longest, of 4 h, begins at 2024-07-31T11:00"


def test_a_move_is_like_a_split_where_it_stands_out() -> None:
    """Two splits are told as such; of small yields, which often move as much, a move of three times is none."""
    values = 100.0 * np.exp(np.cumsum(0.01 * np.random.default_rng(1).standard_normal(300)))
    values[100:] /= 2.0
    values[200:] /= 3.0
    assert oddities(None, ("a",), values[:, None])[0].endswith("down at row 200, as a split would")
    yields = 0.10 + 0.001 * np.random.default_rng(1).standard_normal(300)
    yields[100:] /= 3.0
    yields[200:] /= 1.8
    (said,) = oddities(None, ("6m",), yields[:, None])
    assert said.endswith("down at row 100")


@pytest.mark.parametrize(
    ("text", "channels", "values", "said"),
    [
        ("window,step,a\n1,0,3\n0,1,2\n0,0,1\n1,1,4\n", ("a",), [1, 2, 3, 4], "window, step; rows sorted by them"),
        ("id,Window,Step,a\n0,0,0,1\n1,0,1,2\n2,1,0,3\n", ("a",), [1, 2, 3], ": id, window, step"),
        ("node,score\n7,0.1\n3,0.2\n", ("score",), [0.2, 0.1], ": node; rows sorted by them"),
        # What names no row, or is all that there is, is a series.
        ("step,a\n1,3\n1,2\n", ("step", "a"), [1, 3, 1, 2], ""),
        ("node,a\n0.5,3\n1,2\n", ("node", "a"), [0.5, 3, 1, 2], ""),
        ("row,id\n1,3\n2,2\n", ("id",), [3, 2], ""),
    ],
)
def test_numbers_of_rows_are_no_series(tmp_path: Path, text, channels, values, said: str) -> None:
    table = read(tmp_path, text)
    assert table.channels == channels
    assert cells(table) == np.reshape(values, (-1, len(channels))).tolist()
    assert said.lower() in " ".join(table.steps).lower()
    assert any("as in a file of answers" in step for step in table.steps) is bool(said)


def test_cells_without_a_value_are_counted_by_column() -> None:
    """The columns with most gaps come first; what was carried over a gap is no feed that is stuck."""
    times = pd.date_range("2024-01-01", periods=300).to_numpy()
    values = 100.0 + np.random.default_rng(1).standard_normal((300, 2))
    values[200:, 1] = values[199, 1]
    filled = np.zeros((300, 2), dtype=np.bool_)
    filled[[10, 250], 0] = filled[200:, 1] = True
    late, few = oddities(times, ("a", "b"), values, hidden_from=210, filled=filled)
    assert late.startswith(
        "b has no value of its own in 100 of 300 rows, 90 of them hidden and not scored; the longest"
    )
    assert late.endswith("is 100 rows to the last one from 2024-07-19 on")
    assert few == "a has no value of its own in 2 of 300 rows, 1 of them hidden and not scored, first in 2024-01-11"
    # The same of a table that nobody has filled, such as pulled data; no row is hidden.
    open_cells = np.where(filled, np.nan, values)
    assert oddities(times, ("a", "b"), open_cells) == (
        "b has no value of its own in 100 of 300 rows; the longest run is 100 rows to the last one from 2024-07-19 on",
        "a has no value of its own in 2 of 300 rows, first in 2024-01-11",
    )


def test_copied_bars_are_counted_and_halts_are_none() -> None:
    times = pd.date_range("2024-01-01", periods=60).to_numpy()
    close = 100.0 + np.random.default_rng(1).standard_normal(60)
    bars = np.stack([close, close + 1.0, close - 1.0, close, np.full(60, 5.0)], axis=1)
    bars[20:30] = bars[19]
    names = [f"X_{name}" for name in ("open", "high", "low", "close", "volume")]
    found = oddities(times, names, bars, hidden_from=25)
    assert "X: 10 bars repeat the prices of the bar before, 5 of them hidden, first 2024-01-21;" in " ".join(found)
    bars[20:30, 4] = 0.0
    (halted,) = oddities(times, names, bars, hidden_from=25)
    assert halted.startswith(
        "X_close has no value of its own in 10 of 60 rows, 5 of them hidden; the longest run is 10"
    )


def test_a_column_that_begins_late_is_named_with_its_cost(tmp_path: Path) -> None:
    lines = "".join(
        f"2024-01-{day:02},{day},{'' if day < 9 else day},{'' if day == 2 else day}\n" for day in range(1, 21)
    )
    table = read(tmp_path, "date,early,late,holed\n" + lines)
    filled = without_gaps(table, "forward", 0.6)
    said = "8 of 20 rows left out: 'late' has no value yet in them (no rows would go without it)"
    assert filled.table.steps[0] == said
    dropped = without_gaps(table, "drop", 0.6).table.steps[0]
    assert dropped == "8 of 20 rows left out: a value is missing in them (drop), 8 of 'late', 1 of 'holed'"


@pytest.mark.parametrize(
    ("change", "left", "said"),
    [
        ([(7, 0, -68.6)], ("b",), r"column 'a' left out, .*'a' is -68.6 at 2024-01-08, and 1 of 300 rows"),
        ([(7, 0, 0.0), (9, 0, -1.0)], ("b",), "2 of 300 rows are not above 0"),
        ([(slice(None), 0, 0.0)], ("b",), "column 'a' left out"),
        # Often 0 or below: levels, of which it is said whose fault it is.
        ([(slice(0, 100), 0, -1.0)], ("a", "b"), "'a' is -1 at 2024-01-01, and has no return: all columns count"),
        ([(7, 0, -1.0), (8, 1, -1.0)], ("a", "b"), "'a' is -1 at 2024-01-08"),
        ([], ("a", "b"), ""),
    ],
)
def test_a_price_below_zero_leaves_the_other_columns_their_returns(change, left, said, tmp_path: Path) -> None:
    frame = pd.DataFrame(100.0 + np.random.default_rng(1).standard_normal((300, 2)), columns=["a", "b"])
    for row, column, value in change:
        frame.iloc[row, column] = value
    frame.insert(0, "date", pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    start = KINDS["forecast"].start_from(Given((tmp_path / "x.csv",)))
    own = start.own_data
    assert own is not None
    assert own.measure == ("mixed" if len(left) == 2 and change else "price")
    assert own.content["data.csv"].partition(b"\n")[0].decode() == ",".join(("time", *left))
    assert re.search(said, " ".join(own.steps))
    # Whoever says what the columns hold gets all of them.
    whole = KINDS["forecast"].start_from(Given((tmp_path / "x.csv",), measure="mixed")).own_data
    assert whole is not None
    assert whole.steps == ()


def test_a_market_that_closes_at_weekends_has_no_holes() -> None:
    times = pd.bdate_range("2022-01-03", periods=400).to_numpy()
    values = np.arange(101.0, 501.0)[:, None]
    assert oddities(times, ("close",), values, hidden_from=300) == ()
    assert "1 hole" in oddities(np.delete(times, range(100, 110)), ("close",), np.delete(values, range(100, 110), 0),
                                hidden_from=300)[0]  # fmt: skip


def test_bars_are_not_interpolated(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("date,open,high,low,close,volume\n" + rows(DAYS, OHLCV))
    with pytest.raises(UsageError, match="nobody quoted"):
        KINDS["trading"].start_from(Given((path,), fill="interpolate"))


def test_a_price_that_databento_has_none_of_is_a_hole(tmp_path: Path) -> None:
    header, none = LAYOUTS["databento"][0].replace(",symbol", ""), str(2**63 - 1)
    columns = [["4108250000000"] * 2 + [none], ["4108500000000"] * 2 + [none], ["-37630000000"] * 2 + [none]]
    ids = ([34] * 3, [1] * 3, [29] * 3)
    table = read(tmp_path, header + rows(DAYS, *ids, *columns, columns[0], [7] * 3))
    assert any("divided by 1e9" in step for step in table.steps)
    places = [table.channels.index(name) for name in ("open", "high", "low", "close")]
    expected = [[4108.25, 4108.5, -37.63, 4108.25]] * 2 + [[np.nan] * 4]
    np.testing.assert_array_equal(np.asarray(table.values)[:, places], expected)
    # An empty cell is a hole as well, and says nothing of the others.
    columns = [[*column[:2], ""] for column in columns]
    table = read(tmp_path, header + rows(DAYS, *ids, *columns, columns[0], [7] * 3))
    np.testing.assert_array_equal(np.asarray(table.values)[:, places], expected)
    # Prices as they are quoted stay as they are, also where all are whole.
    quoted = ["4108.000000000"] * 3
    table = read(tmp_path, header + rows(DAYS, *ids, quoted, quoted, quoted, quoted, [7] * 3))
    np.testing.assert_array_equal(np.asarray(table.values)[:, places], [[4108.0] * 4] * 3)
