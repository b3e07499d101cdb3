"""What of an agent ran in isolation is stated as it was: somebody's code on the host is never called isolated."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from openfingym.agents import Agent, resolve
from openfingym.agents.llm import CodeBlock, Command, React
from openfingym.agents.llm.session import Conversation
from openfingym.rollouts.isolation import isolation_of


@dataclass(frozen=True)
class Own:
    """A loop of an installed package."""

    takes_steps = True

    async def act(self, session: Conversation) -> None:
        """Act."""


@dataclass(frozen=True)
class Inheriting(React):
    """A loop that looks like one of ours."""

    isolation = "inside"


PROGRAM = Agent("script", "program", "pass")


@pytest.mark.parametrize("backend", ["docker", "sandbox"])
@pytest.mark.parametrize(
    ("agent", "isolation"),
    [
        (PROGRAM, "inside"),
        (resolve("naive"), "inside"),
        (Agent("react", "model", acts=React()), "programs inside"),
        (Agent("codeblock", "model", acts=CodeBlock()), "programs inside"),
        (resolve("direct"), "programs inside"),
        (Agent("mine", "model", acts=Own()), "outside"),
        (Agent("react", "model", acts=Inheriting()), "outside"),
        (Agent("command", "command", acts=Command(("true",))), "outside"),
        (Agent("command", "command", acts=Command(("true",), inside=True)), "inside"),
    ],
)
def test_of_each_agent(agent: Agent, isolation: str, backend: str) -> None:
    assert isolation_of(agent, backend, model_is_object=False) == isolation
    if agent.kind == "model":
        assert isolation_of(agent, backend, model_is_object=True) == "outside"


@pytest.mark.parametrize("backend", ["inline", "host", "none", "", "something new"])
def test_what_isolates_nothing(backend: str) -> None:
    assert isolation_of(PROGRAM, backend, model_is_object=False) == "outside"
    assert isolation_of(Agent("react", "model", acts=React()), backend, model_is_object=False) == "outside"
