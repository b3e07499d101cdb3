"""What axolotl trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

axolotl = required("axolotl")


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_what_is_trained(name: str, exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_axolotl").masks(exported(name), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}


def test_marked_messages_are_shown_and_not_trained(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_axolotl").masks(exported("m.jsonl", "--unlearnable", "mark"), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS, "AFTERWARDS"}
    assert found["shown"] == {*CONTEXT, "FORGED", "CUTOFF"}


def test_its_own_template_of_qwen3_shifts_what_is_trained(exported: Callable[..., Path], tiny: Path) -> None:
    """Why the example uses another: if this fails, axolotl was mended, and the documentation has a warning less."""
    found = fate(tiny, example("with_axolotl").masks(exported("x.jsonl"), tiny, template="qwen3"))
    assert "EXPLAIN" in found["shown"]
