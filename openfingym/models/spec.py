"""The specification of a model: its name, its endpoint, and the variable that holds its key."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

from openfingym.errors import UsageError
from openfingym.models.endpoint import CONCURRENCY, PATIENCE_S, TIMEOUT_S, ChatModel, ModelEndpoint
from openfingym.models.prices import LOCAL, PriceTable
from openfingym.models.transport import NEEDS_CLIENT
from openfingym.models.urls import without_credentials

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
DEFAULT_URL = "https://api.openai.com/v1"
"""Where a model is asked if nobody says where."""
"""Host and port of a URL."""
_NO_KEY = "none"
"""Sent in place of a key to a user's own endpoint, which checks none but needs the header."""


@dataclass(frozen=True)
class ModelSpec:
    """A model by name and place. It holds the name of the key's variable, never the key."""

    name: str
    """Name that the endpoint knows it by; ``stand-in/POLICY`` is the stand-in of :mod:`openfingym.models.testing`."""
    base_url: str | None = None
    """Base URL of the endpoint; None for ``$OPENAI_BASE_URL``, or else :data:`DEFAULT_URL`."""
    key_variable: str = KEY_VARIABLE
    stream: bool = False
    """Have answers sent piece by piece, where the endpoint answers in no other way or cuts silent connections."""

    @classmethod
    def parse(
        cls, name: str, *, base_url: str | None = None, key_variable: str = KEY_VARIABLE, stream: bool = False
    ) -> Self:
        """Check what a user gave.

        Raises:
            UsageError: no name, no URL, or a stand-in that does not exist.
        """
        name = name.strip()
        if not name:
            raise UsageError("a model needs a name, such as stand-in/competent")
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise UsageError(f"a base URL begins with http:// or https://, found {base_url!r}")
        if name.startswith(LOCAL):
            from openfingym.models.testing import find_policy

            find_policy(name)
        return cls(name, base_url, key_variable, stream)

    @property
    def _stands_in(self) -> bool:
        """Whether it is the stand-in, to be started where it is asked."""
        return self.name.startswith(LOCAL) and self.base_url is None

    @property
    def _resolved_url(self) -> str:
        return self.base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL

    @property
    def endpoint(self) -> str | None:
        """Base URL that the model is asked at, fit to be kept; None of a stand-in that is started for it.

        User, password, query and fragment are left out, and the key if the path has it: they may open the endpoint to
        whoever reads them.
        """
        if self._stands_in:
            return None
        return without_credentials(self._resolved_url, os.environ.get(self.key_variable))

    def require_access(self) -> None:
        """Make sure that this process can ask the model, as far as that is known without asking.

        Raises:
            UsageError: there is no key for the default endpoint, or the extra ``llm`` is missing.
        """
        if importlib.util.find_spec("openai") is None:
            raise UsageError(NEEDS_CLIENT)
        if not (self._stands_in or self.base_url or os.environ.get(URL_VARIABLE) or os.environ.get(self.key_variable)):
            raise UsageError(
                f"model {self.name!r} needs a key in ${self.key_variable}, or the base URL of an endpoint that needs "
                "none; "
                "stand-in/competent needs neither"
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
            prices: prices of models; None for the table of the package.
            stream: have answers sent piece by piece, also where :attr:`stream` does not say so.
            tokens: ask for token ids and log probabilities; see :meth:`ModelEndpoint.model`.
            concurrency: largest number of requests that are under way at once.
            timeout_s: seconds that one attempt at a request may take.
            patience_s: seconds for which failing requests are tried again.

        Raises:
            UsageError: there is no key for the default endpoint, or the extra ``llm`` is missing.
        """
        async with contextlib.AsyncExitStack() as stack:
            self.require_access()
            base_url, key, local = self._resolved_url, os.environ.get(self.key_variable, ""), False
            if self._stands_in:
                from openfingym.models.testing import StandIn

                stand_in = StandIn()
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
            yield endpoint.model(self.name, prices=prices, stream=stream or self.stream, tokens=tokens)
