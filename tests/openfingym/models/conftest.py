"""A stand-in that answers for real, on a port of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import pytest

from openfingym.models import ChatModel, Completion, Message, Tool
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.testing import StandIn

HELLO = (Message("system", "Be brief."), Message("user", "inputs, targets = interface.load_train()"))
RUN = Tool(
    "run_python", "Run a program.", {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
)

Ask = Callable[..., Completion]


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


@pytest.fixture
def ask(stand_in: StandIn) -> Ask:
    """Asks a model of the stand-in one thing."""

    def asking(
        model: str, *, key: str = "none", patience_s: float = 8.0, timeout_s: float = 4.0, **options: object
    ) -> Completion:
        opened = {name: options.pop(name) for name in ("stream", "tokens", "prices", "request_name") if name in options}

        async def once() -> Completion:
            async with ModelEndpoint(
                stand_in.base_url, key, patience_s=patience_s, timeout_s=timeout_s, loopback=True
            ) as endpoint:
                chat: ChatModel = endpoint.model(model, **opened)
                messages = options.pop("messages", HELLO)
                return await chat.complete(messages, **options)

        return asyncio.run(once())

    return asking


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        with contextlib.suppress(KeyError):
            monkeypatch.delenv(name)
