"""The results of deferred rollouts: that there is none yet, and the final one once its questions are resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError
from openfingym.kinds import kind_named, score_with_replicates
from openfingym.kinds.asking import FEWEST, QuestionsOrder, numbers_of, target_of
from openfingym.questions import utc_text
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.rollouts.results import compare_with_baseline, final_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.metrics import Score
    from openfingym_verifier.rollouts.deferred_rows import QuestionOutcomes
    from openfingym_verifier.rollouts.rollout import Rollout
    from openfingym_verifier.scoring.truth import HiddenTask

SECOND = 1_000_000_000


def deferred_result(
    rollout: Rollout, order: QuestionsOrder, outcomes: QuestionOutcomes, now_ns: int
) -> dict[str, object]:
    """The result of a rollout that has ended before its questions are resolved, without ``log_head``.

    Args:
        rollout: the rollout, which has an accepted submission.
        order: what the rollout was to be asked, and by which clock.
        outcomes: what the rollout was asked, and what has come of it so far.
        now_ns: Unix time in nanoseconds at which the rollout ended.
    """
    ends = [known.question.evaluation_ns // SECOND * SECOND for known in outcomes.questions]
    reason = f"its {len(ends)} questions are resolved from {utc_text(min(ends))} to {utc_text(max(ends))}"
    return final_result(rollout, ("deferred", reason), None, [], now_ns, questions=_summary(order, outcomes))


def settled_result(
    rollout: Rollout, order: QuestionsOrder, task: HiddenTask, outcomes: QuestionOutcomes, shown: Array, now_ns: int
) -> dict[str, object]:
    """The final result of a deferred rollout, without ``log_head``: scored on what was resolved, or void where too
    little was.

    Args:
        rollout: the rollout that has ended.
        order: what the rollout was to be asked, and by which clock.
        task: the task as the rollout was asked it.
        outcomes: the questions, each scored or void, with truths and answers.
        shown: float64[questions], the price that the rollout was shown of each question.
        now_ns: Unix time in nanoseconds at which the result is made.
    """
    summary = _summary(order, outcomes)
    # Rows without a truth, or without an answer in time, are left out, of the baseline as well.
    places = [
        place
        for place, (state, answer) in enumerate(zip(outcomes.states, outcomes.answers, strict=True))
        if state == "scored" and answer is not None
    ]
    if len(places) < max(2, FEWEST * len(outcomes.states)):
        reason = f"{len(places)} of {len(outcomes.states)} questions have a truth, expected half of them at least"
        return final_result(rollout, ("void", reason), None, [], now_ns, questions=summary)
    asked = [outcomes.questions[place].question for place in places]
    truths, answered = ([values[place] for place in places] for values in (outcomes.truths, outcomes.answers))
    # Of prices, targets and answers are moves from the price that was shown: both are made with the same one.
    prices = [float(shown[place]) for place in places]
    targets = np.array(list(map(target_of, asked, truths, prices)))
    values = np.array(list(map(numbers_of, asked, answered, prices))).reshape(len(places), *task.shape[1:])
    try:
        score, baseline = scores_on(task, np.array(places), targets, values)
        compared = compare_with_baseline(task, score, baseline)
    except SubmissionError as error:
        return final_result(rollout, str(error), None, [], now_ns, questions=summary)
    return final_result(rollout, compared, baseline, [], now_ns, questions=summary)


def scores_on(
    task: HiddenTask, places: NDArray[np.int64], targets: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[Score, Score]:
    """Private scores of an answer and of the baseline on some of the private rows.

    Args:
        task: the task as the rollout was asked it.
        places: int64[n], which rows, counted from the first private one.
        targets: float64[n, ...], the outcomes of these rows.
        values: float64[n, ...], the answers to these rows.
    """
    contract, scoring, kind = task.spec.contract, task.spec.scoring, kind_named(task.spec.contract)
    first, counts = task.manifest.n_public, (task.manifest.n_public, task.manifest.n_private)
    # The task as it was asked has zeros in the place of outcomes, which rows that are not scored keep.
    hidden = {"targets": np.array(task.hidden["targets"])}
    hidden["targets"][first + places] = targets

    def read(name: str) -> Array:
        return np.asarray(task.hidden[name] if name in task.hidden else task.package.array(name))

    whole = kind.folds(task.spec, read, hidden, counts, task.grader.private.truth.seed)[1]
    fold, reference = kind.resampled(contract, whole, task.grader.baseline[whole.rows], places)
    # One design for both: a sampling error compares the two replicate by replicate.
    design = kind.resampling(contract, fold)
    # The arrays hold the rows to score and nothing else, so that the fold takes all of them.
    fold = replace(fold, rows=slice(None))
    score = score_with_replicates(contract, scoring, fold, values, design)
    return score, score_with_replicates(contract, scoring, fold, reference, design)


def _summary(order: QuestionsOrder, outcomes: QuestionOutcomes) -> dict[str, object]:
    """What a result says of its questions."""
    counts = {name: sum(state == name for state in outcomes.states) for name in ("scored", "void")}
    return {
        "clock": order.clock,
        "simulated": order.clock != REAL_CLOCK,
        "asked": len(outcomes.states),
        **counts,
        "open": len(outcomes.states) - sum(counts.values()),
        "deadline": utc_text(min(known.question.deadline_ns for known in outcomes.questions)),
        "resolved_from": utc_text(max(known.question.evaluation_ns for known in outcomes.questions)),
    }
