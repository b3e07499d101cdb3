"""The table of how a judge scored answers that no rule decides, which is never part of a verified score."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError
from openfingym.files.strange import MEGABYTE, parse_json, read_bytes
from openfingym.reports.questions.parts import PartTable, Rows, TableSource

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

FILE = "judgements.jsonl"
"""Name of the file of judgements in the folder of a run, or of a plan."""
LIMIT = 64 * MEGABYTE
"""Most bytes of the file."""


def judged(source: TableSource) -> PartTable | None:
    """The table of how many answers rules decided, how many a judge, and how often both agree; None if nothing was
    judged.
    """
    rows: Rows = []
    for group in source.groups:
        lines = [line for run in group.runs for line in judgements(run.result)]
        if lines:
            rows.append((*group.row, *_figures(lines)))
    if not rows:
        return None
    columns = (
        *source.by, "answers", "right by rule", "wrong by rule", "undecided", "judged right", "judged wrong",
        "agreement with rules", "both",
    )  # fmt: skip
    note = (
        "Verified scores are by rule alone. What a model judged is of `openfingym questions judge`, and is not "
        "verified; undecided answers that are neither right nor wrong have no judgement. Agreement, in percent: of "
        "the answers that a rule had decided and the judge was asked as well, whose number is the last column."
    )
    return PartTable(
        source.data_kind, "judged", "Decided by rule and by a judge", columns, tuple(rows), len(source.by), note,
        frozenset({"agreement with rules"}),
    )  # fmt: skip


def judgements(result: RolloutResult) -> list[dict[str, Any]]:
    """The judgements of a run, from the file in its folder or in that of its plan; none if there is no such file."""
    if result.path is None:
        return []
    # `openfingym questions judge` writes into the folder that it is given, which may be that of a plan.
    for folder in (result.path, result.path.parent):
        if not (folder / FILE).is_file():
            continue
        try:
            lines = [parse_json(line) for line in read_bytes(folder, FILE, LIMIT).decode().splitlines()]
        except (OpenFinGymError, ValueError):
            continue
        # The file of a plan has the judgements of all its rollouts.
        own = [line for line in lines if isinstance(line, dict) and line.get("rollout") == result.rollout_id]
        if own:
            return own
    return []


def _figures(lines: list[dict[str, Any]]) -> tuple[int | float | None, ...]:
    """The figures of a row, in the order of the columns."""
    pairs = [(_outcome(line), _score(line)) for line in lines]
    outcomes = Counter(outcome for outcome, _ in pairs)
    left = Counter(score for outcome, score in pairs if outcome == "undecided")
    # Also answers that a rule decided are judged, to see how far the judge can be trusted.
    both = [
        (outcome == "right") == (score == 1)
        for outcome, score in pairs
        if outcome in {"right", "wrong"} and score is not None
    ]
    agreement = sum(both) / len(both) if both else None
    return (
        len(pairs), outcomes["right"], outcomes["wrong"], outcomes["undecided"], left[1], left[0], agreement, len(both),
    )  # fmt: skip


def _outcome(line: dict[str, Any]) -> str:
    """How the rule decided the answer; empty if the line does not say."""
    rule = line.get("rule")
    return str(rule.get("outcome")) if isinstance(rule, dict) else ""


def _score(line: dict[str, Any]) -> int | None:
    """The judge's score, 0 or 1; None if the judge was not asked, or gave no score."""
    judge = line.get("judge")
    score = judge.get("score") if isinstance(judge, dict) else None
    return score if score in (0, 1) else None
