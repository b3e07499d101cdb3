"""Episodes of sequential tasks, which show the next row only after an action.

An episode runs where its hidden rows are, in the verifier. It is a pure function of the actions that it is given: a
record of the actions restores it, and the score follows from this record alone, whatever an agent claims of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_ACTION_BYTES = 256 * 1024
"""Longest request to start or to step an episode, as JSON."""
MAX_KEPT_BYTES = 128 * 1024 * 1024
"""Most bytes that all actions of a rollout may take in the ledger together."""

FoldName = Literal["public", "private"]
"""``public`` episodes are for practice, within a budget; each ``private`` one is played once and scored."""


@dataclass(frozen=True)
class Step:
    """The observation after an action, or at the start. Plain JSON values throughout."""

    observation: Mapping[str, object]
    reward: float = 0.0
    terminated: bool = False
    """The episode has reached an end of its own, such as bankruptcy."""
    truncated: bool = False
    """The episode has reached its last row."""
    info: Mapping[str, object] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether no further action is taken."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class EpisodeStep:
    """A step of a rollout's episode, as the verifier answers it."""

    episode: int
    """Counts the episodes that the rollout has begun, from 1."""
    fold: FoldName
    number: int
    """Position in the fold, from 0."""
    episodes_left: int
    """Private episodes not yet begun."""
    step: int
    """Actions taken so far."""
    observation: Mapping[str, object]
    """Plain JSON values; a number that is not finite is None."""
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, object]

    @property
    def done(self) -> bool:
        """Whether the episode takes no further action."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class RecordedAction:
    """An action of a rollout, as the verifier recorded it."""

    episode: int
    """Number of the episode within the rollout, from 1."""
    fold: FoldName
    number: int
    """Position of the episode in its fold, from 0."""
    step: int
    """Number of the action within the episode, from 1; see :attr:`EpisodeStep.step`."""
    action: object
    """The action as a JSON value."""


class SteppedEpisode(Protocol):
    """One pass over hidden rows, which an agent is shown step by step."""

    def start(self) -> Step:
        """The observation before the first action. Called once."""

    def step(self, action: object) -> Step:
        """Take one action and show what it led to; not to be called after an end.

        Args:
            action: the action as a JSON value; None does nothing.

        Raises:
            SubmissionError: the action is not of the form that the task states (``malformed-action``). The episode
                is unchanged, and the agent may try again. What a market would reject is no error: it is in the next
                observation.
        """

    def outcome(self) -> NDArray[np.float64]:
        """What is scored: one row of the task's submission, of fixed shape, as if nothing more were done from here on.

        The episode itself does not advance.
        """
