"""A launcher for three kinds of task, and a way to play one rollout of them and read everything it left."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openfingym.agents import Agent, resolve
from openfingym.agents.llm import ModelAgent
from openfingym.agents.llm.conversation_runner import ConversationRunner
from openfingym.agents.llm.launching import play_rollout, with_defaults
from openfingym.agents.llm.playing import PlayedConversation
from openfingym.agents.llm.setup import ModelSetup
from openfingym.catalog import load_task
from openfingym.models import Allowance, LanguageModel, ModelSpec
from openfingym.models.prices import PriceTable
from openfingym.packages.build import build
from openfingym.results import RolloutResult
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.trajectory import RolloutRecord, read_rollout

TASKS = {"forecast": "treasury-forecast", "fraud": "ba2motifs-fraud", "trading": "equity-trading"}
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Left:
    """What a rollout left behind."""

    result: RolloutResult
    record: RolloutRecord
    folder: Path

    @property
    def told(self) -> str:
        """Everything that the model was told."""
        turns = self.record.messages
        return "\n".join(
            [turn.content for turn in turns if turn.role != "assistant"]
            + [call.result or "" for turn in turns for call in turn.tool_calls]
        )

    @property
    def config(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return found


Play = Callable[..., Left]


@contextlib.contextmanager
def launched(backend: str) -> Iterator[Launcher]:
    packages = [build(load_task(name)) for name in TASKS.values()]
    with Launcher(packages, backend=backend) as launcher, ConversationRunner(patience_s=PATIENCE_S) as conversations:
        launcher._parts._runner = conversations  # an endpoint that is away must not be waited for ten minutes
        yield launcher


@pytest.fixture(scope="module")
def sandboxed(store_home: Path) -> Iterator[Launcher]:
    with launched("sandbox") as launcher:
        yield launcher


@pytest.fixture(scope="module")
def contained(store_home: Path) -> Iterator[Launcher]:
    with launched("docker") as launcher:
        yield launcher


def player(launcher: Launcher, out: Path) -> Play:
    def play(
        agent: str | Agent | ModelAgent,
        model: str | ModelSpec | None = None,
        kind: str = "forecast",
        *,
        allowance: Allowance | None = None,
        cancel: threading.Event | None = None,
        seed: int = 0,
    ) -> Left:
        package = next(package for package in launcher.packages if package.manifest.name == TASKS[kind])
        if not isinstance(agent, str | Agent):
            agent = Agent("own", "command" if model is None else "model", acts=agent)
        spec = ModelSpec.parse(f"stand-in/{model}") if isinstance(model, str) else model
        hooks = RolloutHooks(cancel=cancel)
        order = RolloutOrder(seed=seed)
        result = launcher.run(package, resolve(agent), order, model=spec, allowance=allowance, out=out, hooks=hooks)
        assert result.path is not None
        return Left(result, read_rollout(result.path / "trajectory.json"), result.path)

    return play


@pytest.fixture
def play(sandboxed: Launcher, tmp_path: Path) -> Play:
    """``play(agent, "competent", kind="forecast", allowance=...)``: one rollout in the sandbox."""
    return player(sandboxed, tmp_path / "runs")


@pytest.fixture
def talk(sandboxed: Launcher) -> Callable[..., PlayedConversation]:
    """``talk(agent, model, kind="trading", turns=...)``: one rollout with a model of this process, up to its score."""

    def played(agent: str, model: LanguageModel, kind: str = "trading", **limits: float) -> PlayedConversation:
        package = next(package for package in sandboxed.packages if package.manifest.name == TASKS[kind])
        line = sandboxed._parts.line_of(package)
        ticket = line.client.create_rollout(package.manifest.name)
        resolved = resolve(agent)
        backend = sandboxed._parts.backend_for(resolved)
        assert resolved.acts is not None
        assert backend is not None
        resources = sandboxed._resources(backend, line.client, line, package)
        allowance = with_defaults(Allowance(**limits), package)  # type: ignore[arg-type]
        setup = ModelSetup(resolved.acts, None, model, allowance, PriceTable({}))
        return play_rollout(resources, package, setup, ticket, seed=0, cancel=threading.Event())

    return played
