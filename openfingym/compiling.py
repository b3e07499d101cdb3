"""Functions compiled with Numba: what was compiled is kept on disk, and one process at a time compiles."""

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
"""Seconds of compiling, or of waiting for another process that compiles, after which the user is told."""

LONGEST_WAIT_S = 120.0
"""Longest wait for another process that compiles: it may have been stopped and never come to an end."""

_log = logging.getLogger(__name__)
_announced: set[str] = set()
"""What the user was told of, so that it happens once in a process."""


def compiled(function: Function, what: str, **options: object) -> Function:
    """A function that is compiled at its first call, unless a process has compiled it before.

    The cache is Numba's: in the ``__pycache__`` of the function's file, or else in the user's cache folder. If neither
    can be written, a disk is full, or what is cached is damaged, every process compiles for itself. Numba notices
    changes of the function's own file only.

    If compiling takes longer than a second, the logger ``openfingym.compiling`` says so, once in a process for the same
    ``what``; if no logging is set up, that is a line on the standard error stream.

    Args:
        function: the function to compile. What it calls must be inlined by Numba or be Numba's own, and not be compiled
            by this function.
        what: what is compiled and how long that takes, for the user: "the trading core (about a quarter of a minute)".
        options: further options, as :func:`numba.njit` takes them.
    """
    numba, caching = map(importlib.import_module, ("numba", "numba.core.caching"))  # here: they take half a second
    try:
        dispatcher, cache = numba.njit(cache=True, **options)(function), True
    except RuntimeError:  # no folder for a cache can be written
        dispatcher, cache = numba.njit(**options)(function), False
    compile_now = dispatcher.compile

    def compile_in_turn(signature: Any) -> Any:
        missed, waits = _misses(dispatcher), threading.Event()
        with _announcing(lambda: waits.is_set() or _misses(dispatcher) > missed, what, cache=cache):
            if not cache:
                return compile_now(signature)
            # A process that waits then finds the result in the cache. Otherwise workers that begin together would all
            # compile the same.
            waits.set()
            with _turn(Path(dispatcher.stats.cache_path), function.__name__):
                waits.clear()
                try:
                    return compile_now(signature)
                except Exception:  # a damaged pickle raises anything
                    # A cache that cannot be read or written is no reason to fail; what else was wrong fails again.
                    dispatcher._cache = caching.NullCache()
                    return compile_now(signature)

    dispatcher.compile = compile_in_turn
    return cast("Function", dispatcher)


def _misses(dispatcher: Any) -> int:
    """How often a function was not in the cache and had to be compiled; counted when compiling begins."""
    return sum(dispatcher.stats.cache_misses.values())


@contextlib.contextmanager
def _announcing(compiles: Callable[[], bool], what: str, *, cache: bool) -> Iterator[None]:
    """Tell the user if the block takes long because of compiling.

    Args:
        compiles: whether it is compiling, or a wait for another process that compiles, which takes the time.
        what: what is compiled, for the user.
        cache: whether the result is cached.
    """
    done = threading.Event()

    # In a thread, because compiling keeps this one busy.
    def watch() -> None:
        while not done.wait(PATIENCE):
            if compiles():
                if what not in _announced:
                    _announced.add(what)
                    remark = (
                        "it is cached" if cache else "it cannot be cached: set NUMBA_CACHE_DIR to a writable folder"
                    )
                    _log.warning("compiling, for the first time, %s; %s", what, remark)
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
    """Wait, up to a limit, until no other process compiles the function ``name`` whose cache is in ``folder``."""
    with contextlib.ExitStack() as stack:
        # Without a lock, as in a folder that cannot be written, two processes may compile the same, which does no harm.
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            until = time.monotonic() + LONGEST_WAIT_S
            while time.monotonic() < until:
                try:
                    stack.enter_context(locks.take(folder / f"{name}.lock", wait=False))
                    break
                except BlockingIOError:
                    time.sleep(0.05)
        yield
