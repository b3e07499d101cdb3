"""Agents that ask a language model, and what an agent of one's own needs.

An agent is something with one method::

    @dataclass(frozen=True)
    class MyAgent:
        takes_steps = True                           # by the tool, where the task is stepped through

        async def act(self, session: Session) -> None:
            session.instruct("You are ...")
            session.present()                        # the task, and the limits
            while not session.tools.complete:
                answer = await session.ask(tools=True)
                if answer.tool_calls:
                    await session.call(answer.tool_calls)
                elif await session.conclude():
                    return

    openfingym.run("treasury-forecast", agent=Agent("my-agent", "model", acts=MyAgent()), model="stand-in/competent")

The loop runs on the host; only programs run in the container, which therefore needs no network for the model. Limits,
retries, records and failures are the session's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from openfingym.agents.llm.answerer import Answerer
from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.cli import Cli
from openfingym.agents.llm.codeblock import CodeBlock
from openfingym.agents.llm.command import Command
from openfingym.agents.llm.ending import ConversationEnding, Ended
from openfingym.agents.llm.oneshot import OneShot
from openfingym.agents.llm.react import React
from openfingym.agents.llm.research import DeepResearch
from openfingym.agents.llm.session import Assignment, Conversation, ModelAgent
from openfingym.agents.llm.settings import Answering

__all__ = [
    "MODEL_AGENTS",
    "Answerer",
    "Answering",
    "Assignment",
    "Cli",
    "CodeBlock",
    "Command",
    "Conversation",
    "ConversationEnding",
    "DeepResearch",
    "Ended",
    "ModelAgent",
    "OneShot",
    "React",
    "Sampling",
]

_AGENTS: dict[str, Callable[[], ModelAgent]] = {
    "oneshot": OneShot,
    "react": React,
    "codeblock": CodeBlock,
    "direct": partial(Answerer, Answering("direct")),
    "zero-shot-cot": partial(Answerer, Answering("zero-shot-cot")),
    "deep-research": DeepResearch,
    "rag": partial(Answerer, Answering("rag")),
}
MODEL_AGENTS: Mapping[str, Callable[[], ModelAgent]] = MappingProxyType(_AGENTS)
"""What makes each built-in agent that asks a model, by the agent's name."""
