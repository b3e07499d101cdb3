"""Trees of formulas as programs: whole arrays at once, cell by cell, and their value on a few cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from openfingym_forge.stand_in.formulas import OVER_ALL, FormulaError, Node

_OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "^": "**", "=": "==", "!=": "!=", "<": "<", ">": ">",
              "<=": "<=", ">=": ">="}  # fmt: skip


def whole_arrays(tree: Node, *, masked: bool) -> str:
    """Source of a function ``metric(y_true, y_pred)`` in NumPy.

    Args:
        tree: the tree of the formula.
        masked: whether cells count only where the truth is not 0.
    """
    names = {"y": "y", "f": "f", "before": "g", "count": "n"}
    functions = {"sqrt": "np.sqrt", "abs": "np.abs", "log": "np.log", "exp": "np.exp", "sign": "np.sign",
                 "sum": "np.sum", "mean": "np.mean", "max": "np.max"}  # fmt: skip

    def text(node: Node) -> str:
        if node.kind == "number":
            return repr(node.value)
        if node.kind in names:
            return names[node.kind]
        if node.kind == "neg":
            return f"(-{text(node.parts[0])})"
        if node.kind in functions:
            return f"{functions[node.kind]}({text(node.parts[0])})"
        return f"({text(node.parts[0])} {_OPERATORS[node.kind]} {text(node.parts[1])})"

    lines = ["import numpy as np", "", "", "def metric(y_true, y_pred):"]
    lines += ["    y, f = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)"]
    if tree.has("before"):
        lines += ["    if f.shape[1] < 2:", '        raise ValueError("one step has none before it")']
        lines += ["    y, f, g = y[:, 1:], f[:, 1:], f[:, :-1]"]
    if masked:
        lines += ["    counts = y != 0.0", "    y, f = y[counts], f[counts]"]
    lines += ["    n = y.size", "    if n == 0:", '        raise ValueError("there is no cell")']
    lines += [f"    result = {text(tree)}", "    if not np.isfinite(result):"]
    return "\n".join([*lines, '        raise ValueError("not defined here")', "    return float(result)", ""])


def cell_by_cell(tree: Node, *, masked: bool) -> str:
    """Source of the same function, by explicit loops and the module ``math``."""
    lines = ["import math", "", "", "def sign(value):", "    return (value > 0.0) - (value < 0.0)", "", ""]
    lines += ["def metric(y_true, y_pred):", "    cells = []", "    windows, steps, channels = y_true.shape"]
    first = 1 if tree.has("before") else 0
    lines += ["    for i in range(windows):", f"        for h in range({first}, steps):"]
    lines += ["            for j in range(channels):", "                y = float(y_true[i, h, j])"]
    lines += ["                f = float(y_pred[i, h, j])"]
    lines += ["                g = float(y_pred[i, h - 1, j])" if first else "                g = 0.0"]
    lines += (
        ["                if y != 0.0:", "                    cells.append((y, f, g))"]
        if masked
        else ["                cells.append((y, f, g))"]
    )
    lines += ["    n = float(len(cells))", "    if not cells:", '        raise ValueError("no cells")', "    try:"]
    # Lines that come before the result: a loop for each sum, mean or maximum, the inner ones first.
    body: list[str] = []
    names: dict[int, str] = {}
    single = {"y": "y", "f": "f", "before": "g", "count": "n"}
    functions = {"sqrt": "math.sqrt", "abs": "abs", "log": "math.log", "exp": "math.exp", "sign": "sign"}

    def text(node: Node) -> str:
        if node.kind == "number":
            return repr(node.value)
        if node.kind in single:
            return single[node.kind]
        if node.kind in OVER_ALL:
            inner = text(node.parts[0])
            name = names.setdefault(len(names), f"total{len(names)}")
            body.append(f"{name} = {'-math.inf' if node.kind == 'max' else '0.0'}")
            body.append("for y, f, g in cells:")
            body.append(f"    {name} = max({name}, {inner})" if node.kind == "max" else f"    {name} += {inner}")
            return f"({name} / n)" if node.kind == "mean" else name
        if node.kind == "neg":
            return f"(-{text(node.parts[0])})"
        if node.kind in functions:
            return f"{functions[node.kind]}({text(node.parts[0])})"
        return f"({text(node.parts[0])} {_OPERATORS[node.kind]} {text(node.parts[1])})"

    result = text(tree)
    lines += [f"        {line}" for line in body] + [f"        return float({result})"]
    lines += ["    except ZeroDivisionError:", '        raise ValueError("divided by zero") from None', ""]
    return "\n".join(lines)


def value_on(tree: Node, truth: Sequence[float], forecast: Sequence[float], *, masked: bool) -> float:
    """The formula's value on one window of one channel, worked out on the tree itself and by neither program.

    Args:
        tree: the tree of the formula.
        truth: the true value of each step.
        forecast: the forecast of each step.
        masked: whether steps count only where the truth is not 0.

    Raises:
        FormulaError: the formula has no value there.
    """
    cells = [
        {"y": y, "f": f, "before": forecast[place - 1] if place else 0.0}
        for place, (y, f) in enumerate(zip(truth, forecast, strict=True))
        if (place or not tree.has("before")) and (y != 0.0 or not masked)
    ]
    try:
        return float(_value(tree, cells, {}))
    except (ArithmeticError, ValueError) as error:
        raise FormulaError(f"no value: {error}") from None


def _value(node: Node, cells: Sequence[Mapping[str, float]], cell: Mapping[str, float]) -> float:
    """The value of a node.

    Args:
        node: the node of the formula's tree.
        cells: values of ``y``, ``f`` and ``before`` of all cells, for sums.
        cell: those of one cell, within a sum; empty outside of one.
    """
    if node.kind == "number":
        return node.value
    if node.kind == "count":
        return float(len(cells))
    if node.kind in {"y", "f", "before"}:
        if node.kind not in cell:
            raise FormulaError("a single cell outside a sum")
        return cell[node.kind]
    if node.kind in OVER_ALL:
        each = [_value(node.parts[0], cells, cell_values) for cell_values in cells]
        return max(each) if node.kind == "max" else math.fsum(each) / (len(each) if node.kind == "mean" else 1)
    parts = [_value(part, cells, cell) for part in node.parts]
    simple: Mapping[str, Callable[..., float]] = {
        "neg": lambda a: -a,
        "abs": abs,
        "sqrt": math.sqrt,
        "log": math.log,
        "exp": math.exp,
        "sign": lambda a: float((a > 0) - (a < 0)),
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "^": lambda a, b: a**b,
        "=": lambda a, b: float(a == b),
        "!=": lambda a, b: float(a != b),
        "<": lambda a, b: float(a < b),
        ">": lambda a, b: float(a > b),
        "<=": lambda a, b: float(a <= b),
        ">=": lambda a, b: float(a >= b),
    }
    return float(simple[node.kind](*parts))
