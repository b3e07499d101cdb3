"""The prompt and the tools with which an episode begins, found without opening one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, cast

from openfingym.agents.llm.ending import Ended
from openfingym.agents.llm.episodes import Player
from openfingym.agents.llm.launching import with_defaults
from openfingym.agents.llm.session import Assignment, Conversation
from openfingym.agents.llm.tools import Toolbox
from openfingym.kinds import SequentialKind, kind_of
from openfingym.models.messages import Completion, Message, Tool
from openfingym.models.meter import Meter
from openfingym.models.wire import Json, request_message, request_tool

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.machine import Libraries
    from openfingym.models.meter import Allowance
    from openfingym.models.model import CompletionOptions
    from openfingym.packages.package import BuiltPackage


@dataclass(frozen=True)
class TaskBrief:
    """The beginning of a conversation, in the form of OpenAI's chat completions."""

    messages: tuple[Json, ...]
    """The messages before the model's first answer."""
    tools: tuple[Json, ...]
    """The tools that the model is offered; none for an agent that runs code blocks."""


class _FirstRequest:
    """A model that keeps the first request to it, and ends the conversation."""

    name = "nobody"

    def __init__(self) -> None:
        self.messages: Sequence[Message] = ()
        self.tools: Sequence[Tool] = ()

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: Unpack[CompletionOptions]
    ) -> Completion:
        """Keep the request.

        Raises:
            Ended: always.
        """
        self.messages, self.tools = messages, tools
        raise Ended("cancelled", "nobody answers")


def brief_of(
    package: BuiltPackage, agent: Agent, allowance: Allowance | None = None, libraries: Libraries | None = None
) -> TaskBrief:
    """What an agent tells its model about a package before its first answer, by running its loop up to there.

    Args:
        package: the built package of a task or an instance.
        agent: an agent that asks a model.
        allowance: limits on what a rollout may spend, which the agent tells too; None for those of an evaluation.
        libraries: the libraries that programs will be able to import; None where it is not known.
    """
    kind, acts = kind_of(package.task), agent.acts
    assert acts is not None, "the agent asks a model"
    nobody: Any = None
    steps = isinstance(kind, SequentialKind) and acts.takes_steps
    symbols = cast("SequentialKind", kind).symbols(package.task.spec.contract) if steps else ()
    # No tool is called, since the loop ends where it first asks: there need be no verifier and no programs.
    player = Player(nobody, nobody, symbols) if steps else None
    tools = Toolbox(nobody, nobody, nobody, player, windows=package.windows)
    brief = Assignment(
        package.manifest.name,
        package.read_instruction(libraries),
        isinstance(kind, SequentialKind),
        libraries=libraries,
        windows=package.windows,
    )
    first = _FirstRequest()
    session = Conversation(brief, tools, Meter(with_defaults(allowance, package)), first)
    # Without an event loop: nothing is awaited that would wait, so that one send runs the loop to the first request.
    loop = acts.act(session)
    try:
        loop.send(None)
    except Ended:
        pass
    finally:
        loop.close()
    return TaskBrief(tuple(map(request_message, first.messages)), tuple(map(request_tool, first.tools)))
