"""Proving a problem: its truth is what the world records, and was not known by its deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.questions.question import moment_at, utc_text
from openfingym_suites.findeepforecast.problem import Figure
from openfingym_suites.findeepforecast.tools import lookup_in
from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym_suites.findeepforecast.world.opening import open_world

if TYPE_CHECKING:
    from openfingym.vault import Vault
    from openfingym_suites.findeepforecast.seasons import SettledProblem


def prove(settled: SettledProblem, vault: Vault) -> tuple[int, tuple[str, ...]]:
    """Prove a problem anew.

    Args:
        settled: the problem with its truth.
        vault: the vault of its world.

    Returns:
        How many calls of tools were made, and what is wrong with the problem.
    """
    problem, faults, calls = settled.problem, [], 0
    # As of the very time at which the truth became known, the world must have it.
    known = open_world(vault, moment_at(settled.known_ns))
    answer = RecordedTruth().extract(known, problem.about, problem.deadline_ns)
    if answer.status != "resolved" or answer.truth != settled.truth or answer.provider_ns != settled.known_ns:
        faults.append(f"the world has {answer.truth} at its time, and {settled.truth} is kept")
    if not problem.generated_ns < problem.deadline_ns < settled.known_ns:
        faults.append("its truth is not known after its deadline")
    # As of the deadline, neither the world nor the tools may have it.
    before = open_world(vault, moment_at(problem.deadline_ns))
    if isinstance(problem.about, Figure):
        if before.first_print(problem.about) is not None:
            faults.append("its truth is known by its deadline")
        shown = lookup_in(before)("history", {"subject": problem.about.subject, "measure": problem.about.measure})
        calls += 1
        rows = shown.value["rows"] if isinstance(shown.value, dict) else []
        if not rows:
            faults.append(f"the tools show no history of it: {shown.text[:200]}")
        if any(row[0] >= problem.about.period.isoformat() for row in rows):
            faults.append("the tools show its period by its deadline")
    elif before.ruling(problem.about) is not None:
        faults.append("its ruling is known by its deadline")
    return calls, tuple(faults)


def script_of(settled: SettledProblem, digest: str) -> str:
    """A program that prints the truth of a problem, for anybody who has the library.

    Args:
        settled: the problem with its truth.
        digest: digest of the vault of its world.
    """
    lines = [
        "import datetime",
        "",
        "from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent",
        "from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth",
        "from openfingym_suites.findeepforecast.world.building import findeepforecast_vault",
        "from openfingym_suites.findeepforecast.world.opening import open_world",
        "",
        f"about = {settled.problem.about!r}",
        f"vault = findeepforecast_vault()  # of digest {digest[:12]}",
        f"known = datetime.datetime.fromisoformat({utc_text(settled.known_ns)!r})",
        f"print(RecordedTruth().extract(open_world(vault, known), about, {settled.problem.deadline_ns}).truth)",
    ]
    return "\n".join(lines) + "\n"
