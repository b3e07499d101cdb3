"""What TRL trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

trl = required("trl")


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_what_is_trained(name: str, exported: Callable[..., Path], tiny: Path) -> None:
    """Every answer, call and thought of the model; nothing that it was told, and no answer that was cut off."""
    found = fate(tiny, example("with_trl").masks(exported(name), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}
