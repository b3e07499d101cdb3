"""Of the cases that take turns, each is tried within some days, and all of them on request."""

from __future__ import annotations

import pytest

from tests import turns


@pytest.mark.parametrize(("cases", "share"), [(10, 3), (2, 3), (1, 4), (6, 2)])
def test_every_case_has_its_turn(cases: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "ALL", False)
    tried: list[int] = []
    for day in range(share):
        monkeypatch.setattr(turns, "TURN", 739_000 + day)
        today = turns.in_turn(range(cases), share)
        assert 1 <= len(today) <= -(-cases // min(share, cases))
        assert turns.in_turn(range(cases), share) == today
        tried += today
    assert set(tried) == set(range(cases))
    monkeypatch.setattr(turns, "ALL", True)
    assert turns.in_turn(range(cases), share) == list(range(cases))


def test_two_sweeps_over_the_same_cases_try_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "ALL", False)
    assert not set(turns.in_turn(range(9), 3)) & set(turns.in_turn(range(9), 3, first=1))
