"""The folder of a task that asks imported questions, which runs as it is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, whole_folder
from openfingym_suites.imported.formats import ImportedQuestion

_TASK = """schema_version = "1.4"

[task]
name = "imported/{name}"
version = "1.0.0"
description = "Answer {count} imported questions{tools}."
keywords = ["questions", "imported"]

[metadata.openfingym]
format = 1
family = "questions"
asset_class = "synthetic"
frequency = "none"
panel = "{count} questions of a user's own"

[metadata.openfingym.dataset]
name = "{dataset}"

[metadata.openfingym.contract]
kind = "qa"
suite = "imported"
steps = 30
unit = "packed text, four bytes a number"
low = 0.0
high = 4294967296.0

[metadata.openfingym.contract.options]
questions = {questions}
tools = {lender}

[metadata.openfingym.scoring]
baseline = "naive"

[[metadata.openfingym.scoring.metrics]]
name = "decided_accuracy"
weight = {weight}
{grouped}
[metadata.openfingym.verification]
budget = 20

[metadata.openfingym.provenance]
paper = "none: questions of a user's own"
note = "Truths are as the imported file states them. Answers are decided by rule; what no rule can tell counts as \
not right, and is for `openfingym questions judge`."

[agent]
timeout_sec = 7200.0

[verifier]
timeout_sec = 600.0

[verifier.env]
OPENFINGYM_VERIFIER_URL = "${{OPENFINGYM_VERIFIER_URL:-}}"
OPENFINGYM_ADMIN_TOKEN = "${{OPENFINGYM_ADMIN_TOKEN:-}}"
OPENFINGYM_ROLLOUT = "${{OPENFINGYM_ROLLOUT:-}}"

[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 2048
storage_mb = 256
"""
_GROUPED = """
[[metadata.openfingym.scoring.metrics]]
name = "grouped_accuracy"
weight = 0.5
"""
_INSTRUCTION = """# {name}

Answer each question with one short final answer, in the form that it states. Whether it is right is decided by rule: a
unit may be left out, two answers or a range are wrong, and a report is no answer.
"""


def write_task(folder: Path, name: str, questions: Sequence[ImportedQuestion], lender: str) -> Path:
    """Write the folder of a task that asks imported questions.

    Args:
        folder: folder of the task, which must not exist.
        name: name of the import, and of the task.
        questions: questions of the import, which tell how many there are and whether they are scored by groups.
        lender: name of the suite whose tools are lent, or ``none``.

    Raises:
        UsageError: the folder exists already.
        StoreError: the folder cannot be written.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another place with --to, or remove it")
    # Questions with subsets or tiers are also scored by the mean over those, as in the paper.
    grouped = any(question.reference.group for question in questions)
    text = _TASK.format(
        weight=0.5 if grouped else 1.0,
        name=name,
        count=len(questions),
        tools="" if lender == "none" else f" with the tools of {lender}",
        dataset="imported" if lender == "none" else lender,
        questions=json.dumps(name),
        lender=json.dumps(lender),
        grouped=_GROUPED if grouped else "",
    )
    with store_errors(folder, "choose another place with --to"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(folder) as partial:
            (partial / "task.toml").write_text(text, encoding="utf-8")
            (partial / "instruction.md").write_text(_INSTRUCTION.format(name=name), encoding="utf-8")
    return folder
