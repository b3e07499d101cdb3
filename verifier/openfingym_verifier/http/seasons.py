"""Routes of seasons: everybody with a key may look, participants enter rollouts, and the operator opens and closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Path
from fastapi.security import HTTPBearer

from openfingym.verifiers.answers import Board, Season, SeasonEntry
from openfingym_verifier.http import documents as doc
from openfingym_verifier.http.access import caller_of, operators_only
from openfingym_verifier.http.openapi import PROBLEM_RESPONSE
from openfingym_verifier.principals import Caller
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from openfingym_verifier.participants.tokens import TokenIssuer
    from openfingym_verifier.service import Service


def add_season_routes(app: FastAPI, service: Service, tokens: TokenIssuer) -> None:
    """Add the routes of seasons and of what is entered in them."""
    the_caller = caller_of(tokens, service.members)
    bearer = HTTPBearer(scheme_name="admin token or participant's key", auto_error=False)
    common: dict[str, Any] = {"tags": ["season"], "responses": PROBLEM_RESPONSE}
    for_all = {**common, "dependencies": [Depends(bearer), the_caller]}
    for_operator = {**common, "dependencies": operators_only(tokens)["dependencies"]}

    async def summary() -> dict[str, object]:
        return await service.in_pool(service.seasons.summary, service.rations.ladders)

    @app.get("/v1/season", response_model=Season, **for_all)
    async def season() -> dict[str, object]:
        """The latest season: its kind, which tasks are not in it, and how far its ladders were climbed."""
        return await summary()

    @app.get("/v1/season/{name}/board", response_model=Board, **for_all)
    async def board(name: Annotated[str, Path(max_length=64)]) -> dict[str, object]:
        """The board of a season that is closed."""
        found = await service.in_pool(service.ledger.board, name)
        if found is None:
            raise Problem("not-found", f"Season {name!r} has no board: there is one once a season is closed.")
        return found

    @app.post("/v1/season/close", response_model=Season, **for_operator)
    async def close() -> dict[str, object]:
        """End the season and tell what was entered in it."""
        await service.close_season()
        return await summary()

    @app.post("/v1/season", status_code=201, response_model=Season, **for_operator)
    async def begin(body: doc.NewSeason) -> dict[str, object]:
        """Begin the next season."""
        await service.seasons.open(body.name, body.kind, body.reuse)
        return await summary()

    @app.post(
        "/v1/rollouts/{rollout_id}/entry", response_model=SeasonEntry, **{**common, "dependencies": [Depends(bearer)]}
    )
    async def enter(
        rollout_id: Annotated[str, Path(max_length=64)], body: doc.NewEntry, caller: Caller = the_caller
    ) -> dict[str, object]:
        """Enter a rollout in its season, before anything is told of its private fold."""
        rollout = await service.find(rollout_id)
        if not caller.operator and rollout.row.principal != caller.name:
            raise Problem("not-found", "There is no such rollout.")
        primary = await service.seasons.enter(rollout, caller, primary=body.primary)
        return {"rollout_id": rollout.id, "primary": primary}
