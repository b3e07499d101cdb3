"""Rollouts that an agent plays by itself, with a model that a trainer names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from openfingym.models import ModelSpec, from_function
from openfingym.models.testing import StandIn
from openfingym.training import Desk, Played

pytestmark = pytest.mark.sandbox
TASK = "treasury-forecast"
NAIVE = """
import numpy as np, interface
interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1))
"""


@pytest.fixture(scope="module")
def desk(store_home: object) -> Iterator[Desk]:
    with Desk(TASK, backend="sandbox", agent="oneshot", places=2) as found:
        yield found


def test_a_model_at_an_endpoint_with_a_key_of_its_own(desk: Desk) -> None:
    async def play(url: str) -> list[Played]:
        spec = ModelSpec("stand-in/competent", base_url=url, api_key="sk-of-this-rollout")
        return await asyncio.gather(*(desk.play(TASK, 3, spec, seed=seed) for seed in range(3)))

    with StandIn() as server:
        played = asyncio.run(play(server.base_url))
        assert sum(server.served.values()) >= 3
    for one in played:
        assert one.failure is None
        assert one.reward is not None
        assert one.result is not None
        assert (one.result.split, one.result.instance) == ("train", 3)
        assert [message["role"] for message in one.messages] == ["system", "user", "assistant"]
        assert "sk-of-this-rollout" not in repr(one)
    assert len({one.reward for one in played}) == 1


def test_a_model_that_is_an_object(desk: Desk) -> None:
    model = from_function("mine", lambda messages, tools: f"```python\n{NAIVE}```")
    played = asyncio.run(desk.play(TASK, 3, model))
    assert (played.reward, played.failure) == (0.0, None)


def test_a_model_that_fails_is_no_reward(desk: Desk) -> None:
    def fails(messages: object, tools: object) -> str:
        raise RuntimeError("out of memory")

    played = asyncio.run(desk.play(TASK, 3, from_function("mine", fails)))
    assert played.reward is None
    assert played.failure is not None
    assert "out of memory" in played.failure


def test_who_gives_up_waiting_ends_it(desk: Desk) -> None:
    begun = threading.Event()

    async def never(messages: object, tools: object) -> str:
        begun.set()
        await asyncio.sleep(3600.0)
        return ""

    async def give_up() -> None:
        play = asyncio.ensure_future(desk.play(TASK, 3, from_function("mine", never)))
        await asyncio.to_thread(begun.wait)
        play.cancel()
        with pytest.raises(asyncio.CancelledError):
            await play

    asyncio.run(give_up())
    places = desk._taken().places
    end = time.monotonic() + 60.0
    while places.taken and time.monotonic() < end:
        time.sleep(0.05)
    assert places.taken == 0


def test_the_plugin_says_what_it_needs() -> None:
    code = "import openfingym_v1; openfingym_v1.EpisodeTaskset"
    blocked = "import sys; sys.modules['verifiers'] = None; "
    done = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True, check=False)
    assert "UsageError: openfingym_v1 is the plug-in of verifiers" in done.stderr
    assert "pip install" in done.stderr
