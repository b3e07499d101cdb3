"""Keys of a venue are read from the environment, and shown nowhere."""

from __future__ import annotations

import pytest

from openfingym.errors import UsageError
from openfingym.market.keys import Keys


def test_keys_come_from_the_environment_and_hide(monkeypatch):
    monkeypatch.setenv("ALPACA_KEY", "visible-nowhere")
    monkeypatch.setenv("ALPACA_SECRET", "nor-this")
    keys = Keys.of("alpaca")
    assert (keys.key, keys.secret) == ("visible-nowhere", "nor-this")
    assert repr(keys) == str(keys) == "Keys()"


def test_what_is_missing_is_named_without_what_is_there(monkeypatch):
    monkeypatch.setenv("ALPACA_KEY", "visible-nowhere")
    monkeypatch.delenv("ALPACA_SECRET", raising=False)
    with pytest.raises(UsageError, match="ALPACA_KEY and ALPACA_SECRET") as caught:
        Keys.of("alpaca")
    assert "visible-nowhere" not in str(caught.value)
