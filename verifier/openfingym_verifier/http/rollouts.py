"""Routes of those who have rollouts: the operator reaches every one, a participant those that it created."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import Depends, FastAPI, Path, Response
from fastapi.security import HTTPBearer
from starlette.responses import FileResponse

from openfingym.errors import UsageError
from openfingym.kinds.asking import QuestionsOrder
from openfingym.kinds.question_range import QuestionRange
from openfingym.market.session.terms import SessionOrder
from openfingym.verifiers.answers import HeldTask, LogRow, RolloutStatus, RolloutTicket, VerifiedResult
from openfingym.verifiers.routes import NPY, NPZ
from openfingym_verifier.clock import now_ns, utc
from openfingym_verifier.http import documents as doc
from openfingym_verifier.http.access import caller_of
from openfingym_verifier.http.openapi import PROBLEM_RESPONSE
from openfingym_verifier.http.receipts import add_receipt_routes
from openfingym_verifier.principals import Caller
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.rollouts.rollout import Rollout

if TYPE_CHECKING:
    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.scoring.grading import Grading
    from openfingym_verifier.scoring.truth import HiddenTask
    from openfingym_verifier.service import Service

NDJSON = "application/x-ndjson"
TAPE = "application/vnd.openfingym.tape"


def add_owner_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes with which the operator reaches every rollout, and a participant those that it created."""
    the_caller = caller_of(tokens, service.members)

    async def addressed(rollout_id: Annotated[str, Path(max_length=64)], caller: Caller = the_caller) -> Rollout:
        rollout = await service.find(rollout_id)
        if not caller.operator and rollout.row.principal != caller.name:
            # As of one that does not exist: that there is one is nobody else's business.
            raise Problem("not-found", "There is no such rollout.")
        return rollout

    the_rollout = Depends(addressed)

    bearer = HTTPBearer(scheme_name="admin token or participant's key", auto_error=False)
    common: dict[str, Any] = {"tags": ["owner"], "dependencies": [Depends(bearer)], "responses": PROBLEM_RESPONSE}

    _add_life_routes(app, service, tokens, the_caller, the_rollout, common)
    _add_record_routes(app, service, the_rollout, common)
    add_receipt_routes(app, service, the_caller, the_rollout, common)


def _add_life_routes(
    app: FastAPI, service: Service, tokens: TokenIssuer, the_caller: Any, the_rollout: Any, common: dict[str, Any]
) -> None:
    """Add the routes of a rollout's life: it is created, gone on with, looked at, finalized and settled."""

    @app.get("/v1/tasks", response_model=list[HeldTask], **common)
    async def tasks(caller: Caller = the_caller) -> list[dict[str, object]]:
        """The tasks this verifier holds; what the baseline scores on the private fold is the operator's to know."""
        return [
            await _task_summary(task, service.grading if caller.operator else None) for task in service.tasks.values()
        ]

    @app.post("/v1/rollouts", status_code=201, response_model=RolloutTicket, **common)
    async def create(body: doc.NewRollout, caller: Caller = the_caller) -> dict[str, object]:
        """Begin a rollout; its token is in the answer and nowhere else."""
        return _ticket(await service.create(_order(body), caller), tokens)

    @app.post("/v1/agents", response_model=doc.FiledAgents, **common)
    async def file_agents(body: doc.NewAgents, caller: Caller = the_caller) -> dict[str, int]:
        """File agents by their digests, before anything is shown to whoever has them: none of their rollouts is
        replayed then.
        """
        return {"filed": await service.file_agents(body.digests, caller)}

    @app.post("/v1/rollouts/{rollout_id}/token", response_model=RolloutTicket, **common)
    async def token(body: doc.NewToken, rollout: Rollout = the_rollout) -> dict[str, object]:
        """Another token of a rollout whose questions are asked one by one, for whoever goes on where the process that
        had the first one died; ``begun`` questions are over.
        """
        await service.extend(rollout, body.ttl_s)
        return _ticket(rollout, tokens)

    @app.get("/v1/rollouts/{rollout_id}", response_model=RolloutStatus, **common)
    async def status(rollout: Rollout = the_rollout, caller: Caller = the_caller) -> dict[str, object]:
        """The state of a rollout, its budget and its submissions."""
        return rollout.owner_status(now_ns(), operator=caller.operator)

    @app.post("/v1/rollouts/{rollout_id}/finalize", response_model=VerifiedResult, **common)
    async def finalize(rollout: Rollout = the_rollout, caller: Caller = the_caller) -> dict[str, object]:
        """End a rollout and get its result on the private fold: the operator as it was computed, a participant as the
        policy has it.

        A repetition gives the same; of a result that was held, what is released when its season is closed.
        """
        result = await service.finalize(rollout)
        return result if caller.operator else service.disclosed_result(rollout)

    @app.post("/v1/rollouts/{rollout_id}/settle", response_model=VerifiedResult, **common)
    async def settle(rollout: Rollout = the_rollout, caller: Caller = the_caller) -> dict[str, object]:
        """Move the simulated clock of a finished rollout past its questions, have them resolved, and get its result.

        For the operator alone, as all that moves clocks.
        """
        if not caller.operator:
            raise Problem("forbidden", "Clocks are the operator's to move.")
        return await service.settle(rollout)


def _add_record_routes(app: FastAPI, service: Service, the_rollout: Any, common: dict[str, Any]) -> None:
    """Add the routes of a rollout's record: its data, its tape, its rows of the log, its submissions and actions."""

    @app.get("/v1/rollouts/{rollout_id}/data", response_class=Response, **_binary(common, NPZ))
    async def data(rollout: Rollout = the_rollout) -> Response:
        """Public arrays of the rollout's tape that take the place of the package's; none where the tape changes
        none.
        """
        return Response(await service.data(rollout), media_type=NPZ)

    @app.get("/v1/rollouts/{rollout_id}/tape", response_class=Response, **_binary(common, TAPE))
    async def tape(rollout: Rollout = the_rollout) -> Response:
        """The tape of the rollout's session, once the rollout is finished."""
        path = service.sessions.tape(rollout.id)
        if rollout.result is None or not path.exists():
            raise Problem("not-found", "This rollout has no tape, or not yet: it is there once a session is finished.")
        return FileResponse(path, media_type=TAPE)

    @app.get("/v1/rollouts/{rollout_id}/log", response_model=list[LogRow], **common)
    async def log(rollout: Rollout = the_rollout) -> list[dict[str, object]]:
        """This rollout's rows of the hash-chained log."""
        return await service.in_pool(service.ledger.log_entries, rollout.id)

    @app.get("/v1/rollouts/{rollout_id}/submissions/{n}", response_class=Response, **_binary(common, NPY))
    async def submission(n: Annotated[int, Path(ge=1, lt=2**31)], rollout: Rollout = the_rollout) -> Response:
        """The values of an accepted submission; NaN where a walk has not answered.

        A finished rollout of a sequential task has the outcomes of all its episodes as its last one, and those of walks
        for practice before it.
        """
        payload = await service.in_pool(service.ledger.payload, rollout.id, n)
        if payload is None:
            raise Problem("not-found", f"This rollout has {len(rollout.feedback)} submissions.")
        stream = io.BytesIO()
        shape = (await service.tapes.form_of(rollout)).shape
        np.lib.format.write_array(stream, np.frombuffer(payload, "<f8").reshape(shape), allow_pickle=False)
        return Response(stream.getvalue(), media_type=NPY)

    @app.get("/v1/rollouts/{rollout_id}/actions", response_class=Response, **_binary(common, NDJSON))
    async def actions(rollout: Rollout = the_rollout) -> Response:
        """Every action taken in a sequential task, one JSON object a line: episode, fold, number, step and action."""
        return Response(await service.in_pool(service.ledger.all_actions, rollout.id), media_type=NDJSON)


def _ticket(rollout: Rollout, tokens: TokenIssuer) -> dict[str, object]:
    """The answer to whoever has begun a rollout, or goes on with one: what it is, and its token."""
    row = rollout.row
    return {
        "rollout_id": row.id,
        "task": row.task,
        "task_digest": row.task_digest,
        "budget": row.budget,
        "tape": row.tape,
        "split": row.split,
        "instance": row.instance,
        "questions": row.question_range,
        "begun": rollout.accepted if rollout.result is None else row.budget,
        "token": tokens.issue(row.id, row.expires_ns),
        "expires_at": utc(row.expires_ns),
    }


def _binary(common: dict[str, Any], media_type: str) -> dict[str, Any]:
    """Arguments of a route that answers with bytes."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {**common, "responses": {**common["responses"], 200: {"content": content}}}


async def _task_summary(task: HiddenTask, grading: Grading | None) -> dict[str, object]:
    """The description of a task; without ``grading`` it says nothing of the private fold."""
    manifest, baseline = task.manifest, None
    if grading is not None:
        # A heavy baseline takes seconds; it is told once it is known.
        baseline = grading.known_baseline(task) if task.heavy else await grading.baseline(task)
    return {
        "name": task.name,
        "version": manifest.version,
        "digest": manifest.digest,
        "data_kind": manifest.data_kind,
        "submission_shape": task.shape,
        "budget": task.budget,
        "baseline": task.spec.scoring.baseline,
        "baseline_total": None if baseline is None else baseline.total,
    }


def _order(body: doc.NewRollout) -> CreationRequest:
    """The request for a rollout that a body makes; its ``questions`` are an order of questions, or a range as text."""
    asked = body.questions
    try:
        # Inside: an order of a session may contradict itself as well.
        session = None if body.session is None else SessionOrder(**body.session.model_dump())
        return CreationRequest(
            body.task,
            agent=body.agent,
            agent_digest=body.agent_digest,
            seed=body.seed,
            ttl_s=body.ttl_s,
            fresh=body.fresh,
            session=session,
            questions=None
            if asked is None or isinstance(asked, str)
            else QuestionsOrder(asked.clock, tuple(asked.names)),
            question_range=QuestionRange.parse(asked) if isinstance(asked, str) else None,
            split=body.split,
            instance=body.instance,
        )
    except UsageError as error:
        raise Problem("malformed-request", str(error)) from None
