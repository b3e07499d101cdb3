"""Errors in a ``task.toml`` in plain words: each error that pydantic reports as one sentence with the key."""

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
        detail: one entry of ``ValidationError.errors()``.
        root: the model of the whole file, whose keys are compared with a misspelt one.
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
    value = detail.get("input")
    # Our own validators name the value themselves, and a whole table would drown the message.
    shown = "" if kind == "value_error" or isinstance(value, dict | list) else f", found {value!r}"
    return f"{key}: {message}{shown}" if key else f"{message}{shown}"


def _fields_at(location: tuple[int | str, ...], root: type[BaseModel], data: Any) -> list[str]:
    """Names of the keys allowed in the table at ``location``."""
    model = root
    for part in location:
        data = data[part]
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        # The annotation is a model, or has one inside: tuple[Model, ...] or Model | None.
        inner = [
            a
            for a in (annotation, *getattr(annotation, "__args__", ()))
            if isinstance(a, type) and issubclass(a, BaseModel)
        ]
        if not inner:
            return []
        # The field says only Contract; its keys are those of the kind's own contract.
        model = CONTRACTS[data["kind"]] if inner[0] is Contract else inner[0]
    return list(model.model_fields)
