"""FastAPI dependencies that say who may call a route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from openfingym_verifier.http.openapi import PROBLEM_RESPONSE
from openfingym_verifier.principals import Caller

if TYPE_CHECKING:
    from openfingym_verifier.participants.membership import Membership
    from openfingym_verifier.participants.tokens import TokenIssuer


def authorization(request: Request) -> bytes | None:
    """The header by which a caller says who it is, as it came; None without one."""
    value = request.headers.get("authorization")
    return None if value is None else value.encode("latin-1")


def caller_of(tokens: TokenIssuer, members: Membership) -> Any:
    """FastAPI dependency that gives the operator or a participant."""

    async def calling(request: Request) -> Caller:
        return tokens.require_caller(authorization(request), members)

    return Depends(calling)


def operators_only(tokens: TokenIssuer) -> dict[str, Any]:
    """Arguments of a route that the operator alone may call."""

    async def admin(request: Request) -> None:
        tokens.require_admin(authorization(request))

    bearer = HTTPBearer(scheme_name="admin token", auto_error=False)
    return {
        "tags": ["operator"],
        "dependencies": [Depends(bearer), Depends(admin)],
        "responses": PROBLEM_RESPONSE,
    }
