"""Playing one rollout with an agent that talks: everything it needs is opened, and closed whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from openfingym.agents.llm.asking import over
from openfingym.agents.llm.ending import ConversationEnding, Ended, EndName
from openfingym.agents.llm.episodes import Player
from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.agents.llm.questions import QuestionPlayer
from openfingym.agents.llm.session import OUTAGE_S, Assignment, Conversation, Listener, ModelAgent
from openfingym.agents.llm.tools import Toolbox
from openfingym.errors import ModelUnavailableError, RuntimeFailureError, VerifierError
from openfingym.models.driven import DrivenModel
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance, Meter, Spent
from openfingym.trajectory.record import StepReward, Turn

if TYPE_CHECKING:
    from openfingym.models.model import LanguageModel
    from openfingym.suites.suite import Asking
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym_runtime.job import Outcome

Failure = RuntimeFailureError | VerifierError | ModelUnavailableError
"""What is never the agent's fault."""


@dataclass(frozen=True)
class PreparedRollout:
    """A rollout with everything that playing it needs."""

    agent: ModelAgent
    brief: Assignment
    programs: ProgramRunner
    client: VerifierClient
    ticket: RolloutTicket
    model: LanguageModel | None
    allowance: Allowance
    symbols: tuple[str, ...] | None = None
    """Symbols of a task that the agent itself steps through; None where programs do, or there are no steps."""
    lookups: tuple[Tool, ...] | None = None
    """Tools of a task that asks questions, which the agent answers one by one; None for any other."""
    listener: Listener | None = None
    """Told what is said, as it is."""
    opened: Callable[[Conversation], None] | None = None
    """Told the conversation, before the agent begins it."""
    before: Spent | None = None
    """What was spent on it before, by a process that died."""
    charged: Callable[[Spent], None] | None = None
    """Told what is spent, after each completion."""
    asking: Asking | None = None
    """Who asks, of a task that asks questions."""
    simulated: bool = False
    """Whether the task's world is made up."""


@dataclass(frozen=True)
class PlayedConversation:
    """The outcome of a played rollout, before its score is known."""

    ending: ConversationEnding
    failure: Failure | None
    """Ours; there is no score then."""
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]
    rewards: tuple[StepReward, ...]
    """Reward of each step that the agent took itself."""
    spent: Spent
    program: str
    output: bytes
    execution_s: float
    """Seconds that its programs ran, without waiting for the verifier."""
    verifier_failures: int
    told: bool
    """Whether it was answered anything that follows from hidden data."""
    verifier_s: float
    """Seconds for which it waited for the verifier."""
    outcome: Outcome | None = field(default=None, repr=False)
    """How its one program ended, where it had but one."""
    prompt_sha256: str | None = None
    rewritten: int | None = None
    """Requests to its model that did not extend the one before and its answer; None where no model was asked."""


async def play(prepared: PreparedRollout) -> PlayedConversation:
    """Let an agent act until it is done, or a limit is reached, or the task is cancelled.

    Returns:
        What it came to; a failure of ours is in it, so that what was said until then is kept.
    """
    programs = prepared.programs
    client, ticket = prepared.client, prepared.ticket
    asked = (
        None
        if prepared.lookups is None
        else QuestionPlayer(client, ticket, prepared.lookups, prepared.asking, simulated=prepared.simulated)
    )
    player = None if prepared.symbols is None or asked else Player(client, ticket, prepared.symbols)
    tools = Toolbox(programs, client, ticket, player, asked)
    stepped = asked or player
    meter = Meter(prepared.allowance, before=prepared.before, charged=prepared.charged)
    session = Conversation(prepared.brief, tools, meter, prepared.model, listener=prepared.listener)
    if prepared.opened is not None:
        prepared.opened(session)
    ending, failure = ConversationEnding("finished", "it answered the task"), None
    try:
        async with programs:
            ending = await _act(prepared, session)
    except (RuntimeFailureError, VerifierError, ModelUnavailableError) as error:
        failure = error
    except asyncio.CancelledError:
        ending = ConversationEnding("cancelled", "it was cancelled")
    return PlayedConversation(
        ending=ending,
        failure=failure,
        turns=tuple(session.turns),
        tools=tools.offered if _offered(session) else (),
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
    wall_s = prepared.allowance.wall_s
    try:
        left = None if wall_s is None else max(0.0, wall_s - (prepared.before.wall_s if prepared.before else 0.0))
        async with asyncio.timeout(left) as limit:
            prepared.programs.our_time = partial(_excused, limit, session.meter)
            await prepared.agent.act(session)
    except Ended as ended:
        return ended.ending
    except TimeoutError:
        # A timeout of something else inside, not of the rollout's time.
        if not limit.expired():
            raise
        since, driven = session.asker.waiting_since, isinstance(prepared.model, DrivenModel)
        waited = 0.0 if since is None else time.monotonic() - since
        # Time that ran out while an endpoint was away is not the agent's; a model that merely thinks is. Of one that is
        # driven from outside, it is its trainer that was waited for.
        if since is not None and (driven or session.meter.spent.turns == 0 or waited > OUTAGE_S):
            who = f"whoever answers for model {prepared.model.name!r}" if driven and prepared.model else "the endpoint"
            raise ModelUnavailableError(
                f"{who} gave no answer in the last {waited:.0f} s of the rollout's time"
            ) from None
        how: EndName = "wall"
        return ConversationEnding(how, over(how, prepared.allowance))
    return ConversationEnding("finished", "it answered the task")


@contextlib.contextmanager
def _excused(limit: asyncio.Timeout, meter: Meter) -> Iterator[None]:
    """Stop the rollout's clock during the block: time that our machinery takes is not the agent's."""
    end = limit.when()
    if end is None or limit.expired():
        yield
        return
    started = time.monotonic()
    limit.reschedule(None)
    try:
        yield
    finally:
        took = time.monotonic() - started
        meter.excuse(took)
        limit.reschedule(end + took)


def _offered(session: Conversation) -> bool:
    """Whether tools were part of the conversation."""
    return (
        session.tools.player is not None
        or session.tools.questions is not None
        or any(turn.tool_calls for turn in session.turns)
    )
