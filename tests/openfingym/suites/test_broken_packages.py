"""A package that cannot be loaded is named to whoever asks for what it brings, and is in nobody else's way."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.suites.registry import find_example, find_suite, known_suites

WHY = "of broken (broken_suite:{}) cannot be loaded: it was made for another version"


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package whose suite and world come first by name, and whose module raises."""
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[openfingym.suites]\naaa = broken_suite:SUITE\n[openfingym.worlds]\naaa = broken_suite:WORLD\n"
    )
    (info.parent / "broken_suite.py").write_text('raise RuntimeError("it was made for another version")\n')
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))


def vault(*words: str) -> Result:
    return CliRunner().invoke(cli, ["vault", *words], standalone_mode=False)


def test_its_world_is_named_and_the_others_are_there() -> None:
    listed = " ".join(vault("simulate", "--help").output.split())
    assert "countries with events and news" in listed
    assert "aaa" in listed
    assert "cannot be loaded" in listed
    # It is asked, and refuses a length for a reason of its own.
    asked = vault("simulate", "findeepforecast", "--days", "60").exception
    assert isinstance(asked, UsageError)
    assert "leave out --days" in str(asked)
    refused = vault("simulate", "aaa").exception
    assert isinstance(refused, UsageError)
    assert WHY.format("WORLD") in str(refused)


def test_its_suite_is_named_and_a_new_task_starts_from_another() -> None:
    assert known_suites()[0] == "aaa"
    example = find_example()
    assert example is not None
    with pytest.raises(UsageError) as refused:
        find_suite("aaa")
    assert WHY.format("SUITE") in str(refused.value)
