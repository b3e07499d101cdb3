"""Rewards of a rollout that is over, for training: pure functions of its result.

==============  ==================================================================================================
``bounded``     in (-1, 1) for what is scored, 0 for the task's baseline; -1 for a failure of the agent
``graded``      as ``bounded`` on three quarters of the scale, with credit below it for what was executed
``relative``    -min(relative total, 99), and -100 for a failure of the agent
``loss``        -min(total, 99), and -100 for a failure of the agent
``grpo``        the paper's: -min(total, 5), and -6 for a failure of the agent
==============  ==================================================================================================

All are None for a failure of ours, and for what is not resolved.

**The form of** ``bounded``. Let r be the relative total, in which the baseline is 1 and lower is better, and d = 1 - r
the skill. Then::

    bounded = k d / (1 + k |d|),    k = 5

It is strictly decreasing in r, has the slope k at the baseline, and is an odd function of d, which keeps it from paying
for volatility. An answer that departs from the baseline's by noise n, or by a bet whose direction is a guess, is as
likely to depart by -n. Losses are convex in the answer: those of the two add up to no less than twice the baseline's,
d+ + d- <= 0. An odd increasing function f then has f(d+) + f(d-) <= 0: on average such an answer gets no more than the
baseline, whatever its size. A function that is convex about the baseline, as (1 - r) / (1 + r) and -log(r) are, has no
such bound: of it, a bet without direction earns a positive mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from openfingym.errors import UsageError
from openfingym.results import RolloutResult
from openfingym.results.result import GRPO_FAILURE, LOSS_FAILURE

TrainingReward = Literal["bounded", "graded", "relative", "loss", "grpo"]
SLOPE = 5.0
"""Slope of ``bounded`` at the baseline, as reward for each unit of skill: 5 % less loss earns 0.2."""
FLOOR = -1.0
"""Reward ``bounded`` or ``graded`` of a rollout in which the agent failed and nothing was executed."""
GRADED_SHARE = 0.75
"""Share of the scale that scored answers have in ``graded``."""
CREDIT = 0.25 / 4
"""Credit of ``graded`` for each stage that was executed: three stages lift -1 to -0.8125, and every scored answer has
more than -0.75."""


@dataclass(frozen=True)
class Executed:
    """How far an agent got, by what was run and not by what it claims."""

    parsed: bool = False
    """Whether a program of the agent's compiled."""
    ran: bool = False
    """Whether a program of the agent's ended by itself with status 0."""
    submitted: bool = False
    """Whether something of the agent's reached the verifier, or an episode was begun."""

    @property
    def stages(self) -> int:
        """Number of stages that were reached, 0 to 3."""
        # A stage counts with those before it: an episode may be begun by a tool, without any program.
        stages = (self.submitted, self.ran or self.submitted, self.parsed or self.ran or self.submitted)
        return sum(stages)


def bounded(result: RolloutResult) -> float | None:
    """Skill against the task's baseline, on one scale for all tasks; None for a failure of ours. See the module."""
    if not _known(result):
        return None
    return FLOOR if result.relative_total is None else of_relative_total(result.relative_total)


def graded(result: RolloutResult, executed: Executed | None = None) -> float | None:
    """Three quarters of :func:`bounded` for what is scored, and -1 to -0.8125 for what was executed but not scored.

    The stages are a program that compiles, one that ends in order, and something that reached the verifier.

    Args:
        result: the verified result of the rollout.
        executed: how far the agent got; None where nothing is known of that.
    """
    if not _known(result):
        return None
    if result.relative_total is not None:
        return GRADED_SHARE * of_relative_total(result.relative_total)
    return FLOOR + CREDIT * (executed or Executed()).stages


def relative(result: RolloutResult) -> float | None:
    """-min(relative total, 99), and -100 for a failure of the agent; None for a failure of ours."""
    return result.reward("relative") if _known(result) else None


def loss(result: RolloutResult) -> float | None:
    """-min(total, 99), and -100 for a failure of the agent; None for a failure of ours."""
    return result.reward("loss") if _known(result) else None


def grpo(result: RolloutResult) -> float | None:
    """The paper's -min(loss, 5), and -6 for a failure of the agent; None for a failure of ours."""
    return result.reward("grpo") if _known(result) else None


def of_relative_total(total: float) -> float:
    """The reward ``bounded`` of a relative total: a number in (-1, 1), 0 at the baseline's 1, strictly decreasing.

    Args:
        total: the relative total, at least 0.

    Raises:
        UsageError: the total is negative or not finite.
    """
    if not (math.isfinite(total) and total >= 0.0):
        raise UsageError(f"a relative total is a number of at least 0, found {total!r}")
    gain = SLOPE * (1.0 - total)
    return gain / (1.0 + abs(gain))


_OF_RESULTS: Mapping[str, Callable[[RolloutResult], float | None]] = MappingProxyType(
    {"bounded": bounded, "relative": relative, "loss": loss, "grpo": grpo}
)
REWARDS: tuple[TrainingReward, ...] = get_args(TrainingReward)
"""Names of the rewards."""


def reward_of(name: str, result: RolloutResult, executed: Executed | None = None) -> float | None:
    """The reward of a name; None for a failure of ours.

    Args:
        name: name of the reward, one of :data:`REWARDS`.
        result: the verified result of the rollout.
        executed: how far the agent got, for ``graded``.

    Raises:
        UsageError: no reward has this name.
    """
    require_reward(name)
    return graded(result, executed) if name == "graded" else _OF_RESULTS[name](result)


def floor_of(name: str) -> float:
    """The reward of a rollout in which the agent did nothing.

    Raises:
        UsageError: no reward has this name.
    """
    require_reward(name)
    return {"bounded": FLOOR, "graded": FLOOR, "grpo": GRPO_FAILURE}.get(name, LOSS_FAILURE)


def require_reward(name: str) -> None:
    """Check that there is a reward of this name.

    Raises:
        UsageError: no reward has this name; says which there are.
    """
    if name not in REWARDS:
        raise UsageError(f"reward is {name!r}; known: {', '.join(map(repr, REWARDS))}")


def _known(result: RolloutResult) -> bool:
    """Whether a result is the agent's doing, so that it has a reward: scored, or rejected by the agent's fault."""
    return result.state in {"scored", "rejected"}
