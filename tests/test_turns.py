"""Of the cases that take turns, each is tried within some days, and all of them on request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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


def test_every_slow_test_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLOW", False)
    monkeypatch.setattr(turns, "ALL", False)
    slow = sorted(turns.slow_functions())
    tests = [f"{name}[{case}]" for name in slow for case in "ab"] + ["tests/test_turns.py::test_quick"]
    tried: list[str] = []
    for day in range(turns.SLOW_SHARE):
        monkeypatch.setattr(turns, "TURN", 739_000 + day)
        today = set(tests) - turns.left_to_other_days(tests)
        assert "tests/test_turns.py::test_quick" in today
        assert len(today) < len(tests) / 2
        tried += today
    assert set(tried) == set(tests)
    monkeypatch.setattr(turns, "SLOW", True)
    assert not turns.left_to_other_days(tests)


def test_every_slow_function_is_there() -> None:
    for name in turns.slow_functions():
        file, *_, function = name.split("::")
        assert f"def {function}(" in (turns.FOLDER.parent / file).read_text(), name


@pytest.mark.parametrize(
    ("arguments", "keyword", "some"), [([], "", False), (["test_turns.py"], "", True), ([], "slow", True)]
)
def test_a_run_of_some_tests_leaves_none_to_other_days(
    arguments: list[str],
    keyword: str,
    some: bool,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "SLOW", False)
    monkeypatch.setattr(turns, "ALL", False)
    config, left = SimpleNamespace(), list[Any]()

    def leave(items: list[Any]) -> None:
        left.extend(items)

    config.args = [str(turns.FOLDER / argument) for argument in arguments] or [str(turns.FOLDER)]
    config.option = SimpleNamespace(keyword=keyword, markexpr="")
    config.hook = SimpleNamespace(pytest_deselected=leave)
    names = sorted(turns.slow_functions())
    items = [SimpleNamespace(nodeid=name, path=turns.FOLDER.parent / name.partition("::")[0]) for name in names]
    for item in items:
        item.get_closest_marker = lambda name: None
    conftest = request.config.pluginmanager.get_plugin(str(turns.FOLDER / "conftest.py"))
    assert conftest is not None
    conftest.pytest_collection_modifyitems(config, items)
    assert {item.nodeid for item in [*items, *left]} == set(names)
    assert some == (not left)
    assert items
