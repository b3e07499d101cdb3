"""``openfingym task new``: a task package that passes ``task check`` as it is."""

from __future__ import annotations

import re
from pathlib import Path

from openfingym.errors import UsageError
from openfingym.task import TASK_NAME

SAMPLE_ROWS = 1500

_TASK = """schema_version = "1.4"

[task]
name = "my-org/{name}"
version = "0.1.0"
description = "Forecast five days of log returns of two series."

[metadata.openfingym]
format = 1
family = "forecasting"       # forecasting | generation | trading | fraud
asset_class = "synthetic"    # commodity | crypto | equity | fx | rates | lob | synthetic | graph
frequency = "daily"          # intraday | hourly | daily | weekly | monthly | none

[metadata.openfingym.dataset]
file = "data.csv"            # first column an ISO date, one column a channel
measure = "price"            # price | yield
kind = "simulated"           # real | simulated | specified
source = "random walk written by `openfingym task new`; replace with your own data and say where it comes from"
licence = "CC0-1.0"
channels = ["alpha", "beta"]

[metadata.openfingym.split]
train = 0.70
public = 0.15                # feedback comes from here
private = 0.15               # the score comes from here
train_stride = 1
embargo = 5                  # at least one horizon

[metadata.openfingym.contract]
lookback = 20
horizon = 5
value_semantics = "log_return"   # log_return | price_level | yield_level
unit = "log return per day"
low = -1.0
high = 1.0

[[metadata.openfingym.scoring.metrics]]
name = "mae"
weight = 0.5

[[metadata.openfingym.scoring.metrics]]
name = "rmse"
weight = 0.5

[metadata.openfingym.verification]
budget = 5

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

Forecast the log returns of two series for each of the next five days.

Say here what the data is, what makes the task hard and what a good answer is worth. Shapes, units,
limits and scoring are added when the task is built.
"""


def new_task(name: str, parent: Path) -> Path:
    """Write a task package named ``name`` below ``parent``.

    Returns:
        The folder.

    Raises:
        UsageError: the name is not kebab-case, or the folder exists.
    """
    if not re.match(TASK_NAME, name):
        raise UsageError(f"{name!r} is not lower-case kebab-case; try something like 'oil-forecast'")
    folder = (parent / name).absolute()
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{folder} exists already; choose another name, or remove it") from None
    (folder / "task.toml").write_text(_TASK.format(name=name), encoding="utf-8")
    (folder / "instruction.md").write_text(_INSTRUCTION.format(name=name), encoding="utf-8")
    (folder / "data.csv").write_text(_sample(), encoding="utf-8")
    return folder


def _sample() -> str:
    import numpy as np

    generator = np.random.default_rng(0)
    prices = 100.0 * np.exp(np.cumsum(0.01 * generator.standard_normal((SAMPLE_ROWS, 2)), axis=0))
    days = np.datetime64("2018-01-01") + np.arange(SAMPLE_ROWS)
    rows = [f"{day},{a:.4f},{b:.4f}" for day, (a, b) in zip(days, prices, strict=True)]
    return "date,alpha,beta\n" + "\n".join(rows) + "\n"
