"""Stages for tests of the pipeline, in a module of their own, which processes that are spawned import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from openfingym.errors import BudgetSpentError, ModelUnavailableError
from openfingym_forge.folder import ForgeFolder, PaperFolder
from openfingym_forge.stage import CandidateTask, ForgeAsking, RejectionReason, Role, Stage, StageResult


class NoAsking:
    """Nobody is asked."""

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        raise AssertionError(f"{role} was asked for {purpose}: {prompt}")


class Noting:
    """A stage that notes each time it runs, and does what the paper's text asks of it.

    A line ``STAGE: DEED`` has it refuse, spend its budget, miss its model, have a defect, be killed, or be killed the
    first time alone.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, candidate: CandidateTask) -> StageResult:
        notes = candidate.folder / f"{self.name}.runs"
        first = not notes.exists()
        with notes.open("a") as file:
            file.write("run\n")
        deed = next(
            (
                line.partition(": ")[2]
                for line in candidate.paper.text.splitlines()
                if line.startswith(f"{self.name}: ")
            ),
            "",
        )
        if deed == "kill" or (deed == "kill once" and first):
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "sleep":
            time.sleep(60)
        if deed == "defect":
            raise ZeroDivisionError("a defect")
        if deed == "budget":
            raise BudgetSpentError("1.00 of 1.00 US dollars are spent")
        if deed == "no model":
            raise ModelUnavailableError("nobody answers")
        if deed == "refuse":
            return StageResult(self.name, "refused", (RejectionReason("no-metric", "none is defined"),))
        if self.name == "extract":
            (candidate.folder / "blueprint.toml").write_text(blueprint(candidate.paper.key, 5))
        if self.name == "prove":
            (candidate.folder / "task").mkdir(exist_ok=True)
        facts = {"seen": "" if candidate.blueprint is None else str(candidate.blueprint.value("contract.horizon"))}
        return StageResult(self.name, "passed", facts=facts)


def blueprint(key: str, horizon: int) -> str:
    """A blueprint's file with one field."""
    return f"""format = 1
paper = "{key}"
title = "A paper"
name = "a-task"

[fields."contract.horizon"]
value = {horizon}
assumed = "for a test"
"""


NAMES = ("screen", "read", "extract", "triage", "prove")


def stages(_forge: ForgeFolder, _paper: PaperFolder) -> tuple[ForgeAsking, Sequence[Stage]]:
    """Five stages, and nobody to ask."""
    return NoAsking(), [Noting(name) for name in NAMES]


def install(paper: Path, root: Path) -> StageResult:
    """A folder for each paper, whose name begins with its first letter: a second one is refused."""
    folder = root / "tasks" / paper.name[0]
    if folder.exists() and (folder / "of").read_text() != paper.name:
        return StageResult("install", "refused", (RejectionReason("duplicate-task", f"as {folder.name}"),))
    folder.mkdir(exist_ok=True)
    (folder / "of").write_text(paper.name)
    return StageResult("install", "passed")
