"""Rounds: a live benchmark that asks questions every week, and resolves and publishes them by a schedule.

A series of rounds is defined by a file (:mod:`openfingym.rounds.series`). Generators make its questions, which are
asked in the verifier's ledger, answered by anybody who sends a forecast, and resolved there: the ledger is the only
record of them. :func:`openfingym.rounds.tick.tick` does whatever is due.
"""

from __future__ import annotations

from openfingym.rounds.generator import Generator, Options, Round
from openfingym.rounds.schedule import RoundTimes, Schedule
from openfingym.rounds.series import Series

__all__ = ["Generator", "Options", "Round", "RoundTimes", "Schedule", "Series"]
