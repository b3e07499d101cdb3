"""An OpenAI-compatible endpoint, and the models behind it.

The ``openai`` client sends the requests; retries, limits and the reading of answers are ours, so that they are the same
whatever the client's version.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self, TypeVar, Unpack

from openfingym.errors import ModelRefusedError, ModelUnavailableError, UsageError
from openfingym.models.adapting import Adaptations
from openfingym.models.bounded_answers import UnreadableBodyError
from openfingym.models.cutting import cut_silently
from openfingym.models.messages import Completion, Message, Tool, estimated_usage
from openfingym.models.model import CompletionOptions
from openfingym.models.outage import Outage
from openfingym.models.prices import PriceTable
from openfingym.models.refusals import Refusal, refusal_in
from openfingym.models.retrying import Adapted, Blocked, Transient, judge, retrying
from openfingym.models.streaming import StreamedAnswer, chunks_of
from openfingym.models.transport import (
    body_of,
    cause_of,
    never_connected,
    open_client,
    transport_errors,
    unreadable,
)
from openfingym.models.urls import without_credentials
from openfingym.models.wire import (
    ASKING_FOR_TOKENS,
    BlockedAnswer,
    BrokenAnswer,
    Json,
    MalformedAnswer,
    ParsedCompletion,
    as_list,
    read_answer,
    request_body,
)

E = TypeVar("E", bound=Exception)

_log = logging.getLogger(__name__)

CONCURRENCY = 16
"""Requests under way at once, where nobody states another number."""
TIMEOUT_S = 300.0
"""Seconds that one request may take, where nobody states another number."""
PATIENCE_S = 600.0
"""Seconds after which a completion is given up, where nobody states another number."""
_CUT = "{cut}; have the server give its model a longer context (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx of the model)"
QUOTED = 60
"""The most characters that are quoted of what is no completion."""


class ModelEndpoint:
    """A server of chat completions; an async context manager.

    Args:
        base_url: base URL of the server, such as ``http://localhost:8000/v1``; None for the client's default.
        api_key: the server's key; kept in memory alone, and taken out of every message.
        concurrency: most requests under way at once. A request that waits to be sent again counts, so that an endpoint
            which limits the rate is asked less, not more.
        timeout_s: seconds that one request may take, to the last byte of its answer.
        patience_s: seconds after which a completion is given up, its retries included. A request that begins when the
            endpoint has answered nobody for that long has one attempt. An endpoint to which no connection was ever made
            is given up after :data:`~openfingym.models.outage.UNREACHED_S`.
        loopback: whether the endpoint is on this machine, so that no proxy is used.

    Raises:
        UsageError: the extra ``llm`` is not installed, or a number is out of range.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str,
        *,
        concurrency: int = CONCURRENCY,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
        loopback: bool = False,
    ) -> None:
        if concurrency < 1 or timeout_s <= 0 or patience_s <= 0:
            raise UsageError(
                "an endpoint needs concurrency of 1 or more, and timeout and patience above 0; found "
                f"{concurrency}, {timeout_s} s and {patience_s} s"
            )
        self.timeout_s = timeout_s
        self.patience_s = patience_s
        self._key = api_key
        self._slots = asyncio.Semaphore(concurrency)
        self._asking = 0
        """Requests under way or waiting for a slot."""
        self._adaptations = Adaptations()
        self._client = open_client(base_url, api_key, timeout_s, loopback=loopback)
        self.place = without_credentials(str(self._client.base_url).rstrip("/"), api_key)
        """The endpoint's URL for people, without credentials."""
        self._outage = Outage(self.place, patience_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._outage.forget()
        await self._client.close()

    def model(
        self,
        name: str,
        *,
        request_name: str | None = None,
        prices: PriceTable | None = None,
        stream: bool = False,
        tokens: bool = False,
    ) -> ChatModel:
        """A model behind this endpoint.

        Args:
            name: name under which results record the model.
            request_name: name by which the endpoint knows the model; None where it is the same.
            prices: the table by which the model's costs are counted; None for the table of the library.
            stream: whether answers are sent piece by piece, for endpoints that close silent connections.
            tokens: whether to ask for token ids and log probabilities, which not every endpoint gives.
        """
        return ChatModel(self, name, request_name or name, prices or PriceTable.load(), stream=stream, tokens=tokens)

    def refused(self, model: str) -> frozenset[str]:
        """What a model was found not to take: words of :func:`~openfingym.models.adapting.adaptation`."""
        return self._adaptations.of(model)

    async def complete(self, body: Json) -> tuple[ParsedCompletion, float, int]:
        """Send a request until it is answered.

        Args:
            body: body of a chat completion.

        Returns:
            The answer, the seconds of the attempt that was answered, and the number of attempts.

        Raises:
            ModelUnavailableError: the patience is over, or the endpoint does not let us in.
            ModelRefusedError: the endpoint refuses this request, and would refuse it again.
        """
        async with self._slot():
            started, attempts, blocked = time.monotonic(), 0, 0
            end = started + self.patience_s
            try:
                async for attempt in retrying(lambda: self._outage.patient_until(end) - time.monotonic()):
                    # A Transient that is raised in this block becomes the next attempt, and not an error.
                    with attempt:
                        attempts, before = attempts + 1, time.monotonic()
                        try:
                            answer = await self._watched(body, timeout_s=min(self.timeout_s, end - before))
                        except Blocked as nothing:
                            blocked += 1
                            # Once may be a fault of the server; the same again is its answer to this conversation.
                            if blocked > 1:
                                raise ModelRefusedError(str(nothing), reason="content-filter") from None
                            raise
                        return answer, time.monotonic() - before, attempts
            except Transient as last:
                took = time.monotonic() - started
                if self._outage.unreached:
                    raise ModelUnavailableError(
                        f"{self.place} cannot be reached: {attempts} request(s) in {took:.0f} s, {last}; check "
                        "the base URL, and have the endpoint up before the run begins"
                    ) from last
                raise ModelUnavailableError(
                    f"the endpoint gave no answer to {attempts} request(s) in {took:.0f} s, and fails for "
                    f"{self._outage.lasted_s(started):.0f} s (patience {self.patience_s:g} s); the last: {last}"
                ) from last
        raise AssertionError("attempts end in an answer or an error")

    @contextlib.asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """A place among the requests under way, of which there are as many as may be sent at once."""
        # Nobody was waiting: an outage from before the pause may be over, so patience begins anew.
        if not self._asking:
            self._outage.forget()
        self._asking += 1
        try:
            async with self._slots:
                yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._outage.forget()

    async def _watched(self, body: Json, *, timeout_s: float) -> ParsedCompletion:
        """Make one attempt, and note whether the endpoint works at all: a refusal is an answer too."""
        before = time.monotonic()
        self._outage.asked(timeout_s)
        try:
            answer = await self._attempt(body, timeout_s=timeout_s)
        except Adapted:
            self._outage.answered()
            raise
        except Transient as error:
            self._outage.failed(before, str(error), connected=error.connected)
            raise
        except ModelRefusedError:
            self._outage.answered()
            raise
        self._outage.answered()
        return answer

    async def _attempt(self, body: Json, *, timeout_s: float) -> ParsedCompletion:
        """Send a request once, and say by an error of ours what came of it.

        Raises:
            Transient: another attempt may succeed.
            Adapted: the model does not take a parameter, and the next attempt leaves it out.
            ModelUnavailableError: the endpoint does not let us in, or does not know the model.
            ModelRefusedError: the endpoint refuses this request, and would refuse it again.
        """
        import openai

        named = self._adaptations.adapted(body)
        # Every error is raised without its cause, whose text may hold the key.
        try:
            # The client's own timeout ends a silence alone, and an answer that drips would never end. A limit of 0
            # would cancel before anything is sent.
            async with asyncio.timeout(max(timeout_s, 0.001)):
                document = await (self._streamed(named) if named.get("stream") else self._whole(named))
            if (refusal := refusal_in(document, secret=self._key)) is not None:
                raise self._meant(refusal, named)
            return read_answer(document)
        except openai.APIStatusError as error:
            answered = any(isinstance(part, dict) and part["role"] == "assistant" for part in as_list(body["messages"]))
            refusal = Refusal(error.status_code, body_of(error), answered=answered, secret=self._key)
            raise self._meant(refusal, named, error.response.headers) from None
        except ModelRefusedError as refused:  # by the reason why an answer ended, whose words may be anything
            raise self._without_key(refused) from None
        except BlockedAnswer as nothing:
            raise Blocked(str(nothing)) from None
        except BrokenAnswer as broken:
            raise self._without_key(Transient(str(broken))) from None
        except (TimeoutError, openai.APITimeoutError) as error:
            if never_connected(error):
                raise Transient("no connection: nothing answers at that address", connected=False) from None
            raise Transient(f"no answer within {timeout_s:.3g} s") from None
        except (ValueError, OverflowError) as error:
            # Malformed, undecodable, or with numbers of thousands of digits, which Python refuses to read. The key goes
            # before the text is cut, or a part of it might stay.
            text = self._keyless(error.doc.strip())[:QUOTED] if isinstance(error, json.JSONDecodeError) else ""
            said = f"it begins with {text!r}" if text else error
            raise Transient(f"what came back is no chat completion ({said})") from None
        except RecursionError:
            raise Transient("what came back is no chat completion (it is nested too deep)") from None
        except openai.APIError as error:
            if type(error) is openai.APIError and error.body:  # an error inside a stream
                raise self._meant(Refusal(200, {"error": error.body}, secret=self._key), named) from None
            if (why := unreadable(error)) is not None:
                raise Transient(f"what came back is {why}") from None
            unconnected = never_connected(error)
            reason = f"no connection: {cause_of(error)}" if unconnected else f"{type(error).__name__}: {error}"
            raise self._without_key(Transient(reason, connected=not unconnected)) from None
        except UnreadableBodyError as error:  # of a stream
            raise Transient(f"what came back is {error}") from None
        except transport_errors() as error:
            raise Transient(f"{type(error).__name__}: {error}") from None

    def _meant(self, refusal: Refusal, named: Json, headers: Mapping[str, str] | None = None) -> Exception:
        """The error that a refusal means, without the key.

        Args:
            refusal: what the endpoint said.
            named: body of the request as it was sent.
            headers: headers of the answer, where its status said that it is a refusal.
        """
        learnt = self._adaptations.learn(refusal, named)
        if learnt is not None:
            return Adapted(f"the model {learnt}", retry_after_s=0.0)
        return self._without_key(judge(refusal, headers, tools="tools" in named, streamed="stream" in named))

    async def _whole(self, body: Json) -> object:
        """An answer that is sent as a whole, decoded."""
        # By post and not by the client's method for chat completions, which would check every message of the request
        # and then the answer: milliseconds of CPU a turn.
        answer = await self._client.post("/chat/completions", cast_to=object, body=body)
        # The client leaves what is not said to be JSON a text.
        return json.loads(answer) if isinstance(answer, str) else answer

    async def _streamed(self, body: Json) -> object:
        """An answer that is sent piece by piece, put together to the body of a whole one.

        Raises:
            MalformedAnswer: the stream ended before the answer did, or holds what is no chat completion.
        """
        import openai

        answer = StreamedAnswer(_tool_names(body))
        # By post too: the client's own types would be built of whatever a chunk holds.
        stream = await self._client.post(
            "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=openai.AsyncStream[object]
        )
        async with stream:
            chunks: AsyncIterator[object] = aiter(stream)
            # What cannot be streamed comes as a whole: an error, or the answer of a server that knows no streams.
            if stream.response.headers.get("content-type", "").partition(";")[0].strip() == "application/json":
                text = (await stream.response.aread()).strip()
                if not text.startswith(b"data:"):  # a stream that says it is none
                    return json.loads(text)
                chunks = chunks_of(text)
            async for chunk in chunks:
                if refusal_in(chunk) is not None:
                    return chunk
                answer.add(chunk)
                # A model that repeats itself would go on until the timeout, and its answer would be lost.
                if answer.too_long:
                    break
        if not (answer.finished or answer.too_long):
            raise MalformedAnswer("the stream ended before the answer did")
        return answer.body()

    def _without_key(self, error: E) -> E:
        """The error without the key, which some endpoints repeat when they refuse it."""
        if self._key:
            error.args = tuple(self._keyless(arg) if isinstance(arg, str) else arg for arg in error.args)
        return error

    def _keyless(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self._key, "***") if self._key else text


class ChatModel:
    """One model behind an endpoint; see :class:`openfingym.models.LanguageModel`."""

    def __init__(
        self, endpoint: ModelEndpoint, name: str, request_name: str, prices: PriceTable, *, stream: bool, tokens: bool
    ) -> None:
        """Use :meth:`ModelEndpoint.model`."""
        self.name = name
        self._endpoint = endpoint
        self._request_name = request_name
        self._prices = prices
        self._stream = stream
        self._tokens = tokens
        self._toolless: str | None = None
        """Why no tools are offered any more; None before the endpoint has refused them, which it would do again."""

    @property
    def unsent(self) -> frozenset[str]:
        """What requests leave out, since the endpoint has refused it."""
        return self._endpoint.refused(self._request_name)

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Continue a conversation; see :meth:`openfingym.models.LanguageModel.complete`."""
        if tools and self._toolless:
            raise ModelRefusedError(self._toolless, reason="no-tools")
        body = request_body(self._request_name, messages, tools=tools, **options)
        if self._stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if self._tokens:
            body |= ASKING_FOR_TOKENS
        try:
            answer, latency_s, attempts = await self._endpoint.complete(body)
        except ModelRefusedError as refused:
            if refused.reason == "no-tools":
                self._toolless = str(refused)
                _log.info("%s: %s; its calls are text from now on", self.name, refused)
            raise
        if (cut := cut_silently(messages, answer.stated.prompt)) is not None:
            raise ModelRefusedError(_CUT.format(cut=cut), reason="settings")
        counted = answer.usage is not None
        usage = answer.stated.filled(estimated_usage(messages, answer.message, tools))
        cost_usd = self._prices.cost_usd(self.name, usage)
        return Completion(
            message=answer.message,
            finish_reason=answer.finish_reason,
            usage=usage,
            model=answer.model or self._request_name,
            # Estimated tokens give no cost, unless any number of them is free.
            cost_usd=cost_usd if counted or cost_usd == 0.0 else None,
            latency_s=latency_s,
            attempts=attempts,
            counted=counted,
            tokens=answer.tokens if self._tokens else None,
        )


def _tool_names(body: Json) -> list[str]:
    """Names of the tools that a request offers."""
    return [str(tool["function"]["name"]) for tool in as_list(body.get("tools")) if isinstance(tool, dict)]
