"""The results of deferred rollouts: that there is none yet, and the final one once its questions are resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import SubmissionError
from openfingym.kinds import kind_named, score_with_replicates
from openfingym.kinds.asking import FEWEST, QuestionsOrder, numbers_of, target_of
from openfingym.questions import utc_text
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.finalize import final_result, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from openfingym.kinds import Array, Fold
    from openfingym_verifier.deferred_rows import Kept
    from openfingym_verifier.rollout import Rollout
    from openfingym_verifier.truth import HiddenTask

SECOND = 1_000_000_000


def deferred_result(rollout: Rollout, order: QuestionsOrder, kept: Kept, now_ns: int) -> dict[str, object]:
    """The result of a rollout with a submission that has ended, without ``log_head``."""
    ends = [one.question.evaluation_ns // SECOND * SECOND for one in kept.questions]
    reason = f"its {len(ends)} questions are resolved from {utc_text(min(ends))} to {utc_text(max(ends))}"
    return final_result(rollout, ("deferred", reason), None, [], now_ns, questions=_said(order, kept))


def settled_result(
    rollout: Rollout, order: QuestionsOrder, task: HiddenTask, kept: Kept, shown: Array, now_ns: int
) -> dict[str, object]:
    """The final result: the score on what was resolved, or that too little was.

    Args:
        rollout: the rollout.
        order: what the rollout was to be asked, and by which clock.
        task: the task as it was asked it.
        kept: the questions, each scored or void.
        shown: float64[questions], the price that was shown of each.
        now_ns: the time.
    """
    places = [place for place, state in enumerate(kept.states) if state == "scored" and kept.answers[place] is not None]
    said = _said(order, kept)
    if len(places) < max(2, FEWEST * len(kept.states)):
        reason = f"{len(places)} of {len(kept.states)} questions have a truth, expected half of them at least"
        return final_result(rollout, ("void", reason), None, [], now_ns, questions=said)
    asked = [kept.questions[place].question for place in places]
    prices = [float(shown[place]) for place in places]
    targets = np.array([target_of(*one) for one in zip(asked, _of(kept.truths, places), prices, strict=True)])
    answers = [numbers_of(*one) for one in zip(asked, _of(kept.answers, places), prices, strict=True)]
    values = np.array(answers).reshape(len(places), *task.shape[1:])
    try:
        score, baseline = scores_on(task, np.array(places), targets, values)
        outcome: Any = judge(task, score, baseline)
    except SubmissionError as error:
        return final_result(rollout, str(error), None, [], now_ns, questions=said)
    return final_result(rollout, outcome, baseline, [], now_ns, questions=said)


def scores_on(
    task: HiddenTask, places: NDArray[np.int64], targets: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[Any, Any]:
    """Scores of an answer and of the baseline on some of the private rows.

    Args:
        task: the task as the rollout was asked it.
        places: which rows, counted from the first private one.
        targets: their outcomes.
        values: the answers to them.
    """
    contract, scoring, kind = task.spec.contract, task.spec.scoring, kind_named(task.spec.contract)
    first, counts = task.manifest.n_public, (task.manifest.n_public, task.manifest.n_private)
    hidden = {"targets": np.array(task.hidden["targets"])}
    hidden["targets"][first + places] = targets

    def read(name: str) -> Array:
        return np.asarray(task.data[name] if name in task.data else task.package.array(name))

    whole = kind.folds(task.spec, read, hidden, counts, task.grader.private.truth.seed)[1]
    fold, reference = kind.resampled(contract, whole, task.grader.baseline[whole.rows], places)
    design = kind.resampling(contract, fold)
    found = [score_with_replicates(contract, scoring, _all(fold), one, design) for one in (values, reference)]
    return found[0], found[1]


def _all(fold: Fold) -> Fold:
    return replace(fold, rows=slice(None))


def _said(order: QuestionsOrder, kept: Kept) -> dict[str, object]:
    """What a result says of its questions."""
    counts = {name: sum(state == name for state in kept.states) for name in ("scored", "void")}
    return {
        "clock": order.clock,
        "simulated": order.clock != REAL_CLOCK,
        "asked": len(kept.states),
        **counts,
        "open": len(kept.states) - sum(counts.values()),
        "deadline": utc_text(min(one.question.deadline_ns for one in kept.questions)),
        "resolved_from": utc_text(max(one.question.evaluation_ns for one in kept.questions)),
    }


def _of(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [values[place] for place in places]
