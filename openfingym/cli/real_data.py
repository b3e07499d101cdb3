"""What ``openfingym task show`` says of a task's real form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.task import Task

_NO_BOOK = "no source that can be pulled publishes order books"
_DRAWN = "its windows are drawn from a process, and pulled series are not cut into windows like them"
WHY: Mapping[str, str] = {
    "crypto-log-returns": _DRAWN,
    "crypto-pairs": _DRAWN,
    "lob-bars": _NO_BOOK,
    "sim-lob-bars": _NO_BOOK,
    "sim-eiopa-curves": "a curves task takes no pulled data; `openfingym data pull eiopa` gets the curves themselves",
    "sim-nifty50": "no source that can be pulled has MACD and RSI, which are two of its channels",
    "sim-us-60": "its sixty stocks are numbered, and stand for no companies that could be pulled",
    "sim-us-characteristics": "characteristics of firms are licensed, and no source publishes them",
}
"""Why no source of the library has the real form of a simulated dataset, by its name."""


def real_data(task: Task) -> str:
    """What ``--real`` puts in the place of the task's data, or why there is nothing to put there. Nothing is loaded."""
    from openfingym.data.pulled import needed_symbols, pull_command
    from openfingym.kinds import kind_of

    pulled, own = task.spec.dataset.pulled, kind_of(task).data_kind(task)
    if pulled is not None:
        symbols = needed_symbols(pulled.source, pulled.symbols)
        command = pull_command(pulled.source, symbols, interval=pulled.interval)
        return f"of {pulled.source}, with --real, after `{command}`"
    if own == "real":
        return "its own"
    if own == "specified":
        return "none: its source paper defines the data as synthetic"
    name = task.spec.dataset.name or str(task.spec.dataset.file)
    return f"none: {WHY.get(name, f'no source is known for {name!r}; an author states one in dataset.pulled')}"
