"""Rollouts that an agent plays by itself, with a model at an endpoint of the trainer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.models.wire import request_message, request_tool
from openfingym.training.episode import settled
from openfingym.training.groups import Played
from openfingym.training.rewards import reward_of

if TYPE_CHECKING:
    from openfingym.training.running import Ending, Running


class AgentPlay:
    """A rollout under way whose model is asked at its endpoint; see :meth:`openfingym.training.Desk.begin_play`."""

    def __init__(self, running: Running, *, task: str, index: int, seed: int, reward: str) -> None:
        """Watch a rollout that has begun."""
        self.task, self.index, self.seed = task, index, seed
        self._running, self._reward = running, reward

    def cut(self, why: str = "it was cut off") -> None:
        """End the rollout now, even in the middle of a call: it has a reward if something was accepted by then.

        Args:
            why: the failure, where the rollout has no reward.
        """
        self._running.cut(why)

    async def played(self) -> Played:
        """Wait for the rollout's end, and tell what came of it; cancelling this call does not end the rollout.

        Raises:
            UsageError: the agent or its model cannot be used as it was asked for.
        """
        return self._read(await settled(self._running.ending))

    def _read(self, ending: Ending) -> Played:
        if ending.error is not None:
            raise ending.error
        scored = ending.result is not None and ending.failure is None
        driver, result = self._running.driver, ending.result
        session = driver.session
        return Played(
            self.task,
            self.index,
            self.seed,
            reward_of(self._reward, result, ending.executed) if scored and result is not None else None,
            ending.failure,
            [] if session is None else [request_message(message, reasoning=True) for message in session.messages],
            [] if session is None else [request_tool(tool) for tool in session.tools.offered],
            result,
            ending.executed,
        )
