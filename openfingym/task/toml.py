"""TOML files that users write: read and checked, with errors that name the file and the key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from openfingym.errors import UsageError
from openfingym.task.explain import explain

M = TypeVar("M", bound=BaseModel)


def read_toml(path: Path, what: str) -> dict[str, object]:
    """The content of a file; a byte-order mark before it is no part of it.

    Args:
        path: path of the TOML file.
        what: what the file is, for error messages, such as ``the plan``.

    Raises:
        UsageError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def checked(model: type[M], data: Mapping[str, object], source: str) -> M:
    """Plain values as what they are to be.

    Args:
        model: the pydantic model that they must satisfy.
        data: the values that were read.
        source: where they are from, for the message.

    Raises:
        UsageError: with one clause a problem, each naming the key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{source}: " + "; ".join(explain(detail, model, data) for detail in error.errors())) from None
