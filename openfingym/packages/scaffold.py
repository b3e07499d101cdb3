"""``openfingym task new``: a task package that passes ``task check`` as it is.

With files of the author's own, the package holds their data. Without any it starts from a CSV of random walks, to be
replaced, or from bundled data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, whole_folder
from openfingym.kinds import KINDS, Kind, kind_of
from openfingym.task import Task
from openfingym.task.model import TASK_NAME, AssetClass

if TYPE_CHECKING:
    from openfingym.kinds.start import Given, OwnData, Start

SAMPLE_ROWS = 1500

_HEAD = """schema_version = "1.4"

[task]
name = "my-org/{name}"
version = "0.1.0"
description = {description}

[metadata.openfingym]
format = 1
family = "{family}"       # forecasting | generation | fraud | trading | questions
asset_class = "{asset_class}"    # {asset_classes}
frequency = "{frequency}"          # intraday | hourly | daily | weekly | monthly | none
panel = {panel}   # what the data holds, in a few words

"""

_FILE = """[metadata.openfingym.dataset]
file = "data.csv"            # first column an ISO date, one column a channel
measure = "price"            # price | yield | mixed
kind = "simulated"           # real | simulated | specified
source = "random walk written by `openfingym task new`; replace with your own data and say where it comes from"
licence = "CC0-1.0"
channels = ["alpha", "beta"]

"""

_OWN = """[metadata.openfingym.dataset]
file = {file}
measure = "{measure}"            # price | yield | mixed
kind = "real"                # real | simulated | specified: say which it is
source = {source}
licence = "not stated: say under which licence the data may be used"
{dates}
[metadata.openfingym.dataset.prepared]
files = {files}
fill = "{fill}"
filled = {filled}                   # cells that were given a value
dropped = {dropped}                  # rows left out
{interpolated}{cells}steps = {steps}

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

INSTRUCTION_TEXT = """# {name}

{asks}

Say here what the data is, what makes the task hard and what a good answer is worth. Shapes, units,
limits and scoring are added when the task is built.
"""


def new_task(
    name: str, parent: Path, kind: str = "forecast", given: Given | None = None, *, start: Start | None = None
) -> Path:
    """Write a task package named ``name`` below ``parent``.

    Args:
        name: name of the new task, in kebab-case.
        parent: folder to create the task's folder in.
        kind: name of the kind of task, a key of :data:`~openfingym.kinds.KINDS`.
        given: the author's own files, and how they are to be read; None for a scaffold that starts from other data.
        start: what :func:`start_of` gave for them; None to read them here.

    Returns:
        The folder of the new task.

    Raises:
        UsageError: the name is not kebab-case, the kind is unknown or cannot use files of this form, or the folder
            exists.
        DataError: a file is malformed.
        TaskError: the author's data has too few rows for the kind's scaffold.
    """
    folder = require_new(name, parent)
    start = start or start_of(kind, given)
    files = {
        "task.toml": _task_file(name, KINDS[kind], start).encode(),
        "instruction.md": INSTRUCTION_TEXT.format(name=name, asks=start.asks).encode(),
    }
    if start.own_data is not None:
        files |= start.own_data.content
    elif start.dataset is None:
        files["data.csv"] = _sample().encode()
    write_folder(folder, files, tried=given is not None)
    return folder


def start_of(kind: str, given: Given | None) -> Start:
    """The scaffold of a kind, with the author's files read where there are any; nothing is written.

    Raises:
        UsageError: the kind is unknown or cannot use files of this form.
        DataError: a file is malformed.
    """
    if kind not in KINDS:
        raise UsageError(f"no kind of task is named {kind!r}; known: {', '.join(KINDS)}")
    return KINDS[kind].start if given is None else KINDS[kind].start_from(given)


def require_new(name: str, parent: Path) -> Path:
    """The absolute path of a new task's folder, which must not exist yet.

    Raises:
        UsageError: the name is not kebab-case, or the folder exists.
    """
    if not re.match(TASK_NAME, name):
        raise UsageError(f"{name!r} is not lower-case kebab-case; try something like 'oil-forecast'")
    folder = (parent / name).absolute()
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another name, or remove it")
    return folder


def write_folder(folder: Path, files: Mapping[str, bytes], *, tried: bool) -> None:
    """Write a task's folder, whole or not at all.

    Args:
        folder: path of the new folder.
        files: content of each file by its name.
        tried: whether to try before the folder appears that the task can be read and its data cut into items.

    Raises:
        StoreError: the folder cannot be written, as on a full disk.
        TaskError: the task cannot be read, or has too few data for its split.
    """
    with store_errors(folder, "choose another place with --to"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(folder) as partial:
            for name, content in files.items():
                (partial / name).write_bytes(content)
            if tried:
                # An error in here removes the partial folder: the author corrects the command and runs it again.
                task = Task.read(partial)
                kind_of(task).shape(task, kind_of(task).load(task))


def _task_file(name: str, kind: Kind, start: Start) -> str:
    """The text of ``task.toml``, with comments for the author."""
    metrics = "".join(
        f'\n[[metadata.openfingym.scoring.metrics]]\nname = "{metric}"\nweight = {weight}\n'
        for metric, weight in start.metrics
    )
    split = ""
    if start.split is not None:
        train, public, private, embargo = start.split
        split = _SPLIT.format(train=train, public=public, private=private, embargo=embargo)
    dataset = _FILE if start.dataset is None else _BUNDLED.format(dataset=start.dataset, own=start.own)
    if start.own_data is not None:
        dataset = own_dataset(start.own_data)
    annual = "" if start.periods_per_year is None else f"periods_per_year = {start.periods_per_year}\n"
    return (
        _HEAD.format(
            name=name,
            description=toml_value(start.description),
            family=kind.contract.family,
            asset_class=start.asset_class,
            asset_classes=" | ".join(get_args(AssetClass)),
            frequency=start.frequency,
            panel=toml_value(start.panel),
        )
        + dataset
        + split
        + f'[metadata.openfingym.contract]\nkind = "{kind.name}"            # {" | ".join(KINDS)}\n{start.contract}\n'
        + f'[metadata.openfingym.scoring]\nbaseline = "{kind.contract.baseline}"           # what the relative total '
        "divides by\n" + annual + metrics + _TAIL.format(feedback=start.feedback)
    )


def own_dataset(own: OwnData) -> str:
    """The tables of ``task.toml`` about the author's data."""
    return _OWN.format(
        file=toml_value(own.file),
        measure=own.measure,
        source=toml_value(f"{', '.join(own.names)} of the task's author; say here where it comes from"),
        dates="" if own.dates else "dates = false                # the first column is the number of the row\n",
        cells=""
        if own.filled_cells is None
        else f"filled_cells = {toml_value(own.filled_cells)}   # hidden ones are not scored\n",
        interpolated="" if own.interpolated_to is None else f"interpolated_to = {own.interpolated_to}\n",
        files=toml_value(own.names),
        fill=own.fill,
        filled=own.filled,
        dropped=own.dropped,
        steps=toml_value(own.steps),
    )


def toml_value(value: str | Sequence[str]) -> str:
    """A text or a list of texts as TOML, whatever characters it has; each entry of a list is on a line of its own."""
    if isinstance(value, str):
        # Without control characters a JSON string is a TOML string as well; the two escape some of those differently.
        plain = "".join(letter if letter.isprintable() else "?" for letter in value)
        return json.dumps(plain, ensure_ascii=False)
    return "[" + "".join(f"\n    {toml_value(text)}," for text in value) + ("\n]" if value else "]")


def _sample() -> str:
    import numpy as np

    # An unusual seed: a program that draws random walks with a common one, such as 0, must not draw these very numbers.
    generator = np.random.default_rng(20180101)
    prices = 100.0 * np.exp(np.cumsum(0.01 * generator.standard_normal((SAMPLE_ROWS, 2)), axis=0))
    days = np.datetime64("2018-01-01") + np.arange(SAMPLE_ROWS)
    rows = [f"{day},{a:.4f},{b:.4f}" for day, (a, b) in zip(days, prices, strict=True)]
    return "date,alpha,beta\n" + "\n".join(rows) + "\n"
