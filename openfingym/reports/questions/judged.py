"""What a judge made of answers that no rule decides: a table, beside the verified scores and never in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError
from openfingym.files.strange import MEGABYTE, parse_json, read_bytes
from openfingym.reports.questions.parts import PartTable, Rows, Scene

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

FILE = "judgements.jsonl"
LIMIT = 64 * MEGABYTE
"""Bytes that the file may have."""


def judged(scene: Scene) -> PartTable | None:
    """How many answers rules decided, how many a judge, and how often both agree."""
    rows: Rows = []
    for group in scene.groups:
        lines = [line for run in group.runs for line in judgements(run.result)]
        if lines:
            rows.append((*group.row, *_figures(lines)))
    if not rows:
        return None
    columns = (
        *scene.by, "answers", "right by rule", "wrong by rule", "undecided", "judged right", "judged wrong",
        "agreement with rules", "both",
    )  # fmt: skip
    note = (
        "Verified scores are by rule alone. What a model judged is of `openfingym questions judge`, and is not "
        "verified; undecided answers that are neither right nor wrong have no judgement. Agreement, in percent: of "
        "the answers that a rule had decided and the judge was asked as well, whose number is the last column."
    )
    return PartTable(
        scene.data_kind, "judged", "Decided by rule and by a judge", columns, tuple(rows), len(scene.by), note,
        frozenset({"agreement with rules"}),
    )  # fmt: skip


def judgements(result: RolloutResult) -> list[dict[str, Any]]:
    """The lines about a run in the file of its folder, or of its plan's; none where there is no such file."""
    if result.path is None:
        return []
    for folder in (result.path, result.path.parent):
        if not (folder / FILE).is_file():
            continue
        try:
            lines = [parse_json(line) for line in read_bytes(folder, FILE, LIMIT).decode().splitlines()]
        except (OpenFinGymError, ValueError):
            continue
        found = [line for line in lines if isinstance(line, dict) and line.get("rollout") == result.rollout_id]
        if found:
            return found
    return []


def _figures(lines: list[dict[str, Any]]) -> tuple[int | float | None, ...]:
    told = [(_outcome(line), _score(line)) for line in lines]
    outcomes = Counter(outcome for outcome, _ in told)
    left = Counter(score for outcome, score in told if outcome == "undecided")
    both = [
        (outcome == "right") == (score == 1)
        for outcome, score in told
        if outcome in {"right", "wrong"} and score is not None
    ]
    agreement = sum(both) / len(both) if both else None
    return (
        len(told), outcomes["right"], outcomes["wrong"], outcomes["undecided"], left[1], left[0], agreement, len(both),
    )  # fmt: skip


def _outcome(line: dict[str, Any]) -> str:
    rule = line.get("rule")
    return str(rule.get("outcome")) if isinstance(rule, dict) else ""


def _score(line: dict[str, Any]) -> int | None:
    """0 or 1; None where the judge was not asked, or gave none."""
    judge = line.get("judge")
    score = judge.get("score") if isinstance(judge, dict) else None
    return score if score in (0, 1) else None
