"""Preparing one rollout of an agent that asks a model or is a command: its limits, its model, what it may call."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.agents.llm.playing import PlayedConversation, PreparedRollout, play
from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.agents.llm.session import Assignment, ModelAgent
from openfingym.agents.llm.settings import Answering
from openfingym.agents.llm.setup import ModelSetup
from openfingym.agents.llm.usefulness import USELESS_IN_A_ROW
from openfingym.kinds import SequentialKind, kind_of
from openfingym.models.driven import DrivenModel
from openfingym.models.given import CheckedModel, require_language_model
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance
from openfingym.models.model import LanguageModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec

if TYPE_CHECKING:
    from openfingym.agents.llm.conversation_runner import ConversationRunner
    from openfingym.agents.llm.resources import RolloutResources
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate.gate import GateKeeper
    from openfingym_runtime.job import Backend

TURNS = 40
"""Answers that a model may give where the user states no limit."""
WALL_S = 3600.0
"""Least time of a rollout where the user states no limit, in seconds."""
TURNS_A_STEP = 1.25
"""Answers beyond :data:`TURNS` for each private step of a sequential task: one to act, and a quarter as many again."""
WALL_A_STEP_S = 30.0
"""Seconds beyond :data:`WALL_S` for each private step of a sequential task."""


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

    Args:
        conversations: runs the agent's conversations, and opens the model on its event loop.
        package: the built package of the task, from which limits follow that are not stated.
        agent: the agent that asks the model.
        model: the specification of a model, or a model as an object, which its owner closes; None for a command.
        allowance: limits on what the agent may spend; what is not stated follows from the task.
        prices: the table by which the model's costs are counted; None for the table of the library.

    Raises:
        UsageError: there is no key or no price for the model, the extra ``llm`` is missing, or the object is no model.
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
        # A driven model checks each answer when it is given, so that whoever gives it sees the error.
        checked = model if isinstance(model, DrivenModel) else CheckedModel(model)
        yield ModelSetup(agent, None, checked, allowed, prices)


def open_pool(conversations: ConversationRunner, backend: Backend, gates: GateKeeper, size: int) -> WorkspacePool:
    """A pool of ``size`` started workspaces, which is closed with ``conversations``."""
    from openfingym.workspace import WorkspacePool

    return conversations.enter(lambda: WorkspacePool(backend, gates, size=size))


def with_defaults(given: Allowance | None, package: BuiltPackage) -> Allowance:
    """An allowance in which turns and time are limited: what is not stated follows from the task."""
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
    """Whether an agent answers questions by blocks of code."""
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

    Args:
        resources: the parts of the launcher with which the agent acts.
        package: the built package of the task.
        setup: the agent with its model and its limits.
        ticket: the rollout's ticket, with its token.
        seed: seed of the rollout, which its programs and its model are given.
        cancel: ends the rollout where it is set.

    Raises:
        UsageError: the agent cannot be run as it was asked for.
    """
    assert resources.backend is not None, "only the oracle has none"
    kind, contract = kind_of(package.task), package.task.spec.contract
    steps_itself = isinstance(kind, SequentialKind) and setup.agent.takes_steps
    symbols = kind.symbols(contract) if isinstance(kind, SequentialKind) and steps_itself else None
    lookups = kind.lookups(contract) if isinstance(kind, SequentialKind) and steps_itself else None
    programs = ProgramRunner(
        resources.backend,
        package,
        resources.gates(),
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
    libraries = resources.backend.libraries()
    instruction = package.read_instruction(libraries)
    brief = Assignment(
        package.manifest.name, instruction, isinstance(kind, SequentialKind), seed, libraries, package.windows
    )
    prepared = PreparedRollout(
        setup,
        brief,
        programs,
        resources.client,
        ticket,
        symbols,
        None if lookups is None else tuple(Tool(tool.name, tool.description, tool.parameters) for tool in lookups),
        None if lookups is None or not isinstance(kind, SequentialKind) else kind.asking(contract),
        package.manifest.data_kind == "simulated",
    )
    return resources.conversations().run(play(prepared), cancel)
