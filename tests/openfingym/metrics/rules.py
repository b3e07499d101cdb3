"""A table of scoring without a task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    name: str
    weight: float = 1.0
    relative_weight: float | None = None
    on: str = "path"


@dataclass(frozen=True)
class Rules:
    metrics: tuple[Entry, ...]
    periods_per_year: float = 1.0
    tail_level: float = 0.05
