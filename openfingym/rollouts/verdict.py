"""The result of a rollout, made from how the agent acted and what the verifier found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from openfingym.errors import ModelUnavailableError, OpenFinGymError, RuntimeFailureError, VerifierError
from openfingym.results import Boundary, RolloutResult, State
from openfingym.verifiers.stopwatch import Stopwatch

if TYPE_CHECKING:
    from openfingym.agents.llm.playing import PlayedConversation
    from openfingym.verifiers.client import VerifiedResult
    from openfingym_runtime.job import Outcome

OURS = (RuntimeFailureError, VerifierError, ModelUnavailableError)
"""Errors that make a rollout an ``error``."""


@dataclass
class Contact:
    """The ticket, submissions and calls of an agent at the verifier; known also where the rollout failed on the way."""

    failures: int = 0
    """Requests that our side failed."""
    told: bool = False
    """Whether the verifier answered it with anything that follows from hidden data."""
    verifier_s: float = 0.0
    """Seconds for which it waited for the verifier's answers."""
    acting: Stopwatch = field(default_factory=Stopwatch)
    """Runs while it acts, and while that is prepared."""
    finalizing: Stopwatch = field(default_factory=Stopwatch)
    """Runs while the verifier makes the final score."""


@dataclass(frozen=True)
class Acted:
    """How an agent acted, before the verifier says what it was worth."""

    outcome: Outcome | None = None
    """How its program ended; None of the oracle, and of an agent that ran many."""
    contact: Contact = field(default_factory=Contact)
    """What its programs had to do with the verifier."""
    played: PlayedConversation | None = None
    """What an agent with a model, or a command, did."""

    @property
    def ended_well(self) -> bool:
        """Whether it ended by itself and in order: it has tried again whatever failed on the way."""
        if self.outcome is not None:
            return self.outcome.ended_by == "exit" and self.outcome.exit_code == 0
        return self.played is None or self.played.ending.how == "finished"

    @property
    def own_s(self) -> float:
        """Seconds that the agent took itself: without the start of its container or workspace, as far as that is
        known, and without waiting for the verifier.
        """
        took = self.contact.acting.elapsed_s
        if self.played is not None:
            took = self.played.spent.wall_s
        elif self.outcome is not None:
            took = self.outcome.wall_s
        return max(0.0, took - self.contact.verifier_s)

    @property
    def verifier_s(self) -> float:
        """Seconds that the verifier took: for what the agent asked of it, and for the final score."""
        return self.contact.verifier_s + self.contact.finalizing.elapsed_s

    @property
    def output(self) -> bytes:
        """The output of its programs."""
        if self.played is not None:
            return self.played.output
        return self.outcome.output if self.outcome else b""


def judged(result: RolloutResult, verified: VerifiedResult, acted: Acted) -> RolloutResult:
    """The result of an agent that acted to its end.

    Raises:
        VerifierError: the verifier failed on the way, so that this would not be the agent's result.
    """
    scored = verified.state in {"scored", "held", "deferred", "void"}
    if acted.contact.failures and not (scored and acted.ended_well):
        raise VerifierError(
            f"the verifier failed {acted.contact.failures} request(s) of this rollout, whose result would not be the "
            "agent's"
        )
    ended_early = acted.played is not None and acted.played.ending.how == "no-progress"
    reason = "; ".join(part for part in (_how_it_ended(acted), verified.reason) if part)
    return replace(
        with_verified(spent(result, acted), verified),
        reason=verified.reason if scored and not ended_early else reason,
        boundary=None if scored else _fault(acted),
        ended_by=_ended_by(acted),
        exit_code=acted.outcome.exit_code if acted.outcome else None,
    )


STATES: Mapping[str, State] = {
    "scored": "scored",
    "rejected": "rejected",
    "held": "deferred",
    "deferred": "deferred",
    "void": "void",
}
"""State of a result by what the verifier says."""


def with_verified(result: RolloutResult, verified: VerifiedResult) -> RolloutResult:
    """A result with everything that the verifier says of it."""
    scored = verified.state == "scored"
    return replace(
        result,
        state=STATES[verified.state],
        reason=verified.reason,
        total=verified.total if scored else None,
        metrics=dict(verified.metrics) if scored else {},
        relative_total=verified.relative_total if scored else None,
        relative_interval=verified.relative_interval if scored else None,
        total_interval=verified.total_interval if scored else None,
        standard_errors=dict(verified.standard_errors) if scored else {},
        baseline=verified.baseline,
        baseline_total=verified.baseline_total,
        baseline_metrics=dict(verified.baseline_metrics),
        submissions_accepted=verified.submissions_accepted,
        submissions_rejected=verified.submissions_rejected,
        budget=verified.budget,
        flags=tuple(verified.flags),
        policy=verified.policy,
        season=verified.season,
        disclosure=verified.disclosure,
        tape=verified.tape,
        split=verified.split,
        instance=verified.instance,
        session=verified.session,
        questions=verified.questions,
        log_head=verified.log_head,
    )


def failed(result: RolloutResult, error: OpenFinGymError, acted: Acted) -> RolloutResult:
    """The result of a rollout that failed for a reason of ours."""
    boundary: Boundary = "sandbox"
    if isinstance(error, VerifierError):
        boundary = "verifier"
    elif isinstance(error, ModelUnavailableError):
        boundary = "model"
    cleared = replace(spent(result, acted), total_interval=None, relative_interval=None, standard_errors={})
    told = acted.contact.told
    return replace(
        cleared,
        state="error",
        reason=str(error),
        boundary=boundary,
        total=None,
        relative_total=None,
        metrics={},
        told=told,
    )


def spent(result: RolloutResult, acted: Acted) -> RolloutResult:
    """A copy of the result with the tokens, turns and cost of the agent's model."""
    if acted.played is None:
        return result
    found = acted.played.spent
    return replace(
        result,
        turns=found.turns,
        prompt_tokens=found.usage.prompt,
        completion_tokens=found.usage.completion,
        cost_usd=found.cost_usd if found.turns else None,
    )


def _fault(acted: Acted) -> Boundary:
    return "agent" if acted.played is None else acted.played.ending.boundary


def _ended_by(acted: Acted) -> str | None:
    """The end of the one program, where there was one and nothing else ended the agent."""
    if acted.played is not None and (acted.outcome is None or acted.played.ending.how != "finished"):
        return acted.played.ending.how
    return acted.outcome.ended_by if acted.outcome else None


def _how_it_ended(acted: Acted) -> str | None:
    """A clause on how the agent ended, if it did not simply finish."""
    if acted.played is not None and acted.played.ending.how != "finished":
        return acted.played.ending.detail
    return _how_the_program_ended(acted.outcome)


def _how_the_program_ended(outcome: Outcome | None) -> str | None:
    """A clause on how the program ended, if it did not simply finish, with the last line it printed."""
    if outcome is None or (outcome.ended_by == "exit" and outcome.exit_code == 0):
        return None
    stopped = {
        "timeout": "the program was stopped at its time limit",
        "memory": "the program was stopped at its memory limit",
        "output": "the program was stopped for printing too much",
        "cancelled": "the program was cancelled",
    }
    if outcome.ended_by != "exit":
        return stopped[outcome.ended_by]
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    return f"the program ended with status {outcome.exit_code}" + (f" ({lines[-1][:300]})" if lines else "")
