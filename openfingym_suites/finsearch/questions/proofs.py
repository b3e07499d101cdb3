"""Proofs of a question: its answer is what its program computes, the tools lead to it, and it is the only one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.answers import decide
from openfingym.errors import DataError
from openfingym_suites.finsearch.questions.oracle import ToolSources
from openfingym_suites.finsearch.questions.problem import SearchProblem, reference_of
from openfingym_suites.finsearch.questions.sources import VaultSources
from openfingym_suites.finsearch.tools import FinanceTools

if TYPE_CHECKING:
    from openfingym.vault import Vault


@dataclass(frozen=True)
class QuestionProof:
    """The outcome of the proofs of one question."""

    id: str
    """Id of the question."""
    calls: int
    """How many calls of tools its answer takes."""
    told_apart: int
    """How many other readings of it have another answer, which is decided wrong."""
    faults: tuple[str, ...]
    """Proofs that failed, in words; empty for a sound question."""


def prove(problem: SearchProblem, vault: Vault) -> QuestionProof:
    """Prove one question on its vault.

    The program is run again on the tables, and must give the same answer. Run on nothing but what the tools answer, it
    must give an answer that is decided right. What other readings of the question lead to must be decided wrong, unless
    it is the same answer.

    Args:
        problem: the question that is proved.
        vault: the vault that it is about.
    """
    faults: list[str] = []
    sources = VaultSources(vault, problem.question.as_of)
    if problem.computed(sources).to_json() != problem.reference.to_json():
        faults.append("its program computes another answer")
    right = problem.reference.answer()
    if (verdict := decide(problem.reference, right)).outcome != "right":
        faults.append(f"its own answer is decided {verdict.outcome}: {verdict.reason}")
    # A DataError says that a tool refused a call, or does not show what the program needs.
    tools = ToolSources(FinanceTools(vault.as_of(problem.question.as_of)).reply)
    try:
        answer = reference_of(problem, problem.program(tools, problem.params), checked=False).answer()
        if (verdict := decide(problem.reference, answer)).outcome != "right":
            faults.append(f"from tools alone the answer is {answer}, which is decided {verdict.outcome}")
    except DataError as error:
        faults.append(f"tools do not give what its program needs: {error}")
    told_apart = 0
    for name in problem.alternatives:
        other = problem.other(sources, name)
        outcome = decide(problem.reference, other).outcome
        told_apart += other != right and outcome == "wrong"
        if other != right and outcome != "wrong":
            faults.append(f"another reading, {name}, leads to {other}, which is decided {outcome}")
    if not told_apart:
        faults.append("no other reading has another answer")
    return QuestionProof(problem.question.id, tools.calls, told_apart, tuple(faults))
