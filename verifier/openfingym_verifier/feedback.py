"""What an agent is told about a submission: the public fold, clipped and coarsely rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym.metrics import Score
    from openfingym.task import Scoring, Verification


def coarse(loss: float, digits: int, clip: float) -> float:
    """``loss`` rounded to ``digits`` significant digits, and never above ``clip``."""
    return min(float(f"{min(loss, clip):.{digits - 1}e}"), clip)


def feedback(score: Score, scoring: Scoring, rules: Verification) -> dict[str, object]:
    """The feedback document: ``{"total": float, "metrics": {name: float}}``.

    The total is computed from the shown metrics, so that it holds no information about the
    labels that they do not.
    """
    digits, clip = rules.feedback_digits, rules.feedback_clip
    shown: Mapping[str, float] = {name: coarse(loss, digits, clip) for name, loss in score.metrics.items()}
    total = sum(metric.weight * shown[metric.name] for metric in scoring.metrics)
    return {"total": coarse(total, digits, clip), "metrics": shown}
