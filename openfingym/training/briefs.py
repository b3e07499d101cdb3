"""What an agent is told before it says anything: the prompt and the tools of an episode, without opening one."""

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
    from openfingym.models.meter import Allowance
    from openfingym.models.model import CompletionOptions
    from openfingym.packages.package import BuiltPackage


@dataclass(frozen=True)
class TaskBrief:
    """The beginning of a conversation, in the form of OpenAI's chat completions."""

    messages: tuple[Json, ...]
    tools: tuple[Json, ...]


class _Listener:
    """A model that notes what it is asked, and ends the conversation."""

    name = "nobody"

    def __init__(self) -> None:
        self.messages: Sequence[Message] = ()
        self.tools: Sequence[Tool] = ()

    async def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: Unpack[CompletionOptions]
    ) -> Completion:
        """Note it."""
        self.messages, self.tools = messages, tools
        raise Ended("cancelled", "nobody answers")


def brief_of(package: BuiltPackage, agent: Agent, allowance: Allowance | None = None) -> TaskBrief:
    """What an agent tells its model about a package before its first answer, by running its loop up to there."""
    kind, acts = kind_of(package.task), agent.acts
    assert acts is not None, "the agent asks a model"
    nobody: Any = None
    steps = isinstance(kind, SequentialKind) and acts.takes_steps
    symbols = cast("SequentialKind", kind).symbols(package.task.spec.contract) if steps else ()
    # Nothing is called: the loop ends where it first asks.
    tools = Toolbox(nobody, nobody, nobody, Player(nobody, nobody, symbols) if steps else None)
    brief = Assignment(package.manifest.name, package.read_instruction(), isinstance(kind, SequentialKind))
    asked = _Listener()
    session = Conversation(brief, tools, Meter(with_defaults(allowance, package)), asked)
    loop = acts.act(session)
    try:
        loop.send(None)
    except Ended:
        pass
    finally:
        loop.close()
    return TaskBrief(tuple(map(request_message, asked.messages)), tuple(map(request_tool, asked.tools)))
