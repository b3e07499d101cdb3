r"""Models that are Python objects: functions, objects on other event loops, and the forms of their answers.

    model = from_function("my-policy", lambda messages, tools: "```python\nprint('hello')\n```")
    openfingym.run("treasury-forecast", agent="oneshot", model=model)

A model is asked on the event loop of whoever runs the conversation, which a launcher has in a thread of its own.
:func:`on_loop` has it asked on another loop, such as the one that its client belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import replace
from typing import Unpack, cast

from openfingym.errors import ModelUnavailableError, OpenFinGymError, UsageError
from openfingym.models.driven import Stopped
from openfingym.models.messages import Completion, Message, Tool, estimated_usage
from openfingym.models.model import CompletionOptions, LanguageModel
from openfingym.models.wire import Json, MalformedAnswer, read_answer, request_message, request_tool

Answer = str | Mapping[str, object] | Message | Completion
"""What may stand for an answer: its text, an assistant's message in OpenAI's form, the whole body of a chat
completion, or values of our own."""
ModelFunction = Callable[[list[Json], list[Json]], Answer | Awaitable[Answer]]
"""Takes the conversation and the tools on offer, in OpenAI's form; returns the answer, or a coroutine of it."""
EXPECTED = "expected a text, an assistant's message as a dict in OpenAI's form, a Message or a Completion"

_log = logging.getLogger(__name__)


def read_completion(
    answer: object, *, name: str, messages: Sequence[Message] = (), latency_s: float = 0.0
) -> Completion:
    """An answer that was given as a Python value, as a completion.

    Args:
        answer: one of the forms of :data:`Answer`, or an object with a method ``model_dump`` that returns one, as the
            clients' own have it.
        name: name of the model, for an answer that does not state it.
        messages: the conversation that was answered, by which tokens are estimated where nobody counted them.
        latency_s: seconds that the answer took.

    Raises:
        UsageError: what was given is no answer; says what was found and what was expected.
    """
    if isinstance(answer, Completion):
        return _checked(answer)
    if isinstance(answer, str):
        answer = {"content": answer}
    if isinstance(answer, Message):
        answer = request_message(answer, reasoning=True)
    if callable(dump := getattr(answer, "model_dump", None)):
        answer = dump()
    if not isinstance(answer, Mapping):
        raise UsageError(f"an answer of type {type(answer).__name__}; {EXPECTED}")
    whole = answer
    if "choices" not in answer:
        _check_message(answer)
        # Who gives a message alone has it whole, even an empty one.
        whole = {"choices": [{"message": answer, "finish_reason": answer.get("finish_reason") or "stop"}]}
    try:
        parsed = read_answer(whole)
    except MalformedAnswer as error:
        raise UsageError(f"{error}; {EXPECTED}") from None
    tokens = parsed.tokens
    return Completion(
        message=parsed.message,
        finish_reason=parsed.finish_reason,
        usage=parsed.stated.filled(estimated_usage(messages, parsed.message)),
        model=parsed.model or name,
        latency_s=latency_s,
        counted=parsed.usage is not None,
        tokens=tokens if tokens.completion_ids or tokens.prompt_ids or tokens.logprobs else None,
    )


def _check_message(message: Mapping[object, object]) -> None:
    """Refuse a dict that is no assistant's message: reading is lenient, and would make an empty answer of it.

    Raises:
        UsageError: says what was found and what was expected.
    """
    if message.get("role", "assistant") != "assistant":
        raise UsageError(f"a message of role {message['role']!r}; an answer is the assistant's")
    if not {"content", "tool_calls", "refusal", "reasoning_content", "reasoning"} & message.keys():
        raise UsageError(f"a message with {', '.join(map(repr, message)) or 'nothing'}; {EXPECTED}")
    if not isinstance(message.get("content"), str | list | None):
        raise UsageError(f"content of type {type(message['content']).__name__}; a message's content is a text")
    if not isinstance(message.get("tool_calls"), list | tuple | None):
        raise UsageError(f"tool_calls of type {type(message['tool_calls']).__name__}; expected a list of calls")


def _checked(completion: Completion) -> Completion:
    """A completion that somebody else made, checked for all that records rely on.

    Raises:
        UsageError: the message is not the assistant's, or numbers do not fit each other or are not finite.
    """
    if completion.message.role != "assistant":
        raise UsageError(f"a message of role {completion.message.role!r}; an answer is the assistant's")
    tokens = completion.tokens
    if tokens is not None:
        parts = {"completion_ids": tokens.completion_ids, "logprobs": tokens.logprobs, "loss_mask": tokens.loss_mask}
        lengths = {name: len(part) for name, part in parts.items() if part}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"tokens of unlike lengths, {lengths}; each has one entry a token of the answer")
        if not all(map(math.isfinite, tokens.logprobs)):
            raise UsageError("a log probability is not finite; leave logprobs out where they are not known")
    cost = completion.cost_usd
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        raise UsageError(f"cost_usd is a number of US dollars or None, found {cost!r}")
    return completion


class FunctionModel:
    """A function as a model; see :func:`from_function`."""

    def __init__(self, name: str, function: ModelFunction) -> None:
        self.name = name
        self._function = function

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Ask the function; see :class:`openfingym.models.LanguageModel`."""
        reasoning = options.get("reasoning", False)
        conversation = [request_message(message, reasoning=reasoning) for message in messages]
        offered, started = [request_tool(tool) for tool in tools], time.monotonic()
        if inspect.iscoroutinefunction(self._function):
            answer = await self._function(conversation, offered)
        else:
            # Never on the event loop, which is everybody's: a function may compute or wait for minutes.
            answer = await _in_thread(lambda: self._function(conversation, offered))
        return read_completion(answer, name=self.name, messages=messages, latency_s=time.monotonic() - started)


def from_function(name: str, function: ModelFunction) -> FunctionModel:
    """A function as a model.

    Args:
        name: the model's name, as results record it.
        function: called with the conversation and the tools on offer, both as lists of dicts in OpenAI's form; returns
            the answer (:data:`Answer`). Each call is made in a thread of its own, so that several may be under way at
            once; a coroutine function is awaited on the event loop of the conversations instead. What it raises makes
            the rollout an ``error``. Where the rollout is over before it returns, it goes on and its answer is dropped.

    Raises:
        UsageError: the name is empty, or ``function`` cannot be called.
    """
    if not callable(function):
        raise UsageError(f"a model of type {type(function).__name__}; expected a function of messages and tools")
    model = FunctionModel(name, function)
    require_language_model(model)
    return model


class OnLoop:
    """A model that is asked on an event loop of its own; see :func:`on_loop`."""

    def __init__(self, model: LanguageModel, loop: asyncio.AbstractEventLoop) -> None:
        self._model = model
        self.loop = loop

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Ask the model on its loop; see :class:`openfingym.models.LanguageModel`."""
        asking = self._model.complete(messages, tools=tools, **options)
        if asyncio.get_running_loop() is self.loop:
            return await asking
        try:
            answered = asyncio.run_coroutine_threadsafe(asking, self.loop)
        except RuntimeError:
            # Python warns of a coroutine that was neither awaited nor closed.
            asking.close()
            raise ModelUnavailableError(f"the event loop of model {self.name!r} is closed") from None
        return await asyncio.wrap_future(answered)


def on_loop(model: LanguageModel, loop: asyncio.AbstractEventLoop | None = None) -> OnLoop:
    """A model that is asked on its own event loop, whoever asks it, as clients with open connections want it.

    Args:
        model: the model to ask.
        loop: the loop that the model belongs to, which has to run while rollouts do; None for the one that runs now.

    Raises:
        UsageError: no loop was given, and none runs in this thread.
    """
    require_language_model(model)
    if loop is None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("no event loop runs in this thread; give the model's own as loop=") from None
    return OnLoop(model, loop)


def require_language_model(model: object) -> None:
    """Refuse what cannot be asked, before anything is begun.

    Raises:
        UsageError: the object is no :class:`~openfingym.models.LanguageModel`, or this thread would keep the event loop
            from running on which it is asked.
    """
    name = getattr(model, "name", None)
    if not callable(getattr(model, "complete", None)) or not isinstance(name, str):
        raise UsageError(
            f"a model of type {type(model).__name__}; expected a name such as stand-in/competent, a ModelSpec, or an "
            "object with a name and a coroutine method complete (openfingym.models.LanguageModel)"
        )
    if not name.strip() or len(name) > 200:
        raise UsageError("a model needs a name of 1 to 200 characters, which results record")
    if isinstance(model, OnLoop):
        # RuntimeError: no loop runs in this thread, so that none is kept from running.
        with contextlib.suppress(RuntimeError):
            if asyncio.get_running_loop() is model.loop:
                raise UsageError(
                    "the rollout would keep the event loop from running that its model answers on; run it in a thread: "
                    "await asyncio.to_thread(launcher.run, ...)"
                )


class CheckedModel:
    """A model of somebody else's: what it raises, and what it returns that is no completion, becomes an error of ours.

    Args:
        model: the model to ask.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.asked = model

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.asked.name

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Ask the model; see :class:`openfingym.models.LanguageModel`.

        Raises:
            ModelUnavailableError: no answer could be had, the model raised an error that is not ours, or it returned
                what is no completion.
        """
        started = time.monotonic()
        try:
            completion = await self.asked.complete(messages, tools=tools, **options)
            if not isinstance(completion, Completion):
                raise UsageError(f"an answer of type {type(completion).__name__}; expected a Completion")
            completion = _checked(completion)
        except Stopped:
            raise
        except UsageError as error:
            raise ModelUnavailableError(f"model {self.name!r} gave what is no answer: {error}") from error
        except OpenFinGymError:
            raise
        except Exception as error:
            _log.warning("model %s failed", self.name, exc_info=True)
            raise ModelUnavailableError(f"model {self.name!r} failed: {type(error).__name__}: {error}") from error
        return completion if completion.latency_s else replace(completion, latency_s=time.monotonic() - started)


async def _in_thread(function: Callable[[], object]) -> object:
    """Call a function in a thread of its own, which does not keep the program from ending."""
    # asyncio.to_thread would share a pool with the verifier's calls, and its threads are waited for at exit.
    done: Future[object] = Future()

    def call() -> None:
        # The caller may have been cancelled meanwhile, and its future with it.
        with contextlib.suppress(InvalidStateError):
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

    threading.Thread(target=call, name="openfingym-model", daemon=True).start()
    return cast("object", await asyncio.wrap_future(done))
