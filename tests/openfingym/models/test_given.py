"""Models that are Python objects: functions, and objects that live on event loops of their own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace

import openai
import pytest

from openfingym.errors import ModelRefusedError, ModelUnavailableError, UsageError
from openfingym.models import Completion, LanguageModel, Message, Tool, Usage, from_function, on_loop
from openfingym.models.given import CheckedModel, ModelFunction, read_completion, require_language_model

from .conftest import RUN
from .scripted import Scripted, completion, in_turn

SAID = (Message("user", "Go."),)


def ask(model: LanguageModel, *messages: Message, tools: Sequence[Tool] = ()) -> Completion:
    return asyncio.run(model.complete(messages or SAID, tools=tools))


def test_a_function_in_a_thread_of_its_own() -> None:
    seen: list[object] = []

    def answer(messages: object, tools: object) -> str:
        seen.extend((messages, tools, threading.current_thread()))
        time.sleep(0.01)
        return "Hello."

    found = ask(from_function("mine", answer), tools=[RUN])
    messages, tools, thread = seen
    assert messages == [{"role": "user", "content": "Go."}]
    assert tools[0]["function"]["name"] == "run_python"  # type: ignore[index]
    assert thread is not threading.current_thread()
    assert (found.message, found.finish_reason, found.model) == (Message("assistant", "Hello."), "stop", "mine")
    assert (found.cost_usd, found.counted, found.tokens) == (None, False, None)
    assert found.latency_s >= 0.01


def test_several_calls_are_under_way_at_once() -> None:
    together = threading.Barrier(8)

    def answer(messages: object, tools: object) -> str:
        together.wait(20)  # breaks unless all eight are here
        return "x"

    async def many() -> list[Completion]:
        return await asyncio.gather(*(from_function("mine", answer).complete(SAID) for _ in range(8)))

    assert len(asyncio.run(many())) == 8


async def _later(messages: object, tools: object) -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_a_coroutine_function_stays_on_the_loop() -> None:
    assert ask(from_function("mine", _later)).message.content == threading.current_thread().name


def test_who_does_not_wait_any_more_is_not_held() -> None:
    release = threading.Event()

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await from_function("mine", lambda *_: str(release.wait(20))).complete(SAID)

    started = time.monotonic()
    asyncio.run(impatient())
    assert time.monotonic() - started < 10
    release.set()


@pytest.mark.parametrize(
    ("answer", "content", "reason", "calls"),
    [
        ("text", "text", "stop", 0),
        ({"role": "assistant", "content": "text"}, "text", "stop", 0),
        ({"content": [{"type": "text", "text": "te"}, {"type": "text", "text": "xt"}]}, "text", "stop", 0),
        ({"content": "tex", "finish_reason": "length"}, "tex", "length", 0),
        ({"content": None, "refusal": "No."}, "No.", "refusal", 0),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}, "", "tool_calls", 1),
        (completion({"content": "text"}), "text", "stop", 0),
        (Message("assistant", "text"), "text", "stop", 0),
        (SimpleNamespace(model_dump=lambda: completion({"content": "text"})), "text", "stop", 0),
        ("", "", "stop", 0),
    ],
)
def test_what_may_stand_for_an_answer(answer: object, content: str, reason: str, calls: int) -> None:
    found = read_completion(answer, name="mine", messages=SAID)
    assert (found.message.content, found.finish_reason, len(found.message.tool_calls)) == (content, reason, calls)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "type NoneType"),
        (7, "type int"),
        ({}, "with nothing"),
        ({"text": "x"}, "with 'text'"),
        ({"role": "user", "content": "x"}, "role 'user'"),
        ({"content": 3}, "content of type int"),
        ({"tool_calls": {"name": "x"}}, "tool_calls of type dict"),
        ({"tool_calls": ["x"]}, "no JSON object"),
        ({"choices": []}, "no choices"),
        (Message("tool", "x"), "role 'tool'"),
        (Completion(Message("user"), "stop", Usage(), "m"), "role 'user'"),
        (Completion(Message("assistant"), "stop", Usage(), "m", cost_usd=-1.0), "cost_usd"),
    ],
)
def test_what_is_no_answer(answer: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_completion(answer, name="mine")
    failing = CheckedModel(from_function("mine", lambda *_: answer))  # type: ignore[arg-type,return-value]
    with pytest.raises(ModelUnavailableError, match=f"'mine' gave what is no answer: .*{says}"):
        ask(failing)


def test_whatever_a_model_raises_has_a_name() -> None:
    def failing(error: Exception) -> ModelFunction:
        def answer(messages: object, tools: object) -> str:
            raise error

        return answer

    with pytest.raises(ModelUnavailableError, match="'mine' failed: KeyError: 'x'"):
        ask(CheckedModel(from_function("mine", failing(KeyError("x")))))
    refused = ModelRefusedError("too long", reason="context-too-long")
    with pytest.raises(ModelRefusedError, match="too long"):
        ask(CheckedModel(from_function("mine", failing(refused))))


@pytest.mark.parametrize(
    "model",
    [
        object(),
        "gpt",
        SimpleNamespace(name="x"),
        SimpleNamespace(name=3, complete=print),
        SimpleNamespace(name=" ", complete=print),
        SimpleNamespace(name="x" * 201, complete=print),
    ],
)
def test_what_is_no_model(model: object) -> None:
    with pytest.raises(UsageError):
        require_language_model(model)


class Client:
    """A model with a client that is bound to the event loop it was made on."""

    name = "mine"

    def __init__(self, base_url: str) -> None:
        self.client = openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
        self.lock = asyncio.Lock()
        self.loops: set[asyncio.AbstractEventLoop] = set()

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: object) -> Completion:
        async with self.lock:
            self.loops.add(asyncio.get_running_loop())
            found = await self.client.chat.completions.create(
                model="x", messages=[{"role": "user", "content": messages[0].content}]
            )
        return read_completion(found, name=self.name)


def test_a_model_is_asked_on_its_own_loop() -> None:
    with Scripted(in_turn([{"content": "Hello."}])) as server:

        async def main() -> None:
            model = Client(server.base_url)
            there = on_loop(model)
            # Each of these threads runs an event loop of its own.
            found = await asyncio.gather(*(asyncio.to_thread(ask, there) for _ in range(4)))
            assert [one.message.content for one in found] == ["Hello."] * 4
            assert (await there.complete(SAID)).message.content == "Hello."
            assert model.loops == {asyncio.get_running_loop()}
            with pytest.raises(UsageError, match="to_thread"):
                require_language_model(there)  # whoever blocks this loop would wait for ever
            await asyncio.to_thread(require_language_model, there)
            await model.client.close()

        asyncio.run(main())


def test_a_loop_that_is_gone() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(ModelUnavailableError, match="closed"):
        ask(on_loop(from_function("mine", lambda *_: "x"), loop))
    with pytest.raises(UsageError, match="no event loop runs"):
        on_loop(from_function("mine", lambda *_: "x"))
