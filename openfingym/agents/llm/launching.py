"""From a launcher's parts to one rollout of an agent that talks."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.playing import PlayedConversation, PreparedRollout, play
from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.agents.llm.session import Assignment, Conversation, Listener, ModelAgent
from openfingym.agents.llm.settings import Answering
from openfingym.agents.llm.usefulness import USELESS_IN_A_ROW
from openfingym.kinds import SequentialKind, kind_of
from openfingym.models.driven import DrivenModel
from openfingym.models.given import CheckedModel, require_language_model
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance, Spent
from openfingym.models.model import LanguageModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate import GateKeeper
    from openfingym_runtime.job import Backend, Limits

TURNS = 40
WALL_S = 3600.0
TURNS_A_STEP = 1.25
WALL_A_STEP_S = 30.0


@dataclass(frozen=True)
class RolloutResources:
    """The parts of a launcher that its rollouts share."""

    conversations: ConversationRunner
    client: VerifierClient
    gates: GateKeeper
    backend: Backend
    limits: Limits
    """Limits of each program of the task."""
    max_body_bytes: int
    max_calls: int
    pool: WorkspacePool | None = None


@dataclass(frozen=True)
class ModelSetup:
    """An agent that talks, and what it talks with."""

    agent: ModelAgent
    spec: ModelSpec | None
    model: LanguageModel | None
    allowance: Allowance
    """What the agent may spend; turns and time are always limited."""
    prices: PriceTable
    listener: Listener | None = None
    """Told what is said, as it is."""
    opened: Callable[[Conversation], None] | None = None
    """Told the conversation, before the agent begins it."""
    before: Spent | None = None
    """What was spent on the rollout by a launcher that died."""
    charged: Callable[[Spent], None] | None = None
    """Told what is spent, after each completion."""

    @property
    def wall_s(self) -> float:
        """Seconds that the rollout may take."""
        assert self.allowance.wall_s is not None
        return self.allowance.wall_s

    @property
    def open_s(self) -> float:
        """Seconds that it may be open: its own time, and what it waits for answers in time that is not its own."""
        return self.wall_s + (self.model.waits_s if isinstance(self.model, DrivenModel) else 0.0)

    def describe(self) -> dict[str, object]:
        """The description of the model and its limits for a run's ``config.json``: plain values, and no key."""
        sampling, answering = (getattr(self.agent, name, None) for name in ("sampling", "questions"))
        return {
            "model": self.model.name if self.model else None,
            "base_url": self.spec.endpoint if self.spec else None,
            "stream": self.spec.stream if self.spec else None,
            "tokens": self.spec.tokens if self.spec else None,
            "cutoff": self.spec.cutoff if self.spec else None,
            "sampling": asdict(sampling) if isinstance(sampling, Sampling) else None,
            "answering": asdict(answering) if isinstance(answering, Answering) else None,
            "prices": self.prices.describe(self.spec.name) if self.spec else None,
            "allowance": asdict(self.allowance),
        }


@contextlib.contextmanager
def model_setup(
    conversations: ConversationRunner,
    package: BuiltPackage,
    agent: ModelAgent,
    model: ModelSpec | LanguageModel | None,
    allowance: Allowance | None,
    prices: PriceTable | None,
) -> Iterator[ModelSetup]:
    """An agent with its model, which is open during the block.

    A model that is given as an object is asked on the event loop of ``conversations``, and stays its owner's to close.

    Raises:
        UsageError: there is no key or no price for it, the extra ``llm`` is missing, or the object is no model.
    """
    allowed = with_defaults(allowance, package)
    prices = prices or PriceTable.load()
    if model is None:
        yield ModelSetup(agent, None, None, allowed, prices)
    elif isinstance(model, ModelSpec):
        with conversations.model(model, prices, priced=allowed.cost_usd is not None) as opened:
            yield ModelSetup(agent, model, opened, allowed, prices)
    else:
        require_language_model(model)
        checked = model if isinstance(model, DrivenModel) else CheckedModel(model)
        yield ModelSetup(agent, None, checked, allowed, prices)


def open_pool(conversations: ConversationRunner, backend: Backend, gates: GateKeeper, size: int) -> WorkspacePool:
    """A pool of started workspaces, which is closed with ``conversations``."""
    from openfingym.workspace import WorkspacePool

    return conversations.enter(lambda: WorkspacePool(backend, gates, size=size))


def with_defaults(given: Allowance | None, package: BuiltPackage) -> Allowance:
    """An allowance in which turns and time have an end: what is not stated follows from the task."""
    allowance, kind = given or Allowance(), kind_of(package.task)
    steps = (
        package.manifest.n_private * kind.steps(package.task.spec.contract) if isinstance(kind, SequentialKind) else 0
    )
    return replace(
        allowance,
        turns=allowance.turns or TURNS + int(TURNS_A_STEP * steps),
        useless=allowance.useless or USELESS_IN_A_ROW,
        wall_s=allowance.wall_s or max(WALL_S, 2 * package.task.file.agent.timeout_sec) + WALL_A_STEP_S * steps,
    )


def runs_blocks(agent: ModelAgent) -> bool:
    """Whether it answers questions by blocks of code."""
    settings = getattr(agent, "questions", None)
    return isinstance(settings, Answering) and settings.action == "block"


def play_rollout(
    resources: RolloutResources,
    package: BuiltPackage,
    setup: ModelSetup,
    ticket: RolloutTicket,
    *,
    seed: int,
    cancel: threading.Event,
) -> PlayedConversation:
    """Let an agent play one rollout; blocks until it is over.

    Raises:
        UsageError: the agent cannot be run as it was asked for.
    """
    kind = kind_of(package.task)
    symbols = (
        kind.symbols(package.task.spec.contract)
        if isinstance(kind, SequentialKind) and setup.agent.takes_steps
        else None
    )
    lookups = (
        kind.lookups(package.task.spec.contract)
        if isinstance(kind, SequentialKind) and setup.agent.takes_steps
        else None
    )
    programs = ProgramRunner(
        resources.backend,
        package,
        resources.gates,
        ticket,
        seed=seed,
        limits=resources.limits,
        wall_s=setup.open_s,
        max_body_bytes=resources.max_body_bytes,
        # Steps are taken by the tool or by programs: by both at once, they would get into each other's way.
        # Blocks of code call the tools of the question that is open.
        max_calls=resources.max_calls if symbols is None or runs_blocks(setup.agent) else 0,
        pool=resources.pool,
    )
    brief = Assignment(package.manifest.name, package.read_instruction(), isinstance(kind, SequentialKind), seed)
    prepared = PreparedRollout(
        setup.agent,
        brief,
        programs,
        resources.client,
        ticket,
        setup.model,
        setup.allowance,
        symbols,
        None if lookups is None else tuple(Tool(one.name, one.description, one.parameters) for one in lookups),
        setup.listener,
        setup.opened,
        setup.before,
        setup.charged,
        None if lookups is None or not isinstance(kind, SequentialKind) else kind.asking(package.task.spec.contract),
        package.manifest.data_kind == "simulated",
    )
    return resources.conversations.run(play(prepared), cancel)
