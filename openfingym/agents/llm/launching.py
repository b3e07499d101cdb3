"""From a launcher's parts to one rollout of an agent that talks."""

from __future__ import annotations

import re
import threading
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from openfingym.agents.llm.playing import Played, Setting, play
from openfingym.agents.llm.room import Room
from openfingym.agents.llm.session import Brief, Listener, ModelAgent, Sampling
from openfingym.models.meter import Allowance
from openfingym.models.model import Model
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec
from openfingym.task.contracts import RollingContract, TradingContract

if TYPE_CHECKING:
    from openfingym.agents.llm.hosting import Host
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate import GateKeeper
    from openfingym_runtime.job import Backend, Limits

TURNS = 40
WALL_S = 3600.0
TURNS_A_STEP = 1.25
_CREDENTIALS = re.compile(r"//[^/@]*@")
WALL_A_STEP_S = 30.0


@dataclass(frozen=True)
class Stage:
    """What a launcher lends to its rollouts."""

    host: Host
    client: VerifierClient
    gates: GateKeeper
    backend: Backend
    limits: Limits
    """Of each program of the task."""
    max_body_bytes: int
    max_calls: int
    pool: WorkspacePool | None = None


@dataclass(frozen=True)
class Voice:
    """An agent that talks, and what it talks with."""

    agent: ModelAgent
    spec: ModelSpec | None
    model: Model | None
    allowance: Allowance
    """In which turns and time have an end."""
    prices: PriceTable
    listener: Listener | None = None
    """Told what is said, as it is."""

    @property
    def wall_s(self) -> float:
        """Seconds that the rollout may take."""
        assert self.allowance.wall_s is not None
        return self.allowance.wall_s

    def describe(self) -> dict[str, object]:
        """What a run's ``config.json`` says of it: plain values, and no key."""
        sampling = getattr(self.agent, "sampling", None)
        return {
            "model": self.spec.name if self.spec else None,
            "base_url": _CREDENTIALS.sub("//", self.spec.base_url or "") or None if self.spec else None,
            "sampling": asdict(sampling) if isinstance(sampling, Sampling) else None,
            "prices": self.prices.describe(self.spec.name) if self.spec else None,
            "allowance": asdict(self.allowance),
        }


def find_voice(
    host: Host, package: BuiltPackage, agent: ModelAgent, spec: ModelSpec | None, allowance: Allowance | None, prices: PriceTable | None
) -> Voice:
    """Open an agent's model.

    Raises:
        UsageError: there is no key or no price for it, or the extra ``llm`` is missing.
    """
    allowed = with_defaults(allowance, package)
    prices = prices or PriceTable.load()
    model = None if spec is None else host.model(spec, prices, priced=allowed.cost_usd is not None)
    return Voice(agent, spec, model, allowed, prices)


def open_pool(host: Host, backend: Backend, gates: GateKeeper, size: int) -> WorkspacePool:
    """A pool of started workspaces, which is closed with ``host``."""
    from openfingym.workspace import WorkspacePool

    return host.enter(lambda: WorkspacePool(backend, gates, size=size))


def with_defaults(given: Allowance | None, package: BuiltPackage) -> Allowance:
    """An allowance in which turns and time have an end: what is not stated follows from the task."""
    allowance, contract = given or Allowance(), package.task.spec.contract
    steps = package.manifest.n_private * contract.steps if isinstance(contract, TradingContract | RollingContract) else 0
    return replace(
        allowance,
        turns=allowance.turns or TURNS + int(TURNS_A_STEP * steps),
        wall_s=allowance.wall_s or max(WALL_S, 2 * package.task.file.agent.timeout_sec) + WALL_A_STEP_S * steps,
    )


def play_rollout(
    stage: Stage,
    package: BuiltPackage,
    voice: Voice,
    ticket: RolloutTicket,
    *,
    seed: int,
    cancel: threading.Event,
) -> Played:
    """Let an agent play one rollout; blocks until it is over.

    Raises:
        UsageError: the agent cannot be run as it was asked for.
    """
    contract = package.task.spec.contract
    sequential = isinstance(contract, TradingContract | RollingContract)
    symbols = contract.symbols if isinstance(contract, TradingContract | RollingContract) and voice.agent.takes_steps else None
    room = Room(
        stage.backend,
        package,
        stage.gates,
        ticket,
        seed=seed,
        limits=stage.limits,
        wall_s=voice.wall_s,
        max_body_bytes=stage.max_body_bytes,
        # Steps are taken by the tool or by programs: by both at once, they would get into each other's way.
        max_calls=stage.max_calls if symbols is None else 0,
        pool=stage.pool,
    )
    brief = Brief(package.manifest.name, package.read_instruction(), sequential, seed)
    setting = Setting(voice.agent, brief, room, stage.client, ticket, voice.model, voice.allowance, symbols, voice.listener)
    return stage.host.run(play(setting), cancel)
