"""The records of the built-in agents: which task each fits, and that a misfit is refused before anything starts."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import openfingym
from openfingym import catalog
from openfingym.agents import BUILTIN, Agent, resolve, suited
from openfingym.agents.builtin import fitting
from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.kinds import kind_named
from openfingym.rollouts.single import run

PROGRAMS = Path(openfingym.__file__).parent / "agents" / "programs"
LIBRARIES = {"interface", "numpy", "scipy", "sklearn", "statsmodels", "pandas", "lightgbm", "arch"}
STANDARD = {"itertools", "re", "warnings"}


def test_every_program_has_a_record_and_every_record_a_program() -> None:
    files = {path.stem.replace("_", "-") for path in PROGRAMS.glob("*.py")}
    assert files == {
        name for name, record in BUILTIN.items() if record.role in {"baseline", "check"} and name != "oracle"
    }
    for name in files:
        assert resolve(name).program.startswith('"""'), name


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_programs_stand_alone_and_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imports = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imports += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in imports} <= LIBRARIES | STANDARD
    assert not any(isinstance(node, ast.Try) for node in ast.walk(tree)), "a library that is missing must be an error"
    assert len(source.splitlines()) < 180
    assert ast.get_docstring(tree)


FITS = {
    "fx-forecast": ["naive", "mean", "seasonal", "ridge", "gbm", "var", "arima", "historical"],
    "treasury-forecast": ["naive", "mean", "seasonal", "ridge", "gbm", "var", "arima", "nelson-siegel"],
    "global-volatility-forecast": ["naive", "mean", "ridge", "gbm", "var", "arima", "har"],
    "tsfm-forecast": ["naive", "mean", "seasonal", "ridge", "gbm"],
    "yield-curve-forecast": ["naive", "mean", "nelson-siegel"],
    "equity-excess-return-forecast": ["naive", "mean", "ridge", "gbm"],
    "ou-generation": ["naive", "bootstrap", "copula"],
    "us5-stock-generation": ["naive", "bootstrap", "copula", "garch-sim"],
    "amazon-fraud": ["naive", "isolation-forest", "degree", "graph-smooth"],
    "ba2motifs-fraud": ["naive", "graph-smooth"],
    "equity-rolling-forecast": ["naive", "rolling-ridge"],
    "crypto-trading": [
        "naive",
        "cash",
        "buy-and-hold",
        "equal-weight",
        "momentum",
        "mean-reversion",
        "volatility-target",
        "risk-parity",
    ],
}


@pytest.mark.parametrize("task", FITS)
def test_which_agents_fit(task: str) -> None:
    assert fitting(load_task(task)) == FITS[task]


def test_every_task_has_a_baseline_beside_the_naive_one() -> None:
    # Answers in words cannot be guessed by a program that looks nothing up.
    for name in catalog.task_folders().keys() - {"finsearch"}:
        assert len(fitting(load_task(name))) >= 2, name


def test_kinds_name_built_in_programs_and_each_program_has_a_task() -> None:
    specs = [load_task(name).spec for name in catalog.task_folders()]
    named = frozenset().union(*(kind_named(spec.contract).baselines(spec) for spec in specs))
    assert named == {name for name, record in BUILTIN.items() if record.role == "baseline"} - {"naive"}


def test_a_misfit_is_refused_and_told_what_fits() -> None:
    task = load_task("ba2motifs-fraud")
    with pytest.raises(
        UsageError, match=r"'har' does not fit 'ba2motifs-fraud': .*realised volatility; .* fit are naive, graph-smooth"
    ):
        suited(resolve("har"), task)
    with pytest.raises(UsageError, match="does not fit"):
        run("ou-generation", "ridge", out=None)
    suited(Agent("har", "program", "print()"), task)  # a program of one's own may try anything


def test_the_command_line_refuses_a_misfit_before_it_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    result = CliRunner().invoke(cli, ["run", "ou-generation", "ba2motifs-fraud", "--agent", "bootstrap"])
    assert isinstance(result.exception, UsageError)
    assert "'bootstrap' does not fit 'ba2motifs-fraud'" in str(result.exception)
    assert not (tmp_path / "store").exists()


def test_agents_are_listed() -> None:
    everything = json.loads(CliRunner().invoke(cli, ["agents", "--json"]).output)
    assert [row["name"] for row in everything] == list(BUILTIN)
    some = json.loads(CliRunner().invoke(cli, ["agents", "--task", "ba2motifs-fraud", "--json"]).output)
    assert [row["name"] for row in some] == [
        "naive",
        "graph-smooth",
        "nop",
        "oracle",
        "oneshot",
        "react",
        "codeblock",
        "script",
        "command",
        "cli",
    ]
    shown = CliRunner().invoke(cli, ["agents"]).output
    assert all(name in shown for name in BUILTIN)


def test_a_misspelt_agent_is_suggested() -> None:
    with pytest.raises(UsageError, match="did you mean 'bootstrap'"):
        resolve("bootstrp")


def test_the_page_on_baselines_names_them_all() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "baselines.md").read_text(encoding="utf-8")
    for record in BUILTIN.values():
        row = f"| `{record.name}` |" if record.role == "baseline" else f"`{record.name}`"
        assert row in page, record.name
