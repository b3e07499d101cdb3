"""Whose failure a rollout's end was: every order of accepted submissions, failed requests and endings."""

import itertools
from concurrent.futures import CancelledError
from dataclasses import replace

import pytest

from openfingym.agents.llm.ending import ConversationEnding
from openfingym.agents.llm.playing import PlayedConversation
from openfingym.errors import (
    ModelUnavailableError,
    OpenFinGymError,
    RuntimeFailureError,
    UsageError,
    VerifierError,
)
from openfingym.models.messages import Usage
from openfingym.models.meter import Spent
from openfingym.results import RolloutResult
from openfingym.rollouts.verdict import Acted, Contact, failed, judged, spent, unexpected_is_ours, with_verified
from openfingym.verifiers.client import VerifiedResult
from openfingym.verifiers.stopwatch import Stopwatch
from openfingym_runtime.job import Outcome

BEGUN = RolloutResult("r", "t", "d", "real", "a", "inline", 0, "error")
STATES = ("scored", "rejected", "held", "deferred", "void")
EXITED = Outcome("exit", 0, b"done\n", 9.0)
CRASHED = Outcome("exit", 1, b"Traceback\nValueError: x\n", 9.0)


def verified(state: str = "scored", **stated: object) -> VerifiedResult:
    given: dict[str, object] = {
        "rollout_id": "r", "task": "t", "task_digest": "d", "data_kind": "real", "state": state,
        "reason": None if state == "scored" else f"is {state}", "total": 0.5, "relative_total": 0.7,
        "metrics": {"mae": 0.5}, "baseline": "naive", "baseline_total": 0.8, "baseline_metrics": {"mae": 0.8},
        "submissions_accepted": 2, "submissions_rejected": 1, "budget": 5, "flags": ("flag",), "policy": "strict",
        "season": "s", "disclosure": "rounded", "log_head": "h", "created_at": "c", "finalized_at": "f",
        "relative_interval": (0.6, 0.8), "total_interval": (0.4, 0.6), "standard_errors": {"mae": 0.1},
    }  # fmt: skip
    return VerifiedResult(**{**given, **stated})  # type: ignore[arg-type]


def talked(how: str = "finished", *, outcome: Outcome | None = None, **stated: object) -> PlayedConversation:
    given: dict[str, object] = {
        "ending": ConversationEnding(how, f"it was {how}"), "failure": None, "turns": (), "tools": (), "rewards": (),
        "spent": Spent(2, Usage(30, 4), 0.25, 1.0, 20.0), "program": "", "output": b"said", "execution_s": 0.0,
        "verifier_failures": 0, "told": False, "verifier_s": 0.0, "outcome": outcome,
    }  # fmt: skip
    return PlayedConversation(**{**given, **stated})  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "failures"), list(itertools.product(STATES, (0, 2))))
@pytest.mark.parametrize(
    ("acted", "well"),
    [
        (Acted(EXITED), True),
        (Acted(CRASHED), False),
        (Acted(Outcome("timeout", None, b"", 9.0)), False),
        (Acted(Outcome("timeout", 0, b"", 9.0)), False),  # it took the signal to stop for a request to end
        (Acted(replace(EXITED, exit_code=None)), False),
        (Acted(), True),
        (Acted(played=talked()), True),
        (Acted(played=talked("turns")), False),
        (Acted(CRASHED, played=talked()), False),
    ],
)
def test_a_failed_request_is_forgiven_only_to_a_score_of_an_agent_that_ended_in_order(
    state: str, failures: int, acted: Acted, well: bool
) -> None:
    acted = replace(acted, contact=Contact(failures=failures))
    assert acted.ended_well is well
    if failures and (state == "rejected" or not well):
        with pytest.raises(VerifierError, match=r"failed 2 request\(s\)"):
            judged(BEGUN, verified(state), acted)
        return
    result = judged(BEGUN, verified(state), acted)
    assert result.state == {"held": "deferred"}.get(state, state)
    assert (result.boundary is None) == (state != "rejected")


def test_a_result_has_figures_only_where_it_is_scored() -> None:
    scored = with_verified(BEGUN, verified())
    assert (scored.total, scored.relative_total, scored.metrics) == (0.5, 0.7, {"mae": 0.5})
    assert (scored.relative_interval, scored.total_interval) == ((0.6, 0.8), (0.4, 0.6))
    assert scored.standard_errors == {"mae": 0.1}
    for state in STATES[1:]:
        # What was there before is removed as well.
        other = with_verified(scored, verified(state))
        assert (other.total, other.relative_total, other.relative_interval, other.total_interval) == (None,) * 4
        assert (other.metrics, other.standard_errors) == ({}, {})
    of_its_own = verified(session={"venue": "v"}, questions="1-10", principal="team-a", reason="told so")
    stated = ("reason", "session", "questions", "principal")
    assert all(getattr(with_verified(BEGUN, of_its_own), name) == getattr(of_its_own, name) for name in stated)
    assert with_verified(BEGUN, verified(principal="")).principal is None
    stated = ("baseline", "baseline_total", "baseline_metrics", "submissions_accepted", "submissions_rejected")
    stated += ("budget", "flags", "policy", "season", "disclosure", "tape", "split", "instance", "log_head")
    assert all(getattr(scored, name) == getattr(verified(), name) for name in stated)


@pytest.mark.parametrize(
    ("acted", "reason", "ended_by", "exit_code", "boundary"),
    [
        (Acted(EXITED), "is rejected", "exit", 0, "agent"),
        (Acted(CRASHED), "the program ended with status 1 (ValueError: x); is rejected", "exit", 1, "agent"),
        (Acted(replace(CRASHED, output=b"")), "the program ended with status 1; is rejected", "exit", 1, "agent"),
        (
            Acted(Outcome("memory", None, b"", 1.0)),
            "the program was stopped at its memory limit; is rejected",
            "memory",
            None,
            "agent",
        ),
        (Acted(Outcome("cancelled", None, b"", 1.0)), "the program was cancelled; is rejected", "cancelled", None,
         "agent"),
        (Acted(), "is rejected", None, None, "agent"),
        (Acted(played=talked("silent")), "it was silent; is rejected", "silent", None, "protocol"),
        (Acted(played=talked("refused")), "it was refused; is rejected", "refused", None, "model"),
        (Acted(CRASHED, played=talked()), "the program ended with status 1 (ValueError: x); is rejected", "exit", 1,
         "agent"),
        (Acted(EXITED, played=talked("turns")), "it was turns; is rejected", "turns", 0, "agent"),
    ],
)  # fmt: skip
def test_a_rejection_says_how_the_agent_ended(
    acted: Acted, reason: str, ended_by: str | None, exit_code: int | None, boundary: str
) -> None:
    result = judged(BEGUN, verified("rejected"), acted)
    assert (result.reason, result.ended_by, result.exit_code, result.boundary) == (
        reason,
        ended_by,
        exit_code,
        boundary,
    )


def test_a_score_says_how_the_agent_ended_only_where_it_was_stopped_early() -> None:
    assert judged(BEGUN, verified(), Acted(CRASHED)).reason is None
    assert judged(BEGUN, verified(), Acted(played=talked("turns"))).reason is None
    assert judged(BEGUN, verified(), Acted(played=talked("no-progress"))).reason == "it was no-progress"


@pytest.mark.parametrize(
    ("error", "boundary"),
    [
        (VerifierError("v"), "verifier"),
        (ModelUnavailableError("m"), "model"),
        (RuntimeFailureError("r"), "sandbox"),
        (UsageError("u"), "sandbox"),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_a_failure_of_ours_has_no_score_and_says_where_it_was(
    error: OpenFinGymError, boundary: str, told: bool
) -> None:
    known = with_verified(BEGUN, verified())
    result = failed(known, error, Acted(contact=Contact(told=told), played=talked()))
    assert (result.state, result.reason, result.boundary, result.told) == ("error", str(error), boundary, told)
    assert (result.total, result.relative_total, result.relative_interval, result.total_interval) == (None,) * 4
    assert (result.metrics, result.standard_errors) == ({}, {})
    assert (result.turns, result.prompt_tokens, result.completion_tokens) == (2, 30, 4)


def test_what_a_model_cost_is_unknown_or_what_it_spent() -> None:
    assert spent(BEGUN, Acted()) == BEGUN
    assert spent(BEGUN, Acted(played=talked())).cost_usd == 0.25
    assert spent(BEGUN, Acted(played=talked(spent=Spent()))).cost_usd is None


def test_an_agents_own_time_is_without_waiting_and_never_negative() -> None:
    for acted in (Acted(played=talked()), Acted(replace(EXITED, wall_s=20.0))):
        assert replace(acted, contact=Contact(verifier_s=5.0)).own_s == 15.0
        assert replace(acted, contact=Contact(verifier_s=25.0)).own_s == 0.0
    # A conversation counts its own time, whatever its program took.
    assert Acted(EXITED, played=talked()).own_s == 20.0
    clock = iter((100.0, 107.0))
    contact = Contact(verifier_s=5.0, finalizing=Stopwatch(lambda: next(clock)))
    with contact.finalizing.running():
        pass
    assert Acted(EXITED, contact).verifier_s == 12.0
    assert (Acted(EXITED).output, Acted(EXITED, played=talked()).output, Acted().output) == (b"done\n", b"said", b"")


def test_only_what_nobody_expected_becomes_a_failure_of_ours() -> None:
    with (
        pytest.raises(RuntimeFailureError, match=r"raised ZeroDivisionError \(division by zero\)"),
        unexpected_is_ours(),
    ):
        _ = 1 / 0
    for known in (UsageError("u"), CancelledError()):
        with pytest.raises(type(known)) as caught, unexpected_is_ours():
            raise known
        assert caught.value is known
