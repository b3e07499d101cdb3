"""The generator of events ``model``: problems about events, which a language model reads from the news.

A definition names it with ``events = "model"``. Which model it is, and how much may be spent, is in the environment of
whoever runs the rounds, beside the endpoint's own variables:

=============================  =======================================================================
``OPENFINGYM_EVENTS_MODEL``    name of the model
``OPENFINGYM_EVENTS_TURNS``    most answers in all weeks together; 2000 if it is not set
=============================  =======================================================================

Prompts and answers are kept in ``<store>/asked/MODEL/asked.jsonl``. A week that is generated again, as by
``rounds prove``, is answered from there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from openfingym import store
from openfingym.errors import UsageError
from openfingym.models import Allowance, ModelSpec
from openfingym_suites.findeepforecast.generation.events import EventGenerator
from openfingym_suites.findeepforecast.generation.models import ModelQuestions, ModelRelevance, ModelSignals
from openfingym_suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym_suites.findeepforecast.rounds.kept_model import kept_model
from openfingym_suites.findeepforecast.world.known import KnownWorld

MODEL_VARIABLE, TURNS_VARIABLE = "OPENFINGYM_EVENTS_MODEL", "OPENFINGYM_EVENTS_TURNS"
MOST_TURNS = 2000
"""Most answers in all weeks together, if the environment does not say."""


class ModelEvents:
    """Generates problems about events with the model that the environment names.

    Raises:
        UsageError: the environment names no model, or states a number of answers that is not a whole number above 0.
    """

    def __init__(self) -> None:
        name, turns = os.environ.get(MODEL_VARIABLE, ""), os.environ.get(TURNS_VARIABLE, str(MOST_TURNS))
        if not name:
            raise UsageError(f"set ${MODEL_VARIABLE} to the name of a model, for the generator 'model' of events")
        if not turns.isdecimal() or not int(turns):
            raise UsageError(f"${TURNS_VARIABLE} is {turns[:40]!r}; expected a whole number above 0")
        self._spec = ModelSpec.parse(name)
        self._allowance = Allowance(turns=int(turns))

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym_suites.findeepforecast.generation.protocols.NonRecurrentGenerator`."""
        # In the store and not with a series, so that `rounds prove` on this machine finds the same answers.
        folder = store.home() / "asked" / re.sub(r"[^A-Za-z0-9._-]+", "_", self._spec.name).strip(".")
        with kept_model(self._spec, folder, allowance=self._allowance) as model:
            stages = EventGenerator(ModelSignals(model), ModelRelevance(model), ModelQuestions(model))
            return stages.generate(world, week, wanted, asked, seed)
