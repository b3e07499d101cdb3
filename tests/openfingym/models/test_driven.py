"""Answers from outside, in every thread and on every event loop, and what is left when either side goes away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openfingym.errors import ModelUnavailableError, UsageError
from openfingym.models import Completion, DrivenModel, Message, Tool, Usage
from openfingym.models.driven import Stopped
from openfingym.models.messages import CompletionTokens

SAID = (Message("system", "Be brief."), Message("user", "Go."))
RUN = Tool("run", "Run.", {"type": "object", "properties": {}, "required": []})


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(20):
            return await work

    return asyncio.run(bounded())


def test_the_request_and_its_answer() -> None:
    async def play() -> Completion:
        model = DrivenModel("mine")
        asked = asyncio.create_task(model.complete(SAID, tools=[RUN], max_tokens=7, temperature=None, seed=3))
        request = await model.request()
        assert request is not None
        assert request.messages == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}]
        assert [tool["function"]["name"] for tool in request.tools] == ["run"]  # type: ignore[index]
        assert request.options == {"max_tokens": 7, "seed": 3}
        assert (request.waiting, model.pending) == (True, 1)
        called = {"id": "a", "type": "function", "function": {"name": "run", "arguments": {"x": 1}}}
        assert model.answer({"role": "assistant", "content": None, "tool_calls": [called]})
        found = await asked
        assert (request.waiting, model.pending) == (False, 0)
        assert not request.answer("too late"), "the second answer is told that it is none"
        return found

    found = run(play())
    assert (found.finish_reason, found.model, found.counted) == ("tool_calls", "mine", False)
    assert (found.message.tool_calls[0].name, found.message.tool_calls[0].arguments) == ("run", '{"x": 1}')


def test_a_completion_keeps_its_tokens() -> None:
    async def play(completion: Completion) -> Completion:
        model = DrivenModel()
        asked = asyncio.create_task(model.complete(SAID))
        request = await model.request()
        assert request is not None
        for tokens, says in (
            (CompletionTokens((), (1, 2), (-1.0,)), "unlike lengths"),
            (CompletionTokens((), (1,), (-1e999,)), "not finite"),
        ):
            with pytest.raises(UsageError, match=says):
                request.answer(Completion(Message("assistant", "x"), "stop", Usage(), "m", tokens=tokens))
        with pytest.raises(UsageError, match="role 'user'"):
            request.answer({"role": "user", "content": "x"})
        with pytest.raises(UsageError, match="expected a text"):
            model.answer(7)  # type: ignore[arg-type]
        assert request.waiting, "what is no answer leaves the request as it was"
        assert request.answer(completion)
        return await asked

    tokens = CompletionTokens((5, 6), (1, 2, 3), (-0.5, -1.0, -0.25), (1, 1, 0))
    given = Completion(Message("assistant", "hi"), "stop", Usage(2, 3), "m", tokens=tokens)
    assert run(play(given)) == given


def test_many_at_once_from_loops_and_threads() -> None:
    model, count = DrivenModel(), 64

    def asking(number: int) -> str:
        return run(model.complete((Message("user", str(number)),))).message.content

    def answering() -> int:
        answered = 0
        while (request := model.request_sync(20)) is not None:
            answered += request.answer(f"to {request.messages[0]['content']}")
        return answered

    with ThreadPoolExecutor(24) as pool:
        answerers = [pool.submit(answering) for _ in range(4)]
        found = list(pool.map(asking, range(count)))
        model.close()
        assert sum(done.result() for done in answerers) == count
    assert found == [f"to {number}" for number in range(count)]
    assert model.pending == 0


def test_two_requests_are_answered_one_by_one() -> None:
    async def play() -> None:
        model = DrivenModel()
        with pytest.raises(UsageError, match="0 requests were taken"):
            model.answer("x")
        tasks = [asyncio.create_task(model.complete(SAID)) for _ in range(2)]
        first, second = await model.request(), await model.request()
        assert first is not None
        assert second is not None
        with pytest.raises(UsageError, match="2 requests were taken"):
            model.answer("x")
        second.answer("second")
        first.fail(ValueError("out of memory"))
        assert (await tasks[1]).message.content == "second"
        with pytest.raises(ModelUnavailableError, match="ValueError: out of memory"):
            await tasks[0]

    run(play())


def test_cancelling_either_side_loses_and_leaves_nothing() -> None:
    async def play() -> None:
        model = DrivenModel()
        for _ in range(50):  # who waits for a request and goes away
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await model.request()
        with pytest.raises(TimeoutError):
            model.request_sync(0.01)
        asked = asyncio.create_task(model.complete(SAID))
        waiting = asyncio.create_task(model.request())
        while not model._taken:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0)
        waiting.cancel()  # when the request was on its way to it
        await asyncio.gather(waiting, return_exceptions=True)
        request = await model.request()
        assert request is not None, "the next one gets it"
        asked.cancel()  # the rollout goes away
        await asyncio.gather(asked, return_exceptions=True)
        assert (request.waiting, request.answer("late")) == (False, False)
        assert (model.pending, len(model._takers), len(model._waiting), len(model._taken)) == (0, 0, 0, 0)
        for _ in range(3):  # one that nobody took
            gone = asyncio.create_task(model.complete(SAID))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        assert model.pending == 0

    run(play())


def test_closing_ends_both_sides() -> None:
    async def play() -> None:
        model = DrivenModel()
        asked = [asyncio.create_task(model.complete(SAID)) for _ in range(3)]
        taken = await model.request()
        assert taken is not None
        model.close()
        model.close()
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(error) for error in ended] == [Stopped] * 3
        with pytest.raises(Stopped):
            await model.complete(SAID)
        assert await model.request() is None
        assert not taken.answer("late")
        other = DrivenModel()
        waiting = asyncio.create_task(other.request())
        await asyncio.sleep(0)
        threading.Thread(target=other.close).start()
        assert await waiting is None

    run(play())
