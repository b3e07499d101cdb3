"""Keys of a venue are read from the environment, and shown nowhere."""

from __future__ import annotations

import pytest

from openfingym.errors import UsageError
from openfingym.market.keys import Keys


def test_keys_come_from_the_environment_and_hide(monkeypatch):
    monkeypatch.setenv("APCA_API_KEY_ID", "visible-nowhere")
    monkeypatch.setenv("APCA_API_SECRET_KEY", "nor-this")
    keys = Keys.of("alpaca")
    assert (keys.key, keys.secret) == ("visible-nowhere", "nor-this")
    assert repr(keys) == str(keys) == "Keys()"


def test_what_is_missing_is_named_without_what_is_there(monkeypatch):
    monkeypatch.setenv("APCA_API_KEY_ID", "visible-nowhere")
    monkeypatch.delenv("APCA_API_SECRET_KEY", raising=False)
    with pytest.raises(UsageError, match="APCA_API_SECRET_KEY is set neither") as caught:
        Keys.of("alpaca")
    assert "visible-nowhere" not in str(caught.value)
