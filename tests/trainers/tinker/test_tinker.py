"""The environment of examples/training/tinker_env.py, rolled out by the cookbook with a scripted policy."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ..byte_tokens import END, PAD, START, byte_tokenizer
from ..conftest import example, required
from ..same_episode import CALLS, DONE, FAILURE, INDEX, PROGRAM, TASK, TEXTS, check, desk, ours_failing

rollouts = required("tinker_cookbook.rl.rollouts")
strategies = required("tinker_cookbook.rl.rollout_strategy")
completers = required("tinker_cookbook.completers")
renderers = required("tinker_cookbook.renderers")
transformers = required("transformers")
ours = example("tinker_env")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(eos_token=PAD, additional_special_tokens=[START, END])


@pytest.fixture
def group(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(ours, "get_tokenizer", lambda name: tokenizer)

    def make(agent: str, renderer: str, size: int = 1, **more: Any) -> Any:
        return ours.FinGroup(desk(agent, **more), TASK, INDEX, size, "a model", renderer)

    return make


def policy(tokenizer: Any, answers: tuple[str, ...], asked: list[str]) -> Any:
    class Scripted(completers.TokenCompleter):
        async def __call__(self, model_input: Any, stop: Any, *more: Any, **options: Any) -> Any:
            asked.append(tokenizer.decode(model_input.to_ints()))
            answer = answers[min(len(asked), len(answers)) - 1]
            tokens = tokenizer.encode(answer, add_special_tokens=False)
            return completers.TokensWithLogprobs(tokens=tokens, maybe_logprobs=[-1.0] * len(tokens), stop_reason="stop")

    return Scripted()


async def rolled(group: Any, policy: Any, strategy: Any = None) -> Any:
    """As the cookbook's training loop does it, after the builder went to another process and came back."""
    group = pickle.loads(pickle.dumps(group))
    return await rollouts.do_group_rollout(group, policy, **({} if strategy is None else {"strategy": strategy}))


def test_the_same_episode_in_text(group: Callable[..., Any], tokenizer: Any) -> None:
    asked: list[str] = []
    answers = tuple(f" {text}\n\nUser:" for text in TEXTS)
    found = asyncio.run(rolled(group("codeblock", "role_colon"), policy(tokenizer, answers, asked)))
    check(found.get_total_rewards()[0])
    (trajectory,) = found.trajectories_G
    assert [step.episode_done for step in trajectory.transitions] == [False, True]
    assert asked[1].startswith(asked[0])  # tokens only ever grow


def test_the_same_episode_with_tools(group: Callable[..., Any], tokenizer: Any) -> None:
    asked: list[str] = []
    call = json.dumps({"name": "run_python", "arguments": {"code": PROGRAM}})
    answers = (f"<tool_call>\n{call}\n</tool_call><|im_end|>", f"{DONE}<|im_end|>")
    assert CALLS[0]["tool_calls"][0]["function"]["name"] == "run_python"
    found = asyncio.run(rolled(group("react", "qwen3_instruct"), policy(tokenizer, answers, asked)))
    check(found.get_total_rewards()[0])
    assert "run_python" in asked[0]
    assert "submission 1" in asked[1]


def test_a_failure_of_the_agent_is_the_floor(group: Callable[..., Any], tokenizer: Any) -> None:
    answers = tuple(f" {text}\n\nUser:" for text in FAILURE)
    found = asyncio.run(rolled(group("codeblock", "role_colon"), policy(tokenizer, answers, [])))
    assert found.get_total_rewards() == [-1.0]


def test_a_failure_of_ours_is_no_reward(group: Callable[..., Any], tokenizer: Any) -> None:
    with ours_failing() as broken:
        strategy = strategies.RetryOnFailure(max_retries=1)
        with pytest.raises(ours.NoRewardError):
            asyncio.run(
                rollouts_of(group("codeblock", "role_colon", **broken), policy(tokenizer, ("x",), []), strategy)
            )


async def rollouts_of(group: Any, policy: Any, strategy: Any) -> Any:
    try:
        return await strategy.execute(group, policy)
    finally:
        await group.cleanup()


def test_the_data_set(tokenizer: Any) -> None:
    builder = ours.FinDatasetBuilder(
        tasks=[TASK], model_name="m", renderer_name="role_colon", batches=3, batch_size=4, group_size=2
    )
    train, validation = asyncio.run(builder())
    assert len(train) == 3
    assert len({item.index for number in range(3) for item in train.get_batch(number)}) == 12
    assert validation.get_batch(0)[0].desk.split == "validation"
    assert pickle.loads(pickle.dumps(train.get_batch(0)[0])).group_size == 2
