"""Answers that serve further questions for a short while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
MOST = 4096
"""Answers that are kept at once."""


@dataclass
class _Place(Generic[T]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    found: tuple[float, T] | None = None


class SharedAnswers(Generic[T]):
    """Answers by what was asked; who asks while another one waits for the same answer gets that. Safe to share between
    threads.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, _Place[T]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, seconds: float, ask: Callable[[], T]) -> T:
        """The answer, asked for where there is none or it is older than so many seconds; what ``ask`` raises is
        raised, and nothing is kept.
        """
        with self._lock:
            if len(self._places) >= MOST:
                self._places.clear()
            place = self._places.setdefault(key, _Place())
        with place.lock:
            if place.found is None or time.monotonic() - place.found[0] >= seconds:
                place.found = time.monotonic(), ask()
            return place.found[1]
