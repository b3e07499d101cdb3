"""What verl trains on of exported conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..conftest import ANSWERS, CONTEXT, NEVER, THOUGHTS, example, fate, required

verl = required("verl")


def test_what_is_trained(exported: Callable[..., Path], tiny: Path) -> None:
    found = fate(tiny, example("with_verl").masks(exported("x.parquet"), tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS}
    assert found["shown"] == {*CONTEXT, "FORGED"}
    assert found["absent"] == {*NEVER}


def test_marked_messages_are_shown_and_not_trained(exported: Callable[..., Path], tiny: Path) -> None:
    marked = exported("m.parquet", "--unlearnable", "mark")
    found = fate(tiny, example("with_verl").masks(marked, tiny))
    assert found["trained"] == {*ANSWERS, *THOUGHTS, "AFTERWARDS"}
    assert found["shown"] == {*CONTEXT, "FORGED", "CUTOFF"}
    # Why there is a data set of our own: verl's trains them.
    assert "CUTOFF" in fate(tiny, example("with_verl").masks(marked, tiny, plain=True))["trained"]


def test_objects_reach_the_template_as_objects(exported: Callable[..., Path], tiny: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer, file = AutoTokenizer.from_pretrained(tiny), exported("x.parquet")
    ours, plain = (
        "".join(tokenizer.decode(ids) for ids, _ in example("with_verl").masks(file, tiny, plain=plain))
        for plain in (False, True)
    )
    assert '"properties": {"code": {"type": "string"}}' in ours
    assert "\\" not in ours
    assert '\\"properties\\"' in plain
