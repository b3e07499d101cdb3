"""Bars from pulled files alone: each source pulled from a real server, which is then gone; and a task built on them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.checks.check import check_task
from openfingym.cli import cli
from openfingym.data.sources import Cache
from openfingym.data.sources.catalog import pull
from openfingym.data.vendor_bars import pulled_bars
from openfingym.errors import DataError, UsageError
from openfingym.kinds.trading import kind as trading
from tests.openfingym.data.sources.test_pulled import DAYS, DIVIDEND, SPLIT, archived, chart, klines

FIRST, LAST = date(2024, 6, 1), date(2024, 6, 2)
COINS = ("BTCUSDT", "ETHUSDT")


def pulled(site, client, cache, name, *symbols, **options) -> None:
    """Pull from the site, then take it away: whatever is read afterwards comes from the cache."""
    pull(name, symbols=symbols, client=client, cache=cache, base_url=site.url, **options)
    site.routes.clear()
    site.asked.clear()


def bars_of_yahoo(symbol: str, days, rows: list[list[float | None]], **more: object) -> bytes:
    """As :func:`chart`, with bars of their own: open, high, low, close, volume."""
    document = json.loads(chart(symbol, days, [row[3] for row in rows], **more))
    cells = {field: [row[i] for row in rows] for i, field in enumerate(("open", "high", "low", "close", "volume"))}
    document["chart"]["result"][0]["indicators"]["quote"] = [cells]
    return json.dumps(document).encode()


def test_binance_bars_with_an_outage_of_one_pair(site, client, cache) -> None:
    """Hours that one pair lacks are its halts; the clock begins where both trade."""
    for symbol, close in zip(COINS, (60_000.0, 3_000.0), strict=True):
        archived(site, symbol, FIRST, klines(FIRST, skip={0, 5, 6} if symbol == "ETHUSDT" else (), close=close))
        archived(site, symbol, LAST, klines(LAST, close=close))
    pulled(site, client, cache, "binance-archive", *COINS, start=FIRST, end=LAST, interval="1h")
    bars, info = pulled_bars("binance-archive", COINS, names=("btc", "eth"), interval="1h", cache=cache)
    assert site.asked == []
    assert bars.symbols == ("btc", "eth")
    assert len(bars) == 47
    assert str(bars.times[0]) == "2024-06-01T01:00:00.000000000"
    assert (~bars.tradable).sum(axis=0).tolist() == [0, 2]
    # The fifth hour of the day is the fourth row; the close of hour four stands.
    assert bars.close[3:7, 1].tolist() == [3_004.0, 3_004.0, 3_004.0, 3_007.0]
    assert bars.high[0].tolist() == [60_002.0, 3_002.0]
    assert (info.kind, info.measure, info.frequency, info.rows, info.missing) == ("real", "mixed", "hourly", 47, 0)
    assert info.channels[:5] == ("btc_open", "btc_high", "btc_low", "btc_close", "btc_volume")
    assert "1 before it left out, 2 halts of single symbols" in info.calendar
    assert len(info.sha256) == 64
    assert len(info.originals) == 8


def test_a_pull_says_what_is_odd_about_its_bars(site, tmp_path, monkeypatch) -> None:
    """In the words in which `task new` and `task check` say it, of the fields of bars alone."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    night = {hour for hour in range(24) if 10 <= hour < 14}
    archived(site, "BTCUSDT", FIRST, klines(FIRST, skip=night, close=60_000.0))
    archived(site, "BTCUSDT", LAST, klines(LAST, close=600_000.0))
    words = ["data", "pull", "binance-archive", "--symbols", "BTCUSDT", "--start", str(FIRST), "--end", str(LAST)]
    words += ["--interval", "1h", "--mirror", site.url]
    said = CliRunner().invoke(cli, words, catch_exceptions=False).output
    hole = "1 hole between rows that are usually 1 h apart; the longest, of 5 h, begins at 2024-06-01T09:00"
    move = "close moves by a factor of 10 up at 2024-06-02, as a change of unit would"
    assert [line.strip() for line in said.splitlines() if "odd: " in line] == [f"odd: {hole}", f"odd: {move}"]
    assert json.loads(CliRunner().invoke(cli, [*words, "--json"]).output)["odd"] == [hole, move]


def test_yahoo_bars_have_their_dividends_beside_them(site, client, cache) -> None:
    aapl = [
        [120.0, 126.0, 119.0, 125.0, 100.0],
        [125.0, 127.0, 123.0, 124.5, 90.0],
        [127.0, 131.0, 126.0, 129.0, 80.0],
        [132.0, 135.0, 130.0, 134.0, 70.0],
    ]
    xom = [
        [40.0, 41.0, 39.0, 40.5, 10.0],
        [40.0, 41.0, 39.5, 40.0, 20.0],
        [39.0, 39.5, 38.5, 39.0, 30.0],
        [None, None, None, None, None],
    ]
    site.on("/v8/finance/chart/AAPL", bars_of_yahoo("AAPL", DAYS, aapl, events=SPLIT))
    site.on("/v8/finance/chart/XOM", bars_of_yahoo("XOM", DAYS, xom, events=DIVIDEND))
    pulled(site, client, cache, "yahoo", "AAPL", "XOM", start=DAYS[0], end=DAYS[-1])
    bars, info = pulled_bars("yahoo", ("AAPL", "XOM"), cache=cache)
    assert bars.to_array()[:, 0].tolist() == aapl
    # Yahoo's prices are in shares of today: a split is no event any more, a dividend is.
    assert (bars.split == 1.0).all()
    assert bars.dividend.tolist() == [[0.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
    assert bars.close[3, 1] == 39.0
    assert not bars.tradable[3, 1]
    assert "1 dividends beside the bars" in info.corporate_actions


def test_one_symbol_alone(site, client, cache) -> None:
    rows = [[40.0, 41.0, 39.0, 40.5, 10.0]] * 4
    site.on("/v8/finance/chart/XOM", bars_of_yahoo("XOM", DAYS, rows))
    pulled(site, client, cache, "yahoo", "XOM", start=DAYS[0], end=DAYS[-1])
    bars, _ = pulled_bars("yahoo", cache=cache)
    assert bars.symbols == ("XOM",)
    assert bars.to_array()[:, 0].tolist() == rows


def test_rounding_of_an_adjustment_is_forgiven_and_a_contradiction_is_not(site, client, cache) -> None:
    rows = [[40.0, 40.4999999, 39.0, 40.5, 10.0], [40.0, 41.0, 40.00001, 40.5, 10.0]] * 2
    site.on("/v8/finance/chart/XOM", bars_of_yahoo("XOM", DAYS, rows))
    pulled(site, client, cache, "yahoo", "XOM", start=DAYS[0], end=DAYS[-1])
    bars, _ = pulled_bars("yahoo", ("XOM",), cache=cache)
    assert bars.high[0, 0] == 40.5
    assert bars.low[1, 0] == 40.0
    rows[3] = [40.0, 40.3, 39.0, 40.5, 10.0]
    site.on("/v8/finance/chart/XOM", bars_of_yahoo("XOM", DAYS, rows))
    pulled(site, client, cache, "yahoo", "XOM", start=DAYS[0], end=DAYS[-1], refresh=True)
    with pytest.raises(DataError, match=r"pulled-yahoo, row 3 \(2020-09-01.*\), column 'XOM_close': 40\.5 is outside"):
        pulled_bars("yahoo", ("XOM",), cache=cache)


def test_what_has_no_bars_says_so(site, client, cache) -> None:
    path = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/2024/all"
    site.on(path, b'Date,"10 Yr"\n01/02/2024,3.95\n')
    pulled(site, client, cache, "treasury", start=date(2024, 1, 1), end=date(2024, 12, 31))
    with pytest.raises(UsageError, match="treasury has no bars; binance-archive, binance-rest, yahoo do"):
        pulled_bars("treasury", cache=cache)
    with pytest.raises(DataError, match=r"Run this once, with a network: openfingym data pull yahoo --symbols AAPL$"):
        pulled_bars("yahoo", ("AAPL",), cache=cache)


def test_a_trading_task_on_pulled_bars(site, client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--real``: the contract stays, the bars are the exchange's, and say so."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    rng = np.random.default_rng(1)
    # The task's blocks begin on days of their own, in whatever year the data begin.
    start = date(2005, 3, 28)
    days = [start.fromordinal(start.toordinal() + i) for i in range(1600)]
    for symbol in ("AAPL", "IBM", "MSFT"):
        closes = 100.0 * np.exp(np.cumsum(0.01 * rng.standard_normal(len(days))))
        rows = [[close, close * 1.01, close * 0.99, close, 1e6] for close in closes.tolist()]
        site.on(f"/v8/finance/chart/{symbol}", bars_of_yahoo(symbol, days, rows))
    pulled(site, client, Cache(), "yahoo", "AAPL", "IBM", "MSFT", start=days[0], end=days[-1])
    task = load_task("equity-trading", real=True)
    source = trading.KIND.load(task)
    material = trading.KIND.shape(task, source)
    assert trading.KIND.data_kind(task) == material.info.kind == "real"
    assert source.bars.symbols == ("aapl", "ibm", "msft")
    assert material.dataset_digest == trading.KIND.source_key(task) == material.info.sha256
    assert material.n_private == 2
    assert site.asked == []
    findings = {finding.name: finding for finding in check_task(task).findings}
    assert findings["leak"].passed, findings["leak"].detail
    assert all(finding.passed for name, finding in findings.items() if name != "ordering"), findings
