"""The model of a rollout, as a program inside its container may ask it: one request at a time, metered and recorded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import ModuleType
from typing import Final

from openfingym.agents.llm.adoption import AdoptedConversations
from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.ending import Ended
from openfingym.agents.llm.session import Conversation
from openfingym.errors import ModelRefusedError, ModelUnavailableError
from openfingym.models.driven import Stopped
from openfingym.models.messages import Completion, Message, estimated_usage
from openfingym.models.serving import RefusedRequestError, ServedAnswer, ServedRequest, chat_completions, messages

MOST_WAITING = 8
"""Requests that may be under way or wait for their turn; one more is sent away for a while."""
WAIT_S = 2
"""Seconds for which it is sent away."""
MODELS: Final = "/v1/models"
FORMS: Final[dict[str, ModuleType]] = {chat_completions.PATH: chat_completions, messages.PATH: messages}
"""The interfaces that are spoken, by the path of their requests."""
MOST_REFUSED = 100
"""Requests that may be refused before the rollout ends."""
NOTED = 200
"""Most notes on requests that were refused or read in part."""
GRACE_S = 10.0
"""Seconds that a program has to answer with what it has and to end, once it was told that a limit is reached."""
PROBE: Final = (Message("user", "Answer with the word yes."),)
"""A request that every endpoint answers which works at all."""
PROBE_TOKENS = 16


class ModelRoute:
    """Answers the requests of one rollout's program to its model.

    Attributes:
        over: set when the rollout is to end: a limit is reached, the model's endpoint fails, or somebody ended it.
        ended: how it is to end; None where a failure ends it.
        failure: the failure of the model's endpoint; None without one.
    """

    def __init__(self, session: Conversation, name: str, sampling: Sampling) -> None:
        """Answer nothing yet.

        Args:
            session: the rollout's conversation, with its model, limits and record.
            name: name of the model, by which alone it may be asked for.
            sampling: sampling parameters of the plan, which bind the program.
        """
        self.over = asyncio.Event()
        self.ended: Ended | None = None
        self.failure: ModelUnavailableError | None = None
        self._session = session
        self._name = name
        self._sampling = sampling
        self._adopted = AdoptedConversations(session.transcript)
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._answers = 0
        self._notes = 0
        self._refusals = 0
        self._works = False
        """Whether the endpoint is known to answer requests."""
        self._tasks: set[asyncio.Task[ServedAnswer]] = set()

    async def answer(self, path: str, body: bytes) -> ServedAnswer:
        """The answer to a request; if the program hangs up meanwhile, one that was sent is charged all the same.

        Args:
            path: path of the request, without a query.
            body: the body, of which nothing is trusted.
        """
        if path == MODELS:
            return chat_completions.models(self._name)
        form = FORMS[path]
        if self._waiting >= MOST_WAITING:
            return self._problem(
                form, f"{MOST_WAITING} requests are under way already", 429, "too-many-requests", retry_after_s=WAIT_S
            )
        sent = asyncio.Event()
        task = asyncio.ensure_future(self._in_turn(form, body, sent))
        self._waiting += 1
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # What the model was asked costs, whether anybody reads the answer or not.
            if not sent.is_set():
                task.cancel()
            raise

    async def close(self) -> None:
        """Give up every request that is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[ServedAnswer]) -> None:
        self._waiting -= 1
        self._tasks.discard(task)
        # Looks at the error, which a caller who has hung up does not; asyncio would complain that nobody did.
        if not task.cancelled():
            task.exception()

    async def _in_turn(self, form: ModuleType, body: bytes, sent: asyncio.Event) -> ServedAnswer:
        """Answer a request once those before it are answered."""
        async with self._turn:
            try:
                request: ServedRequest = form.read(body)
                self._require_model(request)
            except RefusedRequestError as refused:
                self._refused(f"refused: {refused}")
                return self._problem(form, str(refused), refused.status, refused.code)
            try:
                self._check_limits(request)
                sent.set()
                completion = await self._completion(request)
            except Ended as ended:
                self._end(ended)
                return self._problem(form, f"{ended}; nothing more is answered", 402, f"limit-{ended.ending.how}")
            except ModelRefusedError as refused:
                self._refused(f"refused by the model's endpoint: {refused}")
                code = "context_length_exceeded" if refused.reason == "context-too-long" else refused.reason
                return self._problem(form, str(refused), 400, code)
            except ModelUnavailableError as error:
                self.failure = error
                self.over.set()
                return self._problem(form, "the model's endpoint does not answer", 503, "model-unavailable")
            self._answers += 1
            answer: ServedAnswer = form.write(completion, request, self._answers)
            return answer

    def _require_model(self, request: ServedRequest) -> None:
        """Refuse a request for another model than the rollout's."""
        if request.model != self._name:
            raise RefusedRequestError(
                f"there is no model {request.model[:80]!r} here, but {self._name!r}", status=404, code="model_not_found"
            )
        if request.left_out:
            self._note(f"left out: {', '.join(name[:60] for name in request.left_out[:20])}")

    def _check_limits(self, request: ServedRequest) -> None:
        """Refuse a request for which too little is left.

        Raises:
            Ended: a limit is reached, or the request alone would exceed it.
        """
        if self.ended is not None:
            raise self.ended
        if self.failure is not None:
            raise self.failure
        self._session.check_limits()
        left = self._session.meter.left.tokens
        # An agent's loop of ours asks for little more than before; a program may send anything.
        asked = estimated_usage(request.messages, Message("assistant")).total
        if left is not None and asked > left:
            raise Ended("tokens", f"a request of about {asked} tokens was made, and {left} were left")

    async def _completion(self, request: ServedRequest) -> Completion:
        """Ask the model, record what is said, and charge it.

        Raises:
            Ended: whoever answers for the model ended the conversation.
            ModelRefusedError: the endpoint refuses this request.
            ModelUnavailableError: the endpoint does not work, or nobody knows what the answer cost.
        """
        conversation = self._adopted.adopt(request.messages)
        known = {tool.name: tool for tool in (*request.tools, *(self._session.offered_inside or ()))}
        self._session.offered_inside = tuple(known[name] for name in sorted(known))
        most = self._sampling.reply_tokens
        sampling = replace(
            self._sampling,
            reply_tokens=most if request.max_tokens is None else min(most, request.max_tokens),
            temperature=request.temperature if self._sampling.temperature is None else self._sampling.temperature,
        )
        try:
            completion = await self._session.asker.complete(conversation, request.tools, sampling, stop=request.stop)
        except Stopped as stopped:
            raise await self._session.stopped(str(stopped)) from None
        except (ModelRefusedError, ModelUnavailableError) as error:
            await self._require_working(error)
            raise
        self._works = True
        self._session.record(completion)
        self._adopted.answered(completion.message)
        return completion

    async def _require_working(self, error: ModelRefusedError | ModelUnavailableError) -> None:
        """Find out whose failure it is that a request got no answer, by a request that nobody inside has written.

        A program may send what an endpoint chokes on. Were that a failure of ours, the program could end its rollout
        without a score whenever it liked.

        Raises:
            ModelUnavailableError: the endpoint does not answer our own request either.
            ModelRefusedError: it answers ours, so that it was the program's request.
        """
        reason = error.reason if isinstance(error, ModelRefusedError) else "bad-request"
        if reason not in {"bad-request", "settings"} or (isinstance(error, ModelRefusedError) and self._works):
            return
        # What is said to be wrong with the plan's settings is asked with them, and all else with as little as can be.
        most = self._sampling.reply_tokens
        sampling = (
            self._sampling if reason == "settings" else replace(self._sampling, reply_tokens=min(PROBE_TOKENS, most))
        )
        try:
            await self._session.asker.complete(PROBE, (), sampling)
        except ModelRefusedError as refused:
            raise ModelUnavailableError(f"{refused}; check the model's name, its limits and --reply-tokens") from None
        self._works = True
        if isinstance(error, ModelUnavailableError):
            raise ModelRefusedError(f"the model gave no answer to this request: {error}", reason="bad-request")

    def _refused(self, why: str) -> None:
        """Note that a request was refused; each takes time of this process or of the endpoint, and no turn."""
        self._note(why)
        self._refusals += 1
        if self._refusals >= MOST_REFUSED:
            self._end(Ended("bad-calls", f"{self._refusals} requests to its model were refused, the last: {why}"))

    def _end(self, ended: Ended) -> None:
        """End the rollout soon: the program is told first, and may answer with what it has."""
        if self.ended is None:
            self.ended = ended
            asyncio.get_running_loop().call_later(GRACE_S, self.over.set)

    def _problem(
        self, form: ModuleType, message: str, status: int, code: str, *, retry_after_s: int | None = None
    ) -> ServedAnswer:
        answer: ServedAnswer = form.problem(message, status=status, code=code, retry_after_s=retry_after_s)
        return answer

    def _note(self, text: str) -> None:
        """Write a line about a request into the rollout's log."""
        self._notes += 1
        if self._notes <= NOTED:
            self._session.tools.programs.write(f"[model request {text}]\n")
