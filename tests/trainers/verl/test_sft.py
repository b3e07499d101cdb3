"""What verl trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

verl = required("verl")


def test_what_is_trained(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_verl").masks(exported("x.parquet"), tiny))
    print(found)
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}


def test_marked(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_verl").masks(exported("m.parquet", "--unlearnable", "mark"), tiny))
    print(found)
    assert found["trained"] == {*ANSWERS, *THOUGHTS, "AFTERWARDS"}
    assert found["shown"] == {*CONTEXT, "FORGED", "CUTOFF"}


def test_plain(exported: Callable[..., Path], tiny: Path) -> None:
    masks = example("with_verl").masks(exported("m.parquet", "--unlearnable", "mark"), tiny, plain=True)
    from transformers import AutoTokenizer
    print(fate(tiny, masks)); print(AutoTokenizer.from_pretrained(tiny).decode(masks[1][0]), masks)
