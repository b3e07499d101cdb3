"""How the forge makes a task of a kind where a paper leaves things open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Forging:
    """How a paper becomes a task of one kind, beside the kind's scaffold."""

    stated: tuple[str, ...] = ()
    """Keys of the contract that a paper may state, beside those of the scaffold."""
    assumed: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """For keys of the contract that papers seldom state: the value that is assumed, and what it means, in words."""
    open_range: bool = False
    """Whether answers get a range from the training data if the paper states none; else they get the scaffold's."""
    overlapping: bool = False
    """Whether training examples begin at every row, and so overlap."""
    one_target: bool = False
    """Whether a task may ask for one of several series only."""
    scaled_as_stated: bool = False
    """Whether values are scaled by the training block if the paper says so."""
    scaling_of_prices: str = ""
    """Scaling of windows of prices, as in ``split.scaling``; empty for none."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Values of the table ``verification`` that differ from its defaults, by key."""
