"""A harbour in which ships wait: an example of a suite of questions with a world of its own. SIMULATED."""

from __future__ import annotations

from pathlib import Path


def task() -> Path:
    """The folder of the task."""
    return Path(__file__).parent / "tasks" / "harbour-traffic"
