"""Routes of checkpoints, tiles and receipts: what C2SP's tlog-tiles calls the log's prefix is ``/v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Path, Response

from openfingym.digests import canonical_json
from openfingym.receipts.tiles import TilePath
from openfingym.verifiers.answers import ReceiptDocument, VerifiedResult
from openfingym_verifier.principals import Caller
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.rollout import Rollout

if TYPE_CHECKING:
    from openfingym.receipts.receipt import Receipt
    from openfingym_verifier.service import Service

BINARY = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


def add_receipt_routes(
    app: FastAPI, service: Service, the_caller: Any, the_rollout: Any, common: dict[str, Any]
) -> None:
    """Add the routes.

    Args:
        app: the application that gets the routes.
        service: the verifier whose log it is.
        the_caller: FastAPI dependency that gives the operator or a participant.
        the_rollout: FastAPI dependency that gives the addressed rollout, if it is the caller's to see.
        common: arguments that every route is added with.
    """
    _add_log_routes(app, service, the_caller, common)
    _add_rollout_routes(app, service, the_caller, the_rollout, common)


def _add_log_routes(app: FastAPI, service: Service, the_caller: Any, common: dict[str, Any]) -> None:
    """Add the routes of the log as a whole."""
    receipts = service.receipts

    # A dependency, not an argument: who asks makes no difference to the answer, as long as it has a key.
    callers_only = {**common, "dependencies": [*common["dependencies"], the_caller]}

    @app.get("/v1/checkpoint", response_class=Response, **callers_only)
    async def checkpoint() -> Response:
        """The size and the root of the log, signed, as C2SP's tlog-checkpoint has it."""
        return Response(await service.in_pool(receipts.checkpoint), headers={"Content-Type": TEXT})

    @app.get("/v1/tile/{path:path}", response_class=Response, **common)
    async def tile(path: Annotated[str, Path(max_length=64)], caller: Caller = the_caller) -> Response:
        """A tile of the log's hashes, or for the operator a bundle of its entries, as C2SP's tlog-tiles has them."""
        try:
            wanted = TilePath.parse(path)
        except ValueError as error:
            raise Problem("malformed-request", f"{error}.") from None
        if wanted.level == "entries" and not caller.operator:
            raise Problem(
                "forbidden", "Entries of all rollouts are the operator's to read; each owner has its own log."
            )
        content = await service.in_pool(receipts.tile, wanted)
        if content is None:
            raise Problem("not-found", "The log is not as long.")
        return Response(content, media_type=BINARY)

    @app.get("/v1/receipts/{row}", response_model=ReceiptDocument, **common)
    async def of_row(row: Annotated[int, Path(ge=1, lt=2**63)], caller: Caller = the_caller) -> Response:
        """What proves that the log has a row, by the row's number from 1."""
        entry = await service.in_pool(receipts.entry, row)
        if entry is None or not (caller.operator or await _is_of(service, entry, caller)):
            # As of one that does not exist: what others do is nobody else's business.
            raise Problem("not-found", "The log has no such row, or it is somebody else's.")
        return _answer(await service.in_pool(receipts.of_entries, [row]))


def _add_rollout_routes(
    app: FastAPI, service: Service, the_caller: Any, the_rollout: Any, common: dict[str, Any]
) -> None:
    """Add the routes of one rollout's result and receipt."""

    @app.get("/v1/rollouts/{rollout_id}/result", response_model=VerifiedResult, **common)
    async def result(rollout: Rollout = the_rollout, caller: Caller = the_caller) -> Response:
        """The result of a finished rollout in canonical JSON: without ``log_head``, what the log's digest is of, where
        all of it is told.
        """
        if rollout.result is None:
            raise Problem("not-found", "This rollout has no result yet.")
        disclosed = rollout.result if caller.operator else service.disclosed_result(rollout)
        return Response(canonical_json(disclosed), media_type="application/json")

    @app.get("/v1/rollouts/{rollout_id}/receipt", response_model=ReceiptDocument, **common)
    async def of_rollout(rollout: Rollout = the_rollout) -> Response:
        """What proves that the log has the submission that was scored, and the result."""
        receipt = await service.in_pool(service.receipts.of_rollout, rollout.id)
        if receipt is None:
            raise Problem("not-found", "This rollout has no result yet, and so no receipt.")
        return _answer(receipt)


async def _is_of(service: Service, entry: dict[str, object], caller: Caller) -> bool:
    """Whether an entry of the log is about a participant, or about a rollout of it."""
    if entry["rollout"]:
        return (await service.find(str(entry["rollout"]))).row.principal == caller.name
    if str(entry["event"]).startswith("question-"):
        # What is asked everybody, and what came of it, everybody may know.
        return (await service.questions.find(str(entry["question"]))).is_for(caller)
    return entry.get("principal") == caller.name


def _answer(receipt: Receipt) -> Response:
    return Response(receipt.to_json(), media_type="application/json")
