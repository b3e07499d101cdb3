"""Keeping secrets out of what is recorded.

There are two ways, and a tape uses both: values under the name of a secret are left out, and known secrets are
overwritten wherever they turn up, as in a frame in which a venue repeats the key that it was sent.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from openfingym.errors import UsageError

LEFT_OUT = "(secret)"
"""What stands in the place of a secret value."""
SHORTEST = 8
"""Characters that a secret has at least: a shorter one cannot be told from ordinary text."""
SHORTEST_GUESSED = 16
"""Characters at least where only the name of an environment variable says that its value is a secret."""

_NAME = re.compile("key|secret|token|passw|passphrase|credential|signature|auth", re.IGNORECASE)
_FIELD = re.compile(r"(?<![^?&])([^=&?#]*+)=([^&#]*+)")
_USER = re.compile(r"//[^/@\s]*@")


def without_secrets(value: object) -> object:
    """A JSON value in which values under the name of a secret are :data:`LEFT_OUT`, also within URLs."""
    if isinstance(value, Mapping):
        return {
            str(name): LEFT_OUT if inner and _NAME.search(str(name)) else without_secrets(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return _USER.sub(f"//{LEFT_OUT}@", _FIELD.sub(_without_secret, value)) if isinstance(value, str) else value


def _without_secret(field: re.Match[str]) -> str:
    return f"{field[1]}={LEFT_OUT}" if field[2] and _NAME.search(field[1]) else field[0]


def without_secrets_in_text(text: str) -> str:
    """A text that is a URL, a form or a JSON document, treated as :func:`without_secrets` treats a value."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return json.dumps(without_secrets(value)) if isinstance(value, dict | list) else str(without_secrets(text))


def secrets_of_environment() -> frozenset[str]:
    """Values of the environment variables whose names call them a key, a secret, a token or the like."""
    return frozenset(
        value for name, value in os.environ.items() if _NAME.search(name) and len(value) >= SHORTEST_GUESSED
    )


class Mask:
    """Overwrites known secrets with asterisks: as they are, percent-encoded, and as JSON writers escape them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Make a mask of secrets.

        Args:
            secrets: what to overwrite, of at least 8 characters each.

        Raises:
            UsageError: a secret is shorter than 8 characters.
        """
        self._forms: list[bytes] = []
        self.count = 0
        """How many places were overwritten so far."""
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Overwrite one more secret from now on.

        Raises:
            UsageError: it is shorter than 8 characters.
        """
        if len(secret) < SHORTEST:
            raise UsageError(
                f"a secret has {len(secret)} characters; expected at least {SHORTEST}, since one that is shorter "
                "cannot be told from ordinary text; give a longer one, or leave it out"
            )
        plain, escaped = secret.encode(errors="surrogatepass"), json.dumps(secret)[1:-1].encode()
        forms = {*self._forms, plain, escaped, escaped.replace(b"/", rb"\/"), quote(plain, safe="").encode()}
        # The longest first: a shorter one may be part of it.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def __call__(self, content: bytes) -> bytes:
        """The content with asterisks for secrets, of the same length: a tape states the lengths of its records."""
        for form in self._forms:
            if form in content:
                self.count += content.count(form)
                content = content.replace(form, b"*" * len(form))
        return content
