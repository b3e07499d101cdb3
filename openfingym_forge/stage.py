"""What a stage of the forge is: what it is given, what it may ask models, and the result and reasons that it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from openfingym_forge.blueprint import Quotation

if TYPE_CHECKING:
    from openfingym_forge.blueprint import Blueprint
    from openfingym_forge.paper import Paper

# The order is a contract: a stage's record is removed together with those of all stages behind it.
STAGES = ("harvest", "screen", "read", "extract", "triage", "data", "rewards", "assemble", "prove", "install", "review")
"""Names of the stages, in order.

- ``harvest``: the paper can be read, and is not another one in another form.
- ``screen``: title and abstract are in scope.
- ``read``: the full text has a protocol, metrics and public data.
- ``extract``: what the paper says is written down as a blueprint.
- ``triage``: a kind of task serves the blueprint.
- ``data``: the data can be had, and are what the blueprint says.
- ``rewards``: each metric is one of the bank.
- ``assemble``: the package is made from the blueprint and the data.
- ``prove``: the package stands checks, a smoke run, baselines and attacks.
- ``install``: no other task is the same, and the package is put among the forge's tasks.
- ``review``: a person accepts or rejects the task.
"""
StageState = Literal["passed", "refused", "failed", "waiting"]
"""How a stage ended. ``refused``: the paper, or what was made of it, will not do. ``failed``: the forge itself, a
service or a model failed, so that trying again may help. ``waiting``: a person has to do something first."""
Role = Literal["generator", "reviewer"]
"""What a model is asked to do: the generator writes; the reviewer judges, and writes tests."""


@dataclass(frozen=True)
class RejectionReason:
    """Why a paper was refused, or what a person should know."""

    code: str
    """Key of :data:`REASONS`."""
    text: str
    """What was found, what was expected and what would mend it."""
    quotations: tuple[Quotation, ...] = ()
    """Words of the paper that the reason rests on."""


@dataclass(frozen=True)
class StageResult:
    """What one stage found of one paper."""

    stage: str
    """Name of the stage, one of :data:`STAGES`."""
    state: StageState
    reasons: tuple[RejectionReason, ...] = ()
    """Why the paper was refused, failed or waits; empty where it passed."""
    notes: tuple[RejectionReason, ...] = ()
    """What does not stop the paper, but a reviewer should see."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Plain values to be shown and searched: scores of baselines, rows, matched names."""
    files: tuple[str, ...] = ()
    """Paths of the files that the stage left, relative to the candidate's folder."""


class ForgeAsking(Protocol):
    """Asks models in their roles. Every prompt and answer is recorded, and a prompt that was answered before is not
    sent again.
    """

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        """The text of a model's answer.

        Args:
            role: whether the generator or the reviewer is asked.
            purpose: what is asked for, such as ``extract``; it stands in the journal.
            prompt: all that the model sees; its first line is ``Task: forge/NAME@VERSION``.

        Raises:
            ModelUnavailableError: the model cannot be reached.
            BudgetSpentError: the budget does not allow another request.
        """


@dataclass(frozen=True)
class CandidateTask:
    """One paper on its way, and the folder in which all of it is kept."""

    folder: Path
    """Folder of this paper alone: ``papers/KEY`` in the forge's folder."""
    paper: Paper
    asking: ForgeAsking
    """The models that the stages may ask."""
    blueprint: Blueprint | None = None
    """The blueprint as the stage before left it; None before stage ``extract``."""


class Stage(Protocol):
    """One stage. It reads the candidate's folder and writes into it, each file whole or not at all, and gives the same
    result when it is run again after its process was killed.
    """

    name: str
    """Name of the stage, one of :data:`STAGES`."""

    def run(self, candidate: CandidateTask) -> StageResult:
        """Do the stage. What a paper, a model, a script or a service did wrong is a result; only a defect of the forge,
        or a full disk, raises.
        """


REASONS: dict[str, str] = {
    "in-scope": "title and abstract are about a task of quantitative finance (a note)",
    "has-protocol": "the text has an experimental protocol (a note)",
    "has-metrics": "the text defines a metric (a note)",
    "has-public-data": "the text names data that anybody may obtain (a note)",
    "out-of-scope": "title and abstract are not about a task of quantitative finance",
    "no-text": "no text could be read: a scan, or an empty file",
    "language": "the paper is not in English",
    "no-protocol": "no complete experimental protocol: split, horizon or what is predicted is missing",
    "no-metric": "no metric is defined well enough to be computed",
    "no-public-data": "no data set that anybody may obtain",
    "duplicate-paper": "the same paper is there in another form",
    "duplicate-task": "another paper's task asks the same of the same data",
    "malformed-answer": "the model gave no usable answer within its tries",
    "contradiction": "the paper contradicts itself in a field that decides the task",
    "instructs-reader": "the text tries to instruct whoever reads it",
    "no-kind": "no kind of task serves it: a new one is required",
    "data-unavailable": "the data could not be obtained",
    "data-changed": "what was obtained is not what the blueprint says: columns, form or range",
    "wrong-units": "values do not have the unit that the blueprint states",
    "look-ahead-column": "a column holds what was not known at its row's time",
    "target-as-feature": "an input is the target, or gives it away",
    "look-ahead-resampling": "a resampled value holds what came after its time",
    "duplicated-rows": "rows of the test part stand in the training part",
    "shuffled-split": "rows of a time series are shuffled before they are split",
    "scaling-on-test": "scaling is fitted on rows of the test part",
    "overlapping-windows": "windows of the test part share rows with those of the training part",
    "survivorship": "the series were chosen by what happened later",
    "missing-values": "too many values are missing",
    "licence-forbids": "the licence does not allow the data to be passed on",
    "script-refused": "the download script did what it may not do, or did not end within its limits",
    "metric-sign": "the metric's direction is not that of its formula",
    "metric-wrong": "the metric does not compute the paper's formula",
    "metric-games": "an answer without skill wins by the metric",
    "metric-by-meaning": "the metric is one of the bank by its name; its numbers could not be compared",
    "metric-related": "the metric is not equal to the bank's, and ranks answers as it does",
    "metric-new": "the metric is new, and waits for a person to install it",
    "not-admitted": "the metric does not pass the bank's admission",
    "too-few-rows": "too few rows for the split, the lookback and the horizon",
    "leak": "the package gives hidden values away",
    "not-deterministic": "building it twice gives two packages",
    "no-baseline-better": "fewer than two baselines are better than noise",
    "oracle-not-best": "the true answer does not score best",
    "smoke-failed": "a run through gate and verifier does not end in a score",
    "rejected": "a reviewer rejected it",
    "budget": "the budget is spent",
    "model-unavailable": "the model cannot be reached",
    "machinery": "something of ours failed",
}
"""Codes of reasons, and what each of them means."""
