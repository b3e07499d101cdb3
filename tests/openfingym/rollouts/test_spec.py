"""Identities: what makes two rollouts the same, and what does not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.agents import Agent
from openfingym.agents.llm import Conversation, ModelAgent, OneShot, React
from openfingym.errors import UsageError
from openfingym.models.meter import Allowance
from openfingym.rollouts import RolloutSpec
from tests.openfingym.rollouts.driving import AGENT, spec

OTHERS = [
    {"task": "other-task"},
    {"task_digest": "e" * 64},
    {"agent": replace(AGENT, name="other")},
    {"agent": replace(AGENT, program="print('bye')")},
    {"model": "stand-in/competent"},
    {"allowance": Allowance(turns=3)},
    {"seed": 1},
    {"attempt": 1},
]


@pytest.mark.parametrize("changes", OTHERS, ids=lambda changes: next(iter(changes)))
def test_every_input_changes_the_identity_and_the_folder(changes: dict[str, object]) -> None:
    assert spec(**changes).identity != spec().identity
    assert spec(**changes).folder != spec().folder


def test_the_identity_is_the_same_in_another_process_and_wherever_the_program_may_run() -> None:
    code = (
        "from openfingym.agents import Agent; from openfingym.rollouts import RolloutSpec\n"
        "print(RolloutSpec('some-task', 'd' * 64, Agent('test', 'program', \"print('hello')\", trusted=True)).identity)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == spec().identity


@given(model=st.text(min_size=1), name=st.text(min_size=1))
def test_a_folder_is_one_plain_name_below_the_tasks(model: str, name: str) -> None:
    one = RolloutSpec("some-task", "d" * 64, Agent(name, "program"), model)
    task, _, folder = one.folder.partition("/")
    assert task == "some-task"
    assert folder.endswith(one.identity[:16])
    assert "/" not in folder
    assert not folder.startswith(".")
    assert folder.isascii()
    assert len(folder) < 200


@dataclass(frozen=True)
class Loop:
    """A loop of a user's own."""

    prompt: str = "think"

    async def act(self, session: Conversation) -> None:
        session.instruct(self.prompt)


@dataclass(frozen=True)
class OtherLoop:
    """A loop of a user's own."""

    prompt: str = "think"

    async def act(self, session: Conversation) -> None:
        session.instruct(self.prompt + " twice")


class Opaque:
    """Nobody can tell one from another."""

    async def act(self, session: Conversation) -> None:
        session.present()


def talker(acts: ModelAgent) -> RolloutSpec:
    return spec(agent=Agent("talker", "model", acts=acts), model="stand-in/competent")


def test_prompts_and_loops_are_part_of_an_identity() -> None:
    different = [OneShot(), OneShot(system="be brief"), React(), Loop(), Loop("think hard"), OtherLoop()]
    assert len({talker(acts).identity for acts in different}) == len(different)
    assert talker(OneShot()).identity == talker(OneShot()).identity
    assert talker(Loop()).identity == talker(Loop()).identity


def test_a_loop_that_cannot_be_told_from_another_is_refused() -> None:
    with pytest.raises(UsageError, match="Opaque must be a dataclass"):
        _ = talker(Opaque()).identity
