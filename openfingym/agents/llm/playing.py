"""Playing one rollout with an agent that talks: everything it needs is opened, and closed whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from openfingym.agents.llm.ending import Ended, Ending, EndName
from openfingym.agents.llm.episodes import Player
from openfingym.agents.llm.room import Room
from openfingym.agents.llm.session import OUTAGE_S, Brief, Listener, ModelAgent, Session, over
from openfingym.agents.llm.tools import Toolbox
from openfingym.errors import ModelUnavailableError, RuntimeFailureError, VerifierError
from openfingym.models.messages import Tool
from openfingym.models.meter import Allowance, Meter, Spent
from openfingym.trajectory.record import StepReward, Turn

if TYPE_CHECKING:
    from openfingym.models.model import Model
    from openfingym.verifiers.client import RolloutTicket, VerifierClient
    from openfingym_runtime.job import Outcome

Failure = RuntimeFailureError | VerifierError | ModelUnavailableError
"""What is never the agent's fault."""


@dataclass(frozen=True)
class Setting:
    """One rollout, ready to be played."""

    agent: ModelAgent
    brief: Brief
    room: Room
    client: VerifierClient
    ticket: RolloutTicket
    model: Model | None
    allowance: Allowance
    symbols: tuple[str, ...] | None = None
    """Of a task that is stepped by the agent itself; None where programs do, or there are no steps."""
    listener: Listener | None = None
    """Told what is said, as it is."""


@dataclass(frozen=True)
class Played:
    """What a rollout came to, before its score is known."""

    ending: Ending
    failure: Failure | None
    """Ours; there is no score then."""
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]
    rewards: tuple[StepReward, ...]
    """Of each step that it took itself."""
    spent: Spent
    program: str
    output: bytes
    execution_s: float
    verifier_failures: int
    told: bool
    """Whether it was answered anything that follows from hidden data."""
    outcome: Outcome | None = field(default=None, repr=False)
    """How its one program ended, where it had but one."""
    prompt_sha256: str | None = None


async def play(setting: Setting) -> Played:
    """Let an agent act until it is done, or a limit is reached, or the task is cancelled.

    Returns:
        What it came to; a failure of ours is in it, so that what was said until then is kept.
    """
    room = setting.room
    player = None if setting.symbols is None else Player(setting.client, setting.ticket, setting.symbols)
    tools = Toolbox(room, setting.client, setting.ticket, player)
    session = Session(setting.brief, tools, Meter(setting.allowance), setting.model, listener=setting.listener)
    ending, failure = Ending("finished", "it answered the task"), None
    try:
        async with room:
            ending = await _act(setting, session)
    except (RuntimeFailureError, VerifierError, ModelUnavailableError) as error:
        failure = error
    except asyncio.CancelledError:
        ending = Ending("cancelled", "it was cancelled")
    return Played(
        ending=ending,
        failure=failure,
        turns=tuple(session.turns),
        tools=tools.offered if _offered(session) else (),
        rewards=tuple(player.rewards) if player else (),
        spent=session.meter.spent,
        program=room.program,
        output=bytes(room.log),
        execution_s=room.execution_s,
        verifier_failures=room.verifier_failures,
        told=room.told or (player is not None and player.told),
        outcome=room.outcome,
        prompt_sha256=session.prompt_sha256,
    )


async def _act(setting: Setting, session: Session) -> Ending:
    wall_s = setting.allowance.wall_s
    try:
        async with asyncio.timeout(wall_s) as limit:
            setting.room.our_time = partial(_excused, limit, session.meter)
            await setting.agent.act(session)
    except Ended as ended:
        return ended.ending
    except TimeoutError:
        if not limit.expired():
            raise
        since = session.waiting_since
        waited = 0.0 if since is None else time.monotonic() - since
        if since is not None and (session.meter.spent.turns == 0 or waited > OUTAGE_S):
            raise ModelUnavailableError(f"the endpoint gave no answer in the last {waited:.0f} s of the rollout's time") from None
        how: EndName = "wall"
        return Ending(how, over(how, setting.allowance))
    return Ending("finished", "it answered the task")


@contextlib.contextmanager
def _excused(limit: asyncio.Timeout, meter: Meter) -> Iterator[None]:
    """Let the time stand still: what our machinery takes, which has limits of its own, is not the agent's."""
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


def _offered(session: Session) -> bool:
    """Whether tools were part of the conversation."""
    return session.tools.player is not None or any(turn.tool_calls for turn in session.turns)
