"""Answers that serve further questions for a short while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 4096
"""The most answers that are kept at once."""


@dataclass
class _Place(Generic[T]):
    """The place of one answer."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the answer is asked for."""
    answer: tuple[float, T] | None = None
    """When the answer came, by the monotonic clock, and the answer; None before the first."""


class SharedAnswers(Generic[T]):
    """Answers by what was asked, each of which serves all who ask while it is awaited or still young enough.

    Safe to share between threads.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, _Place[T]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, seconds: float, ask: Callable[[], T]) -> T:
        """The answer to what a key stands for.

        Args:
            key: what is asked.
            seconds: age up to which a kept answer is good.
            ask: asks anew; what it raises is raised here, and nothing is kept.
        """
        with self._lock:
            # Whoever waits at a place keeps it; only later callers ask anew.
            if len(self._places) >= MOST:
                self._places.clear()
            place = self._places.setdefault(key, _Place())
        # A lock for each place, so that a slow answer holds up only those who want the same.
        with place.lock:
            if place.answer is None or time.monotonic() - place.answer[0] >= seconds:
                place.answer = time.monotonic(), ask()
            return place.answer[1]
