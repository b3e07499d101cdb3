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
"""Environment variable with the location of a verifier, or of a registry file."""
ANSWER_S = 600.0
"""Longest wait for an answer in seconds: where scoring is heavy, many submissions at once wait for each other."""
QUICK_ANSWER_S = 30.0
"""Longest wait in seconds for an answer that a healthy verifier gives at once."""
ADMIN_TOKEN_VARIABLE = "OPENFINGYM_ADMIN_TOKEN"  # noqa: S105  # the name of a variable
"""Environment variable with the admin token."""
KEY_VARIABLE = "OPENFINGYM_KEY"
"""Environment variable with a participant's key, which is used where there is no admin token."""


@dataclass(frozen=True)
class VerifierAddress:
    """The address of a verifier, and what lets one create rollouts there: the admin token, or a participant's key."""

    location: str
    """``http://host:port``, or the path of a unix socket."""
    # Left out of the repr, which ends up in logs and tracebacks.
    admin_token: str = field(repr=False)
    """The admin token, or a participant's key."""

    def connect(self, *, timeout_s: float = ANSWER_S) -> VerifierClient:
        """A client for this verifier; nothing is sent yet.

        Args:
            timeout_s: longest wait for an answer, in seconds.
        """
        from openfingym.verifiers.client import VerifierClient

        if self.is_url:
            return VerifierClient(base_url=self.location, admin_token=self.admin_token, timeout_s=timeout_s)
        return VerifierClient(uds=Path(self.location), admin_token=self.admin_token, timeout_s=timeout_s)

    @property
    def is_url(self) -> bool:
        """Whether the verifier is reached over TCP, and not through a unix socket."""
        return self.location.startswith(("http://", "https://"))


def token_of_environment(location: str) -> str:
    """The admin token in ``$OPENFINGYM_ADMIN_TOKEN``, or the participant's key in ``$OPENFINGYM_KEY``.

    Args:
        location: location of the verifier, for the message.

    Raises:
        UsageError: neither is set, or its value can be no token.
    """
    for variable, what in ((ADMIN_TOKEN_VARIABLE, "an admin token"), (KEY_VARIABLE, "a participant's key")):
        token = os.environ.get(variable, "").strip()
        # It becomes part of an HTTP header, which takes no other characters.
        if token and not (token.isascii() and token.isprintable()):
            raise UsageError(f"${variable}: expected {what}, one line of visible ASCII characters")
        if token:
            return token
    raise UsageError(
        f"the verifier at {location} needs its admin token in ${ADMIN_TOKEN_VARIABLE}, or a participant's key in "
        f"${KEY_VARIABLE}"
    )
