"""The registry of kinds of task: the library's own, those of installed distributions, and those of this process.

A distribution brings a kind by an entry point of the group ``openfingym.kinds``, named as the kind, whose object is an
instance of :class:`openfingym.kinds.Kind`; a kind of the library is found in the same way, as ``KIND`` of its module
or package there. It is loaded when a task of that kind is read, and not before. Here only its contract is of interest;
:mod:`openfingym.kinds` has the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import ClassVar, Literal, Protocol, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from openfingym.errors import UsageError
from openfingym.plugins import entry_points, source_of
from openfingym.task.contracts import Contract

ENTRY_POINT_GROUP = "openfingym.kinds"
UNKNOWN_KIND = "unknown_kind"
"""Type of the pydantic error for a contract whose kind is missing or unknown."""


class HasContract(Protocol):
    """The part of a kind that is needed to read ``task.toml``."""

    contract: ClassVar[type[Contract]]


def kind_of_contract(contract: type[Contract]) -> str:
    """The one kind that a class of contracts is for.

    Raises:
        UsageError: the class states no kind, or several.
    """
    annotation = contract.model_fields["kind"].annotation
    if get_origin(annotation) is not Literal or len(get_args(annotation)) != 1:
        raise UsageError(f"{contract.__name__}.kind must be a Literal of the kind's name, found {annotation}")
    return str(get_args(annotation)[0])


OWN = ("forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading", "live", "questions", "qa")
"""Kinds of the library, by the names of their modules or packages in ``openfingym.kinds``."""
CONTRACTS: dict[str, type[Contract]] = {}
"""Classes of contracts by kind, as far as they are loaded."""


def is_builtin(kind: str) -> bool:
    """Whether the library brings a kind of this name."""
    return kind in OWN


@functools.cache
def installed_kinds() -> Mapping[str, EntryPoint]:
    """Entry points of installed distributions, by kind; looks through all of them once, and loads none.

    Raises:
        UsageError: two distributions bring a kind of the same name, or one brings a kind that the library has.
    """
    kinds: dict[str, EntryPoint] = {}
    for entry in entry_points(ENTRY_POINT_GROUP):
        if entry.name in OWN or kinds.setdefault(entry.name, entry).value != entry.value:
            raise UsageError(
                f"the kind {entry.name!r} of {source_of(entry)} has the name of another kind; uninstall one of the two"
            )
    return kinds


def entry_of(kind: str) -> EntryPoint | None:
    """The entry point of a kind of the library or of an installed distribution; None for an unknown kind.

    Raises:
        UsageError: two kinds have the same name; see :func:`installed_kinds`.
    """
    if kind in OWN:
        return EntryPoint(kind, f"openfingym.kinds.{kind}:KIND", ENTRY_POINT_GROUP)
    return installed_kinds().get(kind)


def load_kind(entry: EntryPoint) -> object:
    """The object of an entry point.

    Raises:
        UsageError: the entry point cannot be loaded; the message names its distribution.
    """
    try:
        return entry.load()
    except Exception as error:  # a module that we do not know may raise anything
        raise UsageError(f"the kind {entry.name!r} of {source_of(entry)} cannot be loaded: {error}") from error


def known_kinds() -> tuple[str, ...]:
    """Names of all kinds, those of the library first."""
    return tuple(dict.fromkeys([*OWN, *CONTRACTS, *sorted(installed_kinds())]))


def register_contract(kind: HasContract) -> None:
    """Let ``task.toml`` name a kind.

    Raises:
        UsageError: the kind has no contract, its contract does not state which kind it is for, or there is another
            kind of the same name.
    """
    contract = getattr(kind, "contract", None)
    if not (isinstance(contract, type) and issubclass(contract, Contract)):
        raise UsageError(
            f"{kind!r} is no kind of task: its attribute 'contract' must be a subclass of Contract, found {contract!r}"
        )
    name = kind_of_contract(contract)
    if CONTRACTS.setdefault(name, contract) is not contract:
        raise UsageError(f"there is a kind {name!r} already; choose another name")


def contract_class(kind: str) -> type[Contract] | None:
    """The class of a kind's contract; None for an unknown kind.

    Raises:
        UsageError: the distribution that brings the kind is broken.
    """
    if kind not in CONTRACTS and (entry := entry_of(kind)) is not None:
        loaded = load_kind(entry)
        register_contract(loaded)  # type: ignore[arg-type]  # checks the object itself
        if kind not in CONTRACTS:
            raise UsageError(
                f"the entry point {kind!r} of {source_of(entry)} is a kind of another name; they must agree"
            )
    return CONTRACTS.get(kind)


def parse_contract(value: object) -> object:
    """Parse the table ``contract`` of a ``task.toml`` as the class of contract that its key ``kind`` names.

    Runs as a validator before pydantic's own. A value that is no table is returned as it is, and pydantic refuses it.

    Raises:
        ValidationError: the kind is missing or unknown, or a key does not satisfy the contract's class.
        ValueError: the kind is installed, but cannot be loaded.
    """
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    try:
        contract = contract_class(kind) if isinstance(kind, str) else None
        known = ", ".join(sorted(known_kinds())) if contract is None else ""
    except UsageError as error:
        # pydantic reports a ValueError of a validator with its key; any other error would pass through it as it is.
        raise ValueError(str(error)) from error
    if contract is None:
        text = f"unknown kind {kind!r}" if "kind" in value else "required, but not there"
        problem = PydanticCustomError(UNKNOWN_KIND, "{text}; known: {known}", {"text": text, "known": known})
        raise ValidationError.from_exception_data(
            "contract", [InitErrorDetails(type=problem, loc=("kind",), input=kind)]
        )
    return contract.model_validate(value)
