"""Errors in a ``task.toml`` in words: pydantic's findings as one line a problem, each with its key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from openfingym.task.contracts import Contract
from openfingym.task.known_kinds import CONTRACTS, UNKNOWN_KIND

_EXPECTED = {"tuple_type": "expected a list", "list_type": "expected a list", "model_type": "expected a table"}


def key_of(location: tuple[int | str, ...]) -> str:
    """The dotted key at a location of a pydantic error."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def explain(detail: Mapping[str, Any], root: type[BaseModel], data: Mapping[str, Any]) -> str:
    """Turn one pydantic error into a sentence that starts with the key.

    Args:
        detail: one of the entries of ``ValidationError.errors()``.
        root: the model of the whole file, in which near misses are looked for.
        data: the whole file, as plain values.
    """
    key, kind = key_of(detail["loc"]), detail["type"]
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(detail["loc"][-1]), _fields_at(detail["loc"][:-1], root, data), 1)
        return f"{key}: unknown key" + (f"; did you mean {near[0]!r}?" if near else "")
    if kind == "missing":
        return f"{key}: required, but not there"
    if kind == UNKNOWN_KIND:
        return f"{key}: {detail['msg']}"
    message = _EXPECTED.get(kind) or detail["msg"].removeprefix("Value error, ")
    found = detail.get("input")
    shown = "" if kind == "value_error" or isinstance(found, dict | list) else f", found {found!r}"
    return f"{key}: {message}{shown}" if key else f"{message}{shown}"


def _fields_at(location: tuple[int | str, ...], root: type[BaseModel], data: Any) -> list[str]:
    """Names of the keys allowed in the table at ``location``."""
    model = root
    for part in location:
        data = data[part]
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [
            a
            for a in (annotation, *getattr(annotation, "__args__", ()))
            if isinstance(a, type) and issubclass(a, BaseModel)
        ]
        if not inner:
            return []
        model = CONTRACTS[data["kind"]] if inner[0] is Contract else inner[0]
    return list(model.model_fields)
