"""The policies of the stand-in by their names, and models that are named after them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Protocol, cast

from openfingym.errors import UsageError
from openfingym.models.testing.broken import SORTS, Broken
from openfingym.models.testing.careless import Careless
from openfingym.models.testing.competent import Competent
from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym.models.testing.faults import Fault
from openfingym.models.testing.fixed import Fixed
from openfingym.models.testing.hostile import Hostile
from openfingym.plugins import Plugins

ENTRY_POINT_GROUP = "openfingym.stand_ins"
"""Group of the entry points by which distributions bring policies, each a function without arguments that makes one."""
PREFIX = "stand-in/"
"""Prefix of the names of models that the stand-in is."""
FIXED = f"{PREFIX}fixed:"
"""Prefix of a model that always answers what follows it."""


class StandInPolicy(Protocol):
    """Rules that answer in the place of a model. A policy remembers nothing: all that it knows is in the request."""

    def respond(self, request: CompletionRequest) -> Reply:
        """Continue a conversation."""


_POLICIES: dict[str, Callable[[], StandInPolicy]] = {
    "competent": Competent,
    "careless": Careless,
    "broken": Broken,
    "hostile": Hostile,
}
POLICIES: Mapping[str, Callable[[], StandInPolicy]] = MappingProxyType(
    _POLICIES | {f"broken-{sort}": partial(Broken, sort) for sort in SORTS}
)
"""The library's own policies, by name."""
_PLUGINS = Plugins("stand-in", ENTRY_POINT_GROUP, {})


def known_models() -> tuple[str, ...]:
    """Names of all stand-ins, those of installed distributions included, without faults."""
    return tuple(f"{PREFIX}{name}" for name in dict.fromkeys([*POLICIES, *_PLUGINS.names()]))


def find_policy(model: str) -> tuple[StandInPolicy, Fault | None]:
    """The policy and the fault of a model's name: ``stand-in/POLICY``, ``stand-in/POLICY+FAULT`` or
    ``stand-in/fixed:TEXT``, whose text may hold a plus sign and so names no fault.

    Raises:
        UsageError: there is no such policy or fault, the text is empty, or a policy of an installed distribution
            cannot be made.
    """
    if model.startswith(FIXED):
        text = model.removeprefix(FIXED)
        if not text.strip():
            raise UsageError(f"{FIXED} lacks the text to answer; expected {FIXED}TEXT, such as {FIXED}42")
        return Fixed(text), None
    name, plus, fault = model.partition("+")
    short = name.removeprefix(PREFIX)
    own = POLICIES.get(short) if name.startswith(PREFIX) else None
    if own is None and name not in known_models():
        names = (*known_models(), f"{FIXED}TEXT")
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
        raise UsageError(f"no stand-in is named {name!r}; {hint}")
    policy = own() if own is not None else cast("StandInPolicy", _PLUGINS.make(short))
    return policy, Fault.parse(fault) if plus else None
