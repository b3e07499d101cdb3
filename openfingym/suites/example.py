"""The task that ``openfingym task new --kind qa`` starts from, as a suite states it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A first task with a suite's questions, before it has a name."""

    data: str
    """The data that the task starts from, in words."""
    description: str
    """``description`` in ``task.toml``."""
    asks: str
    """First sentence of the instruction."""
    panel: str
    """What the data holds, in a few words."""
    dataset: str
    """Name of the snapshot that is asked about."""
    contract: str
    """Lines of the table ``contract`` in ``task.toml``, without ``kind``."""
    metrics: tuple[tuple[str, float], ...]
    """Names and weights of the metrics."""
    asset_class: str = "synthetic"
    """``asset_class`` in ``task.toml``."""
    frequency: str = "daily"
    """``frequency`` in ``task.toml``."""
