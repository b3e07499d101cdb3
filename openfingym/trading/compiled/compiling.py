"""Compiling the core: strictly IEEE 754, and cached until any of its sources changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array, populate_array

from openfingym.compiling import compiled
from openfingym.data.bars import FEATURES
from openfingym.trading import orders, rules

Function = TypeVar("Function", bound=Callable[..., Any])


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
        function, "the trading core (about a quarter of a minute)", nogil=True, error_model="numpy", parallel=parallel
    )


def rare(function: Function) -> Function:
    """A :func:`part` that is seldom reached, and is called instead of copied, so that what surrounds it stays small."""
    register_jitable(error_model="numpy")(function)
    return function


def _array_at(typing: Any, address: Any, shape: Any, kind: Any) -> Any:  # noqa: ARG001
    """The contiguous array of a shape, a tuple of int64, and of a type of Numba's, that is at an address.

    Its uses are not counted: that would cost an atomic operation whenever a function is handed an array, which is most
    of the time of a step. So the caller who gives the address must keep the array alive.
    """
    array = types.Array(kind.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        made = make_array(array)(context, builder)  # type: ignore[no-untyped-call]
        data = builder.inttoptr(arguments[0], context.get_data_type(kind.dtype).as_pointer())
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        lengths = cgutils.unpack_tuple(builder, arguments[1])  # type: ignore[no-untyped-call]
        # In bytes, from the last axis to the first, as memory is in C order.
        strides = [itemsize]
        for length in lengths[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        # None in the place of an owner of the memory is what leaves uses uncounted.
        populate_array(made, data, lengths, strides, itemsize, None)  # type: ignore[no-untyped-call]
        return made._getvalue()

    return array(address, shape, kind), generate


array_at: Callable[[int, tuple[int, ...], Any], Any] = cast("Any", intrinsic(_array_at))


def _called(typing: Any, function: Any, address: Any, what: Any, begin: Any, end: Any) -> Any:  # noqa: ARG001
    """Call the function at an address, which takes four int64 and returns one.

    By its address, the core is called without being compiled into every kernel that calls it.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ARG001
        word = context.get_value_type(types.int64)
        pointer = builder.inttoptr(values[0], ir.FunctionType(word, [word] * 4).as_pointer())
        return builder.call(pointer, values[1:])

    return types.int64(*(types.int64,) * 5), generate


called: Callable[..., int] = cast("Any", intrinsic(_called))


def address_of(function: Any) -> int:
    """The address of the machine code of a kernel that takes four int64 and returns one, as C calls it."""
    result = function.get_compile_result(types.int64(*(types.int64,) * 4))
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))


def sources() -> str:
    """Digest of all sources of the core.

    Numba's cache looks at the file of a kernel alone, not at what the kernel calls. A kernel that closes over this
    digest is compiled anew when anything has changed.
    """
    digest = hashlib.sha256()
    shared = [Path(str(module.__file__)) for module in (orders, rules)]
    for path in [*shared, *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(path.read_bytes())
    # Their number is part of the kernels, and they are defined elsewhere.
    digest.update(repr(FEATURES).encode())
    return digest.hexdigest()


# The rules stay plain Python in a module that knows nothing of Numba; here they become callable from kernels.
for _rule in vars(rules).values():
    if isinstance(_rule, FunctionType) and _rule.__module__ == rules.__name__:
        part(_rule)
