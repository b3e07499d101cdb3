"""What differs between kinds of task is asked of the kind: no module outside ``openfingym/kinds`` compares a kind's
name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.task.known_kinds import OWN
from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "openfingym",
    "verifier/openfingym_verifier",
    "runtime/openfingym_runtime",
    "runtime/agent/openfingym_agent",
    *TENANTS,
)
ELSEWHERE = ("openfingym/kinds/", "openfingym/agents/programs/", "openfingym/models/testing/programs/")
"""The kinds themselves; and programs of agents, which know a task from its ``contract.json`` alone, as anybody's do."""
REGISTRIES = {"KINDS", "CONTRACTS"}


def names_of(node: ast.expr) -> set[str]:
    """Kinds that an operand names: a constant, or a collection of constants."""
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value in OWN}


def is_kind(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "kind" and ast.unparse(node.value).endswith("contract")


def switches(source: str) -> Iterator[str]:
    """Expressions that choose by a kind's name: comparisons, tables, match statements."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            # Two families are named as kinds are.
            families = any("family" in ast.unparse(operand) for operand in operands)
            if any(map(is_kind, operands)) or (not families and any(map(names_of, operands))):
                yield ast.unparse(node)
        elif (
            isinstance(node, ast.Subscript) and is_kind(node.slice) and ast.unparse(node.value) not in REGISTRIES
        ) or (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".get")
            and node.args
            and is_kind(node.args[0])
        ):
            yield ast.unparse(node)
        elif isinstance(node, ast.Match) and is_kind(node.subject):
            yield f"match {ast.unparse(node.subject)}"


def test_no_module_compares_the_name_of_a_kind() -> None:
    found = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            place = path.relative_to(ROOT).as_posix()
            if not place.startswith(ELSEWHERE):
                found += [f"{place}: {text}" for text in switches(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'if spec.contract.kind == "mine": pass',
        'x = kind in {"nodes", "graphs"}',
        'x = "trading" != told',
        'kinds = name in frozenset(("rows", "other"))',
        "x = TABLE[contract.kind]",
        "x = TABLE.get(task.spec.contract.kind)",
        "match contract.kind:\n    case _: pass",
    ],
)
def test_every_form_of_a_switch_is_found(source: str) -> None:
    assert len(list(switches(source))) == 1


@pytest.mark.parametrize(
    "source",
    ["x = KINDS[contract.kind]", 'x = family == "trading"', 'x = array.dtype.kind in "fiu"', "x = {contract.kind: 1}"],
)
def test_what_is_no_switch_is_not(source: str) -> None:
    assert list(switches(source)) == []
