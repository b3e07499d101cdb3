"""Gymnasium environments of every task; importing this makes them known to Gymnasium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.envs.registration import register_envs
from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.envs.batch import BatchEnv
    from openfingym.envs.stepped import SteppedEnv
    from openfingym.envs.trading_vector import TradingVectorEnv
    from openfingym.envs.walk import WalkEnv

__all__ = ["BatchEnv", "SteppedEnv", "TradingVectorEnv", "WalkEnv"]

__getattr__, __dir__ = names_of(
    __name__, {"BatchEnv": "batch", "SteppedEnv": "stepped", "TradingVectorEnv": "trading_vector", "WalkEnv": "walk"}
)

register_envs()
