"""The rows of a simulated dataset, from the ``[simulator]`` table of its TOML file.

The table's ``model`` says which simulator reads it: ``prices`` (the default, :mod:`openfingym.data.simulate`),
``factor-panel`` (:mod:`openfingym.data.factor_panel`), ``book-bars`` (:mod:`openfingym.data.book_bars`) or
``coin-bars`` (:mod:`openfingym.data.coin_bars`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from openfingym.data.book_bars import BookBars
from openfingym.data.coin_bars import parse_coin_bars
from openfingym.data.factor_panel import parse_factor_panel
from openfingym.data.simulate import parse_simulator
from openfingym.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.data.processes.draws import Branch


class SimulatorModel(Protocol):
    """A simulator of a dataset, with all its parameters."""

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the columns."""

    def generate(self, branch: Branch | None = None) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
        """Make (times datetime64[ns][n], values float64[n, d]); with a branch, the last rows are drawn anew."""


MODELS: dict[str, Callable[..., SimulatorModel]] = {
    "prices": lambda **table: parse_simulator(table),
    "factor-panel": lambda **table: parse_factor_panel(table),
    "book-bars": BookBars,
    "coin-bars": lambda **table: parse_coin_bars(table),
}
"""What makes a simulator from its table, by the table's ``model``."""


def read_model(path: Path) -> SimulatorModel:
    """The simulator that a dataset's TOML file states.

    Raises:
        DataError: its table is not there, malformed, or makes other channels than the file states.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        table = document["simulator"]
        name = table.pop("model", "prices")
        if name not in MODELS:
            raise ValueError(f"unknown model {name!r}; known: {', '.join(MODELS)}")
        # A key that the simulator does not know is a TypeError of its class.
        model = MODELS[name](**table)
        stated = tuple(document["channels"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path}: no readable [simulator] table ({error!r}); reinstall openfingym") from error
    if model.channel_names != stated:
        raise DataError(f"{path}: the simulator's channels are not those of the dataset; reinstall openfingym")
    return model
