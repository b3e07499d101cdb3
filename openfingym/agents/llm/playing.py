"""Playing one rollout with an agent that asks a model or is a command, from its conversation's start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from openfingym.agents.llm.asking import OUTAGE_S, over
from openfingym.agents.llm.ending import ConversationEnding, Ended, EndName
from openfingym.agents.llm.episodes import Player
from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.agents.llm.questions import QuestionPlayer
from openfingym.agents.llm.session import Assignment, Conversation
from openfingym.agents.llm.setup import ModelSetup
from openfingym.agents.llm.tools import Toolbox
from openfingym.errors import ModelUnavailableError, RuntimeFailureError, VerifierError
from openfingym.models.driven import DrivenModel
from openfingym.models.messages import Tool
from openfingym.models.meter import Meter, Spent
from openfingym.trajectory.record import StepReward, Turn

if TYPE_CHECKING:
    from openfingym.suites.suite import Asking
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym_runtime.job import Outcome

Failure = RuntimeFailureError | VerifierError | ModelUnavailableError
"""Errors that are never the agent's fault."""


@dataclass(frozen=True)
class PreparedRollout:
    """A rollout with everything that playing it needs."""

    setup: ModelSetup
    """The agent with its model and its limits."""
    brief: Assignment
    """The task as it is put to the agent."""
    programs: ProgramRunner
    """Runs the agent's programs; closed when the rollout is over."""
    client: VerifierClient
    ticket: RolloutTicket
    """The rollout's ticket, with its token."""
    symbols: tuple[str, ...] | None = None
    """Symbols of a task that the agent itself steps through; None where programs do, or there are no steps."""
    lookups: tuple[Tool, ...] | None = None
    """Tools of a task that asks questions, which the agent answers one by one; None for any other task."""
    asking: Asking | None = None
    """The suite of a task that asks questions, and the task's options of it; None for any other task."""
    simulated: bool = False
    """Whether the task's world is made up."""


@dataclass(frozen=True)
class PlayedConversation:
    """The outcome of a played rollout, before its score is known."""

    ending: ConversationEnding
    failure: Failure | None
    """A failure of ours, with which there is no score; None where there was none."""
    turns: tuple[Turn, ...]
    """The conversation, as it is recorded."""
    tools: tuple[Tool, ...]
    """Tools that the model was offered; none where they were not part of the conversation."""
    rewards: tuple[StepReward, ...]
    """Reward of each step that the agent took itself."""
    spent: Spent
    program: str
    """Source of the program that ran last; empty where none ran."""
    output: bytes
    """What the agent's programs printed, as far as it is kept."""
    execution_s: float
    """Seconds that the agent's programs ran, without their waiting for the verifier."""
    verifier_failures: int
    """Requests of the agent's programs that our side failed."""
    told: bool
    """Whether the agent was answered anything that follows from hidden data: such a rollout is not played again."""
    verifier_s: float
    """Seconds for which the agent waited for the verifier."""
    outcome: Outcome | None = field(default=None, repr=False)
    """How the agent's program ended, of an agent that runs one program once; None for any other."""
    prompt_sha256: str | None = None
    """Digest of the system message; None without one."""
    rewritten: int | None = None
    """Requests to the model that did not extend the one before and its answer; None where no model was asked."""


async def play(prepared: PreparedRollout) -> PlayedConversation:
    """Let an agent act until it is done, or a limit is reached, or the asyncio task is cancelled.

    Returns:
        What the rollout came to. A failure of ours is in it and not raised, so that what was said until then is kept.
    """
    setup, programs = prepared.setup, prepared.programs
    client, ticket = prepared.client, prepared.ticket
    questions = (
        None
        if prepared.lookups is None
        else QuestionPlayer(client, ticket, prepared.lookups, prepared.asking, simulated=prepared.simulated)
    )
    player = None if prepared.symbols is None or questions else Player(client, ticket, prepared.symbols)
    tools = Toolbox(programs, client, ticket, player, questions, prepared.brief.windows)
    stepped = questions or player
    meter = Meter(setup.allowance, before=setup.before, charged=setup.charged)
    session = Conversation(prepared.brief, tools, meter, setup.model, listener=setup.listener)
    if setup.opened is not None:
        setup.opened(session)
    ending, failure = ConversationEnding("finished", "it answered the task"), None
    try:
        async with programs:
            ending = await _act(prepared, session)
    except (RuntimeFailureError, VerifierError, ModelUnavailableError) as error:
        failure = error
    except asyncio.CancelledError:
        # Caught on purpose: whoever cancelled waits for the record of what was said and spent.
        ending = ConversationEnding("cancelled", "it was cancelled")
    return PlayedConversation(
        ending=ending,
        failure=failure,
        turns=tuple(session.turns),
        tools=_offered(session),
        rewards=tuple(stepped.rewards) if stepped else (),
        spent=session.meter.spent,
        program=programs.program,
        output=bytes(programs.log),
        execution_s=max(0.0, programs.execution_s - programs.waited_s),
        verifier_failures=programs.verifier_failures,
        verifier_s=programs.waited_s + (stepped.waiting.elapsed_s if stepped else 0.0),
        told=programs.told or (stepped is not None and stepped.told),
        outcome=programs.outcome,
        prompt_sha256=session.prompt_sha256,
        rewritten=session.asker.rewritten,
    )


async def _act(prepared: PreparedRollout, session: Conversation) -> ConversationEnding:
    """Let the agent act within the rollout's time.

    Raises:
        ModelUnavailableError: the time ran out while an endpoint was away.
    """
    setup = prepared.setup
    wall_s = setup.allowance.wall_s
    try:
        # Time that a process before this one spent counts too, or a rollout that is resumed would have its time twice.
        left = None if wall_s is None else max(0.0, wall_s - (setup.before.wall_s if setup.before else 0.0))
        async with asyncio.timeout(left) as limit:
            prepared.programs.our_time = partial(_excused, limit, session.meter)
            await setup.agent.act(session)
    except Ended as ended:
        return ended.ending
    except TimeoutError:
        # A timeout of something else inside, not of the rollout's time.
        if not limit.expired():
            raise
        waited_s, driven = session.asker.waited_s, isinstance(setup.model, DrivenModel)
        # Time that ran out while an endpoint was away is not the agent's, but time that a model thinks is. An endpoint
        # that never answered, or that was waited for for long, is taken to be away; of a model that is driven from
        # outside, it was always the trainer that was waited for.
        if waited_s is not None and (driven or session.meter.spent.turns == 0 or waited_s > OUTAGE_S):
            who = f"whoever answers for model {setup.model.name!r}" if driven and setup.model else "the endpoint"
            raise ModelUnavailableError(
                f"{who} gave no answer in the last {waited_s:.0f} s of the rollout's time"
            ) from None
        how: EndName = "wall"
        return ConversationEnding(how, over(how, setup.allowance))
    return ConversationEnding("finished", "it answered the task")


@contextlib.contextmanager
def _excused(limit: asyncio.Timeout, meter: Meter) -> Iterator[None]:
    """Stop the rollout's clock during the block: time that our machinery takes is not the agent's."""
    end = limit.when()
    # No limit, or one that is stopped by a block around this one; what has expired cannot be put off.
    if end is None or limit.expired():
        yield
        return
    started = time.monotonic()
    limit.reschedule(None)
    try:
        yield
    finally:
        took = time.monotonic() - started
        # Both clocks: the meter's says what is left, asyncio's ends the rollout.
        meter.excuse(took)
        limit.reschedule(end + took)


def _offered(session: Conversation) -> tuple[Tool, ...]:
    """The tools that were part of the conversation."""
    if session.offered_inside is not None:
        return session.offered_inside
    called = any(turn.tool_calls for turn in session.turns)
    tools = session.tools
    return tools.offered if tools.player is not None or tools.questions is not None or called else ()
