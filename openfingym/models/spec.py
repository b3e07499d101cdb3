"""The specification of a model: its name, its endpoint, and its key or the environment variable that holds it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import NoReturn, Self

from openfingym.errors import UsageError
from openfingym.models.cutoffs import require_cutoff
from openfingym.models.endpoint import CONCURRENCY, PATIENCE_S, TIMEOUT_S, ChatModel, ModelEndpoint
from openfingym.models.prices import LOCAL, PriceTable
from openfingym.models.transport import NEEDS_CLIENT
from openfingym.models.urls import without_credentials

KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable that holds the key, where nobody names another."""
URL_VARIABLE = "OPENAI_BASE_URL"
"""Environment variable with the base URL of the endpoint, for models that state none."""
DEFAULT_URL = "https://api.openai.com/v1"
"""Base URL of the endpoint where neither the model nor the environment states one."""
_NO_KEY = "none"
"""Sent in the place of a key to an endpoint of the user's own, which checks none but expects the header."""


class ApiKey:
    """An API key that was given by value: only :meth:`reveal` shows it, and it is never pickled."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for whoever sends it."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiKey) and self._value == other._value

    def __hash__(self) -> int:
        return hash((ApiKey, self._value))

    def __repr__(self) -> str:
        return "'***'"

    __str__ = __repr__

    # The default copies go by __reduce__, which refuses; a dataclass that is replaced or copied stays in this process.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "a model's key that was given by value stays in its process: it is not pickled, so that it lies in no file "
            "and no queue; give key_variable, and set that variable where the model is asked"
        )


@dataclass(frozen=True)
class ModelSpec:
    """A model by its name and its endpoint.

    The key is in an environment variable, or given by value (``api_key``). In the latter case it stays in this
    process's memory: it is in no representation, file, log or message, and a specification that holds it cannot be
    pickled.
    """

    name: str
    """Name by which the endpoint knows the model; ``stand-in/POLICY`` is the stand-in of
    :mod:`openfingym.models.testing`."""
    base_url: str | None = None
    """Base URL of the endpoint; None for ``$OPENAI_BASE_URL``, or else :data:`DEFAULT_URL`."""
    key_variable: str = KEY_VARIABLE
    """Environment variable that holds the key."""
    stream: bool = False
    """Whether answers are sent piece by piece, for endpoints that answer in no other way or cut silent connections."""
    tokens: bool = False
    """Whether token ids and log probabilities of answers are kept, where the endpoint tells them."""
    api_key: ApiKey | str | None = field(default=None, repr=False)
    """The key itself, in the place of the variable's; a text becomes an :class:`ApiKey`."""
    cutoff: str | None = None
    """The last month (``2023-10``) or day that the model was trained on, for reports alone; None where nobody says."""

    def __post_init__(self) -> None:
        # Around the dataclass's frozenness, which has no other way to normalise a field.
        if isinstance(self.api_key, str):
            object.__setattr__(self, "api_key", ApiKey(self.api_key))

    @classmethod
    def parse(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        key_variable: str = KEY_VARIABLE,
        stream: bool = False,
        tokens: bool = False,
        api_key: str | None = None,
        cutoff: str | None = None,
    ) -> Self:
        """A specification of what a user stated, checked.

        Args:
            name: name of the model; blanks around it are dropped.
            base_url: base URL of the endpoint, or None.
            key_variable: environment variable that holds the key.
            stream: whether answers are sent piece by piece.
            tokens: whether token ids and log probabilities are kept.
            api_key: the key itself, or None.
            cutoff: the last month or day that the model was trained on, or None.

        Raises:
            UsageError: the name is empty or names no stand-in that there is, or the URL, the key or the cut-off has
                another form.
        """
        if api_key is not None and (not api_key.strip() or not api_key.isascii() or not api_key.isprintable()):
            raise UsageError("an api_key is a text of printable ASCII characters; leave it out where there is none")
        name = name.strip()
        if not name:
            raise UsageError("a model needs a name, such as stand-in/competent")
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise UsageError(f"a base URL begins with http:// or https://, found {base_url!r}")
        if name.startswith(LOCAL):
            from openfingym.models.testing import find_policy

            find_policy(name)
        if cutoff is not None:
            require_cutoff(cutoff)
        return cls(name, base_url, key_variable, stream, tokens, api_key, cutoff)

    @property
    def _stands_in(self) -> bool:
        """Whether the model is the stand-in, which is started where it is asked."""
        return self.name.startswith(LOCAL) and self.base_url is None

    @property
    def _resolved_url(self) -> str:
        return self.base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL

    @property
    def _key(self) -> str:
        """The key, given by value or in the environment; empty where there is none."""
        if isinstance(self.api_key, ApiKey):
            return self.api_key.reveal()
        return os.environ.get(self.key_variable, "")

    @property
    def endpoint(self) -> str | None:
        """Base URL at which the model is asked, fit to go on record; None for a stand-in that is started here.

        User, password, query and fragment are left out, and the key if the path has it: they may open the endpoint to
        whoever reads the record.
        """
        if self._stands_in:
            return None
        return without_credentials(self._resolved_url, self._key)

    def require_access(self) -> None:
        """Make sure that this process can ask the model, as far as that is known without asking.

        Raises:
            UsageError: there is no key for the default endpoint, or the extra ``llm`` is missing.
        """
        if importlib.util.find_spec("openai") is None:
            raise UsageError(NEEDS_CLIENT)
        if not (self._stands_in or self.base_url or os.environ.get(URL_VARIABLE) or self._key):
            raise UsageError(
                f"model {self.name!r} needs a key in ${self.key_variable}, or the base URL of an endpoint that needs "
                "none; stand-in/competent needs neither"
            )

    @contextlib.asynccontextmanager
    async def open(
        self,
        *,
        prices: PriceTable | None = None,
        stream: bool = False,
        tokens: bool = False,
        concurrency: int = CONCURRENCY,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
    ) -> AsyncIterator[ChatModel]:
        """The model, ready to be asked; a stand-in without a base URL is started and stopped here.

        Args:
            prices: the table by which the model's costs are counted; None for the table of the library.
            stream: whether answers are sent piece by piece, even where :attr:`stream` does not say so.
            tokens: whether to ask for token ids and log probabilities, even where :attr:`tokens` does not say so.
            concurrency: most requests that are under way at once.
            timeout_s: seconds that one attempt at a request may take.
            patience_s: seconds for which a request that fails is sent again.

        Raises:
            UsageError: there is no key for the default endpoint, or the extra ``llm`` is missing.
        """
        async with contextlib.AsyncExitStack() as stack:
            self.require_access()
            base_url, key, local = self._resolved_url, self._key, False
            if self._stands_in:
                from openfingym.models.testing import StandIn

                stand_in = StandIn()
                # Starting and stopping it wait for its thread, and the event loop must go on meanwhile.
                await asyncio.to_thread(stand_in.__enter__)
                stack.push_async_callback(asyncio.to_thread, stand_in.__exit__)
                base_url, key, local = stand_in.base_url, _NO_KEY, True
            endpoint = await stack.enter_async_context(
                ModelEndpoint(
                    base_url,
                    key or _NO_KEY,
                    concurrency=concurrency,
                    timeout_s=timeout_s,
                    patience_s=patience_s,
                    loopback=local,
                )
            )
            yield endpoint.model(self.name, prices=prices, stream=stream or self.stream, tokens=tokens or self.tokens)
