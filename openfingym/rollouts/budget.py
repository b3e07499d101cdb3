"""The budget of a run: what all of its rollouts together may spend on models."""

from __future__ import annotations

from collections.abc import Iterable

from openfingym.results import RolloutResult


class RunBudget:
    """Counts what the rollouts of a run spend, including those that were finished before.

    Args:
        cost_usd: the most US dollars that may be spent; None for no limit.
        tokens: the most input and output tokens that may be used, together; None for no limit.
        done: results of the rollouts that were finished before.
    """

    def __init__(
        self, cost_usd: float | None = None, tokens: int | None = None, done: Iterable[RolloutResult] = ()
    ) -> None:
        self._cost_usd, self._tokens = cost_usd, tokens
        self._spent_usd, self._spent_tokens = 0.0, 0
        self._unknown: RolloutResult | None = None
        """A result that does not say what it cost; None while there is no such result."""
        for result in done:
            self.count(result)

    def count(self, result: RolloutResult) -> None:
        """Count what one rollout spent."""
        self._spent_tokens += result.prompt_tokens + result.completion_tokens
        self._spent_usd += result.cost_usd or 0.0
        # An unknown cost is counted as nothing above, so that from here on the sum may be too low.
        if result.turns and result.cost_usd is None:
            self._unknown = result

    @property
    def reached(self) -> str | None:
        """The reason why no further rollout may begin, in one clause; None where one may."""
        if self._tokens is not None and self._spent_tokens >= self._tokens:
            return f"the run's budget of {self._tokens} tokens is reached ({self._spent_tokens} were spent)"
        if self._cost_usd is None:
            return None
        if self._spent_usd >= self._cost_usd:
            return f"the run's budget of ${self._cost_usd:g} is reached (${self._spent_usd:.4f} were spent)"
        if self._unknown is not None:
            return (
                f"the run's budget of ${self._cost_usd:g} cannot be kept: what {self._unknown.agent} spent on "
                f"{self._unknown.task} is not known, because nobody counted its tokens or stated its cost; limit the "
                "tokens instead"
            )
        return None
