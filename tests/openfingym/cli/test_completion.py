"""What shells complete, and the extras that `openfingym doctor` lists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from openfingym.agents import BUILTIN
from openfingym.cli import cli
from openfingym.cli.choices import AGENTS
from openfingym.cli.doctor import EXTRAS

ROOT = Path(__file__).resolve().parents[3]


def completed(*words: str) -> list[CompletionItem]:
    return ShellComplete(cli, {}, "openfingym", "_OPENFINGYM_COMPLETE").get_completions(list(words[:-1]), words[-1])


def names(*words: str) -> list[str]:
    return [item.value for item in completed(*words)]


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("task", "show"),
        ("task", "build"),
        ("task", "check"),
        ("rollout", "--tasks"),
        ("view", "--task"),
        ("agents", "--task"),
        ("score", "--task"),
        ("verifier", "serve", "--task"),
    ],
)
def test_tasks(words: tuple[str, ...]) -> None:
    found = names(*words, "treasury-")
    assert "treasury-forecast" in found
    assert all(name.startswith("treasury-") for name in found)
    assert [item.type for item in completed(*words, "./tre")] == ["dir"]


def test_a_users_tasks_are_completed_and_what_is_wrong_is_left_to_the_command(
    own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_TASKS", str(own_task.parent))
    assert names("run", "my-") == ["my-task"]
    monkeypatch.setenv("OPENFINGYM_TASKS", str(tmp_path / "nowhere"))
    assert names("run", "tre") == []


@pytest.mark.parametrize("words", [("run", "--agent"), ("rollout", "--agent"), ("view", "--agent")])
def test_agents(words: tuple[str, ...]) -> None:
    assert names(*words, "") == list(AGENTS) == list(BUILTIN)
    assert names(*words, "nel") == ["nelson-siegel"]


@pytest.mark.parametrize(
    "words", [("report",), ("report", "compare"), ("report", "runs"), ("view",), ("verifier", "collect")]
)
def test_folders_of_runs(words: tuple[str, ...]) -> None:
    assert "dir" in [item.type for item in completed(*words, "ru")]


def test_subcommands_are_there_still() -> None:
    assert {"baselines", "compare"} <= set(names("report", ""))
    assert names("ver") == ["verifier"]


def test_the_documented_line_gives_a_script_that_bash_reads() -> None:
    variable = re.search(r"\$\((_\w+)=bash_source openfingym\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert variable is not None
    script = subprocess.run(
        [sys.executable, "-m", "openfingym"],
        env={**os.environ, variable[1]: "bash_source"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "_OPENFINGYM_COMPLETE=bash_complete" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


MODULES = {"pillow": "PIL", "beautifulsoup4": "bs4"}


def test_the_extras_are_those_of_the_distribution() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert EXTRAS.keys() == stated.keys() - {"ci", "dev"}
    for name, (modules, _) in EXTRAS.items():
        packages = [re.split(r"[^\w-]", line)[0].replace("-", "_") for line in stated[name]]
        assert [MODULES.get(package, package) for package in packages] == list(modules)


def test_a_missing_extra_comes_with_its_command_and_changes_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    from openfingym.cli import doctor

    monkeypatch.setattr(doctor, "EXTRAS", {"arrow": (("no_such_module",), "tables"), "llm": (("json",), "models")})
    missing, there = doctor._extras()
    assert (missing["installed"], there["installed"]) == (False, True)
    assert missing["detail"] == "tables; not installed: pip install 'openfingym[arrow]'"
    assert there["detail"] == "models"
