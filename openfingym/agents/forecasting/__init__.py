"""Agents as forecasters of a series of rounds: by name, with the model that they ask."""

from __future__ import annotations

from openfingym.agents.forecasting.finding import find_forecasters

__all__ = ["find_forecasters"]
