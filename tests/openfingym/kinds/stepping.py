"""What tests of the kinds that are stepped through need: tasks over known bars, and a hand to play them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds import Material, sequential_kind
from openfingym.kinds.material import Array
from openfingym.task import Task
from openfingym.task.episodes import Step, SteppedEpisode

HEAD = """schema_version = "1.4"

[task]
name = "tests/{name}"
version = "0.1.0"
description = "A task of the tests."

[metadata.openfingym]
format = 1
family = "{family}"
asset_class = "synthetic"
frequency = "daily"
panel = "bars of the tests"

[metadata.openfingym.dataset]
file = "data.csv"
measure = "mixed"
kind = "simulated"
source = "drawn by the tests"
licence = "CC0-1.0"

[metadata.openfingym.split]
train = 0.5
public = 0.2
private = 0.3
embargo = 3

[metadata.openfingym.contract]
"""
TAIL = """
[metadata.openfingym.provenance]
paper = "none"
"""
ROLLING = """kind = "rolling"
symbols = ["aa", "bb"]
lookback = {lookback}
horizon = {horizon}
steps = {steps}
unit = "log return"
low = -2.0
high = 2.0

[metadata.openfingym.scoring]
baseline = "naive"

[[metadata.openfingym.scoring.metrics]]
name = "mae"
weight = 1.0
"""
TRADING = """kind = "trading"
symbols = ["aa", "bb"]
lookback = {lookback}
steps = {steps}
{options}

[metadata.openfingym.scoring]
baseline = "buy-and-hold"
periods_per_year = 252.0

[[metadata.openfingym.scoring.metrics]]
name = "log_growth"
weight = 1.0
"""


Columns = Mapping[str, NDArray[np.float64]]


def random_bars(rows: int = 200, seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Columns of a CSV of consistent bars of two symbols, ``aa`` near 50 and ``bb`` near 20."""
    rng = np.random.default_rng(seed)
    closes = [price * np.exp(np.cumsum(0.02 * rng.standard_normal(rows))) for price in (50.0, 20.0)]
    return bars_around(np.stack(closes, axis=1), rng)


def bars_around(closes: NDArray[np.float64], rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Columns of bars of ``aa`` and ``bb`` that open near the last close; closes are float64[rows, 2]."""
    rows = len(closes)
    columns: dict[str, NDArray[np.float64]] = {}
    for symbol, close in zip(("aa", "bb"), closes.T, strict=True):
        opened = np.concatenate([close[:1], close[:-1]]) * np.exp(0.003 * rng.standard_normal(rows))
        columns[f"{symbol}_open"] = opened
        columns[f"{symbol}_high"] = np.maximum(opened, close) * np.exp(0.01 * rng.random(rows))
        columns[f"{symbol}_low"] = np.minimum(opened, close) * np.exp(-0.01 * rng.random(rows))
        columns[f"{symbol}_close"] = close
        columns[f"{symbol}_volume"] = np.rint(1e6 * rng.random(rows)) + 1.0
    return columns


def rolling_task(
    parent: Path, columns: Columns | None = None, *, horizon: int = 3, lookback: int = 6, steps: int = 10
) -> Task:
    return _write(parent, "forecasting", ROLLING.format(horizon=horizon, lookback=lookback, steps=steps), columns)


def trading_task(
    parent: Path, columns: Columns | None = None, *, lookback: int = 6, steps: int = 10, **options: float
) -> Task:
    text = "\n".join(f"{key} = {value}" for key, value in options.items())
    return _write(parent, "trading", TRADING.format(lookback=lookback, steps=steps, options=text), columns)


def _write(parent: Path, family: str, contract: str, columns: Columns | None) -> Task:
    name = f"bars-{len(list(parent.iterdir()))}"
    folder = parent / name
    folder.mkdir()
    (folder / "task.toml").write_text(HEAD.format(name=name, family=family) + contract + TAIL)
    (folder / "instruction.md").write_text("A task of the tests.\n")
    columns = random_bars() if columns is None else columns
    days = np.datetime64("2020-01-01") + np.arange(len(next(iter(columns.values()))))
    lines = [",".join(map(repr, row)) for row in zip(*(values.tolist() for values in columns.values()), strict=True)]
    rows = [f"{day},{line}" for day, line in zip(days, lines, strict=True)]
    (folder / "data.csv").write_text("\n".join([",".join(["date", *columns]), *rows]) + "\n")
    return Task.read(folder)


def made(task: Task) -> Material:
    kind = sequential_kind(task.spec.contract)
    return kind.shape(task, kind.load(task))


def reader(material: Material) -> Callable[[str], Array]:
    """Public and hidden arrays by name, as the verifier's reader gives them."""
    return lambda name: np.asarray(material.hidden[name] if name in material.hidden else material.public[name])


def episode_of(task: Task, material: Material, number: int) -> SteppedEpisode:
    return sequential_kind(task.spec.contract).episode(task.spec, reader(material), material.hidden, number)


def play(episode: SteppedEpisode, actions: Iterable[object]) -> list[Step]:
    """Every step shown, the start included; stops with the actions, or at the end."""
    shown = [episode.start()]
    for action in actions:
        if shown[-1].done:
            break
        shown.append(episode.step(action))
    return shown


def fold_rows(task: Task, rows: int = 200) -> tuple[int, int]:
    """First row of the public and of the private block, by hand: half of the rows, a fifth, and three dropped before
    each."""
    split = task.spec.rows
    train, public, _ = split.shares
    return int(rows * train) + split.embargo, int(rows * train) + int(rows * public) + split.embargo
