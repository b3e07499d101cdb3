"""A verifier opens no session on a real market that is closed, or closes before the session would end."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from openfingym.catalog import load_task
from openfingym.market.session.terms import SessionOrder
from openfingym_verifier.episodes.sessions import Sessions
from openfingym_verifier.problems import Problem


def require(tmp_path: Path, moment: datetime, order: SessionOrder, name: str = "equity-trading-live") -> None:
    sessions = Sessions(tmp_path, wall=lambda: int(moment.timestamp()) * 10**9)
    try:
        sessions.require(order, SimpleNamespace(spec=load_task(name).spec, name=name))  # type: ignore[arg-type]
    finally:
        sessions.close()


def test_a_real_session_is_in_trading_hours_and_a_simulated_one_is_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APCA_API_KEY_ID", "a-key-of-nobody-at-all")
    monkeypatch.setenv("APCA_API_SECRET_KEY", "a-secret-of-nobody-at-all")
    real = SessionOrder(venue="real")
    half_day = datetime(2026, 11, 27, 16, 58, tzinfo=UTC)  # 62 minutes before the close
    require(tmp_path, half_day, real)
    late = half_day.replace(minute=59)
    with pytest.raises(Problem, match=r"needs 62 minutes .* next from 2026-11-30 14:30 to 19:58 UTC"):
        require(tmp_path, late, real)
    require(tmp_path, late, SessionOrder(venue="real", duration_s=60))
    require(tmp_path, late.replace(day=29), SessionOrder())
    require(tmp_path, late.replace(day=29), real, "crypto-trading-live")


def test_a_real_session_without_keys_is_refused_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("openfingym.market.keys._from_keyring", lambda venue, entry: None)
    with pytest.raises(Problem, match="alpaca needs keys, and APCA_API_KEY_ID and APCA_API_SECRET_KEY are set neither"):
        require(tmp_path, datetime(2026, 11, 23, 15, tzinfo=UTC), SessionOrder(venue="real"))
    assert list(tmp_path.iterdir()) == []
