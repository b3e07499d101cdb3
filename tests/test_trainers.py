"""The environments in which trainers are tested."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "trainers.py"
_spec = importlib.util.spec_from_file_location("trainers", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
trainers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(trainers)


def test_every_trainer_has_tests_and_every_test_an_environment() -> None:
    folders = {path.parent.name for path in trainers.TESTS.glob("*/test_*.py")}
    assert folders == set(trainers.trainers()) != set()


def test_an_environment_states_the_version_of_what_it_is_made_for() -> None:
    for name in trainers.trainers():
        text = (trainers.TESTS / name / "environment.txt").read_text(encoding="utf-8")
        assert "==" in text, f"tests/trainers/{name}/environment.txt pins no version"


def test_directives() -> None:
    text = "#: python 3.12\ntorch==2.13.0\n# a remark\n#: no-deps a==1 b==2\n#: no-deps c\n"
    assert trainers.directives(text, "python") == ["3.12"]
    assert trainers.directives(text, "no-deps") == ["a==1 b==2", "c"]
    assert trainers.python_of("") == sys.executable
    assert trainers.python_of("#: python 3.99") is None


def test_an_environment_that_passes_and_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the Python of this process in the place of the environments."""
    monkeypatch.setattr(trainers, "TESTS", tmp_path)
    monkeypatch.setattr(trainers, "environment", lambda name, _: None if name == "later" else Path(sys.executable))
    for name, says in {"good": "assert True", "bad": "assert False", "later": "assert False"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "environment.txt").write_text("")
        (tmp_path / name / "test_it.py").write_text(f"def test_it():\n    {says}\n")
    monkeypatch.setattr(sys, "argv", ["trainers.py"])
    assert trainers.main() == 1
    lines = capfd.readouterr().out.splitlines()[-3:]
    assert [line.split()[:2] for line in lines] == [["bad", "failed"], ["good", "passed"], ["later", "passed"]]


def test_an_unknown_trainer_is_named() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no tests of nothing; there are those of " in done.stderr
