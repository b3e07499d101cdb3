"""Functions compiled with Numba: kept on disk, and compiled by one process at a time."""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from openfingym.files import locks

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 1.0
"""Seconds of compiling, or of waiting for another process that does, after which the user is told."""

LONGEST_WAIT_S = 120.0
"""Seconds to wait for another process that compiles; it may have been stopped, and never end."""

_log = logging.getLogger(__name__)
_told: set[str] = set()


def compiled(function: Function, what: str, **options: object) -> Function:
    """A function that is compiled at its first call, unless a process has compiled it before.

    The cache is Numba's: in the ``__pycache__`` of the function's file, or else in the user's cache folder. Where
    neither can be written, a disk is full, or what is cached is damaged, every process compiles for itself. Numba
    notices changes of the function's own file only.

    Compiling that takes longer than a second is told by the logger ``openfingym.compiling``, once in a process for the
    same ``what``; without any logging set up, that is a line on the standard error stream.

    Args:
        function: the function; what it calls must be inlined by Numba or be Numba's own, not made by this function.
        what: what is compiled, and how long that takes, for the user: "the trading core (about a quarter of a minute)".
        options: options of :func:`numba.njit`.
    """
    numba, caching = map(importlib.import_module, ("numba", "numba.core.caching"))  # here: they take half a second
    try:
        made, cache = numba.njit(cache=True, **options)(function), True
    except RuntimeError:  # no folder for a cache can be written
        made, cache = numba.njit(**options)(function), False
    alone = made.compile

    def in_turn(signature: Any) -> Any:
        missed, waits = _misses(made), threading.Event()
        with _telling(lambda: waits.is_set() or _misses(made) > missed, what, cache=cache):
            if not cache:
                return alone(signature)
            # Who waits finds the result in the cache: workers that begin together would all compile the same otherwise.
            waits.set()
            with _turn(Path(made.stats.cache_path), function.__name__):
                waits.clear()
                try:
                    return alone(signature)
                except Exception:  # a damaged pickle raises anything
                    # A cache that cannot be read or written is no reason to fail; what else was wrong fails again.
                    made._cache = caching.NullCache()
                    return alone(signature)

    made.compile = in_turn
    return cast("Function", made)


def _misses(made: Any) -> int:
    """How often a function was not found in the cache, and compiled: counted when that begins."""
    return sum(made.stats.cache_misses.values())


@contextlib.contextmanager
def _telling(compiles: Callable[[], bool], what: str, *, cache: bool) -> Iterator[None]:
    """Tell the user what takes so long, if it is compiling."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(PATIENCE):
            if compiles():
                if what not in _told:
                    _told.add(what)
                    kept = "it is cached" if cache else "it cannot be cached: set NUMBA_CACHE_DIR to a writable folder"
                    _log.warning("compiling, for the first time, %s; %s", what, kept)
                return

    watcher = threading.Thread(target=watch, name="compiling", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@contextlib.contextmanager
def _turn(folder: Path, name: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder that cannot be written: compiling twice is no fault
            folder.mkdir(parents=True, exist_ok=True)
            until = time.monotonic() + LONGEST_WAIT_S
            while time.monotonic() < until:
                try:
                    stack.enter_context(locks.take(folder / f"{name}.lock", wait=False))
                    break
                except BlockingIOError:
                    time.sleep(0.05)
        yield
