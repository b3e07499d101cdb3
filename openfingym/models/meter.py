"""What an agent may spend on its model, and a meter of what it has spent: turns, tokens, US dollars, seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from openfingym.errors import UsageError
from openfingym.models.messages import Completion, Usage

Limit = Literal["turns", "tokens", "cost", "wall"]
"""Names of limits, as results say which one was reached."""


@dataclass(frozen=True)
class Allowance:
    """Limits on what one rollout may spend on its model; None for no limit."""

    turns: int | None = None
    """Most completions."""
    tokens: int | None = None
    """Most input and output tokens of all completions together, cached input included."""
    cost_usd: float | None = None
    """Most US dollars of all completions together."""
    wall_s: float | None = None
    """Most seconds from the making of the meter on, whatever they are spent on, without those that are excused."""
    useless: int | None = None
    """Useless answers in a row that end the rollout: empty, cut off, with nothing that can be done, or repeating what
    failed before."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"the limit {item.name} must be more than 0, found {value!r}; leave it out for none")


@dataclass(frozen=True)
class Spent:
    """Amounts spent so far."""

    turns: int = 0
    """Number of completions."""
    usage: Usage = field(default_factory=Usage)
    """Tokens of all completions together."""
    cost_usd: float | None = 0.0
    """US dollars of all completions together; None as soon as the cost of one is not known."""
    model_s: float = 0.0
    """Seconds of waiting for the answers that came."""
    wall_s: float = 0.0
    """Seconds since the meter was made, without those that were excused."""


@dataclass(frozen=True)
class Left:
    """What is left of an allowance, never below 0; None where there is no limit."""

    turns: int | None
    tokens: int | None
    cost_usd: float | None
    wall_s: float | None


class Meter:
    """Counts what one rollout spends on its model.

    Args:
        allowance: limits on turns, tokens, cost and time; None for no limits.
        clock: returns seconds that only go forward, so that a change of the machine's time changes nothing.
        before: what was spent before, by a process that died; None for nothing.
        charged: called with all that was spent so far, after each completion.
    """

    def __init__(
        self,
        allowance: Allowance | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        before: Spent | None = None,
        charged: Callable[[Spent], None] | None = None,
    ) -> None:
        self.allowance = allowance or Allowance()
        self._clock = clock
        self._spent = before or Spent()
        # As if the meter had been made so much earlier, so that seconds of the process before count too.
        self._start = clock() - self._spent.wall_s
        self._charged = charged

    def charge(self, completion: Completion) -> None:
        """Count one completion.

        Raises:
            UsageError: there is a limit on cost, and the cost of this completion is not known.
        """
        if completion.cost_usd is None and self.allowance.cost_usd is not None:
            if not completion.counted:
                raise UsageError(
                    f"the endpoint did not count the tokens of {completion.model!r}, so no limit on cost can be kept; "
                    "limit the tokens instead, which are estimated"
                )
            raise UsageError(
                f"no price is known for model {completion.model!r}, so a limit on cost cannot be kept; "
                "state its price in a file given as prices, or drop the limit"
            )
        before, cost = self._spent, completion.cost_usd
        self._spent = Spent(
            turns=before.turns + 1,
            usage=before.usage + completion.usage,
            cost_usd=None if cost is None or before.cost_usd is None else before.cost_usd + cost,
            model_s=before.model_s + completion.latency_s,
        )
        if self._charged is not None:
            self._charged(self.spent)

    def excuse(self, seconds: float) -> None:
        """Take back time for which the agent is not responsible."""
        # Moving the start forward makes the elapsed time shorter.
        self._start += seconds

    @property
    def spent(self) -> Spent:
        """The amounts spent until now."""
        return replace(self._spent, wall_s=self._clock() - self._start)

    @property
    def left(self) -> Left:
        """The amounts left now."""
        allowed, spent = self.allowance, self.spent
        return Left(
            turns=None if allowed.turns is None else max(0, allowed.turns - spent.turns),
            tokens=None if allowed.tokens is None else max(0, allowed.tokens - spent.usage.total),
            cost_usd=None if allowed.cost_usd is None else max(0.0, allowed.cost_usd - (spent.cost_usd or 0.0)),
            wall_s=None if allowed.wall_s is None else max(0.0, allowed.wall_s - spent.wall_s),
        )

    @property
    def exhausted(self) -> Limit | None:
        """The first limit that is reached; None where there is room for another completion."""
        left = self.left
        amounts: tuple[tuple[Limit, float | None], ...] = (
            ("turns", left.turns),
            ("tokens", left.tokens),
            ("cost", left.cost_usd),
            ("wall", left.wall_s),
        )
        return next((name for name, amount in amounts if amount is not None and amount <= 0), None)

    def notice(self, *, share: float = 0.25) -> str | None:
        """One line for the agent on the limits of which little is left; None where there is none. The last turn is
        always announced.

        Args:
            share: share of a limit; what is left is told where it is no more than this.
        """
        allowed, left = self.allowance, self.left
        parts = []
        if left.turns is not None and allowed.turns is not None and left.turns <= max(1.0, share * allowed.turns):
            parts.append("1 turn, your last" if left.turns == 1 else f"{left.turns} turns")
        if left.tokens is not None and allowed.tokens is not None and left.tokens <= share * allowed.tokens:
            parts.append(f"{left.tokens} tokens")
        if left.cost_usd is not None and allowed.cost_usd is not None and left.cost_usd <= share * allowed.cost_usd:
            # A little, rounded to nothing, would read as if there were none left.
            little = 0.0 < left.cost_usd < 0.0001
            parts.append("less than $0.0001" if little else f"${left.cost_usd:.4f}")
        if left.wall_s is not None and allowed.wall_s is not None and left.wall_s <= share * allowed.wall_s:
            parts.append(f"{left.wall_s:.0f} seconds")
        return f"Left: {', '.join(parts)}." if parts else None
