"""Reading a call that a model wrote as a line of Python. It is parsed, never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from openfingym.suites.calls import as_python
from openfingym_suites.mirai.arguments import IllegalCallError, shown
from openfingym_suites.mirai.functions import FUNCTIONS

LONGEST_CALL = 20_000
"""The most characters of a call; parsing takes time and memory in proportion."""
_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "Date": ("date",),
    "ISOCode": ("code", "iso_code"),
    "CAMEOCode": ("code", "cameo_code"),
}
"""Classes of one attribute, which stand for its value, with the names under which models give the attribute."""
_RANGE = ("start_date", "end_date")
_FENCED = re.compile(r"\A```(?:python|py|tool_code)?\s*\n?(.*?)\n?```\Z", re.DOTALL)
_EXPECTED = (
    "The action must be one line with exactly one call of a function of the API, such as "
    'get_events(head_entities=[ISOCode("USA")])'
)


def parsed_call(text: str) -> tuple[str, dict[str, object]]:
    """The function that a text calls, and its arguments by name as JSON values.

    A label ``Action:``, a code fence and a ``print`` around the call are taken off.

    Raises:
        IllegalCallError: the text is not exactly one call, or an argument is not written with the API's classes.
    """
    line = text.strip().removeprefix("Action:").strip()
    fenced = _FENCED.match(line)
    line = fenced.group(1).strip() if fenced else line.strip("`").strip()
    if len(line) > LONGEST_CALL:
        raise IllegalCallError(f"{_EXPECTED}; received {len(line)} characters, at most {LONGEST_CALL}.", "not_a_call")
    try:
        tree = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise IllegalCallError(f"{_EXPECTED}, but received: {shown(line)}.", "not_a_call") from None
    if isinstance(tree, ast.Call) and _name(tree) == "print" and len(tree.args) == 1 and not tree.keywords:
        tree = tree.args[0]
    if not isinstance(tree, ast.Call) or not _name(tree):
        raise IllegalCallError(f"{_EXPECTED}, but received: {shown(line)}.", "not_a_call")
    name = _name(tree)
    # What an unknown function takes cannot be told; whoever answers the call says that there is none.
    if name not in FUNCTIONS:
        return name, {}
    parameters = tuple(parameter.name for parameter in FUNCTIONS[name].parameters)
    arguments = _bound(tree, name, parameters)
    return name, {key: _value(node) for key, node in arguments.items()}


def _name(call: ast.Call) -> str:
    """The name of what is called; empty if it is an attribute or another expression."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _bound(call: ast.Call, name: str, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    """The arguments of a call by name; positional ones are those of the parameters in their order."""
    if len(call.args) > len(parameters):
        raise IllegalCallError(
            f"{name} takes {len(parameters)} arguments ({', '.join(parameters)}); {len(call.args)} given."
        )
    bound = dict(zip(parameters, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or any(isinstance(node, ast.Starred) for node in call.args):
            raise IllegalCallError(f"{name} must be called without * and **.")
        if keyword.arg in bound:
            raise IllegalCallError(f"{name} is given the argument {keyword.arg} twice.")
        bound[keyword.arg] = keyword.value
    return bound


def _value(node: ast.expr) -> object:
    """The JSON value of an argument as it is written: literals and the API's classes alone, as nothing is evaluated."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value) if not isinstance(value, bool):
            return value
        case ast.List(elts=nodes) | ast.Tuple(elts=nodes) | ast.Set(elts=nodes):
            return [_value(each) for each in nodes]
        case ast.Dict(keys=keys, values=nodes) if all(isinstance(key, ast.Constant) for key in keys):
            entries = zip(keys, nodes, strict=True)
            return {str(key.value): _value(each) for key, each in entries}  # type: ignore[union-attr]
        case ast.Call() if _name(node) in _ATTRIBUTES:
            return _only(node, _ATTRIBUTES[_name(node)])
        case ast.Call() if _name(node) == "DateRange":
            sides = _bound(node, "DateRange", _RANGE)
            return {side: _value(each) for side, each in sides.items()}
    raise IllegalCallError(
        "Arguments must be texts, lists, None, and the classes Date, DateRange, ISOCode and CAMEOCode, but received: "
        f"{shown(as_python(node))}."
    )


def _only(node: ast.Call, names: tuple[str, ...]) -> object:
    """The value of a class of one attribute, given by position or under one of its names."""
    values = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in names)]
    if len(values) != 1 or len(node.args) + len(node.keywords) != 1:
        raise IllegalCallError(f"{_name(node)} takes one argument, {names[0]}, but received: {shown(as_python(node))}.")
    return _value(values[0])
