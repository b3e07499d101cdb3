"""Keys of logs that this machine has met: found among many, and as the file is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openfingym.receipts import SigningKey
from openfingym.verifiers.known_logs import FILE, known_key, remember


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    return tmp_path / FILE


def key(number: int, name: str = "openfingym.local/") -> SigningKey:
    return SigningKey(f"{name}{number}", number.to_bytes(32, "big"))


def test_many_keys_are_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(number).public for number in range(1, 40)]
    file.write_text("".join(f"{one}\n" for one in keys))
    opened, original = [], Path.open

    def counting(path: Path, *arguments: Any, **named: Any) -> Any:
        opened.append(path)
        return original(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", counting)
    assert [known_key(one.name) for one in keys] == keys
    assert opened.count(file) == 1


def test_the_first_key_that_was_met_stays_and_new_ones_are_known_at_once(file: Path) -> None:
    first, other = key(1).public, SigningKey("openfingym.local/1", bytes(32)).public
    assert known_key(first.name) is None
    for text in (str(first), str(other)):
        remember(text)
        assert known_key(first.name) == first
    remember(str(key(2).public))
    assert known_key("openfingym.local/2") == key(2).public
    # Whoever changes the file has another key taken for the log's: only a checkpoint that was kept shows that.
    file.write_text(f"{other}\n")
    assert known_key(first.name) == other
    file.unlink()
    assert known_key(first.name) is None


def test_a_line_that_was_broken_off_hides_no_other(file: Path) -> None:
    whole = str(key(3).public)
    file.write_text(f"{whole[:-5]}\n{whole}\n")
    assert known_key("openfingym.local/3") == key(3).public
