"""What single trading environments have in common: the account is followed over an episode, and drawn."""

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
        return self._screen.draw(self._held())

    @abstractmethod
    def _held(self) -> NDArray[np.float64]:
        """float64[S], the present positions as shares of equity."""

    def _began(self, row: int, equity: float) -> None:
        """Follow a new episode."""
        self._refusals = 0
        if self._screen is not None:
            self._screen.begin(row, equity)

    def _went(self, row: int, equity: float, refused: int) -> None:
        """Follow a step: count what the market refused, and warn of the first refused weights."""
        self._refusals += refused
        if self._screen is not None:
            self._screen.add(row, equity)
        if refused and self._episodes.weighted and not self._warned:
            self._warned = True
            self._episodes.warn_of_refused_weights()
