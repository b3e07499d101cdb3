"""Routes of FastAPI that are prepared when somebody first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import compile_path


class LateRoute(APIRoute):
    """A route of which, until it is asked for, nothing but its path and its methods is known.

    FastAPI makes the models of a route's arguments and answers when it is added. Of some forty routes that is a tenth
    of a second at the start of every verifier, most of which serve one rollout through ten of them. The arguments are
    those of :class:`fastapi.routing.APIRoute`; what is wrong with them is said at the first request, and where the
    description of all routes is made.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], *, methods: list[str], **settings: Any) -> None:
        self.path, self.endpoint, self.methods = path, endpoint, {method.upper() for method in methods}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._settings = {"methods": methods, **settings}

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there: on a route that is not prepared, everything else that APIRoute sets.
        settings = self.__dict__.pop("_settings", None)
        if settings is None:
            raise AttributeError(f"{type(self).__name__} {self.path} has no attribute {name!r}")
        try:
            super().__init__(self.path, self.endpoint, **settings)
        except BaseException:
            self._settings = settings  # so that the next request is told the same
            raise
        return getattr(self, name)
