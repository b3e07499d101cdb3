"""What the code of a model's metric may use, told by its syntax before it is run: arithmetic, and nothing that reads,
writes or reaches out.

The sandbox is the wall against code that means harm. This says plainly why code is refused, and keeps code from the
file with the number that marks the report of its values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

MODULES = frozenset({"numpy", "math", "itertools", "functools", "statistics", "collections", "__future__"})
NAMES = frozenset(
    {
        "breakpoint", "compile", "delattr", "dir", "eval", "exec", "exit", "getattr", "globals", "help", "input",
        "locals", "memoryview", "open", "quit", "setattr", "vars",
    }
)  # fmt: skip
ATTRIBUTES = frozenset(
    {
        "builtins", "contextlib", "core", "ctypes", "ctypeslib", "DataSource", "dump", "dumps", "f2py",
        "fromfile", "fromregex", "genfromtxt", "inspect", "lib", "load", "loads", "loadtxt", "memmap",
        "open_memmap", "os", "random", "save", "savetxt", "savez", "savez_compressed", "sys", "testing",
        "tofile", "types", "warnings",
    }
)  # fmt: skip
"""Names in NumPy that read or write files, draw random numbers, or lead to other modules."""
FUNCTION = "metric"
"""Name of the function that computes the metric."""


def screen(code: str, arguments: Sequence[str]) -> str:
    """What speaks against code for a metric; empty for nothing.

    Args:
        code: source text, which can be parsed.
        arguments: names of the arguments that the function ``metric`` has to take, in order.
    """
    tree = ast.parse(code)
    problems = [problem for node in ast.walk(tree) for problem in _problems(node)]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    if len(functions) != 1:
        problems.append(f"it must define one function {FUNCTION}")
    elif [argument.arg for argument in functions[0].args.args] != list(arguments):
        problems.append(f"{FUNCTION} must take ({', '.join(arguments)})")
    return "; ".join(dict.fromkeys(problems))


def _problems(node: ast.AST) -> Iterator[str]:
    """What is wrong with one node of the code."""
    if isinstance(node, ast.Import):
        modules = [alias.name.partition(".")[0] for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [(node.module or "").partition(".")[0]]
        yield from (f"it imports {alias.name}" for alias in node.names if alias.name in ATTRIBUTES)
    else:
        modules = []
    yield from (f"it imports {name or 'a relative module'}" for name in modules if name not in MODULES)
    if isinstance(node, ast.Name) and (node.id in NAMES or node.id.startswith("__")):
        yield f"it uses {node.id}"
    # Attributes with an underscore lead from any object to its class, its module and everything that is loaded.
    if isinstance(node, ast.Attribute) and (node.attr in ATTRIBUTES or node.attr.startswith("_")):
        yield f"it uses .{node.attr}"
    # A value must follow from the arguments alone.
    if isinstance(node, ast.Global | ast.Nonlocal):
        yield "it keeps something between calls"
