"""Finding generators by name: the library's own, and those of installed distributions.

A distribution brings a generator by an entry point of the group ``openfingym.recurrent_problems`` or
``openfingym.event_problems``. Its object is called without arguments, and returns a generator as in
:mod:`openfingym_suites.findeepforecast.generation.protocols`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openfingym.errors import UsageError
from openfingym.plugins import Plugins
from openfingym_suites.findeepforecast.generation.protocols import NonRecurrentGenerator, RecurrentGenerator

RECURRENT_GROUP, EVENT_GROUP = "openfingym.recurrent_problems", "openfingym.event_problems"
_HERE = "openfingym_suites.findeepforecast.generation"
CALENDARS, NEWS, FILINGS, MODEL = "calendars", "news", "filings", "model"
# The library's own are named as the others are, so that a module is only loaded if it is asked for: one of them belongs
# to a room above this one.
_GENERATORS: Mapping[str, Plugins] = {
    RECURRENT_GROUP: Plugins(
        "generator of recurrent problems", RECURRENT_GROUP, {CALENDARS: f"{_HERE}.recurrent:CalendarGenerator"}
    ),
    EVENT_GROUP: Plugins(
        "generator of problems about events",
        EVENT_GROUP,
        {
            NEWS: f"{_HERE}.events:EventGenerator",
            FILINGS: f"{_HERE}.recorded_events:RecordedEvents",
            MODEL: "openfingym_suites.findeepforecast.rounds.model_events:ModelEvents",
        },
    ),
}
"""The generators of both groups.

``calendars`` asks about scheduled disclosures; ``news`` about events in the news of a made-up world; ``filings`` about
filings and decisions of the real past; ``model`` reads news with a language model
(:mod:`openfingym_suites.findeepforecast.rounds.model_events`).
"""


def find_recurrent(name: str) -> RecurrentGenerator:
    """A generator of recurrent problems by its name.

    Raises:
        UsageError: there is none of that name, or it cannot be loaded.
    """
    return cast("RecurrentGenerator", _find(RECURRENT_GROUP, name))


def find_non_recurrent(name: str) -> NonRecurrentGenerator:
    """A generator of problems about events by its name.

    Raises:
        UsageError: there is none of that name, or it cannot be loaded.
    """
    return cast("NonRecurrentGenerator", _find(EVENT_GROUP, name))


def _find(group: str, name: str) -> object:
    """A new generator of a group, by its name."""
    generator = _GENERATORS[group].make(name)
    if not callable(getattr(generator, "generate", None)):
        raise UsageError(f"the {_GENERATORS[group].what} {name!r} has no method generate(); see protocols.py")
    return generator
