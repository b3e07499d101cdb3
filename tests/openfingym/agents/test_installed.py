"""Agents of installed packages: listed, run by name, and named where they are broken."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

import openfingym
from openfingym.agents import BUILTIN, resolve
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.rollouts.spec import agent_digest

MODULE = """
from dataclasses import dataclass

from openfingym.agents import Agent

PROGRAM = "import interface, numpy\\nfor window in interface.iter_test(): window.predict(numpy.zeros(window.shape))\\n"


@dataclass(frozen=True)
class Loop:
    takes_steps = True

    async def act(self, session):
        await session.tools.run(PROGRAM)


@dataclass(frozen=True)
class Faulty:
    takes_steps = True

    async def act(self, session):
        return float(10**400)


def zeros():
    \"\"\"Submit zeros.

    Nobody does better in an efficient market.
    \"\"\"
    return Agent("another-name", "program", PROGRAM, trusted=True)


def loop():
    \"\"\"Submit zeros in a loop.\"\"\"
    return Agent("loop", "command", acts=Loop())


def faulty():
    \"\"\"Fail.\"\"\"
    return Agent("faulty", "command", acts=Faulty())


READY = Agent("ready", "model", acts=Loop())
TRUTH = Agent("truth", "oracle")
EMPTY = Agent("empty", "program")


def leaves():
    raise SystemExit("no \\x1b[31mkey")


def nothing():
    return 7
"""
GOOD = {
    "zeros": "their_agents:zeros",
    "faulty": "their_agents:faulty",
    "my-loop": "their_agents:loop",
    "ready": "their_agents:READY",
}
BROKEN = {
    "leaves": ("their_agents:leaves", "SystemExit: no "),
    "nothing": ("their_agents:nothing", "found int"),
    "truth": ("their_agents:TRUTH", "found 'oracle'"),
    "empty": ("their_agents:EMPTY", "a program has a source"),
    "absent": ("their_agents:absent", "AttributeError"),
    "no-module": ("no_such_module:agent", "ModuleNotFoundError"),
    "ridge": ("their_agents:zeros", "a built-in agent has that name"),
    "Odd_Name": ("their_agents:zeros", "kebab-case"),
}


def install(folder: Path, package: str, entries: dict[str, str]) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (info / "entry_points.txt").write_text(f"[openfingym.agents]\n{lines}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    install(folder, "theirs", GOOD | {name: value for name, (value, _) in BROKEN.items()})
    (folder / "their_agents.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(__import__("sys").modules, "their_agents", raising=False)
    return folder


@pytest.mark.usefixtures("site")
def test_they_are_listed_and_the_broken_ones_named() -> None:
    found = CliRunner().invoke(cli, ["agents", "--json"])
    rows = {row["name"]: row for row in json.loads(found.stdout)}
    assert list(rows) == [*BUILTIN, *sorted(GOOD)]
    assert rows["zeros"]["does"] == "Submit zeros. (theirs 1.0)"
    assert [rows[name]["role"] for name in GOOD] == [
        "installed program",
        "installed command",
        "installed command",
        "installed model",
    ]
    for name, (_, reason) in BROKEN.items():
        (line,) = [line for line in found.stderr.splitlines() if f"agent {name!r} of theirs 1.0" in line]
        assert reason in line
    assert "\x1b" not in found.stderr
    assert "Submit zeros." in CliRunner().invoke(cli, ["agents"]).stdout


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", [name for name in BROKEN if name != "ridge"])
def test_a_broken_one_cannot_be_run(name: str) -> None:
    with pytest.raises(UsageError, match=f"agent {name!r} of theirs 1.0: "):
        resolve(name)


@pytest.mark.usefixtures("site")
def test_the_name_of_a_built_in_stays_its_own() -> None:
    assert resolve("ridge").trusted
    with pytest.raises(UsageError, match="did you mean 'zeros'"):
        resolve("zeross")
    with pytest.raises(UsageError, match="--program goes with --agent script"):
        resolve("zeros", "program.py")


def test_two_packages_with_one_name_say_so(site: Path) -> None:
    install(site, "others", {"zeros": "other_agents:zeros"})
    with pytest.raises(UsageError, match=r"agent 'zeros' of others 1.0 and theirs 1.0: two packages"):
        resolve("zeros")


@pytest.mark.sandbox
@pytest.mark.usefixtures("site")
def test_they_run_like_any_agent_of_ones_own(tmp_path: Path) -> None:
    for name in ("zeros", "my-loop"):
        result = openfingym.run("treasury-forecast", agent=name, backend="sandbox", out=tmp_path)
        assert (result.agent, result.state) == (name, "scored"), result.reason
    agent = resolve("zeros")
    assert (agent.name, agent.trusted) == ("zeros", False), "its program is isolated whatever it says of itself"
    loop = resolve("my-loop")
    assert agent_digest(loop) == agent_digest(pickle.loads(pickle.dumps(loop)))


@pytest.mark.sandbox
@pytest.mark.usefixtures("site")
def test_a_bug_of_one_costs_its_rollout_and_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan = {"tasks": ["treasury-forecast"], "agents": ["faulty", "zeros"], "backend": "sandbox", "seeds": 1}
    faulty, zeros = openfingym.rollouts.run(openfingym.rollouts.Plan(**plan), tmp_path / "run")
    assert (faulty.agent, faulty.state, zeros.state) == ("faulty", "error", "scored")
    assert "the agent's code raised OverflowError (int too large" in faulty.reason
    assert "float(10**400)" in caplog.text
