"""Proofs of a problem: its truth is the world's, and nothing that is known by its deadline has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from openfingym.questions.question import utc_text
from openfingym.suites.findeepforecast.problem import Figure
from openfingym.suites.findeepforecast.tools import lookup_in
from openfingym.suites.findeepforecast.truth.first_print import RecordedTruth
from openfingym.suites.findeepforecast.world.opening import open_world

if TYPE_CHECKING:
    from openfingym.suites.findeepforecast.seasons import SettledProblem
    from openfingym.vault import Vault


def prove(one: SettledProblem, vault: Vault) -> tuple[int, tuple[str, ...]]:
    """Prove a problem anew.

    Returns:
        How many calls of tools were made, and what is wrong with it.
    """
    problem, faults, calls = one.problem, [], 0
    found = RecordedTruth().extract(open_world(vault, _moment(one.known_ns)), problem.about, problem.deadline_ns)
    if found.status != "resolved" or found.truth != one.truth or found.provider_ns != one.known_ns:
        faults.append(f"the world has {found.truth} at its time, and {one.truth} is kept")
    if not problem.generated_ns < problem.deadline_ns < one.known_ns:
        faults.append("its truth is not known after its deadline")
    before = open_world(vault, _moment(problem.deadline_ns))
    if isinstance(problem.about, Figure):
        if before.first_print(problem.about) is not None:
            faults.append("its truth is known by its deadline")
        told = lookup_in(before)("history", {"subject": problem.about.subject, "measure": problem.about.measure})
        calls += 1
        rows = told.value["rows"] if isinstance(told.value, dict) else []
        if not rows:
            faults.append(f"the tools show no history of it: {told.text[:200]}")
        if any(row[0] >= problem.about.period.isoformat() for row in rows):
            faults.append("the tools show its period by its deadline")
    elif before.ruling(problem.about) is not None:
        faults.append("its ruling is known by its deadline")
    return calls, tuple(faults)


def script_of(one: SettledProblem, digest: str) -> str:
    """A program that anybody can run where the library is installed; it prints the truth."""
    lines = [
        "import datetime",
        "",
        "from openfingym.suites.findeepforecast.problem import Event, Figure",
        "from openfingym.suites.findeepforecast.truth.first_print import RecordedTruth",
        "from openfingym.suites.findeepforecast.world.building import findeepforecast_vault",
        "from openfingym.suites.findeepforecast.world.opening import open_world",
        "",
        f"about = {one.problem.about!r}",
        f"vault = findeepforecast_vault()  # of digest {digest[:12]}",
        f"known = datetime.datetime.fromisoformat({utc_text(one.known_ns)!r})",
        f"print(RecordedTruth().extract(open_world(vault, known), about, {one.problem.deadline_ns}).truth)",
    ]
    return "\n".join(lines) + "\n"


def _moment(time_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
