"""Finding generators by name: the library's own, and those of installed distributions.

A distribution brings a generator by an entry point of the group ``openfingym.recurrent_problems`` or
``openfingym.event_problems``. Its object is called without arguments, and returns a generator as in
:mod:`openfingym.suites.findeepforecast.generation.protocols`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import cast

from openfingym.errors import UsageError
from openfingym.plugins import entry_points
from openfingym.suites.findeepforecast.generation.protocols import NonRecurrentGenerator, RecurrentGenerator

RECURRENT_GROUP, EVENT_GROUP = "openfingym.recurrent_problems", "openfingym.event_problems"
_HERE = "openfingym.suites.findeepforecast.generation"
CALENDARS, NEWS, FILINGS, MODEL = "calendars", "news", "filings", "model"
_OWN: Mapping[str, Mapping[str, str]] = {
    RECURRENT_GROUP: {CALENDARS: f"{_HERE}.recurrent:CalendarGenerator"},
    EVENT_GROUP: {
        NEWS: f"{_HERE}.events:EventGenerator",
        FILINGS: f"{_HERE}.recorded_events:RecordedEvents",
        MODEL: "openfingym.rounds.model_events:ModelEvents",
    },
}
"""The library's generators by group and name, each as the module and the object.

``calendars`` asks about scheduled disclosures; ``news`` about events in the news of a made-up world; ``filings`` about
filings and decisions of the real past; ``model`` reads news with a language model
(:mod:`openfingym.rounds.model_events`).
"""


def find_recurrent(name: str) -> RecurrentGenerator:
    """A generator of recurrent problems by its name.

    Raises:
        UsageError: there is none of that name, or it cannot be loaded.
    """
    return cast("RecurrentGenerator", _found(RECURRENT_GROUP, name))


def find_non_recurrent(name: str) -> NonRecurrentGenerator:
    """A generator of problems about events by its name.

    Raises:
        UsageError: there is none of that name, or it cannot be loaded.
    """
    return cast("NonRecurrentGenerator", _found(EVENT_GROUP, name))


def _found(group: str, name: str) -> object:
    # The library's own are entry points too, so that a module is only loaded if it is asked for: one of them belongs to
    # a room above this one.
    known = {own: EntryPoint(own, place, group) for own, place in _OWN[group].items()}
    for entry in entry_points(group):
        known.setdefault(entry.name, entry)
    if name not in known:
        raise UsageError(f"there is no generator {name[:60]!r} of {group}; known: {', '.join(known)}")
    try:
        generator: object = known[name].load()()
    except Exception as error:  # the module of another distribution may raise anything
        raise UsageError(f"the generator {name!r} cannot be made from {known[name].value!r} ({error})") from error
    if not callable(getattr(generator, "generate", None)):
        raise UsageError(f"the generator {name!r} of {known[name].value!r} has no method generate(); see protocols.py")
    return generator
