"""The HTTP interface of questions, forecasts and resolutions."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Path, Query
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from openfingym.digests import canonical_json
from openfingym.errors import UsageError
from openfingym.headers import KEY_RULE, is_idempotency_key
from openfingym.questions import moment_ns, utc_text
from openfingym.questions.question import LATEST_NS
from openfingym.receipts.receipt import Opened
from openfingym.verifiers.routes import (
    CLOCKS,
    FORECASTS,
    LEDGER,
    PAST_FORECASTS,
    QUESTIONS,
    RECORDINGS,
    REFERENCES,
    RESOLUTIONS,
)
from openfingym_verifier.http.access import caller_of, operators_only
from openfingym_verifier.http.openapi import PROBLEM_RESPONSE
from openfingym_verifier.principals import Caller
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions import reading
from openfingym_verifier.questions.replaying import receive_together
from openfingym_verifier.questions.verdicts import decide

if TYPE_CHECKING:
    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.service import Service

MOST_FORECASTS = 2_000
"""Largest number of forecasts of one request: a few hundred milliseconds."""
MOST_QUESTIONS = 20_000
"""Largest number of questions, or truths, of one request."""
LONGEST_WAIT_S = 1e9
"""Longest time that may be waited for a truth, in seconds: some thirty years."""
LONGEST_OPENED = 1024
"""Longest answer that a receipt repeats, in characters; a receipt has at most 4 KiB."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewQuestions(_Document):
    """Body of ``POST /v1/questions``: all are asked, or none."""

    questions: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_QUESTIONS)]
    """The questions, each as :meth:`openfingym.questions.Question.to_dict` writes it."""


class NewForecast(_Document):
    """Body of ``POST /v1/forecasts``. When it was made is what the verifier's clock says."""

    question: Annotated[str, Field(min_length=1, max_length=200)]
    answer: dict[str, Any]
    """The answer, of the form that the question asks for; see :func:`openfingym.questions.answer.read_answer`."""
    agent: Annotated[str, Field(min_length=1, max_length=100)]
    version: Annotated[str, Field(max_length=100)] = ""


class PastForecast(NewForecast):
    """A forecast of a past season, which is made again."""

    idempotency_key: Annotated[str, Field(min_length=1)]
    """Key under which it is received once, however often it is sent."""


class PastForecasts(_Document):
    """Body of ``POST /v1/past-forecasts``: forecasts by clocks that are moved, in order."""

    forecasts: Annotated[list[PastForecast], Field(min_length=1, max_length=MOST_FORECASTS)]


class NewResolution(_Document):
    """Body of ``POST /v1/resolutions``: resolve what is due, or decide one question."""

    everything: bool = True
    """Whether providers are asked again before the pause after their last answer is over."""
    void_after_s: Annotated[float, Field(ge=0.0, le=LONGEST_WAIT_S)] | None = None
    """Seconds after its evaluation time that a question is void without a truth; null for the verifier's own."""
    question: Annotated[str, Field(max_length=200)] | None = None
    """Id of a question that the operator decides; null to resolve what is due."""
    truth: float | str | list[float] | None = None
    """The truth of that question: a number, payouts, or the name of the outcome that came; null where there will be
    none."""
    evidence: dict[str, Any] = {}
    """What the truth rests on."""
    reason: Annotated[str, Field(max_length=500)] = ""
    """Why there will be no truth; empty where there is one."""


class NewRecordings(_Document):
    """Body of ``POST /v1/recordings``: all are kept, or none."""

    truths: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_QUESTIONS)]
    """One for each question, as :meth:`openfingym_verifier.questions.service.QuestionService.record` takes it."""


class NewReference(_Document):
    """Body of ``POST /v1/references``."""

    question: dict[str, Any]
    """The question as :meth:`openfingym.questions.Question.to_dict` writes it; it need not have been asked."""


class NewTime(_Document):
    """Body of ``POST /v1/clocks/{name}``."""

    now: int | str
    """Where the clock is to stand: nanoseconds since the epoch, or ISO 8601 with a time zone."""


def add_question_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes by which questions are asked, read and answered, and the operator's."""
    _add_question_routes(app, service, tokens)
    _add_forecast_routes(app, service, tokens)
    _add_operators_routes(app, service, tokens)


def _add_question_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes by which callers read what is asked, and what came of it."""
    the_caller = caller_of(tokens, service.members)
    bearer = HTTPBearer(scheme_name="admin token or participant's key", auto_error=False)
    common: dict[str, Any] = {"tags": ["questions"], "dependencies": [Depends(bearer)], "responses": PROBLEM_RESPONSE}
    own = service.questions

    @app.get(QUESTIONS, **common)
    async def questions(
        caller: Caller = the_caller,
        state: Literal["pending", "resolvable", "resolved", "scored", "void", "error"] | None = None,
        round_name: Annotated[str | None, Query(alias="round", max_length=200)] = None,
        only_open: Annotated[bool, Query(alias="open")] = False,
        after: Annotated[str, Query(max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=reading.MOST)] = reading.MOST,
    ) -> list[dict[str, Any]]:
        """Questions in the order in which they were asked, some at a time; ``open`` are those that take forecasts."""
        clocks = {"real": own.clocks.real(), **own.clocks.simulated} if only_open else None
        found: list[dict[str, Any]] = await own.read(
            reading.questions,
            principal=None if caller.operator else caller.name,
            state=state,
            round_name=round_name,
            open_at=clocks,
            after=after,
            limit=limit,
        )
        return found

    @app.get(QUESTIONS + "/{name:path}", **common)
    async def question(
        name: Annotated[str, Path(max_length=200)],
        caller: Caller = the_caller,
    ) -> dict[str, Any]:
        """A question, with how it was resolved."""
        known = await own.find(name, caller)
        found: dict[str, Any] = await own.read(reading.question, known.question.id)
        return found


def _add_forecast_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes by which callers answer questions, and read their receipts and what others answered."""
    the_caller = caller_of(tokens, service.members)
    bearer = HTTPBearer(scheme_name="admin token or participant's key", auto_error=False)
    common: dict[str, Any] = {"tags": ["questions"], "dependencies": [Depends(bearer)], "responses": PROBLEM_RESPONSE}
    own = service.questions

    @app.post(FORECASTS, status_code=201, **common)
    async def forecast(
        body: NewForecast, caller: Caller = the_caller, idempotency_key: Annotated[str | None, Header()] = None
    ) -> dict[str, Any]:
        """Answer a question; the latest answer before its deadline counts. Answered when it is on the disk."""
        _check_names(body, idempotency_key)
        receipt = await own.forecast(
            caller,
            body.question,
            body.answer,
            agent=body.agent,
            version=body.version,
            idempotency_key=idempotency_key,
        )
        return {
            "forecast": receipt.forecast,
            "question": body.question,
            "received_at": utc_text(receipt.received_ns),
            "digest": receipt.digest,
            "salt": receipt.salt,
            "referenced": receipt.referenced,
            "log_row": receipt.row,
            "receipt": await _receipt(service, receipt.row, receipt.salt, canonical_json(body.answer).decode()),
        }

    @app.get(FORECASTS + "/{forecast}/receipt", **common)
    async def receipt(forecast: Annotated[int, Path(ge=1, lt=2**62)], caller: Caller = the_caller) -> dict[str, Any]:
        """What proves that the log has a forecast of the caller's, and its score once there is one."""
        row = await own.read(reading.forecast_of, forecast)
        if row is None or not (caller.operator or row["principal"] == caller.name):
            raise Problem("not-found", "There is no such forecast, or it is somebody else's.")
        more = () if row["score_row"] is None else (row["score_row"],)
        return await _receipt(service, row["log_row"], row["salt"], row["content"], *more)

    @app.get(FORECASTS, **common)
    async def forecasts(
        caller: Caller = the_caller,
        question: Annotated[str | None, Query(max_length=200)] = None,
        agent: Annotated[str | None, Query(max_length=100)] = None,
        after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
        limit: Annotated[int, Query(ge=1, le=reading.MOST)] = reading.MOST,
    ) -> list[dict[str, Any]]:
        """Forecasts in the order in which they came: the caller's own, and others' once they are scored."""
        found: list[dict[str, Any]] = await own.read(
            reading.forecasts,
            principal=None if caller.operator else caller.name,
            question_name=question,
            agent=agent,
            after=after,
            limit=limit,
        )
        return found


def _check_names(body: NewForecast, key: str | None) -> None:
    """Return if a forecast's key and the names of its forecaster may be kept.

    Raises:
        Problem: ``bad-request`` or ``malformed-request``.
    """
    if key is not None and not is_idempotency_key(key):
        raise Problem("bad-request", KEY_RULE)
    # They are shown in reports and on terminals.
    for what, text in (("agent", body.agent), ("version", body.version)):
        if not text.isprintable():
            raise Problem("malformed-request", f"The {what} is a line of printable text.")


async def _receipt(service: Service, row: int, salt: str, content: str, *more: int) -> dict[str, Any]:
    """The receipt of a forecast's row of the log, with its answer opened, and of more rows.

    Args:
        service: the verifier whose log it is.
        row: number of the forecast's row.
        salt: salt of the digest in the row.
        content: the answer as canonical JSON.
        more: numbers of other rows.
    """
    # Of a long answer the receipt would be long too; its owner has the answer and the salt.
    opened = {row: Opened("payload", salt, content)} if len(content) <= LONGEST_OPENED else {}
    made = await service.in_pool(service.receipts.of_entries, [row, *more], opened)
    document: dict[str, Any] = json.loads(made.to_json())
    return document


def _add_operators_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes by which the operator asks, resolves, and moves clocks."""
    common = operators_only(tokens)
    the_caller = caller_of(tokens, service.members)
    own = service.questions

    @app.post(QUESTIONS, status_code=201, **common)
    async def ask(body: NewQuestions) -> dict[str, Any]:
        """Ask questions, all or none; the same ones again change nothing."""
        asked = await own.ask(body.questions)
        return {"questions": [known.question.id for known in asked]}

    @app.post(RECORDINGS, status_code=201, **common)
    async def record(body: NewRecordings) -> dict[str, Any]:
        """Keep truths of past questions, all or none, until the clocks of their replay have come to them."""
        return {"recorded": await own.record(body.truths)}

    @app.post(PAST_FORECASTS, status_code=201, **common)
    async def past_forecasts(body: PastForecasts, caller: Caller = the_caller) -> dict[str, Any]:
        """Make forecasts of a past season again, by clocks that are moved; those that were received before stay so."""
        for made in body.forecasts:
            _check_names(made, made.idempotency_key)
        made_again = [made.model_dump() for made in body.forecasts]
        return {"received": await receive_together(own, caller, made_again)}

    @app.post(RESOLUTIONS, **common)
    async def resolve(body: NewResolution) -> dict[str, Any]:
        """Resolve and score what is due, or decide one question; answers what became of them, in numbers."""
        if body.question is None:
            return asdict(await own.resolver.run(everything=body.everything, void_after_s=body.void_after_s))
        known = await own.find(body.question)
        return asdict(await decide(own.resolver, own.clocks, known, body.truth, body.evidence, body.reason))

    @app.post(REFERENCES, **common)
    async def reference(body: NewReference) -> dict[str, Any]:
        """What the market shows of a question now: who makes questions may ask for more than what it shows."""
        return {"reference": await own.shown(body.question)}

    @app.post(CLOCKS + "/{name:path}", **common)
    async def advance(name: Annotated[str, Path(max_length=200)], body: NewTime) -> dict[str, Any]:
        """Make a simulated clock, or move it forward."""
        try:
            now_ns = body.now if isinstance(body.now, int) else moment_ns(body.now)
        except UsageError as error:
            raise Problem("malformed-request", str(error)) from None
        if not 0 < now_ns < LATEST_NS:
            raise Problem("malformed-request", "A time is nanoseconds since 1970, before the year 2116.")
        return {"clock": name, "now": utc_text(await own.clocks.advance(name, now_ns))}

    @app.get(LEDGER, **common)
    async def status() -> dict[str, Any]:
        """How many questions and forecasts there are in each state, and what is due."""
        found: dict[str, Any] = await own.read(reading.status, own.clocks.real())
        return found
