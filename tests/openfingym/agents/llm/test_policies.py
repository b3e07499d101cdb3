"""Every agent with every stand-in, on a forecast, a fraud and a trading task: verified scores and clear ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from openfingym.agents import resolve
from openfingym.rollouts.launcher import Launcher
from tests.sweeps import sweep

from .conftest import Left, Play, player

AGENTS = ("oneshot", "react", "codeblock")
KINDS = ("forecast", "fraud", "trading")


def consistent(left: Left, agent: str) -> None:
    """What must hold of every rollout with a model, however it ended."""
    result, record = left.result, left.record
    answers = [turn for turn in record.messages if turn.role == "assistant"]
    assert result.turns == len(answers) >= 1
    assert result.prompt_tokens == sum(turn.generation.usage.prompt for turn in answers if turn.generation)
    assert result.completion_tokens == record.usage.completion
    assert (result.cost_usd, result.agent, record.agent) == (0.0, agent, agent)
    assert result.model == record.model is not None
    assert (record.score.state, record.score.total, record.score.reason) == (result.state, result.total, result.reason)
    assert (record.failure == "none") == (result.boundary is None) == (result.state == "scored")
    assert record.messages[0].role == "system"
    assert result.log_head
    for turn in record.messages:
        assert all(call.result is not None for call in turn.tool_calls if turn is not record.messages[-1])


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_competent_one_gets_a_score(agent: str, kind: str, play: Play) -> None:
    left = play(agent, "competent", kind)
    consistent(left, agent)
    assert left.result.state == "scored"
    assert left.result.relative_total is not None
    assert left.result.relative_total < (1.5 if kind == "trading" else 1.0)
    assert left.result.ended_by == ("exit" if agent == "oneshot" else "finished")
    if kind == "trading":
        assert left.result.submissions_accepted == 5, "every episode is played"
        assert len(left.record.rewards) == (1000 if agent == "react" else 0)
    else:
        assert "interface" in (left.folder / "program.py").read_text(encoding="utf-8")


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", sweep(KINDS, 3))
@pytest.mark.parametrize("agent", AGENTS)
def test_the_careless_one_learns_where_it_may(agent: str, kind: str, play: Play) -> None:
    left = play(agent, "careless", kind)
    consistent(left, agent)
    if agent == "oneshot":
        # A first episode that was begun counts, as of any program that fails in it.
        assert (left.result.state, left.result.boundary) == (
            ("scored", None) if kind == "trading" else ("rejected", "agent")
        )
    else:
        assert left.result.state == "scored"
        refused = any(call.failed for turn in left.record.messages for call in turn.tool_calls)
        assert refused or "SubmissionRefused" in left.told


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_broken_one_ends_for_its_answers(agent: str, kind: str, play: Play) -> None:
    left = play(agent, "broken", kind)
    consistent(left, agent)
    assert (left.result.state, left.result.boundary) == (
        "rejected",
        "model" if left.result.ended_by == "refused" else "protocol",
    )
    assert left.result.total is None
    assert left.result.turns <= 3


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_hostile_one_gets_nothing(agent: str, kind: str, play: Play) -> None:
    left = play(agent, "hostile", kind)
    consistent(left, agent)
    printed = left.told + (left.folder / "output.log").read_text(encoding="utf-8")
    assert "LEAK" not in printed
    assert "refused" in printed, "the attack did not even begin"
    # Of a walk, three times practice as well as what counts.
    assert left.result.submissions_accepted <= left.result.budget + 3 * (kind == "forecast")
    if left.result.relative_total is not None:
        assert left.result.relative_total > 0.99
    if kind == "trading":
        assert left.result.state == "rejected", "it played nothing"


@pytest.mark.docker
@pytest.mark.parametrize("name", ["python", "python3"])
def test_python_has_both_its_names_in_containers(name: str, contained: Launcher, tmp_path: Path) -> None:
    program = "import interface, numpy\nfor one in interface.iter_test(): one.predict(numpy.zeros(one.shape))\n"
    (tmp_path / "main.py").write_text(program)
    left = player(contained, tmp_path / "runs")(resolve("command", command=[name, "main.py"], files=tmp_path))
    assert left.result.state == "scored", left.result.reason


@pytest.mark.docker
@pytest.mark.parametrize("agent", AGENTS)
def test_in_containers(agent: str, contained: Launcher, tmp_path: Path) -> None:
    play = player(contained, tmp_path)
    for policy, kind, state in (
        ("competent", "forecast", "scored"),
        ("competent", "trading", "scored"),
        ("broken", "forecast", "rejected"),
    ):
        left = play(agent, policy, kind)
        consistent(left, agent)
        assert (left.result.state, left.result.backend) == (state, "docker")
