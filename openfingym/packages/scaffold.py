"""``openfingym task new``: a task package that passes ``task check`` as it is.

Forecasts and generation start from a CSV of the author's own; bars and the kinds with more structure
start from bundled data, of which the author changes the contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from openfingym.errors import UsageError
from openfingym.task import TASK_NAME

SAMPLE_ROWS = 1500

_HEAD = """schema_version = "1.4"

[task]
name = "my-org/{name}"
version = "0.1.0"
description = "{description}"

[metadata.openfingym]
format = 1
family = "{family}"       # forecasting | generation | fraud | trading
asset_class = "{asset_class}"    # commodity | crypto | equity | fx | rates | lob | synthetic | graph
frequency = "{frequency}"          # intraday | hourly | daily | weekly | monthly | none
panel = "{panel}"   # what the data holds, in a few words

"""

_FILE = """[metadata.openfingym.dataset]
file = "data.csv"            # first column an ISO date, one column a channel
measure = "price"            # price | yield | mixed
kind = "simulated"           # real | simulated | specified
source = "random walk written by `openfingym task new`; replace with your own data and say where it comes from"
licence = "CC0-1.0"
channels = ["alpha", "beta"]

"""

_BUNDLED = """[metadata.openfingym.dataset]
name = "{dataset}"           # bundled; {own}

"""

_SPLIT = """[metadata.openfingym.split]
train = {train}
public = {public}                # feedback comes from here
private = {private}               # the score comes from here
train_stride = 1
embargo = {embargo}                  # at least one horizon

"""

_TAIL = """
[metadata.openfingym.verification]
budget = 5
{feedback}
[metadata.openfingym.provenance]
paper = "none yet: name the paper this task follows"

[agent]
timeout_sec = 600.0

[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 2048
storage_mb = 256
"""

_INSTRUCTION = """# {name}

{asks}

Say here what the data is, what makes the task hard and what a good answer is worth. Shapes, units,
limits and scoring are added when the task is built.
"""


@dataclass(frozen=True)
class Start:
    """What a scaffold of one kind of task holds."""

    data: str
    """What it starts from, for people."""
    description: str
    asks: str
    """First sentence of the instruction."""
    family: str
    asset_class: str
    frequency: str
    panel: str
    dataset: str | None
    """Name of bundled data; None for a CSV."""
    split: tuple[float, float, float, int] | None
    """Shares of the three blocks, and the embargo."""
    contract: str
    baseline: str
    metrics: tuple[tuple[str, float], ...]
    feedback: str = ""
    own: str = "this kind cannot start from a file of your own"
    """What is said beside the name of bundled data."""
    periods_per_year: float | None = None


_BARS_OF_ONES_OWN = "or file = ..., with channels <symbol>_open to <symbol>_volume and measure = 'mixed'"

STARTS: Mapping[str, Start] = {
    "forecast": Start(
        data="your own CSV",
        description="Forecast five days of log returns of two series.",
        asks="Forecast the log returns of two series for each of the next five days.",
        family="forecasting",
        asset_class="synthetic",
        frequency="daily",
        panel="two random walks",
        dataset=None,
        split=(0.7, 0.15, 0.15, 5),
        contract="""lookback = 20
horizon = 5
value_semantics = "log_return"   # log_return | price_level | yield_level | realised_vol | mixed
unit = "log return per day"
low = -1.0
high = 1.0
""",
        baseline="naive",
        metrics=(("mae", 0.5), ("rmse", 0.5)),
    ),
    "generation": Start(
        data="your own CSV",
        description="Generate windows of five daily log returns of two series.",
        asks="Generate windows of five daily log returns of two series, as real ones are.",
        family="generation",
        asset_class="synthetic",
        frequency="daily",
        panel="two random walks",
        dataset=None,
        split=(0.6, 0.2, 0.2, 5),
        contract="""lookback = 0                 # rows of context; 0 for unconditional generation
horizon = 5
value_semantics = "log_return"   # log_return | price_level | yield_level | realised_vol | mixed
unit = "log return per day"
low = -1.0
high = 1.0
""",
        baseline="gaussian",
        metrics=(("marginal_total_variation", 0.5), ("covariance_paths", 0.5)),
        feedback="feedback_clip = 100.0\n",
    ),
    "curves": Start(
        data="the bundled curves 'sim-eiopa-curves'",
        description="Forecast next month's simulated yield curves with an interval.",
        asks="Forecast next month's yield curve of each country, with an interval around it.",
        family="forecasting",
        asset_class="rates",
        frequency="monthly",
        panel="risk-free curves of 24 currency areas",
        dataset="sim-eiopa-curves",
        split=(0.4, 0.3, 0.3, 1),
        contract="""lookback = 10                # months of input
unit = "percent per annum"
low = -5.0
high = 30.0
""",
        baseline="naive",
        metrics=(("relative_mae", 0.5), ("interval_score", 0.5)),
    ),
    "rows": Start(
        data="the bundled rows 'sim-us-characteristics'",
        description="Forecast next month's excess returns of simulated stocks from their characteristics.",
        asks="Forecast the excess return of every stock in the next month.",
        family="forecasting",
        asset_class="equity",
        frequency="monthly",
        panel="60 simulated US stocks, 42 characteristics",
        dataset="sim-us-characteristics",
        split=(0.6, 0.2, 0.2, 1),
        contract="""unit = "log return per month"
low = -1.0
high = 1.0
""",
        baseline="naive",
        metrics=(("mse", 1.0),),
    ),
    "nodes": Start(
        data="the bundled graph 'cert'; `openfingym data list` shows the others",
        description="Score the nodes of a simulated graph for anomalies.",
        asks="Score the users of an organisation, linked by the mail they send, for anomalies.",
        family="fraud",
        asset_class="graph",
        frequency="none",
        panel="users, linked by mail",
        dataset="cert",
        split=None,
        contract="""train = 0.4                  # share of the labels that agents see
public = 0.2                 # share behind the public fold; the rest is behind the private one
unit = "anomaly score"
low = -1e6
high = 1e6
""",
        baseline="random",
        metrics=(("auroc", 0.5), ("recall_at_k", 0.5)),
    ),
    "graphs": Start(
        data="the bundled set 'ba2motifs'",
        description="Tell graphs with a house from graphs with a five-cycle.",
        asks="Score each graph: higher where it holds a house, lower where it holds a five-cycle.",
        family="fraud",
        asset_class="graph",
        frequency="none",
        panel="random trees with a motif attached",
        dataset="ba2motifs",
        split=None,
        contract="""train = 0.4                  # share of the labels that agents see
public = 0.2                 # share behind the public fold; the rest is behind the private one
unit = "probability of class 1"
low = 0.0
high = 1.0
""",
        baseline="random",
        metrics=(("auroc", 1.0),),
    ),
    "rolling": Start(
        data="the bundled bars 'us-stocks-ohlcv'; `openfingym data list` shows the others",
        description="Forecast the next return of two stocks, day after day.",
        asks="Forecast the log return of AAPL and MSFT over the next trading day, day after day.",
        family="forecasting",
        asset_class="equity",
        frequency="daily",
        panel="daily bars of two stocks",
        dataset="us-stocks-ohlcv",
        split=(0.6, 0.2, 0.2, 5),
        contract="""symbols = ["aapl", "msft"]
lookback = 20                # bars that an observation shows
horizon = 1                  # bars ahead that are predicted
steps = 100                  # of an episode
unit = "log return per trading day"
low = -1.0
high = 1.0
""",
        baseline="naive",
        metrics=(("mae", 0.5), ("rmse", 0.5)),
        own=_BARS_OF_ONES_OWN,
    ),
    "trading": Start(
        data="the bundled bars 'us-stocks-ohlcv'; `openfingym data list` shows the others",
        description="Trade two stocks, day after day.",
        asks="Trade AAPL and MSFT, day after day.",
        family="trading",
        asset_class="equity",
        frequency="daily",
        panel="daily bars of two stocks",
        dataset="us-stocks-ohlcv",
        split=(0.6, 0.2, 0.2, 5),
        contract="""symbols = ["aapl", "msft"]
lookback = 20                # bars that an observation shows
steps = 100                  # of an episode
initial_cash = 100000.0
bars_per_year = 252.0
fee_bps = 1.0                # of every fill; docs/tasks.md names the other costs and limits
slippage_bps = 2.0           # of market and stop orders
lot = 1.0                    # 0 for any quantity
max_short = 1.0              # times equity; 0 forbids short positions, and then low = 0.0
""",
        baseline="buy-and-hold",
        metrics=(("log_growth", 0.5), ("sharpe_ratio", 0.5)),
        own=_BARS_OF_ONES_OWN,
        periods_per_year=252.0,
    ),
}
"""Kinds of task, with what a scaffold of each starts from."""


def new_task(name: str, parent: Path, kind: str = "forecast") -> Path:
    """Write a task package named ``name`` below ``parent``.

    Args:
        name: name of the task, in kebab-case.
        parent: folder to create it in.
        kind: a key of :data:`STARTS`.

    Returns:
        The folder.

    Raises:
        UsageError: the name is not kebab-case, the kind is unknown, or the folder exists.
    """
    if not re.match(TASK_NAME, name):
        raise UsageError(f"{name!r} is not lower-case kebab-case; try something like 'oil-forecast'")
    if kind not in STARTS:
        raise UsageError(f"no kind of task is named {kind!r}; known: {', '.join(STARTS)}")
    folder = (parent / name).absolute()
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{folder} exists already; choose another name, or remove it") from None
    start = STARTS[kind]
    (folder / "task.toml").write_text(_task_file(name, kind, start), encoding="utf-8")
    (folder / "instruction.md").write_text(_INSTRUCTION.format(name=name, asks=start.asks), encoding="utf-8")
    if start.dataset is None:
        (folder / "data.csv").write_text(_sample(), encoding="utf-8")
    return folder


def _task_file(name: str, kind: str, start: Start) -> str:
    metrics = "".join(
        f'\n[[metadata.openfingym.scoring.metrics]]\nname = "{metric}"\nweight = {weight}\n' for metric, weight in start.metrics
    )
    split = ""
    if start.split is not None:
        train, public, private, embargo = start.split
        split = _SPLIT.format(train=train, public=public, private=private, embargo=embargo)
    dataset = _FILE if start.dataset is None else _BUNDLED.format(dataset=start.dataset, own=start.own)
    annual = "" if start.periods_per_year is None else f"periods_per_year = {start.periods_per_year}\n"
    return (
        _HEAD.format(
            name=name,
            description=start.description,
            family=start.family,
            asset_class=start.asset_class,
            frequency=start.frequency,
            panel=start.panel,
        )
        + dataset
        + split
        + f'[metadata.openfingym.contract]\nkind = "{kind}"            # {" | ".join(STARTS)}\n{start.contract}\n'
        + f'[metadata.openfingym.scoring]\nbaseline = "{start.baseline}"           # what the relative total divides by\n{annual}{metrics}'
        + _TAIL.format(feedback=start.feedback)
    )


def _sample() -> str:
    import numpy as np

    # A seed of its own: a program that draws with the default seed of a run must not draw these very numbers.
    generator = np.random.default_rng(20180101)
    prices = 100.0 * np.exp(np.cumsum(0.01 * generator.standard_normal((SAMPLE_ROWS, 2)), axis=0))
    days = np.datetime64("2018-01-01") + np.arange(SAMPLE_ROWS)
    rows = [f"{day},{a:.4f},{b:.4f}" for day, (a, b) in zip(days, prices, strict=True)]
    return "date,alpha,beta\n" + "\n".join(rows) + "\n"
