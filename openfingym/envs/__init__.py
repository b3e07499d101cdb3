"""Gymnasium environments of every task; importing this makes them known to Gymnasium."""

from __future__ import annotations

from openfingym.envs.registration import register_envs

register_envs()
