"""Programs found in answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.agents.llm.blocks import blocks, first_block, longest_block


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no program", []),
        ("```python\nx = 1\n```", ["x = 1\n"]),
        ("Look:\n```Python3 title=a\nx = 1\n```\nthen\n```bash\nls\n```\n```py\ny = 2\n```", ["x = 1\n", "y = 2\n"]),
        ("```\nx = 1\n```", ["x = 1\n"]),
        ("```\noutput\n```\n```python\nx = 1\n```", ["x = 1\n"]),
        ("```json\n{}\n```", []),
        ("```python\nx = 1", ["x = 1"]),
        ("```python\n\n```", []),
        ("``` ```python", []),
        ("```python\ns = '''a ``` b'''\n```", ["s = '''a ``` b'''\n"]),
    ],
)
def test_blocks(text: str, found: list[str]) -> None:
    assert blocks(text) == found


def test_which_one_is_meant() -> None:
    text = "```python\na\n```\n```python\nlonger\n```"
    assert (first_block(text), longest_block(text), first_block("")) == ("a\n", "longer\n", None)


@given(st.text())
def test_whatever_is_said_can_be_read(text: str) -> None:
    assert all(block in text for block in blocks(text))
