"""Rounds: a live benchmark that asks questions every week, and resolves and publishes them by a schedule.

A series of rounds is defined by a file (:mod:`openfingym.rounds.series`). Generators make its questions, which are
asked in the verifier's ledger, answered by anybody who sends a forecast, and resolved there: the ledger is the only
record of them. :func:`openfingym.rounds.tick.tick` does whatever is due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.rounds.forecaster import Forecaster, ForecastProgram, QuestionWithTools
    from openfingym.rounds.generator import Generator, Options, Round
    from openfingym.rounds.proving import prove_generation

__all__ = [
    "ForecastProgram",
    "Forecaster",
    "Generator",
    "Options",
    "QuestionWithTools",
    "Round",
    "prove_generation",
]

_HOMES = {
    "ForecastProgram": "forecaster",
    "Forecaster": "forecaster",
    "Generator": "generator",
    "Options": "generator",
    "QuestionWithTools": "forecaster",
    "Round": "generator",
    "prove_generation": "proving",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
