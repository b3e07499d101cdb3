"""The feedback on a submission: its score on the public fold, clipped and coarsely rounded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from openfingym.metrics import find_metric
from openfingym.metrics.aggregation import as_loss

if TYPE_CHECKING:
    from openfingym.metrics import Score
    from openfingym.task import Spec
    from openfingym.task.model import Verification
    from openfingym.task.scoring import Scoring

WITHHELD: Mapping[str, object] = MappingProxyType({"total": None, "metrics": {}})
"""The feedback document of a submission whose principal has been told enough about this task."""


def coarse(value: float, digits: int, clip: float) -> float:
    """``value`` rounded to ``digits`` significant digits, and never beyond ``clip`` on either side."""
    # Clipped before, since infinity cannot be rounded, and after, since rounding may lead beyond the limit.
    return max(-clip, min(float(f"{max(-clip, min(value, clip)):.{digits - 1}e}"), clip))


def told(score: Score, spec: Spec, *, disclosed: bool) -> dict[str, object]:
    """The feedback document of a score on a task, or the note that it is withheld."""
    return feedback(score, spec.scoring, spec.verification) if disclosed else dict(WITHHELD)


def feedback(score: Score, scoring: Scoring, rules: Verification) -> dict[str, object]:
    """The feedback document: ``{"total": float, "metrics": {name: float}}``.

    The total is computed from the shown metrics, so that it holds no information about the
    labels that they do not.

    Args:
        score: the score on the public fold.
        scoring: the metrics of the task, with their weights in the total.
        rules: the task's limits on what feedback shows.
    """
    digits, clip = rules.feedback_digits, rules.feedback_clip
    shown: Mapping[str, float] = {name: coarse(value, digits, clip) for name, value in score.metrics.items()}
    total = sum(metric.weight * as_loss(find_metric(metric.name), shown[metric.name]) for metric in scoring.metrics)
    return {"total": coarse(total, digits, clip), "metrics": shown}
