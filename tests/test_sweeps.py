"""`make test` tries the same tests every day, and with the rest of `make test-all` all of them, each once."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import sweeps

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("cases", "share", "first", "fixed"),
    [
        ("abcdefg", 3, 0, "adg"),
        ("abcdefg", 3, 1, "cf"),
        ("abcdefg", 1, 0, "abcdefg"),
        ("ab", 3, 0, "a"),
        ("ab", 3, 1, "b"),
        ("a", 4, 2, "a"),
    ],
)
def test_a_part_is_fixed_and_never_empty(cases: str, share: int, first: int, fixed: str) -> None:
    assert "".join(sweeps.fixed_part(cases, share, first)) == fixed
    swept = sweeps.sweep(cases, share, first)
    assert [case.values for case in swept] == [(case,) for case in cases]
    assert "".join(str(case.values[0]) for case in swept if not case.marks) == fixed


def test_a_sweep_keeps_what_its_cases_are() -> None:
    mark = pytest.mark.timeout(7)
    first, second, third = sweeps.sweep([("a", 1), pytest.param("b", 2, id="bee", marks=mark), ("c", 3)], 3)
    assert (first.values, second.values, third.values) == (("a", 1), ("b", 2), ("c", 3))
    assert second.id == "bee"
    assert [one.name for one in second.marks] == ["timeout", "rest"]
    assert list(first.marks) == []


def test_every_slow_file_and_function_is_there_once() -> None:
    known = sweeps.slow()
    for name in known:
        file, *inside = name.split("::")
        text = (ROOT / file).read_text()
        assert not inside or (file not in known and f"def {inside[-1]}(" in text), name


@pytest.mark.skipif(sweeps.ALL, reason="who looks deeper gets other examples each time")
def test_examples_of_a_property_do_not_depend_on_what_was_loaded_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn() -> list[int]:
        found = []

        @settings(max_examples=200, database=None)
        @given(st.integers())
        def collect(number: int) -> None:
            found.append(number)

        collect()
        return found

    before = drawn()
    path = tmp_path / "loaded_elsewhere.py"
    path.write_text("LARGE, SMALL = 47110815, -47110815\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, path.stem, importlib.util.module_from_spec(spec))
    assert drawn() == before


def test_no_property_is_judged_by_how_long_it_takes() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
    for path in (ROOT / "tests").rglob("*.py"):
        for stated in re.findall(r"suppress_health_check=(\[[^]]*\])", path.read_text()):
            assert "too_slow" in stated, path


def options_of(target: str) -> list[str]:
    """The options of pytest in the command that a target of the Makefile runs."""
    printed = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in printed.splitlines() if " -m pytest " in line)
    return shlex.split(line.partition(" -m pytest ")[2])


@pytest.mark.parametrize(("target", "expression"), [("pytest", "not rest"), ("rest", "rest")])
def test_the_two_parts_are_chosen_by_the_mark_alone(target: str, expression: str) -> None:
    options = options_of(target)
    assert options[options.index("-m") + 1] == expression
    choosing = ("-k", "--ignore", "--ignore-glob", "--deselect", "--lf", "--last-failed", "tests")
    assert not [option for option in options if option.partition("=")[0].startswith(choosing)]
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert stated["testpaths"] == ["tests"]
    assert set(stated["addopts"]) == {
        "--strict-markers",
        "--strict-config",
        "--import-mode=importlib",
        "-ra",
        "-p",
        "no:randomly",
    }


def test_what_was_collected_is_in_one_of_the_parts(request: pytest.FixtureRequest) -> None:
    """Of this very run: the chosen tests are those of the part that it asks for, whatever plugins and files say."""
    known = request.config.stash[sweeps.COLLECTED]
    chosen = [item.nodeid for item in request.session.items]
    asked = request.config.option.markexpr
    if asked not in {"", "rest", "not rest"} or request.config.option.keyword or "::" in "".join(request.config.args):
        pytest.skip("this run is of some tests that somebody chose")
    assert sorted(chosen) == sorted(name for name, rest in known.items() if not asked or rest is (asked == "rest"))


def test_what_the_rest_need_not_load_has_none_of_it(request: pytest.FixtureRequest) -> None:
    """Of this very run: else a test would be in neither part."""
    known, slow = request.config.stash[sweeps.COLLECTED], sweeps.slow()
    files = {name.partition("::")[0] for name, rest in known.items() if rest}
    assert [file for file in files if not sweeps.may_hold_rest(ROOT / file, slow)] == []
    assert not sweeps.may_hold_rest(sweeps.FOLDER / "openfingym" / "cli" / "commands_table.py", slow)


def test_make_test_all_is_both_parts_and_ci_runs_nothing_else() -> None:
    printed = subprocess.run(["make", "-n", "test-all"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    runs = [line for line in printed.splitlines() if " -m pytest " in line]
    assert ['-m "not rest"' in line for line in runs] == [True, False]
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if not line.startswith(("#", "export"))]
    assert lines[2:] == ["scripts/docker-engine all", "scripts/browser", "make test", "make rest EXTRA=ci"]
