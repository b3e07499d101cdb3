"""What the forge fills in of a kind's tasks where a paper is silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Forging:
    """How a paper becomes a task of one kind, beside the kind's scaffold."""

    stated: tuple[str, ...] = ()
    """Keys of the contract that a paper may state beside those of the scaffold."""
    assumed: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Keys of the contract that papers seldom state: a value, and what it is, for people."""
    open_range: bool = False
    """Whether answers have the range of the training data where the paper states none, not that of the scaffold."""
    overlapping: bool = False
    """Whether training examples begin at every row, and so overlap."""
    one_target: bool = False
    """Whether one of several series may be asked."""
    scaled_as_stated: bool = False
    """Whether values are scaled by the training block where the paper says so."""
    scaling_of_prices: str = ""
    """How windows of prices are scaled; empty for not at all."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Keys of the table about verification that differ from their defaults."""
