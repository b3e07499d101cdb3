"""System messages for models that take none, or none but the first."""

from __future__ import annotations

import pytest

from openfingym.models.adapting import LATE_SYSTEM, adaptation

SAID = [("system", "A"), ("user", "B"), ("system", "C"), ("assistant", "D"), ("tool", "E"), ("system", "F"),
        ("user", "G"), ("user", "H")]  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), [
    ("system", [("user", "A\n\nB\n\nC"), ("assistant", "D"), ("tool", "E"), ("user", "F\n\nG"), ("user", "H")]),
    (LATE_SYSTEM, [("system", "A"), ("user", "B\n\nC"), ("assistant", "D"), ("tool", "E"), ("user", "F\n\nG"),
                   ("user", "H")]),
])  # fmt: skip
def test_system_messages_go_into_the_users_beside_them(word: str, expected: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": content} for role, content in SAID]
    body = adaptation(word)({"model": "m", "messages": messages})
    assert body == {"model": "m", "messages": [{"role": role, "content": content} for role, content in expected]}
    assert [(one["role"], one["content"]) for one in messages] == SAID, "the request itself is not changed"
    assert adaptation(word)(body) == body
