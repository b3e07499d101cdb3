"""Trading environments and matching beside named peers, on the same bars in the same run.

Run ``python benchmarks/trading.py``. The peers go into a throwaway virtual environment (``--peers FOLDER`` names one
to keep); they are no dependencies of this project. Rounds are interleaved, and the least disturbed one counts; CPU time
but for ``make_vec``, whose threads share the work. FinRL is measured by its NumPy environment's own module, installed
without its dependencies. No peer has all the rules that are on here: fees, slippage, reservations, the short cap;
gym-anytrading, gym-trading-env and FinRL have no orders at all.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
from size import SHORT, sized

from openfingym.data.bars import Bars
from openfingym.envs.trading import TradingEnv
from openfingym.envs.trading_vector import TradingVectorEnv
from openfingym.trading.compiled.account import CompiledAccount
from openfingym.trading.compiled.requests import CANCEL
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Order, OrderType, Side
from openfingym.trading.simulator import Simulator

ROUNDS = sized(3, 1)
REPEATS = sized(5, 1)
"""Runs one after the other, of which a round takes the median, as ``trading_peers.py`` does."""
LONG, BRIEF, EMPTY = sized(100_000, 2_400), sized(5_000, 1_200), sized(50_000, 100)
"""Bars of a long and of a brief series, and steps of an environment that does nothing."""
VECTOR_STEPS = sized(400, 4)
MARKET = MarketRules(fee_bps=1.0, slippage_bps=2.0, lot=0.0)
WHOLE = MarketRules(fee_bps=1.0, slippage_bps=2.0)
PEERS = ("gym-anytrading==2.0.0", "gym-trading-env==0.3.5", "backtesting==0.6.6", "vectorbt==1.2.0")


def bars_of(rows: int, symbols: int) -> Bars:
    """A random walk without trend."""
    rng = np.random.default_rng(0)
    close = 100.0 * np.exp(np.cumsum(0.005 * rng.standard_normal((rows, symbols)), axis=0) * 0.3)
    opening = np.vstack([close[:1], close[:-1] * np.exp(0.001 * rng.standard_normal((rows - 1, symbols)))])
    high, low = (
        extreme(opening, close) * np.exp(sign * 0.002 * rng.random(close.shape))
        for extreme, sign in ((np.maximum, 1), (np.minimum, -1))
    )
    times = np.datetime64("2000-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "h")
    names = [f"s{i}" for i in range(symbols)]
    return Bars.from_arrays(
        times, names, open=opening, high=high, low=low, close=close, volume=np.full(close.shape, 1e6)
    )


def env_step(bars: Bars, form: str) -> Callable[[], float]:
    """Seconds a step of the single environment."""
    rng, symbols = np.random.default_rng(0), len(bars.symbols)
    env = TradingEnv(bars, MARKET, lookback=4, start="first", action="weights" if form == "weights" else "orders")
    # Several symbols are held long only, as FinRL holds them.
    actions: list[object] = list(rng.uniform(-1.0 if symbols == 1 else 0.0, 1.0, (len(bars), symbols)) / symbols)
    if form == "table":
        actions = [
            np.array([[rng.integers(symbols), (-1) ** n, 1.0, 0, np.nan, np.nan, 0, np.nan]]) for n in range(len(bars))
        ]
    elif form == "list":
        actions = [[Order(int(rng.integers(symbols)), Side((-1) ** n), 1.0)] for n in range(len(bars))]

    def run() -> float:
        env.reset()
        began, steps = time.process_time(), 0
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            steps += 1
            if terminated or truncated:
                break
        return (time.process_time() - began) / steps

    return run


class Empty(gymnasium.Env[np.ndarray, np.ndarray]):
    """An environment that does nothing, but returns an observation and info of the same size: the floor."""

    def __init__(self, size: int, symbols: int) -> None:
        """``size`` entries of an observation."""
        self.size, self.prices = size, np.ones(symbols)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:  # noqa: ARG002
        """Do nothing."""
        info = {"equity": 1.0, "row": 0, "prices": self.prices.copy(), "refusals": 0}
        return np.empty(self.size, np.float32), 0.0, False, False, info


def floor(steps: int) -> Callable[[], float]:
    """Seconds a step of :class:`Empty`."""
    env, action = Empty(27, 1), np.zeros(1)

    def run() -> float:
        began = time.process_time()
        for _ in range(steps):
            env.step(action)
        return (time.process_time() - began) / steps

    return run


def vector_step(bars: Bars, count: int) -> Callable[[], float]:
    """Seconds a step of one of many environments."""
    rng = np.random.default_rng(0)
    env = TradingVectorEnv(count, bars, MARKET, lookback=4, steps=1000)
    actions = [rng.uniform(-1.0, 1.0, (count, 1)) for _ in range(16)]

    def run() -> float:
        env.reset(seed=0)
        began = time.perf_counter()
        for n in range(VECTOR_STEPS):
            env.step(actions[n % 16])
        return (time.perf_counter() - began) / (VECTOR_STEPS * count)

    return run


def compiled_matching(bars: Bars) -> Callable[[], float]:
    """Seconds a bar of the compiled core: one market and one limit order, what is left of the limit order cancelled."""
    rows, nan = len(bars) - 1, np.nan
    requests = np.full((rows, 3, 8), nan)
    requests[:, 0, 3] = CANCEL
    requests[:, 1, :4] = 0, 1, 1, OrderType.MARKET
    requests[1::2, 1, 1] = -1
    requests[:, 2, :4] = 0, 1, 1, OrderType.LIMIT
    requests[:, 2, 4] = bars.close[:-1, 0] * 0.995
    requests[:, 1:, 6] = 0
    table, starts = requests.reshape(-1, 8), np.arange(rows + 1) * 3
    weights, weighted = np.zeros((rows, 1)), np.zeros(rows, np.bool_)

    def run() -> float:
        account = CompiledAccount(bars, WHOLE, cash=1e9)
        began = time.process_time()
        account.run_arrays(table, starts, weights, weighted)
        return (time.process_time() - began) / rows

    return run


def readable_matching(bars: Bars) -> Callable[[], float]:
    """The same of the readable simulator."""
    columns = [getattr(bars, name).tolist() for name in ("open", "high", "low", "close", "volume")]
    closes = [close[0] for close in columns[3]]

    def run() -> float:
        account = Simulator(WHOLE, cash=1e9, closes=bars.close[0].tolist(), volumes=bars.volume[0].tolist())
        began, left = time.process_time(), 0
        for row, (opens, highs, lows, ends, volumes) in enumerate(list(zip(*columns, strict=True))[1:]):
            if account.orders:
                account.cancel(left)
            side = Side.BUY if row % 2 == 0 else Side.SELL
            _, left = account.submit(
                (Order(0, side, 1.0), Order(0, Side.BUY, 1.0, OrderType.LIMIT, closes[row] * 0.995))
            )
            account.on_bar(opens, highs, lows, ends, volumes)
            account.events()
        return (time.process_time() - began) / (len(closes) - 1)

    return run


def peer_python(folder: Path) -> Path:
    """The interpreter of an environment with the peers in it, made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "finrl==0.3.7"], check=True)
    return python


def main() -> None:
    """Measure, interleaved, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="virtual environment for the peers, kept for the next run")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # The short form is of ours alone: fetching the peers takes minutes.
        python = None if SHORT else peer_python((options.peers or folder / "peers").absolute())
        one, fifty = bars_of(LONG, 1), bars_of(BRIEF, 50)
        short = one.between(slice(0, BRIEF))
        np.savez(folder / "1.npz", bars=one.to_array())
        np.savez(folder / "50.npz", bars=fifty.to_array())

        def peer(name: str, symbols: int, rows: int) -> Callable[[], float]:
            command = [
                str(python),
                Path(__file__).with_name("trading_peers.py"),
                name,
                folder / f"{symbols}.npz",
                str(rows),
            ]

            def run() -> float:
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                return float(done.stdout.split("SECONDS")[1])

            return run

        measured = {
            "env weights": env_step(short, "weights"),
            "env table": env_step(short, "table"),
            "env orders": env_step(short, "list"),
            "floor": floor(EMPTY),
            "gym-anytrading": peer("gym_anytrading", 1, 5_000),
            "gym-trading-env": peer("gym_trading_env", 1, 5_000),
            "FinRL": peer("finrl", 1, 5_000),
            "env weights 50": env_step(fifty, "weights"),
            "env table 50": env_step(fifty, "table"),
            "FinRL 50": peer("finrl", 50, 5_000),
            "vector 256": vector_step(short, 256),
            "vector 1024": vector_step(short, 1024),
            "vector 4096": vector_step(short, 4096),
            "compiled 5k": compiled_matching(short),
            "compiled 100k": compiled_matching(one),
            "vectorbt 100k": peer("vectorbt", 1, 100_000),
            "readable 5k": readable_matching(short),
            "readable 100k": readable_matching(one),
            "backtesting 5k": peer("backtesting", 1, 5_000),
            "backtesting 100k": peer("backtesting", 1, 100_000),
        }
        seconds: dict[str, list[float]] = {name: [] for name in measured}
        ours = [name for name in measured if not name.startswith(("FinRL", "gym", "vectorbt", "backtesting"))]
        if SHORT:
            measured = {name: measured[name] for name in ours}
            seconds = {name: [] for name in ours}
        for name in ours:
            measured[name]()  # compile
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            for name, run in measured.items():
                runs = [run() for _ in range(REPEATS if name in ours else 1)]
                seconds[name].append(statistics.median(runs))
    # What else the machine does only ever adds to a time, so the least disturbed round counts, ours and theirs alike.
    report({name: min(values) for name, values in seconds.items()})


def report(s: dict[str, float]) -> None:
    """Print rates a second and ratios."""
    rows = [
        ("one symbol, target weights", "env weights", "gym-anytrading", 1.1),
        ("one symbol, target weights", "env weights", "gym-trading-env", 6.0),
        ("one symbol, target weights", "env weights", "FinRL", 7.0),
        ("one symbol, an order a step (table)", "env table", "gym-anytrading", 1.1),
        ("one symbol, an order a step (list)", "env orders", "gym-trading-env", None),
        ("50 symbols, target weights", "env weights 50", "FinRL 50", 12.0),
        ("50 symbols, an order a step (table)", "env table 50", "FinRL 50", 12.0),
        ("matching, compiled, 100,000 bars", "compiled 100k", "vectorbt 100k", 3.0),
        ("matching, readable, 5,000 bars", "readable 5k", "backtesting 5k", None),
        ("matching, readable, 100,000 bars", "readable 100k", "backtesting 100k", 50.0),
    ]
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    print(f"{'what':38} {'ours, 1/s':>12} {'peer':>16} {'its, 1/s':>12} {'ratio':>8} {'goal':>6}")
    for what, ours, peer, goal in rows:
        if peer not in s:
            print(f"{what:38} {1 / s[ours]:12,.0f}")
            continue
        print(
            f"{what:38} {1 / s[ours]:12,.0f} {peer:>16} {1 / s[peer]:12,.0f} {s[peer] / s[ours]:8.1f} {goal or '':>6}"
        )
    print(f"an empty environment with the same observation and info: {1 / s['floor']:,.0f} steps/s")
    for count in (256, 1024, 4096):
        print(
            f"make_vec, {count} environments: {1e-6 / s[f'vector {count}']:.1f} million environment-steps/s"
            + (" (goal 20)" if count == 1024 else "")
        )
    for form in ("compiled", "readable"):
        print(
            f"{form} core, 100,000 bars over 5,000 bars, time a bar: {s[f'{form} 100k'] / s[f'{form} 5k']:.2f} (flat "
            "is 1)"
        )


if __name__ == "__main__":
    main()
