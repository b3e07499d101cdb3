"""The address of a verifier, and the token that opens it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

VERIFIER_VARIABLE = "OPENFINGYM_VERIFIER"
ANSWER_S = 600.0
"""Longest wait for an answer: where scoring is heavy, many submissions at once wait for each other."""
QUICK_ANSWER_S = 30.0
"""Longest wait for what a verifier that is well answers at once."""
ADMIN_TOKEN_VARIABLE = "OPENFINGYM_ADMIN_TOKEN"  # noqa: S105  # the name of a variable
KEY_VARIABLE = "OPENFINGYM_KEY"
"""Holds a participant's key; asked where there is no admin token."""


@dataclass(frozen=True)
class VerifierAddress:
    """The address of a verifier, and what lets one create rollouts there: the admin token, or a participant's key."""

    location: str
    """``http://host:port``, or the path of a unix socket."""
    admin_token: str = field(repr=False)

    def connect(self, *, timeout_s: float = ANSWER_S) -> VerifierClient:
        """A client for this verifier, which waits so long for an answer."""
        from openfingym.verifiers.client import VerifierClient

        if self.is_url:
            return VerifierClient(base_url=self.location, admin_token=self.admin_token, timeout_s=timeout_s)
        return VerifierClient(uds=Path(self.location), admin_token=self.admin_token, timeout_s=timeout_s)

    @property
    def is_url(self) -> bool:
        """Whether it is reached over TCP."""
        return self.location.startswith(("http://", "https://"))


def token_of_environment(location: str) -> str:
    """The admin token in ``$OPENFINGYM_ADMIN_TOKEN``, or the participant's key in ``$OPENFINGYM_KEY``.

    Raises:
        UsageError: there is neither, or what is there is none.
    """
    for variable, what in ((ADMIN_TOKEN_VARIABLE, "an admin token"), (KEY_VARIABLE, "a participant's key")):
        token = os.environ.get(variable, "").strip()
        if token and not (token.isascii() and token.isprintable()):
            raise UsageError(f"${variable}: expected {what}, one line of visible ASCII characters")
        if token:
            return token
    raise UsageError(
        f"the verifier at {location} needs its admin token in ${ADMIN_TOKEN_VARIABLE}, or a participant's key in "
        f"${KEY_VARIABLE}"
    )
