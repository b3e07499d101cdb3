"""What is said of an endpoint that does not answer, and how long it is waited for."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Callable

import pytest

from openfingym.errors import ModelUnavailableError
from openfingym.models import Completion, Message
from openfingym.models.endpoint import ModelEndpoint
from openfingym.models.testing import StandIn

HELLO = (Message("system", "Be brief."), Message("user", "inputs, targets = interface.load_train()"))


def nowhere() -> str:
    """A URL at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://user:a-password@127.0.0.1:{taken.getsockname()[1]}/v1"


def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an endpoint be asked until its patience is nearly over: by chance, a wait that does not fit ends it early."""
    monkeypatch.setattr("openfingym.models.retrying.LONGEST_WAIT_S", 0.1)


def ask(url: str, *, patience_s: float = 600.0, model: str = "stand-in/competent", times: int = 1) -> list[Completion]:
    async def asking() -> list[Completion]:
        async with ModelEndpoint(url, "none", patience_s=patience_s, loopback=True) as endpoint:
            return [await endpoint.model(model).complete(HELLO) for _ in range(times)]

    return asyncio.run(asking())


@pytest.mark.parametrize("url", [nowhere, lambda: "http://no-such-host.invalid:81/v1"], ids=["port", "name"])
def test_what_was_never_reached_is_given_up_after_seconds(
    url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym.models.outage.UNREACHED_S", 0.6)
    before = time.monotonic()
    with pytest.raises(
        ModelUnavailableError, match=r"cannot be reached: .* no connection: .*check the base URL"
    ) as error:
        ask(url())
    assert time.monotonic() - before < 60.0, "and not after the ten minutes of its patience"
    assert "a-password" not in str(error.value)


def test_what_was_reached_once_has_the_whole_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.models.outage.UNREACHED_S", 0.01)
    soon_again(monkeypatch)

    async def asking() -> None:
        with StandIn() as stand_in:
            endpoint = ModelEndpoint(stand_in.base_url, "none", patience_s=1.5, loopback=True)
            await endpoint.model("stand-in/competent").complete(HELLO)
        async with endpoint:
            before = time.monotonic()
            with pytest.raises(ModelUnavailableError, match=r"patience 1.5 s"):
                await endpoint.model("stand-in/competent").complete(HELLO)
            assert time.monotonic() - before > 1.0, "all of it but the last wait and the least time of an attempt"

    asyncio.run(asking())


def test_an_outage_is_told_at_once_and_again(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.models.outage.TELL_EVERY_S", 0.3)
    soon_again(monkeypatch)
    with caplog.at_level(logging.WARNING, "openfingym"), pytest.raises(ModelUnavailableError):
        ask(nowhere(), patience_s=2.5)
    first, *others = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(
        r"http://127.0.0.1:\d+/v1 does not answer \(no connection: Connection refused\); "
        r"it is tried for up to 2 s more",
        first,
    )
    assert others
    assert all("does not answer" in line for line in others)


def test_the_end_of_an_outage_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym.models.outage.TELL_EVERY_S", 0.3)
    with StandIn() as stand_in, caplog.at_level(logging.WARNING, "openfingym"):
        ask(stand_in.base_url, model="stand-in/competent+rate-limit-seconds:1")
    said = [record.getMessage() for record in caplog.records]
    # On a slow machine the first answer may be waited for, and that told, before it is known to be a refusal.
    assert any("does not answer" in line and "(status 429: Too many requests.)" in line for line in said)
    assert "answers again, after" in said[-1]


def test_a_silence_is_told_before_it_is_a_failure(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym.models.outage.TELL_EVERY_S", 0.3)
    with StandIn() as stand_in, caplog.at_level(logging.WARNING, "openfingym"), pytest.raises(ModelUnavailableError):
        ask(stand_in.base_url, model="stand-in/competent+hang", patience_s=1.5)
    said = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(
        r"http://127.0.0.1:\d+/v1 has not answered for \d s; this first answer is waited for up to \d s", said[0]
    )
    assert "does not answer" in said[-1]
    # What is left of the patience, once the connection stands.
    assert re.search(r"no answer within 1\.\d+ s", said[-1])


def test_a_model_that_is_known_to_work_may_think(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym.models.outage.TELL_EVERY_S", 0.3)

    async def asking(url: str) -> None:
        async with ModelEndpoint(url, "none", patience_s=1.5, loopback=True) as endpoint:
            await endpoint.model("stand-in/competent").complete(HELLO)
            with pytest.raises(ModelUnavailableError):
                await endpoint.model("stand-in/competent+hang").complete(HELLO)

    with StandIn() as stand_in, caplog.at_level(logging.WARNING, "openfingym"):
        asyncio.run(asking(stand_in.base_url))
    assert not [record for record in caplog.records if "first answer" in record.getMessage()]


def test_endpoints_that_work_are_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    with StandIn() as stand_in, caplog.at_level(logging.WARNING, "openfingym"):
        # A request that is sent in another form is no outage, and refusals that alternate with answers are one line.
        ask(stand_in.base_url, model="stand-in/competent+no-system:1")
        assert not caplog.records
        ask(stand_in.base_url, model="stand-in/competent+error-503:3", times=3)
    assert len(caplog.records) == 1
