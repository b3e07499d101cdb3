"""What a result says of how its rollout ended, field by field."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openfingym.metrics import Score
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.sampling_error import SamplingError
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.episodes.play import stored_values
from openfingym_verifier.ledger.rows import RolloutRow
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.results import ComparedScore, final_result, nothing_accepted
from openfingym_verifier.rollouts.rollout import Rollout

SECOND = 1_000_000_000
NO_SCORE: dict[str, object] = {
    "total": None,
    "relative_total": None,
    "metrics": {},
    "relative_interval": None,
    "relative_standard_error": None,
    "relative_sample": None,
    "total_interval": None,
    "total_standard_error": None,
    "standard_errors": {},
}
SAMPLE = RelativeSample(np.array([0.1, 0.2, 0.3]), 1.1, 9.0, 30)
SCORE = {
    "total": 0.5,
    "relative_total": 0.7,
    "metrics": {"mae": 0.5},
    "relative_interval": (0.6, 0.8),
    "relative_standard_error": 0.07,
    "relative_sample": SAMPLE.to_dict(),
    "total_interval": (0.4, 0.6),
    "total_standard_error": 0.05,
    "standard_errors": {"mae": 0.04},
}
BASELINE = Score(0.8, {"mae": 0.75})


def task(**stated: object) -> Any:
    given = {
        "name": "t",
        "manifest": SimpleNamespace(data_kind="simulated"),
        "spec": SimpleNamespace(scoring=SimpleNamespace(baseline="naive")),
        "sequential": False,
        "walk": None,
        "shape": (2, 3),
    }
    return SimpleNamespace(**(given | stated))


def rollout(hidden: Any = None, **stated: Any) -> Rollout:
    given: dict[str, Any] = {"id": "r", "task": "t", "task_digest": "d", "agent": "a", "seed": 3, "budget": 5}
    given |= {"created_ns": 10 * SECOND, "expires_ns": 99 * SECOND, "accepted": 0, "rejected": 0, "last_refusal": None}
    given |= {"bucket": Bucket(1.0, 0), "result": None, "principal": "ann", "season": "s", "policy": "strict"}
    made = Rollout.restore(RolloutRow(**(given | stated)), [], None)
    made.task, made.accepted, made.rejected = hidden or task(), 2, 4
    return made


def scored(sample: RelativeSample | None = SAMPLE) -> ComparedScore:
    error = SamplingError(
        relative_interval=(0.6, 0.8),
        relative_standard_error=0.07,
        relative_sample=sample,
        total_interval=(0.4, 0.6),
        total_standard_error=0.05,
        standard_errors={"mae": 0.04},
    )
    return ComparedScore(Score(0.5, {"mae": 0.5}), 0.7, error)


def ended(one: Rollout, outcome: Any, baseline: Score | None = BASELINE, **stated: Any) -> dict[str, object]:
    return final_result(one, outcome, baseline, ["probing"], 20 * SECOND, **stated)


def test_a_result_says_whose_rollout_it_was_on_what_and_how_it_ended() -> None:
    document = ended(rollout(), scored())
    salt = document.pop("salt")
    assert isinstance(salt, str)
    assert len(salt) == 32, "nobody tries that many"
    assert document == {
        "rollout_id": "r", "task": "t", "task_digest": "d", "data_kind": "simulated", "tape": "given", "split": "test",
        "instance": None, "agent": "a", "agent_digest": None, "shown_before": 0, "replayed": False, "seed": 3,
        "state": "scored", "reason": None, **SCORE, "baseline": "naive",
        "baseline_total": 0.8, "baseline_metrics": {"mae": 0.75}, "submissions_accepted": 2, "submissions_rejected": 4,
        "budget": 5, "flags": ["probing"], "principal": "ann", "season": "s", "policy": "strict", "disclosure": "full",
        "created_at": "1970-01-01T00:00:10.000+00:00", "finalized_at": "1970-01-01T00:00:20.000+00:00",
    }  # fmt: skip
    # Two results that are alike have other digests in the log.
    assert ended(rollout(), scored())["salt"] != salt
    assert ended(rollout(), scored(None))["relative_sample"] is None


@pytest.mark.parametrize(
    ("outcome", "state", "reason"),
    [
        ("nothing came", "rejected", "nothing came"),
        (("deferred", "its questions are open"), "deferred", "its questions are open"),
        (("void", "none was resolved"), "void", "none was resolved"),
    ],
)
def test_a_result_without_a_score_has_every_figure_of_one_as_unknown(outcome: object, state: str, reason: str) -> None:
    document = ended(rollout(), outcome)
    assert {name: document[name] for name in NO_SCORE} == NO_SCORE
    assert (document["state"], document["reason"], document["baseline_total"]) == (state, reason, 0.8)
    assert document.keys() == ended(rollout(), scored()).keys()
    # Where the truth is not known, neither is what the baseline would have had.
    unknown = ended(rollout(), outcome, None)
    assert (unknown["baseline"], unknown["baseline_total"], unknown["baseline_metrics"]) == ("naive", None, {})


def test_a_result_on_an_instance_keeps_no_replicates() -> None:
    on_instance = ended(rollout(split="train", instance=7), scored())
    assert (on_instance["split"], on_instance["instance"], on_instance["relative_sample"]) == ("train", 7, None)
    assert on_instance["relative_interval"] == (0.6, 0.8)


@pytest.mark.parametrize(("simulated", "kind"), [(True, "simulated"), (False, "real")])
def test_a_result_says_of_what_world_its_questions_were(simulated: bool, kind: str) -> None:
    questions = {"clock": "c", "simulated": simulated}
    document = ended(rollout(), scored(), questions=questions)
    assert (document["questions"], document["data_kind"], "session" in document) == (questions, kind, False)


def test_a_result_says_what_its_session_and_its_slice_were() -> None:
    document = ended(rollout(question_range="1-10"), scored(), session={"venue": "v"})
    assert (document["session"], document["questions"]) == ({"venue": "v"}, "1-10")
    assert "questions" not in ended(rollout(), scored())


def test_a_task_that_was_built_again_has_no_result() -> None:
    gone = rollout()
    gone.task = None
    with pytest.raises(Problem, match="rebuilt or removed"):
        ended(gone, scored())


def test_nothing_accepted_is_said_with_the_last_refusal() -> None:
    one = rollout()
    assert nothing_accepted(one) == "no submission was accepted (4 refused)"
    one.last_refusal = "wrong-shape: 3 rows"
    assert nothing_accepted(one) == "no submission was accepted (4 refused; the last refusal was wrong-shape: 3 rows)"
    one.task = task(sequential=True)
    assert nothing_accepted(one) == (
        "no private episode was begun (4 actions refused; the last refusal was wrong-shape: 3 rows)"
    )


def test_stored_values_are_those_that_were_sent() -> None:
    values = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(stored_values(values.astype("<f8").tobytes(), task()), values)
