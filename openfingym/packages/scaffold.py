"""``openfingym task new``: a task package that passes ``task check`` as it is.

Forecasts and generation start from a CSV of the author's own; bars and the kinds with more structure
start from bundled data, of which the author changes the contract.
"""

from __future__ import annotations

import re
from pathlib import Path

from openfingym.errors import UsageError
from openfingym.kinds import KINDS, Kind
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


def new_task(name: str, parent: Path, kind: str = "forecast") -> Path:
    """Write a task package named ``name`` below ``parent``.

    Args:
        name: name of the task, in kebab-case.
        parent: folder to create it in.
        kind: name of the kind of task, a key of :data:`~openfingym.kinds.KINDS`.

    Returns:
        The folder of the new task.

    Raises:
        UsageError: the name is not kebab-case, the kind is unknown, or the folder exists.
    """
    if not re.match(TASK_NAME, name):
        raise UsageError(f"{name!r} is not lower-case kebab-case; try something like 'oil-forecast'")
    if kind not in KINDS:
        raise UsageError(f"no kind of task is named {kind!r}; known: {', '.join(KINDS)}")
    folder = (parent / name).absolute()
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{folder} exists already; choose another name, or remove it") from None
    start = KINDS[kind].start
    (folder / "task.toml").write_text(_task_file(name, KINDS[kind]), encoding="utf-8")
    (folder / "instruction.md").write_text(_INSTRUCTION.format(name=name, asks=start.asks), encoding="utf-8")
    if start.dataset is None:
        (folder / "data.csv").write_text(_sample(), encoding="utf-8")
    return folder


def _task_file(name: str, kind: Kind) -> str:
    start = kind.start
    metrics = "".join(
        f'\n[[metadata.openfingym.scoring.metrics]]\nname = "{metric}"\nweight = {weight}\n'
        for metric, weight in start.metrics
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
            family=kind.contract.family,
            asset_class=start.asset_class,
            frequency=start.frequency,
            panel=start.panel,
        )
        + dataset
        + split
        + f'[metadata.openfingym.contract]\nkind = "{kind.name}"            # {" | ".join(KINDS)}\n{start.contract}\n'
        + f'[metadata.openfingym.scoring]\nbaseline = "{kind.contract.baseline}"           # what the relative total '
        "divides by\n" + annual + metrics + _TAIL.format(feedback=start.feedback)
    )


def _sample() -> str:
    import numpy as np

    # A seed of its own: a program that draws with the default seed of a run must not draw these very numbers.
    generator = np.random.default_rng(20180101)
    prices = 100.0 * np.exp(np.cumsum(0.01 * generator.standard_normal((SAMPLE_ROWS, 2)), axis=0))
    days = np.datetime64("2018-01-01") + np.arange(SAMPLE_ROWS)
    rows = [f"{day},{a:.4f},{b:.4f}" for day, (a, b) in zip(days, prices, strict=True)]
    return "date,alpha,beta\n" + "\n".join(rows) + "\n"
