"""What SkyRL trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

skyrl = required("skyrl")


def test_what_is_trained(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_skyrl").masks(exported("x.parquet"), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}
