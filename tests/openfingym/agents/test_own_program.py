"""What is kept of what a user's own command writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.agents.own_program import KeptOutput, ended_with, last_line, own_environment, without_secrets


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 40))
def test_beginning_and_end_are_kept_and_the_rest_is_counted(parts: list[bytes], half: int) -> None:
    kept, whole = KeptOutput(2 * half), b"".join(parts)
    for part in parts:
        kept.add(part)
    if len(whole) <= 2 * half:
        expected = whole
    else:
        expected = whole[:half] + f"\n[{len(whole) - 2 * half} bytes left out]\n".encode() + whole[-half:]
    assert kept.text() == expected.decode("utf-8", "replace")


def test_a_last_line_fits_a_message_and_a_terminal() -> None:
    assert last_line("a\nValueError: \x1b[31mno\x07\n\n") == "ValueError: [31mno"
    assert last_line(" \n") == ""
    assert len(last_line("x" * 1000)) == 300
    assert ended_with(2, "") == "the command ended with status 2"


def test_the_operators_token_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "an-admin-token-for-tests")
    monkeypatch.setenv("MY_API_KEY", "a-key-of-my-own")
    monkeypatch.setenv("SHORT_TOKEN", "true")
    found = own_environment()
    assert "OPENFINGYM_ADMIN_TOKEN" not in found
    assert found["MY_API_KEY"] == "a-key-of-my-own"
    assert without_secrets("it is a-key-of-my-own, true", found) == "it is ***, true"
