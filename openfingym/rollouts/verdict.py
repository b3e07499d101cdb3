"""The result of a rollout, made from how the agent acted and what the verifier found."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from openfingym.errors import ModelUnavailableError, OpenFinGymError, RuntimeFailureError, VerifierError
from openfingym.results import RolloutResult, State
from openfingym.results.result import Boundary
from openfingym.verifiers.answers import VerifiedResult
from openfingym.verifiers.stopwatch import Stopwatch

if TYPE_CHECKING:
    from openfingym.agents.llm.playing import PlayedConversation
    from openfingym_runtime.job import Outcome

OURS = (RuntimeFailureError, VerifierError, ModelUnavailableError)
"""Failures of ours: they end a rollout in the state ``error``."""

_log = logging.getLogger(__name__)


@dataclass
class Contact:
    """What an agent had to do with the verifier; it is filled in as the rollout goes on, so that it is known also where
    the rollout fails on the way.
    """

    failures: int = 0
    """Number of the agent's requests that failed for a reason of ours."""
    told: bool = False
    """Whether the verifier answered the agent with anything that follows from hidden data."""
    verifier_s: float = 0.0
    """Seconds for which the agent waited for the verifier's answers."""
    acting: Stopwatch = field(default_factory=Stopwatch)
    """Runs while the agent acts, and while its start is prepared."""
    finalizing: Stopwatch = field(default_factory=Stopwatch)
    """Runs while the verifier makes the final score."""


@dataclass(frozen=True)
class Acted:
    """How an agent acted, before the verifier says what it was worth."""

    outcome: Outcome | None = None
    """How the agent's program ended; None for the oracle, and for an agent that ran many programs."""
    contact: Contact = field(default_factory=Contact)
    """What the agent had to do with the verifier."""
    played: PlayedConversation | None = None
    """What an agent with a model or a command said and did; None for any other."""

    @property
    def ended_well(self) -> bool:
        """Whether the agent ended by itself and in order, so that it has repeated whatever failed on the way."""
        if self.outcome is not None:
            return self.outcome.ended_by == "exit" and self.outcome.exit_code == 0
        return self.played is None or self.played.ending.how == "finished"

    @property
    def own_s(self) -> float:
        """Seconds that the agent took itself: without the start of its container or workspace, as far as that is
        known, and without waiting for the verifier.
        """
        took_s = self.contact.acting.elapsed_s
        if self.played is not None:
            took_s = self.played.spent.wall_s
        elif self.outcome is not None:
            took_s = self.outcome.wall_s
        # Measured in two places: the wait for an answer may outlast the program that asked, as where it was killed.
        return max(0.0, took_s - self.contact.verifier_s)

    @property
    def verifier_s(self) -> float:
        """Seconds that the verifier took: for what the agent asked of it, and for the final score."""
        return self.contact.verifier_s + self.contact.finalizing.elapsed_s

    @property
    def output(self) -> bytes:
        """What the agent's programs wrote to stdout and stderr."""
        if self.played is not None:
            return self.played.output
        return self.outcome.output if self.outcome else b""


def judged(result: RolloutResult, verified: VerifiedResult, acted: Acted) -> RolloutResult:
    """The result of an agent that acted to its end.

    Args:
        result: the result as it stood before anything was scored.
        verified: the final result as the verifier states it.
        acted: how the agent acted and ended.

    Raises:
        VerifierError: the verifier failed on the way, so that this would not be the agent's result.
    """
    scored = verified.state in {"scored", "held", "deferred", "void"}
    # An agent that ended in order has repeated the requests that failed, and its score is its own; any other may have
    # been rejected, or have stopped, because of them.
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
"""State of a result by the state that the verifier gives it."""


_OWN = {"rollout_id", "task", "task_digest", "data_kind", "agent", "seed", "state", "principal"}
"""Fields of a result that its launcher states, and those that the verifier states in another form."""
_VERIFIED = tuple(
    item.name for item in fields(VerifiedResult) if item.name in RolloutResult.__dataclass_fields__.keys() - _OWN
)
"""Fields of a result that are the verifier's word for word; a new one of both classes is one of them."""


def with_verified(result: RolloutResult, verified: VerifiedResult) -> RolloutResult:
    """A copy of a result with everything that the verifier states of it.

    Args:
        result: the result as the launcher knows it.
        verified: the final result as the verifier states it.
    """
    stated = {name: getattr(verified, name) for name in _VERIFIED}
    if verified.state != "scored":
        # Where there is no score, what may have been there before is removed too.
        stated |= _no_score()
    return replace(result, **stated, state=STATES[verified.state], principal=verified.principal or None)


def _no_score() -> dict[str, Any]:
    """What a result holds of a score where it has none."""
    return {
        "total": None,
        "total_interval": None,
        "relative_total": None,
        "relative_interval": None,
        "metrics": {},
        "standard_errors": {},
    }


@contextlib.contextmanager
def unexpected_is_ours() -> Iterator[None]:
    """Raise what nobody expected as a failure of ours: it ends one rollout, and not the run with all others.

    Raises:
        RuntimeFailureError: the block raised an exception that is not of this library; the log has its traceback.
    """
    try:
        yield
    except (OpenFinGymError, CancelledError):
        raise
    except Exception as error:
        _log.exception("an agent's code failed")
        raise RuntimeFailureError(
            f"the agent's code raised {type(error).__name__} ({str(error)[:300]}), which is a bug of this library or "
            "of the package that the agent is from; the log has its traceback"
        ) from error


def failed(result: RolloutResult, error: OpenFinGymError, acted: Acted) -> RolloutResult:
    """The result of a rollout that failed for a reason of ours.

    Args:
        result: the result as it stood before the failure.
        error: the failure.
        acted: how the agent had acted until then.
    """
    boundary: Boundary = "sandbox"
    if isinstance(error, VerifierError):
        boundary = "verifier"
    elif isinstance(error, ModelUnavailableError):
        boundary = "model"
    # A failure of ours has no score, not even where one was known before the failure.
    return replace(
        spent(result, acted),
        state="error",
        reason=str(error),
        boundary=boundary,
        told=acted.contact.told,
        **_no_score(),
    )


def spent(result: RolloutResult, acted: Acted) -> RolloutResult:
    """A copy of the result with the tokens, turns and cost of the agent's model."""
    if acted.played is None:
        return result
    amounts = acted.played.spent
    return replace(
        result,
        turns=amounts.turns,
        prompt_tokens=amounts.usage.prompt,
        completion_tokens=amounts.usage.completion,
        cost_usd=amounts.cost_usd if amounts.turns else None,
    )


def _fault(acted: Acted) -> Boundary:
    return "agent" if acted.played is None else acted.played.ending.boundary


def _ended_by(acted: Acted) -> str | None:
    """How the program ended, where there was exactly one and nothing else ended the agent; else how the conversation
    ended; None for the oracle.
    """
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
    # The last line of a traceback is the error itself.
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    return f"the program ended with status {outcome.exit_code}" + (f" ({lines[-1][:300]})" if lines else "")
