"""The parts of a scaffold, which ``openfingym task new`` writes, that differ from kind to kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Start:
    """What a scaffold of one kind of task holds. Its family and baseline are those of the kind's contract."""

    data: str
    """What it starts from, for people."""
    description: str
    asks: str
    """First sentence of the instruction."""
    asset_class: str
    frequency: str
    panel: str
    dataset: str | None
    """Name of bundled data; None for a CSV of two random walks, ``alpha`` and ``beta``."""
    split: tuple[float, float, float, int] | None
    """Shares of the three blocks, and the embargo."""
    contract: str
    """Lines of the contract's table, without ``kind``."""
    metrics: tuple[tuple[str, float], ...]
    """Names and weights."""
    feedback: str = ""
    """Lines of the table about feedback."""
    own: str = "this kind cannot start from a file of your own"
    """What is said beside the name of bundled data."""
    periods_per_year: float | None = None
