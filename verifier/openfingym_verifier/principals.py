"""Callers of the control routes: the operator, and participants, each with a key of its own.

A key opens three doors: it creates rollouts, and ends and reads those that it created. It is shown once; the ledger
keeps its SHA-256, from which it cannot be had back.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from openfingym.digests import sha256_of
from openfingym_verifier.policy import LOCAL_USER, OPERATOR
from openfingym_verifier.problems import Problem

KEY_PREFIX = "ofk_"
KEY_BYTES = 32
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
"""Form of a participant's name, and of a season's."""


@dataclass(frozen=True)
class Caller:
    """The sender of a request to the control routes."""

    name: str
    """Name of the principal, under which what it is told is added up."""
    operator: bool
    """Whether it holds the admin token, which reads everything."""


@dataclass(frozen=True)
class ParticipantRecord:
    """A participant as the ledger knows it."""

    name: str
    key_digest: str
    """Hex SHA-256 of the participant's key."""
    created_ns: int
    """Unix time in nanoseconds at which the key was given."""
    revoked_ns: int | None
    """Unix time in nanoseconds at which the key was withdrawn; None while it is good."""
    organisation: str | None = None
    """Name of the organisation to which the key belongs; None of a party of its own."""

    @property
    def principal(self) -> str:
        """Name under which all is added up that is told with this key: the keys of an organisation are one party."""
        return self.organisation or self.name


def require_name(name: str) -> None:
    """Check that a participant, an organisation or a season may have this name.

    Raises:
        Problem: ``malformed-request``: the name has a wrong form or is reserved.
    """
    # Under a reserved name a participant's disclosures would not be counted: those of the operator are free.
    if not NAME.fullmatch(name) or name in {LOCAL_USER, OPERATOR}:
        raise Problem(
            "malformed-request",
            "A participant's name is 1 to 63 lower case letters, digits, dots, dashes and underscores, and neither "
            f"{LOCAL_USER} nor {OPERATOR}; found {name[:80]!r}.",
        )


def make_key() -> str:
    """A new key, of 256 random bits."""
    return KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)


def key_digest(key: bytes) -> str:
    """Hex SHA-256 of a key, which is all that the ledger keeps of it."""
    return sha256_of(key)
