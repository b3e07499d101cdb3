"""How prices of bonds and notes are quoted: in points, 32nds of a point, and tenths of a 32nd."""

from __future__ import annotations

POINTS_AND_32NDS = "points and 32nds of 100 points"
HALVES = 64
"""Halves of a 32nd in a point: prices are multiples of one."""


def thirty_seconds(price: float) -> str:
    """A price in points as quoted: whole points, 32nds, and tenths of a 32nd, such as ``113'08'5`` for 113.265625."""
    halves = round(price * HALVES)
    return f"{halves // HALVES}'{halves % HALVES // 2:02d}'{5 if halves % 2 else 0}"
