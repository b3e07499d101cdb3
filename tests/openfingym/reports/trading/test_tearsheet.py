"""The tear sheet: what it shows, that it is bounded in size, harmless, and alive in a real browser."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.cli import main
from openfingym.errors import UsageError
from openfingym.metrics.performance import summary
from openfingym.reports.charts import BOX, COLUMNS, Line, Scale, TimeAxis, histogram, shown, time_chart
from openfingym.reports.trading.account_charts import MARKERS, SYMBOLS
from openfingym.reports.trading.tearsheet import Heading, render
from openfingym.reports.trading.trace import Chain, EpisodeTrace
from openfingym.results import RolloutResult
from openfingym.results.run_folder import RunFiles, write_run
from openfingym.trading.orders import Event, EventKind, Reason
from tests.openfingym.reports.browser import opened
from tests.openfingym.reports.made import scored

P = 252.0
HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'&amp;<b>"


def trace(seed, steps=60, symbols=("AAPL", "IBM"), *, fold="private", fills=0.2, hours=24):
    """An account that trades at random; its record follows from its fills."""
    rng = np.random.default_rng(seed)
    count = len(symbols)
    times = np.datetime64("2021-03-01", "ns") + np.arange(steps + 1) * np.timedelta64(hours, "h")
    prices = 100.0 * np.exp(np.cumsum(0.1 / steps**0.5 * rng.standard_normal((steps + 1, count)), axis=0))
    positions, record, events = np.zeros((steps + 1, count)), np.zeros((steps + 1, 7)), []
    cash, held = 1e5, np.zeros(count)
    record[0, 0] = cash
    for row in range(1, steps + 1):
        for symbol in np.flatnonzero(rng.random(count) < fills):
            side = -1 if held[symbol] > 100 else 1
            quantity, price = float(rng.integers(1, 200)), prices[row, symbol] * (1.0 + side * 2e-4)
            fee, slippage = 1e-4 * quantity * price, 2e-4 * quantity * prices[row, symbol]
            cash -= side * quantity * price + fee
            held[symbol] += side * quantity
            events.append(Event(EventKind.FILLED, row, 1, int(symbol), side, quantity, price, fee, slippage))
            record[row, 1:3] += quantity * price, fee + slippage
        if row % 10 == 0:
            events.append(Event(EventKind.REJECTED, row, 0, 0, 1, 5.0, reason=Reason.SHORT_CAP))
        positions[row], value = held, held * prices[row]
        record[row, [0, 3, 4]] = cash + value.sum(), value[value > 0].sum(), -value[value < 0].sum()
    return EpisodeTrace(times, symbols, prices, positions, tuple(events), record, fold)


HEADING = Heading("equity-trading", "momentum", "real", P, "buy-and-hold")


def parsed(page):
    """The page as a tree, without the contents of style and scripts; raises unless every element is closed."""
    assert page.startswith("<!DOCTYPE html>\n")
    plain = re.sub(r"(<(style|script)[^>]*>).*?(</\2>)", r"\1\3", page.partition("\n")[2], flags=re.DOTALL)
    return ET.fromstring(plain)


def table(tree, title):
    """Rows of a table by the text of their heads."""
    block = next(node for node in tree.iter() if node.find("h2") is not None and node.find("h2").text == title)
    rows = [["".join(cell.itertext()) for cell in row] for row in block.iter("tr")]
    return {cells[0]: cells[1:] for cells in rows}


def figures(tree):
    return {figure.find("figcaption/h3").text: figure for figure in tree.iter("figure")}


def heights(figure, style):
    """Vertical positions of a line's points in percent from the top."""
    path = next(path for path in figure.iter("path") if path.get("class").split()[0] == style)
    numbers = [int(n) for n in re.findall(r"-?\d+", path.get("d"))]
    return np.array(numbers[1::2]) / BOX * 100.0


def test_figures_are_those_of_the_account_and_the_baseline():
    own, other = [trace(seed) for seed in range(3)], [trace(seed, fills=0.02) for seed in range(3)]
    a, b = (summary(np.stack([t.record for t in traces]), P) for traces in (own, other))
    tree = parsed(render(HEADING, own, other))
    shown_figures = table(tree, "Performance")
    assert shown_figures[""] == ["momentum", "buy-and-hold"]
    assert shown_figures["Total return, mean over episodes"] == [
        f"{x.total_return:.2%}".replace("-", "−") for x in (a, b)
    ]
    assert shown_figures["Sharpe ratio"] == [f"{x.sharpe_ratio:.2f}".replace("-", "−") for x in (a, b)]
    assert shown_figures["Max drawdown, worst episode"] == [f"{x.max_drawdown:.2%}" for x in (a, b)]
    traded = table(tree, "Trading")
    fills = [event for t in own for event in t.events if event.kind is EventKind.FILLED]
    assert traded["Fills"] == [str(len(fills))]
    assert float(traded["Fees, cash"][0].replace(",", "")) == pytest.approx(sum(event.fee for event in fills), abs=0.01)
    assert table(tree, "Refused orders by reason")["rejected: short cap"][0] == "18"
    largest = max(fills, key=lambda event: event.quantity * event.price)
    assert list(table(tree, "Largest trades").values())[1][4] == f"{largest.quantity * largest.price:,.2f}"
    episodes = table(tree, "Episodes")
    assert [episodes[str(n)][1] for n in (1, 2, 3)] == [f"{x.total_return:.2%}".replace("-", "−") for x in a.by_episode]


def test_what_the_verifier_said_goes_first():
    heading = replace(
        HEADING,
        relative_total=0.8123,
        state="scored",
        metrics={"sharpe_ratio": 1.23},
        baseline_metrics={"sharpe_ratio": 1.5},
    )
    tree = parsed(render(heading, [trace(0)]))
    assert table(tree, "Performance")["Sharpe ratio"] == ["1.23✓", "1.50"]
    tiles = ["".join(tile.itertext()) for tile in next(n for n in tree.iter() if n.get("class") == "tiles")]
    assert "Verified score" not in tiles[0]
    assert tiles[0].startswith("Relative total0.812verified; better than buy-and-hold")
    assert "Sharpe ratio1.23buy-and-hold: 1.50" in tiles
    # The plot compounds the episodes; the tile does not, and says so.
    assert tiles[1].startswith("Total return")
    assert "mean over episodes" in tiles[1]


def test_total_and_relative_total_have_their_names_and_intervals():
    result = scored(0.8, total_interval=(0.01, 0.2), relative_interval=(0.7, 0.9))
    page = render(Heading.of_run(result, 252.0), [trace(0)])
    said = "".join(parsed(page).itertext())
    assert "Total0.08, verified; lower is better; 95 % interval 0.01 to 0.2" in " ".join(said.split()).replace(
        "Total ", "Total"
    )
    assert "95 % interval 0.7 to 0.9" in said


@pytest.mark.parametrize(
    ("kind", "style", "words"),
    [("simulated", "simulated", "SIMULATED data"), ("real", "real", "Real market data"), ("odd", "unknown", "odd")],
)
def test_the_kind_of_data_is_said_first(kind, style, words):
    first = next(node for node in parsed(render(replace(HEADING, data_kind=kind), [trace(0)])).iter("header"))[0]
    assert first.get("class") == f"kind {style}"
    assert words in first.text


def test_lines_are_what_they_say():
    own = trace(1, steps=100)
    chart = figures(parsed(render(HEADING, [own])))
    growth = own.record[:, 0] / own.record[0, 0] - 1.0
    scale = Scale.around([growth], zero=True)
    assert heights(chart["Return on the account"], "agent") == pytest.approx(
        [scale.percent(v) for v in growth], abs=0.01
    )
    prices = own.prices[:, 1]
    fills = [event for event in own.events if event.kind is EventKind.FILLED and event.symbol == 1]
    scale = Scale.around([prices, np.array([event.price for event in fills])], zero=False)
    marks = [(use.get("href"), float(use.get("x")[:-1]), float(use.get("y")[:-1])) for use in chart["IBM"].iter("use")]
    expected = [
        ("#buy" if event.side > 0 else "#sell", 100.0 * event.bar / 100, scale.percent(event.price)) for event in fills
    ]
    assert [mark[0] for mark in marks] == [mark[0] for mark in expected]
    assert np.array([mark[1:] for mark in marks]) == pytest.approx(np.array([mark[1:] for mark in expected]), abs=0.01)


def test_episodes_go_on_from_one_another_and_drawdowns_do_not():
    traces = [trace(seed, steps=30) for seed in range(3)]
    chain = Chain(traces)
    finals = np.cumprod([t.record[-1, 0] / t.record[0, 0] for t in traces])
    assert chain.starts == (0, 31, 62)
    assert chain.growth[[30, 61, 92]] == pytest.approx(finals)
    assert chain.growth[[31, 62]] == pytest.approx(finals[:2])
    assert chain.underwater[[0, 31, 62]].tolist() == [0.0, 0.0, 0.0]
    assert -chain.underwater.min() == summary(np.stack([t.record for t in traces]), P).max_drawdown
    assert chain.costs[-1] == pytest.approx(sum(t.record[:, 2].sum() for t in traces) / 1e5)
    assert chain.paid("fee")[-1] + chain.paid("slippage")[-1] == pytest.approx(chain.costs[-1])
    net = chain.weights.sum(axis=1)
    assert net == pytest.approx(chain.share(3) - chain.share(4))


def test_public_episodes_are_practice_below():
    both = [trace(0, fold="public"), trace(1)]
    tree = parsed(render(HEADING, both))
    assert [node.tag for node in tree.find("body/main")][-2:] == ["details", "footer"]
    assert table(tree, "Trading")["Fills"] == [str(sum(event.kind is EventKind.FILLED for event in both[1].events))]
    only = parsed(render(HEADING, both[:1]))
    assert "The public episode" in [node.text for node in only.iter("h2")]
    assert not list(only.iter("details"))


def test_long_and_many_episodes_are_drawn_in_bounded_size():
    long = [trace(0, steps=50_000, fills=0.05, hours=1)]
    many = [trace(seed, steps=50, symbols=tuple(f"S{n}" for n in range(30))) for seed in range(300)]
    for traces in (long, many):
        page = render(HEADING, traces, traces)
        assert len(page.encode()) < 2_000_000
        tree = parsed(page)
        assert max(len(list(figure.iter("use"))) for figure in tree.iter("figure")) <= MARKERS
    assert len(figures(tree)) == 6 + SYMBOLS + 2
    assert "22 more are not drawn" in page


@given(st.integers(0, 1000), st.integers(2 * COLUMNS + 1, 20_000))
def test_thinning_keeps_every_extreme(seed, size):
    values = np.random.default_rng(seed).standard_normal(size)
    axis = TimeAxis(np.datetime64("2020-01-01", "ns") + np.arange(size) * np.timedelta64(1, "m"), (0, size // 3))
    assert [piece for episode in axis.columns for pair in episode for piece in pair][:: len(axis.shown) * 2 - 1] == [
        0,
        size,
    ]
    figure = ET.fromstring(time_chart("noise", axis, [Line("noise", values, "agent")]))
    drawn, scale = heights(figure, "agent"), Scale.around([values], zero=False)
    assert len(drawn) <= 2 * COLUMNS + 4
    assert drawn.min() == pytest.approx(scale.percent(values.max()), abs=0.01)
    assert drawn.max() == pytest.approx(scale.percent(values.min()), abs=0.01)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.booleans())
def test_every_scale_has_a_few_round_ticks_inside(low, width, zero):
    scale = Scale.around([np.array([low, low + width])], zero=zero)
    ticks, step = scale.ticks()
    assert 2 <= len(ticks) <= 6
    assert all(scale.low - 1e-6 * step <= tick <= scale.high + 1e-6 * step for tick in ticks)
    assert float(f"{step:.1e}") in {float(f"{m}e{e}") for m in ("1.0", "2.0", "2.5", "5.0") for e in range(-12, 12)}
    assert len({shown(tick, "", step) for tick in ticks}) == len(ticks)


def test_shares_of_a_histogram_add_up():
    values = np.random.default_rng(0).standard_normal(1000)
    figure = ET.fromstring(histogram("returns", [Line("agent", values, "agent")], bins=10))
    path = next(path for path in figure.iter("path")).get("d")
    tops = [int(top) for top in re.findall(r"V(\d+)H", path)]
    shares = np.histogram(values, 10)[0] / 1000
    scale = Scale(0.0, 1.08 * shares.max())
    assert [100.0 * top / BOX for top in tops] == pytest.approx(
        [scale.percent(s) for s in shares[shares > 0.0]], abs=0.01
    )


def flat(steps, equity=100.0):
    record = np.zeros((steps + 1, 7))
    record[:, 0] = equity
    times = np.datetime64("2021-03-01", "ns") + np.arange(steps + 1) * np.timedelta64(1, "D")
    return EpisodeTrace(times, ("A",), np.ones((steps + 1, 1)), np.zeros((steps + 1, 1)), (), record)


def test_accounts_with_nothing_to_show():
    for quiet in (flat(1), flat(5), replace(flat(2), record=np.diag([100.0, 0.0, 0.0])[:, [0, 1, 2, 1, 1, 1, 1]])):
        page = render(HEADING, [quiet])
        assert "Nothing was traded." in page
        assert "No order was refused." in page
        assert "nan" not in page.lower()
        parsed(page)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: render(HEADING, []), "no episode"),
        (lambda: render(HEADING, [trace(0), trace(1, symbols=("X", "Y"))]), "different symbols"),
        (lambda: render(HEADING, [trace(0)], [trace(0, steps=59)]), "not the same episodes"),
        (lambda: replace(flat(3), prices=np.ones((3, 1))), "prices has shape"),
        (lambda: replace(flat(3), positions=np.full((4, 1), np.nan)), "finite"),
        (lambda: replace(flat(3), record=flat(2).record), "times has shape"),
        (lambda: replace(flat(3), events=(Event(EventKind.REJECTED, 4, 0, 0, 1, 1.0),)), "row 4, expected 0 to 3"),
    ],
)
def test_what_cannot_be_drawn(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def hostile_page():
    heading = Heading(HOSTILE, HOSTILE, HOSTILE, P, HOSTILE, HOSTILE, 1.0, {"pnl": 1.0}, {}, {HOSTILE: HOSTILE})
    names = (HOSTILE, "B")
    return render(
        heading, [trace(0, symbols=names), trace(1, symbols=names, fold="public")], [trace(0, symbols=names, fills=0.1)]
    )


def test_names_cannot_become_markup():
    page = hostile_page()
    tree = parsed(page)
    assert {node.tag for node in tree.iter()}.isdisjoint({"img", "iframe", "link", "object", "form"})
    kinds = [node.get("class") or node.get("type") for node in tree.iter("script")]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "axis", "data"}
    assert HOSTILE in tree.find("head/title").text
    assert figures(tree)[HOSTILE] is not None


def test_nothing_is_loaded_from_anywhere():
    page = hostile_page()
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page.replace("// A cursor", ""))
    tree = parsed(page)
    assert all(node.get("href", "#").startswith("#") and node.get("src") is None for node in tree.iter())
    policy = next(
        node.get("content") for node in tree.iter("meta") if node.get("http-equiv") == "Content-Security-Policy"
    )
    style, script = (
        base64.b64encode(
            hashlib.sha256(re.findall(f"<{name}>(.*?)</{name}>", page, flags=re.DOTALL)[0].encode()).digest()
        ).decode()
        for name in ("style", "script")
    )
    assert policy == f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'"


@contextmanager
def listening():
    """(address, paths asked for) of a real HTTP server."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def pointed(page, address, folder):
    """The document that a browser makes of a page, with time for its script."""
    return opened(page, folder / "page.html", "--virtual-time-budget=2000", address=f"#{address}")


def test_in_a_browser_the_cursor_reads_every_chart_and_nothing_is_loaded(tmp_path):
    own = trace(3, steps=100)
    page = render(replace(HEADING, agent=HOSTILE), [own, trace(4, fold="public")], [trace(3, steps=100, fills=0.02)])
    with listening() as (address, asked):
        # Even markup that had got past the escaping loads nothing and runs nothing.
        smuggled = (
            f'<img src="{address}/image"/><script>document.title = "hijacked"; fetch("{address}/script")</script>'
        )
        dom = pointed(page.replace("</main>", f"{smuggled}</main>"), "row=40", tmp_path)
        assert asked == []
        assert "<title>hijacked" not in dom
        harmless = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page)
        loose = pointed(harmless.replace("</main>", f"{smuggled}</main>"), "", tmp_path)
        assert "/image" in asked
        assert "<title>hijacked" in loose
    assert f'data-charts="{2 * 8 + 2}"' in dom
    readings = re.findall(r'<figure class="chart reading".*?</figcaption>', dom, flags=re.DOTALL)
    assert len(readings) == 7
    assert all(str(own.times[40])[:10] in reading for reading in readings)
    drawn = {re.search("<h3>(.*?)</h3>", reading)[1]: re.findall(r"<b>(.*?)</b>", reading) for reading in readings}
    assert drawn["Return on the account"][0] == f"{own.record[40, 0] / 1e5 - 1.0:.2%}"
    assert drawn["IBM"] == [f"{own.prices[40, 1]:.6g}"]
    assert drawn["Exposure, multiple of equity"][0] == f"{own.record[40, 3] / own.record[40, 0]:.2f}×"


def test_the_command_says_when_a_run_is_not_of_trading(tmp_path, monkeypatch, capsys):
    result = RolloutResult(
        "r1", "treasury-forecast", "0" * 64, "real", "ridge", "inline", 0, "scored", total=1.0, relative_total=1.0
    )
    folder = write_run(tmp_path, result, RunFiles({}, "", b"", (), {})).path
    monkeypatch.setattr("sys.argv", ["openfingym", "report", "tearsheet", str(folder), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "trading" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert not (folder / "tearsheet.html").exists()
