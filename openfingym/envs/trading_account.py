"""What single trading environments have in common: they count what the market refuses, and draw the account."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import gymnasium
import numpy as np
from gymnasium.core import RenderFrame
from numpy.typing import NDArray

from openfingym.envs.trading_episodes import Episodes
from openfingym.envs.trading_forms import OrdersAction
from openfingym.envs.trading_screen import RENDER_FPS, RENDER_MODES, RenderMode, Screen
from openfingym.errors import UsageError

Action = NDArray[np.floating] | OrdersAction
Observation = TypeVar("Observation")


class AccountEnv(gymnasium.Env[Observation, Action]):
    """One account, whose refused requests are counted and whose value is drawn."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  # Gymnasium's convention

    def __init__(self, episodes: Episodes, render_mode: RenderMode | None) -> None:
        self._episodes = episodes
        self.render_mode = render_mode
        self._screen = None if render_mode is None else Screen(render_mode, episodes.bars.symbols)
        self._refusals, self._warned = 0, False

    def render(self) -> RenderFrame | list[RenderFrame] | None:
        """The account value over the episode and the present weights, in the form of ``render_mode``.

        Raises:
            UsageError: the environment was made without ``render_mode``, or no episode was begun.
        """
        if self._screen is None:
            raise UsageError(f"nothing to render; make the environment with render_mode, one of {RENDER_MODES}")
        return self._screen.draw(self._position_shares())

    @abstractmethod
    def _position_shares(self) -> NDArray[np.float64]:
        """The present positions as shares of equity, float64[S]."""

    def _follow_reset(self, row: int, equity: float) -> None:
        """Note that an episode has begun, at this row and equity in cash."""
        self._refusals = 0
        if self._screen is not None:
            self._screen.begin(row, equity)

    def _follow_step(self, row: int, equity: float, refused: int) -> None:
        """Note a step to this row and equity in cash, in which the market refused so many requests."""
        self._refusals += refused
        if self._screen is not None:
            self._screen.add(row, equity)
        # Once: a policy that is being trained may send refused weights in every step.
        if refused and self._episodes.weighted and not self._warned:
            self._warned = True
            self._episodes.warn_of_refused_weights()
