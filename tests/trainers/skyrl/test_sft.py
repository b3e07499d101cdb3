"""What SkyRL trains on of exported conversations."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from pathlib import Path

import pytest
import typing_extensions

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

skyrl = required("skyrl")
if sys.version_info < (3, 12):  # its types are for later versions; pydantic refuses them otherwise
    typing.TypedDict = typing_extensions.TypedDict


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_what_is_trained(name: str, exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_skyrl").masks(exported(name), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}
