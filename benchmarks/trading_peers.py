"""One peer of ``benchmarks/trading.py``, in an environment of its own: prints seconds a step (or a bar) on given bars.

Run by that script as ``python trading_peers.py NAME BARS.npz ROWS``; needs the peers, not this project.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import files
from pathlib import Path

import numpy as np

REPEATS = 5


def gym_anytrading(bars: np.ndarray) -> Iterator[float]:
    import pandas as pd
    from gym_anytrading.envs import StocksEnv

    frame = pd.DataFrame(bars[:, 0, :5], columns=["Open", "High", "Low", "Close", "Volume"])
    env = StocksEnv(frame, window_size=4, frame_bound=(4, len(frame)))
    yield from _episodes(env, np.random.default_rng(0).integers(0, 2, len(frame)).tolist())


def gym_trading_env(bars: np.ndarray) -> Iterator[float]:
    import pandas as pd
    from gym_trading_env.environments import TradingEnv

    times = pd.date_range("2020-01-01", periods=len(bars), freq="h")
    frame = pd.DataFrame(bars[:, 0, :5], columns=["open", "high", "low", "close", "volume"], index=times)
    for name in ("open", "high", "low", "close"):
        frame[f"feature_{name}"] = frame[name].pct_change().fillna(0.0)
    env = TradingEnv(frame, positions=[-1, 0, 1], windows=4, trading_fees=1e-4, verbose=0)
    yield from _episodes(env, np.random.default_rng(0).integers(0, 3, len(frame)).tolist())


def finrl(bars: np.ndarray) -> Iterator[float]:
    # The module alone: FinRL as a package pulls in data vendors and several learning libraries.
    path = next(Path(str(item.locate())) for item in files("finrl") or () if item.name == "env_stocktrading_np.py")
    spec = importlib.util.spec_from_file_location("env_stocktrading_np", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows, symbols = bars.shape[:2]
    config = {
        "price_array": bars[:, :, 3],
        "tech_array": np.zeros((rows, 4 * symbols)),
        "turbulence_array": np.zeros(rows),
        "if_train": False,
    }
    env = module.StockTradingEnv(config)
    yield from _episodes(env, list(np.random.default_rng(0).uniform(-1, 1, (rows, symbols)).astype(np.float32)))


def vectorbt(bars: np.ndarray) -> Iterator[float]:
    from numba import njit
    from vectorbt.portfolio.enums import Direction, SizeType
    from vectorbt.portfolio.nb import flex_simulate_nb, order_nb, order_nothing_nb

    opening, low, close = (np.ascontiguousarray(bars[:, :1, column]) for column in (0, 2, 3))

    @njit
    def order_func(c, opening, low, close):
        if c.call_idx == 0:
            size = 1.0 if c.i % 2 == 0 else -1.0
            return c.from_col, order_nb(
                size=size,
                price=opening[c.i, 0],
                fees=1e-4,
                slippage=2e-4,
                size_type=SizeType.Amount,
                direction=Direction.Both,
            )
        if c.call_idx == 1 and c.i > 0:
            limit = close[c.i - 1, 0] * 0.995
            if low[c.i, 0] <= limit:
                return c.from_col, order_nb(
                    size=1.0,
                    price=min(limit, opening[c.i, 0]),
                    fees=1e-4,
                    size_type=SizeType.Amount,
                    direction=Direction.Both,
                )
        return -1, order_nothing_nb()

    def run() -> None:
        flex_simulate_nb(
            (len(close), 1),
            np.array([1]),
            np.array([1e9]),
            False,
            flex_order_func_nb=order_func,
            flex_order_args=(opening, low, close),
            segment_mask=np.full((len(close), 1), True),
            close=close,
            max_orders=2 * len(close),
        )

    run()
    yield from _timed(run, len(close))


def backtesting(bars: np.ndarray) -> Iterator[float]:
    import pandas as pd
    from backtesting import Backtest, Strategy

    class Alternate(Strategy):
        def init(self) -> None:
            self.turn = 0

        def next(self) -> None:
            for order in list(self.orders):
                order.cancel()
            self.turn += 1
            (self.buy if self.turn % 2 else self.sell)(size=1)
            self.buy(size=1, limit=self.data.Close[-1] * 0.995)

    times = pd.date_range("2000-01-01", periods=len(bars), freq="h")
    frame = pd.DataFrame(bars[:, 0, :5], columns=["Open", "High", "Low", "Close", "Volume"], index=times)
    test = Backtest(frame, Alternate, cash=1e9, commission=1e-4, spread=2e-4)
    began = time.process_time()
    test.run()
    yield (time.process_time() - began) / len(bars)


def _episodes(env: object, actions: list) -> Iterator[float]:
    for _ in range(REPEATS):
        env.reset(seed=0)
        began, steps = time.process_time(), 0
        for action in actions:
            _, _, terminated, truncated, *_ = env.step(action)
            steps += 1
            if terminated or truncated:
                break
        yield (time.process_time() - began) / steps


def _timed(run: Callable[[], None], rows: int) -> Iterator[float]:
    for _ in range(REPEATS):
        began = time.process_time()
        run()
        yield (time.process_time() - began) / rows


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    peer, path, rows = sys.argv[1:]
    values = np.load(path)["bars"][: int(rows)]
    print(f"SECONDS {statistics.median(globals()[peer](values)):.9e}")
