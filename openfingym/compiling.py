"""Functions compiled with Numba: kept on disk, and compiled by one process at a time."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from openfingym.files import locks

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, **options: object) -> Function:
    """A function that is compiled at its first call, unless a process has compiled it before.

    The cache is Numba's: in the ``__pycache__`` of the function's file, or else in the user's cache folder; where
    neither can be written, every process compiles for itself. Numba notices changes of the function's own file only.

    Args:
        function: the function; what it calls must be inlined by Numba or be Numba's own, not made by this function.
        options: options of :func:`numba.njit`.
    """
    numba = importlib.import_module("numba")  # here, since it takes half a second
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for a cache can be written
        return cast("Function", numba.njit(**options)(function))
    alone = made.compile

    def in_turn(signature: Any) -> Any:
        # Who waits finds the result in the cache: workers that begin together would all compile the same otherwise.
        with _turn(Path(made.stats.cache_path), function.__name__):
            return alone(signature)

    made.compile = in_turn
    return cast("Function", made)


@contextlib.contextmanager
def _turn(folder: Path, name: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder that cannot be written: compiling twice is no fault
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locks.take(folder / f"{name}.lock"))
        yield
