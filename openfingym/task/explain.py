"""What is wrong with a ``task.toml``, in words: pydantic's findings as one line a problem, each with its key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_EXPECTED = {"tuple_type": "expected a list", "list_type": "expected a list", "model_type": "expected a table"}
_KINDS = frozenset({"forecast", "curves", "rows", "generation", "nodes", "graphs", "rolling", "trading"})


def key_of(location: tuple[int | str, ...]) -> str:
    """The dotted key at a location of a pydantic error."""
    # The kind of a contract stands in the location of its keys, but is no key.
    location = tuple(p for i, p in enumerate(location) if not (p in _KINDS and i > 0 and location[i - 1] == "contract"))
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def explain(detail: Mapping[str, Any], root: type[BaseModel]) -> str:
    """Turn one pydantic error into a sentence that starts with the key.

    Args:
        detail: one of ``ValidationError.errors()``.
        root: the model of the whole file, in which near misses are looked for.
    """
    key, kind = key_of(detail["loc"]), detail["type"]
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(detail["loc"][-1]), _fields_at(detail["loc"][:-1], root), 1)
        return f"{key}: unknown key" + (f"; did you mean {near[0]!r}?" if near else "")
    if kind == "missing":
        return f"{key}: required, but not there"
    if kind == "union_tag_not_found":
        return f"{key}.kind: required, but not there; known: {', '.join(sorted(_KINDS))}"
    if kind == "union_tag_invalid":
        return f"{key}.kind: unknown kind {detail['ctx']['tag']!r}; known: {', '.join(sorted(_KINDS))}"
    message = _EXPECTED.get(kind) or detail["msg"].removeprefix("Value error, ")
    found = detail.get("input")
    shown = "" if kind == "value_error" or isinstance(found, dict | list) else f", found {found!r}"
    return f"{key}: {message}{shown}" if key else f"{message}{shown}"


def _fields_at(location: tuple[int | str, ...], root: type[BaseModel]) -> list[str]:
    """Names of the keys allowed in the table at ``location``."""
    model = root
    for part in location:
        if isinstance(part, int):
            continue
        if part in _KINDS:
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type) and issubclass(a, BaseModel)]
        inner = [a for a in inner if _kind_of(a) in {None, *location}]
        if not inner:
            return []
        model = inner[0]
    return list(model.model_fields)


def _kind_of(model: type[BaseModel]) -> str | None:
    """The kind a contract model stands for; None for any other table."""
    field = model.model_fields.get("kind")
    known = getattr(field.annotation, "__args__", ()) if field is not None else ()
    return str(known[0]) if known and known[0] in _KINDS else None
