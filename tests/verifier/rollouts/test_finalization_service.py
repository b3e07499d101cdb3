"""What happens when a rollout ends, and in which order: services that only note what they are asked for."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openfingym.digests import sha256_of
from openfingym.errors import SubmissionError, VerifierError
from openfingym.metrics import Score
from openfingym_verifier.disclosure.ladder import LadderAnswer
from openfingym_verifier.disclosure.past_showings import ShownBefore
from openfingym_verifier.disclosure.rations import Told
from openfingym_verifier.rollouts import finalization_service
from openfingym_verifier.rollouts.events import EpisodePlayed
from openfingym_verifier.rollouts.finalization_service import FinalizationService
from openfingym_verifier.rollouts.rollout import Rollout

from .test_finalize import BASELINE, rollout, scored, task

VALUES = np.arange(6.0).reshape(2, 3)
OUTCOMES = np.full((2, 3), 7.0)
SCORE = Score(0.5, {"mae": 0.5})


class World:
    """Everything that a service which ends rollouts asks, and what it has asked, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hidden: Any, **answers: Any) -> None:
        self.asked: list[object] = []
        self.written: list[Any] = []
        self.hidden, self.answers = hidden, answers
        self.threads = ThreadPoolExecutor(1)
        monkeypatch.setattr(finalization_service, "compare_with_baseline", self.compare)
        monkeypatch.setattr(finalization_service, "surely_reached", lambda relative, _error: round(relative + 0.2, 9))
        note = self.note
        self.service = FinalizationService(
            SimpleNamespace(  # type: ignore[arg-type]
                ledger=SimpleNamespace(writer=SimpleNamespace(submit=self.write)),
                tapes=SimpleNamespace(
                    of=note("tape", hidden), forget=lambda name: self.asked.append(("no tape", name))
                ),
                grading=SimpleNamespace(
                    private=self.private,
                    baseline=note("baseline", BASELINE),
                    forget=lambda one: self.asked.append(("no task", one.name)),
                ),
                rations=SimpleNamespace(take_private=self.ration),
                deferrals=SimpleNamespace(
                    outcomes=note("questions", ["open"]), result=lambda *given: {"state": "deferred", "of": given[2]}
                ),
                threads=self.threads,
            ),
            SimpleNamespace(flags=self.flags),  # type: ignore[arg-type]
            SimpleNamespace(score_missing=self.missing, payload=self.payload),  # type: ignore[arg-type]
            SimpleNamespace(  # type: ignore[arg-type]
                end_session=note("session ends", None),
                outcomes=note("outcomes", OUTCOMES),
                session_summary=lambda _rollout: {"venue": "v"},
                forget_session=lambda _rollout: self.asked.append("no session"),
            ),
            SimpleNamespace(of=note("shown", answers.get("shown", ShownBefore(2, replayed=True)))),  # type: ignore[arg-type]
        )

    def note(self, name: str, answer: object) -> Any:
        async def noted(*_given: object) -> object:
            self.asked.append(name)
            return answer

        return noted

    async def write(self, apply: Any) -> dict[str, object]:
        event = apply.__self__
        self.asked.append("write")
        self.written.append(event)
        return {"written": event.finalized.result if isinstance(event, EpisodePlayed) else event.result}

    async def payload(self, _rollout: Rollout, number: int) -> bytes:
        self.asked.append(("payload", number))
        return VALUES.astype("<f8").tobytes()

    async def missing(self, _rollout: Rollout, number: int) -> None:
        self.asked.append(("missing", number))
        raise SubmissionError("no score", problem="unscorable")

    async def private(self, hidden: Any, values: Any, digest: str) -> Score:
        assert (hidden, digest) == (self.hidden, sha256_of(values.data.cast("B")))
        self.asked.append(("private", float(values.sum())))
        if isinstance(self.answers.get("score"), Exception):
            raise self.answers["score"]
        return SCORE

    def compare(self, _hidden: Any, score: Score, baseline: Score) -> object:
        assert baseline is BASELINE
        if isinstance(self.answers.get("compared"), Exception) and score is SCORE:
            raise self.answers["compared"]
        return scored()

    async def flags(self, row: Any, hidden: Any, values: Any, relative: float | None) -> list[str]:
        assert (row.id, hidden) == ("r", self.hidden)
        self.asked.append(("flags", values is not None, relative))
        return self.answers.get("flags", ["probing"])

    def ration(self, row: Any, relative: float | None, *, read: bool) -> Told:
        self.asked.append(("ration", row.id, relative, read))
        return Told("held", self.answers.get("ladder"))

    def end(self, one: Rollout) -> Any:
        try:
            return asyncio.run(self.service.finalize(one))
        finally:
            self.threads.shutdown()


def hidden(**stated: object) -> Any:
    return task(**({"split": "test", "tape_of_its_own": False} | stated))


def test_the_last_submission_is_scored_told_and_written_in_this_order(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden())
    one = rollout(world.hidden)
    one.feedback = [{"mae": 1.0}, None]
    assert world.end(one) == {"written": world.written[0].result}
    # What was never scored is tried again, the session is over first, and the ration is taken last.
    steps = [step for step in world.asked if step not in {"baseline", ("private", 15.0)}]
    assert steps == [
        *("session ends", "tape", ("missing", 2), ("payload", 2), ("flags", True, 0.7), "shown"),
        ("ration", "r", None, True),
        *("write", ("no tape", "r"), "no session"),
    ]
    result = world.written[0].result
    assert (result["state"], result["total"], result["baseline_total"], result["flags"]) == (
        "scored",
        0.5,
        0.8,
        ["probing"],
    )
    assert (result["shown_before"], result["replayed"]) == (2, True)
    assert (result["session"], world.written[0].disclosure, world.written[0].rollout_id) == (
        {"venue": "v"},
        "held",
        "r",
    )
    assert (one.result, one.disclosure, one.feedback) == ({"written": result}, "held", [{"mae": 1.0}, None])


@pytest.mark.parametrize(
    ("flags", "replayed", "surely"),
    [([], False, 0.9), (["probing"], False, None), (["unexamined"], False, None), ([], True, None)],
)
def test_what_is_in_doubt_raises_no_ladder(
    monkeypatch: pytest.MonkeyPatch, flags: list[str], replayed: bool, surely: float | None
) -> None:
    """A party that has seen the fold, or probes it, would hand all others a rung that only labels reach."""
    world = World(monkeypatch, hidden(), flags=flags, shown=ShownBefore(1, replayed=replayed))
    world.end(rollout(world.hidden))
    assert ("ration", "r", surely, True) in world.asked


def test_a_result_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden())
    one = rollout(world.hidden)

    async def twice() -> list[dict[str, object]]:
        return list(await asyncio.gather(world.service.finalize(one), world.service.finalize(one)))

    first, second = asyncio.run(twice())
    world.threads.shutdown()
    assert first is second
    assert (world.asked.count("write"), world.asked.count("session ends")) == (1, 1)


@pytest.mark.parametrize("failure", ["score", "compared"])
def test_what_cannot_be_scored_is_rejected_with_its_reason(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    world = World(monkeypatch, hidden(), **{failure: SubmissionError("these values are odd", problem="unscorable")})
    world.end(rollout(world.hidden))
    result = world.written[0].result
    assert (result["state"], result["reason"]) == ("rejected", "these values are odd")
    assert ("flags", True, None) in world.asked
    # It failed on hidden data, which its principal is told as little as a score.
    assert ("ration", "r", None, True) in world.asked


def test_a_comparison_that_fails_on_the_values_alone_is_no_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden(), compared=ZeroDivisionError())
    world.end(rollout(world.hidden))
    assert world.written[0].result["reason"].startswith("the relative total on t fails on these values")


def test_a_failure_of_ours_writes_nothing_and_takes_no_ration(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden(), score=VerifierError("out of memory"))
    one = rollout(world.hidden)
    with pytest.raises(VerifierError, match="out of memory"):
        world.end(one)
    assert (world.written, one.result) == ([], None)
    assert not any(step[0] in {"ration", "no tape"} for step in world.asked)


@pytest.mark.parametrize("sequential", [False, True])
def test_where_nothing_was_accepted_nothing_is_scored(monkeypatch: pytest.MonkeyPatch, sequential: bool) -> None:
    world = World(monkeypatch, hidden(sequential=sequential))
    one = rollout(world.hidden)
    one.accepted, one.feedback = 0, []
    world.end(one)
    result = world.written[0].result
    assert (result["state"], result["baseline_total"]) == ("rejected", 0.8)
    assert result["reason"].startswith("no private episode" if sequential else "no submission was accepted")
    assert world.asked == [
        *("session ends", "tape", "baseline", ("flags", False, None), "shown", ("ration", "r", None, False), "write"),
        *(("no tape", "r"), "no session"),
    ]
    assert one.feedback == []


def test_the_outcomes_of_episodes_are_one_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden(sequential=True, tape_of_its_own=True), flags=[], shown=ShownBefore(2))
    one = rollout(world.hidden)
    one.progress = SimpleNamespace()  # type: ignore[assignment]
    world.end(one)
    (event,) = world.written
    assert isinstance(event, EpisodePlayed)
    assert (event.rollout_id, event.at_ns, bytes(event.payload)) == ("r", event.finalized.at_ns, OUTCOMES.tobytes())
    assert (event.finalized.result["state"], one.feedback, one.progress) == ("scored", [None], None)
    # What its agent saw while it played is told at the close all the same: what is entered is compared with a baseline.
    assert (one.disclosure, ("ration", "r", 0.9, True) in world.asked) == ("held", True)
    assert world.asked[-2:] == ["no session", ("no task", "t")]
    assert ("private", 42.0) in world.asked


def test_what_the_ladder_says_is_in_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    said = LadderAnswer(None, 0.95, 4)
    world = World(monkeypatch, hidden(), ladder=said)
    world.end(rollout(world.hidden))
    assert world.written[0].result["ladder"] == said.to_dict()


def test_instances_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden(split="train"))
    world.end(rollout(world.hidden))
    assert world.written[0].result["flags"] == []
    assert not any(step[0] == "flags" for step in world.asked)


def test_open_questions_defer_the_result_and_without_an_answer_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, hidden(sequential=True))
    one = rollout(world.hidden, questions=("2024-03-15",))
    one.feedback = []
    assert world.end(one) == {"written": {"state": "deferred", "of": ["open"]}}
    # What was answered is kept with the result, and no ration is taken of a score that there is not yet.
    assert world.asked == ["session ends", "tape", "outcomes", "questions", "write", ("no tape", "r"), "no session"]
    assert bytes(world.written[0].payload) == OUTCOMES.tobytes()
    assert (one.result, one.disclosure) == ({"written": {"state": "deferred", "of": ["open"]}}, "full")
    world = World(monkeypatch, hidden())
    one = rollout(world.hidden, questions=("2024-03-15",))
    one.accepted, one.feedback = 0, []
    world.end(one)
    result = world.written[0].result
    # Where nothing is known, there is no baseline either.
    assert (result["state"], result["baseline_total"], "baseline" in world.asked) == ("rejected", None, False)
