"""What a whole run may spend: nothing begins once it is reached, and a higher budget goes on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.agents import Agent
from openfingym.agents.llm import React
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.rollouts import Plan, RolloutSpec, RunFolder, select
from openfingym.rollouts.budget import RunBudget
from openfingym.rollouts.engine import RolloutEngine
from tests.openfingym.rollouts.driving import Cli, PaperRunner, runs, spec

TALKER = Agent("talker", "model", acts=React())


class Spending(PaperRunner):
    """Each rollout spends a quarter of a dollar and 100 tokens."""

    def __init__(self, cost_usd: float | None = 0.25) -> None:
        super().__init__(places=1)
        self.cost_usd = cost_usd

    async def run(self, spec: RolloutSpec, out: Path, started: Callable[[], None]) -> RolloutResult:
        result = await super().run(spec, out, started)
        if spec.agent.acts is None:
            return result
        return replace(result, turns=3, prompt_tokens=90, completion_tokens=10, cost_usd=self.cost_usd)


def ran(out: Path, budget: RunBudget, *specs: RolloutSpec, cost_usd: float | None = 0.25) -> tuple[list[int], int]:
    """Seeds that were run, and how many rollouts were left."""

    async def running() -> tuple[list[int], int]:
        with RunFolder.open(out) as folder:
            async with RolloutEngine(Spending(cost_usd), folder, budget=budget) as engine:
                found = await engine.run(specs)
                return [result.seed for result in found], len(engine.left)

    return asyncio.run(running())


@pytest.mark.parametrize(
    ("budget", "runs"),
    [
        (RunBudget(cost_usd=0.5), 2),
        (RunBudget(cost_usd=0.51), 3),
        (RunBudget(tokens=100), 1),
        (RunBudget(cost_usd=9.0, tokens=301), 4),
        (RunBudget(), 5),
    ],
)
def test_no_rollout_begins_once_it_is_reached(budget: RunBudget, runs: int, tmp_path: Path) -> None:
    specs = [spec(agent=TALKER, model="m", seed=seed) for seed in range(5)]
    assert ran(tmp_path, budget, *specs) == (list(range(runs)), 5 - runs)


def test_programs_spend_nothing_and_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    talkers = [spec(agent=TALKER, model="m", seed=seed) for seed in range(4)]
    with caplog.at_level(logging.WARNING, "openfingym"):
        assert ran(tmp_path, RunBudget(tokens=50), *talkers, spec(seed=7)) == ([0, 7], 3)
    (record,) = caplog.records
    assert "the run's budget of 50 tokens is reached (100 were spent)" in record.getMessage()


def test_what_nobody_counted_cannot_be_kept_within_a_budget(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    specs = [spec(agent=TALKER, model="m", seed=seed) for seed in range(3)]
    assert ran(tmp_path, RunBudget(cost_usd=5.0), *specs, cost_usd=None) == ([0], 2)
    assert "is not known" in caplog.text


def test_a_budget_in_dollars_needs_a_price() -> None:
    plan = {"tasks": ["treasury-forecast"], "agents": ["react"], "models": ["nobody-knows-this"]}
    with pytest.raises(UsageError, match="price"):
        select(Plan.make({**plan, "budget": {"cost_usd": 5.0}}))
    select(Plan.make({**plan, "budget": {"tokens": 5}}))
    with pytest.raises(UsageError, match="budget"):
        Plan.make({**plan, "budget": {"tokens": 0}})


@pytest.mark.sandbox
def test_a_higher_budget_goes_on(cli: Cli, treasury: BuiltPackage, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [
        *("--tasks", "treasury-forecast", "--agent", "react", "--model", "stand-in/competent", "--seeds", "3"),
        *("--backend", "sandbox", "--concurrency", "1", "--out", str(out)),
    ]
    status, said, err = cli.run(*command, "--budget-tokens", "1")
    assert (status, len(runs(out))) == (0, 1), err
    assert "the run's budget of 1 tokens is reached" in err
    assert "2 of 3 rollouts were left unrun" in said
    status, said, err = cli.run(*command, "--budget-tokens", "1", "--json")
    assert (status, len(runs(out)), json.loads(said)["unrun"]) == (0, 1, 2), "what was finished before counts"
    status, said, _ = cli.run(*command, "--budget-tokens", "1000000")
    assert (status, len(runs(out))) == (0, 3)
    assert "unrun" not in said
