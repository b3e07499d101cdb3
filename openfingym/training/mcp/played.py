"""The rollout that a client plays: its instruction, its tools, and its verified result."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    from openfingym.results import RolloutResult
    from openfingym.training import Desk, Episode

FINISH = "finish"
"""Name of the tool that ends the rollout."""
PATIENCE_S = 12 * 3600.0
"""Seconds that a client may think, or wait for its user, between two calls."""
ENDING = (
    "You play this through the tools of this server; its files are in a sandbox, and yours are not in it. When your "
    "answer is submitted and you are content, call `finish`, which tells the verified score; nothing can be done after "
    "it."
)
FINISH_TOOL = {
    "name": FINISH,
    "title": "Finish and get the verified score",
    "description": "End the rollout. The last answer that was accepted by then is scored, and its score is told.",
    "inputSchema": {"type": "object", "properties": {}},
}


@dataclass(frozen=True)
class PlayTerms:
    """What is to be played, and how."""

    task: str
    """Name or folder of the task."""
    split: Literal["test", "train", "validation"] = "test"
    index: int = 0
    """Number of the instance; 0 for the task as it is."""
    seed: int = 0
    """Seed that programs are given."""
    backend: str = "auto"
    """How programs are isolated: ``auto``, ``docker``, ``sandbox`` or ``inline``."""
    verifier: str | None = None
    """Address of a running verifier; None for ``$OPENFINGYM_VERIFIER``, or else one that is started here."""
    out: Path | None = None
    """Folder below which the rollout is kept; None to keep nothing."""
    places: int = 1
    """Most rollouts that are open at once in this process."""


class PlayedRollout:
    """One rollout, opened when it is first needed and finished once.

    Attributes:
        terms: what is played.
        result: the verified result; None before the end, and where there is none for a reason of ours.
        failure: why there is no result; None where there is one.
    """

    def __init__(self, terms: PlayTerms, client: str = "client") -> None:
        """Open nothing yet.

        Args:
            terms: the task and the instance that are played, and how.
            client: name that the player gives itself; it is recorded as the agent.
        """
        self.terms = terms
        # A name of anybody's, made into one that an agent may have.
        self._agent = "mcp-" + (re.sub(r"[^a-z0-9]+", "-", client.lower()).strip("-")[:40] or "client")
        self._desk: Desk | None = None
        self._opening: asyncio.Task[Episode] | None = None
        self._finishing: asyncio.Task[str] | None = None
        self._turn = asyncio.Lock()
        """Held while a call is made: a client may send several at once, and an episode takes them one by one."""
        self._running: asyncio.Task[str] | None = None
        """The call that was made last."""
        self.result: RolloutResult | None = None
        self.failure: str | None = None

    async def episode(self) -> Episode:
        """The rollout, which is begun if it is not yet.

        Raises:
            OpenFinGymError: the task cannot be played like this.
        """
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._opened())
        # Several requests may wait for it, and one that is cancelled must not cancel it for the others.
        return await asyncio.shield(self._opening)

    async def instruction(self) -> str:
        """The text of all messages that an agent is told at the beginning, and how a client plays."""
        episode = await self.episode()
        texts = [str(message.get("content") or "") for message in episode.messages]
        if not texts:
            return f"There is nothing to play, for a reason of ours: {episode.failure or 'no reason is known'}."
        return "\n\n".join([*texts, ENDING])

    async def tools(self) -> list[dict[str, Any]]:
        """The tools, in MCP's form."""
        episode = await self.episode()
        tools = []
        for tool in episode.tools:
            function: Mapping[str, Any] = tool["function"]
            schema = {"type": "object", **function["parameters"]}
            tools.append({"name": function["name"], "description": function["description"], "inputSchema": schema})
        return [*tools, FINISH_TOOL]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; what goes wrong is told as its result.

        Args:
            name: name of the tool.
            arguments: arguments of the call, by name.

        Returns:
            The result of ``tools/call``, in MCP's form.
        """
        if name == FINISH:
            text = await self.finish()
            more = {} if self.result is None else {"structuredContent": summary(self.result)}
            return {"content": [_text(text)], "isError": self.result is None, **more}
        episode = await self.episode()
        async with self._turn:
            if self._finishing is not None or is_over(episode):
                text = f"The rollout is over; nothing more can be done in it. {await self.finish()}"
                return {"content": [_text(text)], "isError": True}
            self._running = asyncio.ensure_future(episode.call(name, arguments))
            text = await asyncio.shield(self._running)  # a request that is cancelled leaves its program running
            failed = _failed(episode)
        if not episode.over:
            return {"content": [_text(text)], "isError": failed}
        # The call has ended the rollout, as at a limit: nothing is left to do but to tell the score.
        return {"content": [_text(text), _text(await self.finish())], "isError": failed or self.failure is not None}

    async def finish(self) -> str:
        """End the rollout, and tell its result in words; doing it twice does no harm."""
        if self._finishing is None:
            self._finishing = asyncio.ensure_future(self._finished())
        return await asyncio.shield(self._finishing)

    async def leave(self) -> str | None:
        """End the rollout wherever it is, as its client has gone, and tell its result; None where none was begun."""
        if self._opening is None:
            return None
        # A program that still runs is not waited for; what was submitted is scored in any case.
        if self._running is not None and not self._running.done():
            (await self.episode()).cut("its client left")
        try:
            return await self.finish()
        finally:
            if self._desk is not None:
                await asyncio.to_thread(self._desk.close)

    async def _opened(self) -> Episode:
        from openfingym.agents import resolve
        from openfingym.training import Desk

        terms = self.terms
        agent = replace(resolve("react"), name=self._agent)
        self._desk = Desk(
            (terms.task,),
            split=terms.split,
            places=terms.places,
            agent=agent,
            backend=terms.backend,
            verifier=terms.verifier,
            patience_s=PATIENCE_S,
            out=terms.out,
        )
        return await self._desk.open(terms.task, terms.index, seed=terms.seed)

    async def _finished(self) -> str:
        try:
            episode = await self.episode()
            self.result = await episode.finish()
            self.failure = episode.failure
        except OpenFinGymError as error:
            self.failure = str(error)
        if self.result is None or self.failure is not None:
            self.result = None
            return f"There is no score, for a reason of ours: {self.failure}"
        return told_of(self.result)


def is_over(episode: Episode) -> bool:
    """Whether nothing more can be done in an episode."""
    # A function, since a type checker takes a property that was false for one that stays so.
    return episode.over


def _failed(episode: Episode) -> bool:
    """Whether the latest call of an episode was refused, or what it ran failed, as its record has it."""
    latest = next((turn for turn in reversed(episode.transcript) if turn.tool_calls), None)
    return latest is None or any(call.failed for call in latest.tool_calls)


def told_of(result: RolloutResult) -> str:
    """A verified result in words, for the client to read."""
    kept = f" Kept in {result.path}." if result.path is not None else ""
    if result.state == "scored":
        ends = result.relative_interval
        interval = f" (95 % interval {ends[0]:.4g} to {ends[1]:.4g})" if ends else ""
        figures = "; ".join(f"{name} {value:.6g}" for name, value in result.metrics.items())
        relative = "-" if result.relative_total is None else f"{result.relative_total:.6g}"
        return (
            f"Scored by the verifier: relative total {relative}{interval}, where 1 is the baseline "
            f"({result.baseline}) and lower is better; {figures}.{kept}"
        )
    if result.state == "rejected":
        return f"Rejected: {result.reason}.{kept}"
    return f"The rollout is {result.state}: {result.reason}.{kept}"


def summary(result: RolloutResult) -> dict[str, Any]:
    """A verified result as JSON, for programs."""
    return {
        "rollout_id": result.rollout_id,
        "task": result.task,
        "split": result.split,
        "instance": result.instance,
        "state": result.state,
        "reason": result.reason,
        "total": result.total,
        "relative_total": result.relative_total,
        "metrics": dict(result.metrics),
        "path": None if result.path is None else str(result.path),
    }


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
