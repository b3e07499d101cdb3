"""Compiling the core: strictly IEEE 754, and cached until any of its sources changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array

from openfingym.compiling import compiled
from openfingym.trading import orders, rules

Function = TypeVar("Function", bound=Callable[..., Any])
Array = TypeVar("Array")


def part(function: Function) -> Function:
    """A function that kernels may call; it stays a plain one for Python."""
    # Inlined by force: dozens of array words an argument list would otherwise be pushed at every call.
    register_jitable(error_model="numpy", forceinline=True)(function)
    return function


def kernel(function: Function, *, parallel: bool = False) -> Function:
    """Compile a function that Python calls, at its first call.

    No fastmath, so that neither terms are reordered nor products fused into sums: the results are those of plain
    Python.
    """
    return compiled(
        function, "the trading core (about half a minute)", nogil=True, error_model="numpy", parallel=parallel
    )


def rare(function: Function) -> Function:
    """A :func:`part` that is seldom reached, and is called instead of copied, so that what surrounds it stays small."""
    register_jitable(error_model="numpy")(function)
    return function


def _borrowed(typing: Any, array: Any) -> Any:  # noqa: ARG001
    """The same array without its reference count, for use while the caller holds it.

    Counting costs an atomic operation whenever a function is handed an array, which is most of the time of a step, and
    all of it where several threads share one.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind: Any = make_array(signature.args[0])  # type: ignore[no-untyped-call]
        view = kind(context, builder, arguments[0])
        view.meminfo, view.parent = view.meminfo.type(None), view.parent.type(None)
        return view._getvalue()

    return array(array), generate


borrowed: Callable[[Array], Array] = cast("Any", intrinsic(_borrowed))


def sources() -> str:
    """Digest of all sources of the core.

    Numba's cache looks at the file of a kernel alone, not at what the kernel calls. A kernel that closes over this
    digest is compiled anew when anything has changed.
    """
    digest = hashlib.sha256()
    shared = [Path(str(module.__file__)) for module in (orders, rules)]
    for path in [*shared, *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


for _rule in vars(rules).values():
    if isinstance(_rule, FunctionType) and _rule.__module__ == rules.__name__:
        part(_rule)
