"""Routes that are prepared when they are first asked for answer and are described as FastAPI's own."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Path
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from pydantic import BaseModel

from openfingym_verifier.http.late_route import LateRoute


class Sum(BaseModel):
    """What is added up."""

    numbers: list[int]


class Strange:
    """Of no type that has a model."""


def application(route_class: type[APIRoute]) -> FastAPI:
    """An application with the forms of argument and answer that a verifier has."""
    app = FastAPI()
    app.router.route_class = route_class

    def offset(start: int = 0) -> int:
        return start

    from_start = Depends(offset)

    @app.post("/sums/{name}", status_code=201, response_model=dict[str, int], tags=["sums"])
    async def add(body: Sum, name: Annotated[str, Path(max_length=4)], start: int = from_start) -> dict[str, int]:
        """Add numbers up."""
        return {name: start + sum(body.numbers)}

    @app.get("/sums/{name:path}")
    async def read(name: str) -> list[str]:
        """The name, part by part."""
        return name.split("/")

    @app.get("/unasked")
    async def unasked() -> Sum:
        """Nobody asks for it."""
        raise AssertionError

    return app


REQUESTS = [
    ("POST", "/sums/a?start=2", {"numbers": [1, 2]}),
    ("POST", "/sums/a?start=x", {"numbers": [1, 2]}),
    ("POST", "/sums/too-long", {"numbers": [1]}),
    ("POST", "/sums/a", {"numbers": ["one"]}),
    ("POST", "/sums/a", None),
    ("GET", "/sums/a/b", None),
    ("PUT", "/sums/a", None),
    ("HEAD", "/sums/a", None),
    ("GET", "/nothing", None),
]


def test_answers_and_description_are_those_of_fastapis_own_routes() -> None:
    late, own = TestClient(application(LateRoute)), TestClient(application(APIRoute))
    for method, path, body in REQUESTS * 2:  # the second time, the routes are prepared
        answers = [client.request(method, path, json=body) for client in (late, own)]
        assert len({(answer.status_code, answer.text, answer.headers.get("allow")) for answer in answers}) == 1, path
    assert late.get("/openapi.json").json() == own.get("/openapi.json").json()


def test_a_route_is_prepared_when_it_is_asked_for() -> None:
    app = application(LateRoute)
    late = [route for route in app.routes if isinstance(route, LateRoute)]
    unprepared = {name: "dependant" not in vars(route) for route in late for name in [route.path]}
    assert unprepared == {"/sums/{name}": True, "/sums/{name:path}": True, "/unasked": True}
    TestClient(app).get("/sums/a/b")
    assert ["dependant" in vars(route) for route in late] == [False, True, False]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        late[1].other  # noqa: B018


def test_an_impossible_route_is_found_in_the_description() -> None:
    app = FastAPI()
    app.router.route_class = LateRoute

    @app.get("/impossible", response_model=Strange)
    async def impossible() -> None:
        """Nobody could write its answer."""

    for _ in range(2):  # each who asks is told so, not only the first
        with pytest.raises(FastAPIError, match="Invalid args for response field"):
            app.openapi()
        with pytest.raises(FastAPIError, match="Invalid args for response field"):
            TestClient(app).get("/impossible")
