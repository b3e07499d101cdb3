"""Providers of truth that read a world as of a question's clock: ``simulated-world`` and ``recorded-world``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.query import require_query
from openfingym.questions.question import REAL_CLOCK, Form, Question, moment_at, moment_ns
from openfingym_suites.findeepforecast.asking import EVENT, EVENT_NUMBERS, FIGURE, STATED, about_of
from openfingym_suites.findeepforecast.problem import Figure
from openfingym_suites.findeepforecast.truth.first_print import RecordedTruth, TruthExtractor
from openfingym_suites.findeepforecast.world.known import KnownWorld
from openfingym_suites.findeepforecast.world.opening import find_vault, is_simulated, open_world

SIMULATED_WORLD, RECORDED_WORLD = "simulated-world", "recorded-world"
_FIGURE_FORMS: tuple[Form, ...] = ("value",)
_EVENT_FORMS: tuple[Form, ...] = ("probability",)
MOST_OPEN = 4
"""How many worlds, each as of a time, are kept open."""
NO_RATE = 0.0
"""The reference of an event of which no base rate is known: that it does not happen."""


@dataclass
class WorldTruths:
    """A provider of the truths of a world, as of the question's clock."""

    name: str
    """Name of the provider."""
    simulated: bool
    """Whether its worlds are made up."""
    extractor: TruthExtractor = field(default_factory=RecordedTruth)
    """What extracts a truth from a world."""

    def __post_init__(self) -> None:
        # Providers are called from several threads; a world is opened once, and read by one of them at a time.
        self._lock = threading.Lock()
        self._open = functools.lru_cache(MOST_OPEN)(_world)

    def check(self, question: Question) -> None:
        """See :class:`~openfingym.questions.provider.Provider`; the vault is looked up, or made if this version can."""
        if "event" in question.query:
            optional = {"story": str, **dict.fromkeys(EVENT_NUMBERS, float)}
            require_query(question, dict.fromkeys((*STATED, *EVENT), str), optional=optional, forms=_EVENT_FORMS)
        else:
            require_query(question, dict.fromkeys((*STATED, *FIGURE), str), forms=_FIGURE_FORMS)
        about_of(question)
        if not 0.0 <= float(question.query.get("base_rate", 0.0)) <= 1.0:
            raise UsageError(f"question {question.id}: base_rate of its query is no probability")
        # Worlds end in the past, so that by the real clock nothing in them is still to come.
        if question.clock == REAL_CLOCK:
            raise UsageError(
                f"question {question.id}: by the real clock the truths of {self.name} are known already; give the "
                "series a simulated or a replayed one"
            )
        # With a digest, so that a later version's world does not answer for this one.
        vault = str(question.query["vault"])
        if is_simulated(vault) != self.simulated or "@" not in vault:
            raise UsageError(
                f"question {question.id}: {vault[:60]} is no vault of {self.name} with its digest after an @"
            )
        find_vault(vault)

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """See :class:`~openfingym.questions.provider.Provider`: the ``last`` published figure, the ``base_rate`` of an
        event, or ``closed`` if the truth is known already. None of it is a market's.
        """
        self.check(question)
        about = about_of(question)
        with self._lock:
            world = self._open(str(question.query["vault"]), now_ns)
            if isinstance(about, Figure):
                if world.first_print(about) is not None:
                    return {"closed": True}
                last = world.history(about.subject, about.measure, 1)
                if not last:
                    return None
                return {"last": last[-1].value, "at_ns": moment_ns(last[-1].at), "source": last[-1].source}
            if world.ruling(about) is not None:
                return {"closed": True}
        rate = float(question.query.get("base_rate", NO_RATE))
        return {"base_rate": rate, "at_ns": now_ns, "source": self.name}

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """See :class:`~openfingym.questions.provider.Provider`; a world is opened once for all its questions."""
        answers: dict[str, ProviderAnswer | OpenFinGymError] = {}
        with self._lock:
            for question in questions:
                # A question whose world is gone must not keep the others from their answers.
                try:
                    world = self._open(str(question.query["vault"]), now_ns)
                    answers[question.id] = self.extractor.extract(world, about_of(question), question.deadline_ns)
                except OpenFinGymError as error:
                    answers[question.id] = error
        return answers

    def close(self) -> None:
        """Close the worlds."""
        self._open.cache_clear()


def _world(vault: str, now_ns: int) -> KnownWorld:
    return open_world(find_vault(vault), moment_at(now_ns))


def simulated(secret: bytes) -> WorldTruths:  # noqa: ARG001  # the truths are the vault's
    """The provider of a made-up world, as the registry of providers makes it."""
    return WorldTruths(SIMULATED_WORLD, simulated=True)


def recorded(secret: bytes) -> WorldTruths:  # noqa: ARG001
    """The provider of the real past, as the registry of providers makes it."""
    return WorldTruths(RECORDED_WORLD, simulated=False)
