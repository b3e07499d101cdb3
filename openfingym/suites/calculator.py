"""The tool ``calculator``: arithmetic on an expression that an agent wrote, parsed and evaluated within limits."""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Callable, Sequence

from openfingym.suites.calls import BadCallError, as_python, shown

LONGEST = 2_000
"""Most characters of an expression, which the parameter of the tool checks."""
DEEPEST = 40
"""Most levels of nesting."""
MOST_BITS = 2_048
"""Most bits of a whole number on the way to the value, so that no power takes long."""
MOST_DECIMALS = 15
"""Most decimals, before or after the point, to which a number is rounded."""
_TAKES = (
    "numbers, + - * / // % **, brackets, lists, and the functions sum, mean, median, stdev, min, max, abs, round, "
    "sqrt, log, log10, exp, len, prod"
)
Number = int | float
Value = Number | list[Number]


def calculate(expression: str) -> Value:
    """The value of an expression: a number or a list of numbers.

    Raises:
        BadCallError: it is no arithmetic, it is too large or too deep, or it has no finite real value.
    """
    # What people write: 1,234.5 is too ambiguous to take, but signs of multiplication and powers are not.
    text = expression.replace("\u00d7", "*").replace("\u00f7", "/").replace("\u2212", "-").replace("^", "**")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadCallError(f"expression must be arithmetic with {_TAKES}; received {shown(expression)}.") from None
    try:
        value = _value(tree.body, 0)
    except ZeroDivisionError:
        raise BadCallError("expression divides by zero.") from None
    except OverflowError:
        raise BadCallError("expression has a value that is too large.") from None
    except (ValueError, TypeError, statistics.StatisticsError) as error:
        raise BadCallError(f"expression has no value: {error}.") from None
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, complex) or not math.isfinite(number):
            raise BadCallError("expression has no finite real value.")
    return value


def _value(node: ast.expr, depth: int) -> Value:
    """The value of a part of an expression; whatever is not named here is refused."""
    if depth > DEEPEST:
        raise BadCallError(f"expression is nested more than {DEEPEST} deep; split it.")
    match node:
        # True and False are integers to Python, and no numbers to who writes arithmetic.
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return _checked(value)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            value = _number(_value(operand, depth + 1))
            return -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            first, second = _number(_value(left, depth + 1)), _number(_value(right, depth + 1))
            return _checked(_OPERATORS[type(operator)](first, second))
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_number(_value(element, depth + 1)) for element in elements]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _checked(_FUNCTIONS[name]([_value(argument, depth + 1) for argument in arguments]))
    raise BadCallError(f"expression takes {_TAKES}; it has {shown(as_python(node))}.")


def _number(value: Value) -> Number:
    """A value that must be a number."""
    if isinstance(value, list):
        raise BadCallError("expression has a list where a number is expected; give it to a function such as sum.")
    return value


def _checked(value: Number) -> Number:
    """A number that must be real and not too large."""
    if isinstance(value, complex):
        raise BadCallError("expression has no real value.")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise BadCallError("expression has a value that is too large.")
    return value


def _power(base: Number, exponent: Number) -> Number:
    # Checked before it is computed: 9**9**9 would take longer than anybody waits.
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if base.bit_length() * exponent > MOST_BITS:
            raise OverflowError
        return int(base**exponent)
    # As floating point a power overflows at once, and a root of a negative number is complex, which is refused.
    power: Number = float(base) ** float(exponent)
    return power


_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: _power,
}


def _flat(values: Sequence[Value]) -> list[Number]:
    """The numbers of a function that takes several, or one list of them."""
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    return [_number(value) for value in values]


def _some(values: Sequence[Value]) -> list[Number]:
    """The numbers of a function that needs at least one."""
    flat = _flat(values)
    if not flat:
        raise BadCallError("expression asks for the least, greatest or mean of nothing.")
    return flat


def _single(function: Callable[[Number], Number]) -> Callable[[Sequence[Value]], Number]:
    """A function of one number as one of the calculator's."""

    def applied(values: Sequence[Value]) -> Number:
        if len(values) != 1:
            raise BadCallError("expression gives a function of one number another count of them.")
        return function(_number(values[0]))

    return applied


def _logarithm(values: Sequence[Value]) -> Number:
    if len(values) not in {1, 2}:
        raise BadCallError("log takes a number and, if you want, a base.")
    return math.log(*[_number(value) for value in values])


def _rounded(values: Sequence[Value]) -> Number:
    if len(values) not in {1, 2}:
        raise BadCallError("round takes a number and, if you want, how many decimals.")
    decimals = _number(values[1]) if len(values) > 1 else 0
    if not isinstance(decimals, int) or abs(decimals) > MOST_DECIMALS:
        raise BadCallError(f"round takes up to {MOST_DECIMALS} decimals.")
    return round(_number(values[0]), decimals)


def _product(values: Sequence[Value]) -> Number:
    product: Number = 1
    for value in _flat(values):
        product = _checked(product * value)
    return product


_FUNCTIONS: dict[str, Callable[[Sequence[Value]], Number]] = {
    "sum": lambda values: _total(_flat(values)),
    "mean": lambda values: _total(some := _some(values)) / len(some),
    "average": lambda values: _total(some := _some(values)) / len(some),
    "median": lambda values: statistics.median(_some(values)),
    "stdev": lambda values: statistics.stdev([float(value) for value in _some(values)]),
    "min": lambda values: min(_some(values)),
    "max": lambda values: max(_some(values)),
    "len": lambda values: len(_flat(values)),
    "prod": _product,
    "abs": _single(abs),
    "sqrt": _single(math.sqrt),
    "exp": _single(math.exp),
    "log": _logarithm,
    "ln": _logarithm,
    "log10": _single(math.log10),
    "round": _rounded,
}


def _total(values: Sequence[Number]) -> Number:
    if all(isinstance(value, int) for value in values):
        return sum(values)
    # Exactly rounded, so that the order of the numbers does not show in the last digit.
    return math.fsum(values)
