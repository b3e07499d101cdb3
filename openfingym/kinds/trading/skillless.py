"""Target weights that are decided before an episode begins, and so take no account of its bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.kinds.trading.contract import TradingContract

SLIVER = 0.001
"""A small share of equity that is held in one symbol, with the rest in cash."""
TINY = 1e-6
"""A share of equity that is held, and hardly earns anything."""


def plans(
    contract: TradingContract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Target weights of each step without skill, by name.

    Args:
        contract: the contract of the task.
        read: reads a public array, given its name.
        shape: shape of a submission, [episodes, steps + 1, columns].
        generator: random generator for the plans that are drawn.

    Returns:
        Arrays float64[episodes, steps, symbols]; at a step whose row is NaN nothing is done.
    """
    episodes, steps, width = shape[0], contract.steps, len(contract.symbols)
    equal = np.full(width, 1.0 / width)
    each = np.eye(width)
    log_closes = np.log(np.asarray(read("train_bars"), dtype=np.float64)[:, :, 3])
    # Symbols that vary less get larger weights, so that each contributes about the same risk.
    calm = 1.0 / np.diff(log_closes, axis=0).std(axis=0)

    def held(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights that are bought at the first step, and then held."""
        plan = np.full((episodes, steps, width), np.nan)
        plan[:, 0] = weights
        return plan

    plans_by_name = {
        "cash": held(np.zeros(width)),
        "half invested": held(equal / 2.0),
        "tiny holdings": held(TINY * equal),
        "inverse training volatility": held(calm / calm.sum()),
        "random weights, held": held(generator.dirichlet(np.ones(width), episodes)),
        "equal weights, restored at each step": np.broadcast_to(equal, (episodes, steps, width)),
        "random weights at each step": generator.dirichlet(np.ones(width), (episodes, steps)),
        "in and out": np.where(np.arange(steps)[:, None] % 2 == 0, equal, 0.0) * np.ones((episodes, 1, 1)),
    }
    for symbol, alone in zip(contract.symbols, each, strict=True):
        plans_by_name[f"all in {symbol}"] = held(alone)
        plans_by_name[f"0.1 % in {symbol}"] = held(SLIVER * alone)
        if contract.max_short > 0.0:
            plans_by_name[f"short {symbol}"] = held(-min(contract.max_short, 1.0) * alone)
    if contract.max_short > 0.0:
        plans_by_name["short all"] = held(-min(contract.max_short, 1.0) * equal)
    return plans_by_name
