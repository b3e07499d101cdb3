"""The harness for verifiers: built-in agents as they are, whose model is the interception endpoint of verifiers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import verifiers.v1 as vf

from openfingym.errors import OpenFinGymError
from openfingym.models import Completion, Message, ModelSpec, Stopped, Tool, on_loop
from openfingym.training import reward_of
from openfingym_v1.taskset import EpisodeData

if TYPE_CHECKING:
    from openfingym.models import ChatModel, CompletionOptions
    from openfingym.training import AgentPlay, Desk, Played

PATIENCE_S = 60.0
"""Seconds for which the endpoint is asked again where it fails."""
CUT_S = 20.0
"""Seconds that a rollout which was cut off is given to be scored."""


class EpisodeHarnessConfig(vf.HarnessConfig):
    """The configuration of the harness, which adds nothing: how episodes are played is stated with the task set."""


class _InterceptedModel:
    """The interception endpoint, which may refuse a turn because verifiers has ended the rollout."""

    def __init__(self, model: ChatModel, trace: vf.Trace) -> None:
        self.name = model.name
        self._model, self._trace = model, trace

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **options: Unpack[CompletionOptions]
    ) -> Completion:
        """Ask the endpoint.

        Raises:
            Stopped: a limit or a condition of verifiers was reached, and the rollout is to end with what it has.
            ModelUnavailableError: the endpoint failed.
        """
        try:
            return await self._model.complete(messages, tools=tools, **options)
        except OpenFinGymError:
            # An endpoint that refuses because the rollout is over looks like one that fails.
            if self._trace.stop_condition is not None:
                raise Stopped(f"verifiers ended the rollout: {self._trace.stop_condition}") from None
            raise


class EpisodeHarness(vf.Harness[EpisodeHarnessConfig]):
    """Plays tasks of the task set ``openfingym-v1``, and no others.

    The agent's programs run in a sandbox of OpenFinGym's, whatever the runtime of verifiers is, which is not used.
    """

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,  # noqa: ARG002  # as verifiers calls it
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],  # noqa: ARG002
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Play one rollout from start to end, and note its reward in the trace's state.

        Args:
            ctx: the context of the model, of which its name is used.
            trace: the trace of the rollout, whose state has the desk and gets the reward.
            runtime: the runtime of verifiers, which is not used.
            endpoint: base URL of the interception endpoint.
            secret: key of the interception endpoint.
            mcp_urls: URLs of MCP servers, which are not used.
            data: the episode to play.

        Raises:
            HarnessError, SandboxError: a failure that is not the agent's; the trace then has no reward.
        """
        desk = getattr(trace.state, "desk", None)
        if not isinstance(data, EpisodeData) or desk is None:
            raise vf.HarnessError("harness openfingym-v1 plays tasks of the task set openfingym-v1, and no others")
        if data.system_prompt is not None:
            raise vf.HarnessError("the agents of OpenFinGym have prompts of their own; leave system_prompt out")
        spec = ModelSpec(ctx.model, base_url=endpoint, api_key=secret)
        try:
            async with spec.open(patience_s=PATIENCE_S) as model:
                played = await _played(desk, data, _InterceptedModel(model, trace), trace)
        except OpenFinGymError as error:
            trace.state.failure = str(error)
            raise vf.HarnessError(str(error)) from error
        if played.reward is None:
            sandbox = played.result is not None and played.result.boundary == "sandbox"
            raise (vf.SandboxError if sandbox else vf.HarnessError)(played.failure or "there is no result")
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


async def _played(desk: Desk, data: EpisodeData, model: _InterceptedModel, trace: vf.Trace) -> Played:
    """Have the agent play; where verifiers' time is over, what was accepted by then is scored first."""
    # The model's connections belong to verifiers' loop, and the rollout runs in a thread with a loop of its own.
    own_loop: Any = on_loop(model, asyncio.get_running_loop())
    # Set before each wait, since verifiers may end the rollout in any of them without another word.
    trace.state.failure = "it was ended before it had a place; see places"
    play = await desk.begin_play(data.task, data.index, own_loop)
    trace.state.failure = "it was ended before it was scored"
    try:
        played = await play.played()
    except asyncio.CancelledError:
        await _cut(play, trace, desk)
        raise
    _note(trace, played)
    return played


async def _cut(play: AgentPlay, trace: vf.Trace, desk: Desk) -> None:
    """End a rollout for which verifiers' time is over; that is a limit of the agent's, and so no failure of ours."""
    play.cut("its time was over")
    try:
        played = await asyncio.wait_for(play.played(), CUT_S)
    except (TimeoutError, OpenFinGymError):
        return
    _note(trace, played)
    if played.reward is None and played.result is not None:
        trace.state.reward = reward_of(desk.reward, played.result, played.executed)


def _note(trace: vf.Trace, played: Played) -> None:
    """Note what came of the rollout in the trace's state, where the task finds it."""
    trace.state.reward, trace.state.failure = played.reward, played.failure
    if (result := played.result) is not None:
        totals = {"relative_total": result.relative_total, "total": result.total}
        # Metrics of verifiers are finite numbers.
        trace.state.result = {
            **{name: value for name, value in totals.items() if value is not None and math.isfinite(value)},
            "scored": float(result.state == "scored"),
            "turns": float(result.turns),
            "submissions_accepted": float(result.submissions_accepted),
        }
