"""Work that blocks, in threads beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def in_threads(threads: Executor, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """The result of a call that is made in one of the threads."""
    return await asyncio.get_running_loop().run_in_executor(threads, partial(function, *arguments, **named))
