"""The agent loop of examples/training/verl_agent_loop.py, with a server that answers by a script, and without Ray."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from openfingym.training import training_tasks

from ..byte_tokens import END, PAD, START, byte_tokenizer
from ..conftest import example, required
from ..same_episode import DONE, FAILURE, INDEX, PROGRAM, SPLIT, TASK, TEXTS, check, desk, ours_failing

agent_loop = required("verl.experimental.agent_loop.agent_loop")
replica = required("verl.workers.rollout.replica")
omegaconf = required("omegaconf")
hydra = required("hydra")
transformers = required("transformers")
ours = example("verl_agent_loop")

TEMPLATE = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = json.dumps({"name": "run_python", "arguments": {"code": PROGRAM}})
WITH_TOOLS = (f"<tool_call>\n{CALL}\n</tool_call>", DONE)
ROW = {"task": TASK, "index": INDEX, "split": SPLIT, "seed": 0}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(eos_token=END, pad_token=PAD, additional_special_tokens=[START], chat_template=TEMPLATE)


class Server:
    """Answers by a script, with a log probability for each token."""

    def __init__(self, tokenizer: Any, answers: tuple[str, ...]) -> None:
        self.tokenizer, self.answers, self.prompts = tokenizer, answers, []

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        answer = self.answers[min(len(self.prompts), len(self.answers) - 1)]
        self.prompts.append(list(prompt_ids))
        tokens = self.tokenizer.encode(answer + "<|im_end|>", add_special_tokens=False)
        return replica.TokenOutput(token_ids=tokens, log_probs=[-0.5] * len(tokens))


def loop_of(tokenizer: Any, server: Server, agent: str, room: int) -> Any:
    """The loop as a worker makes it: from the registry, or the file of :data:`YAML`, by hydra."""
    rollout = {"prompt_length": 60_000, "response_length": room, "multi_turn": {"format": "hermes"}}
    config = omegaconf.OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
    (made,) = omegaconf.OmegaConf.create(ours.YAML)
    return hydra.utils.instantiate(
        {"_target_": made["_target_"], "places": made["places"], "agent": agent},
        trainer_config=agent_loop.DictConfigWrap(config),
        server_manager=server,
        tokenizer=tokenizer,
        processor=None,
        dataset_cls=object,
        data_config=agent_loop.DictConfigWrap(config.data),
        hf_model_type=None,
    )


def played(
    tokenizer: Any, answers: tuple[str, ...], agent: str, *, room: int = 20_000, times: int = 1, **more: Any
) -> list[Any]:
    own = ours._desks[SPLIT, agent, 32] = desk(agent, **more)
    servers = [Server(tokenizer, answers) for _ in range(times)]

    async def run() -> list[Any]:
        loops = [loop_of(tokenizer, server, agent, room) for server in servers]
        row = {"raw_prompt": [{"role": "user", "content": "OpenFinGym"}], "extra_info": ROW, "agent_name": "openfingym"}
        return await asyncio.gather(*(one.run({"temperature": 1.0}, **row) for one in loops))

    try:
        outputs = asyncio.run(run())
    finally:
        own.close()
    for output, server in zip(outputs, servers, strict=True):
        assert len(output.response_ids) == len(output.response_mask) <= room
        for earlier, later in zip(server.prompts, server.prompts[1:], strict=False):
            assert later[: len(earlier)] == earlier  # tokens only ever grow
    return outputs


@pytest.mark.parametrize(("agent", "answers"), [("react", WITH_TOOLS), ("codeblock", TEXTS)])
def test_the_same_episode(tokenizer: Any, agent: str, answers: tuple[str, ...]) -> None:
    outputs = played(tokenizer, answers, agent, times=3)
    for output in outputs:
        check(output.reward_score)
        said = [token for token, learnt in zip(output.response_ids, output.response_mask, strict=True) if learnt]
        told = [token for token, learnt in zip(output.response_ids, output.response_mask, strict=True) if not learnt]
        # What is learnt is what the model said, each token of it, and nothing that it was told.
        assert tokenizer.decode(said) == "".join(f"{answer}<|im_end|>" for answer in answers)
        assert "submission 1" in tokenizer.decode(told)
        logprobs = zip(output.response_logprobs, output.response_mask, strict=True)
        assert all(value == (-0.5 if learnt else 0.0) for value, learnt in logprobs)
        assert "rm_scores" in output.as_dict()
    assert len({tuple(output.prompt_ids) for output in outputs}) == 1


def test_failures_and_limits_of_the_agent(tokenizer: Any) -> None:
    (output,) = played(tokenizer, FAILURE, "codeblock")
    assert output.reward_score == -1.0
    assert any(output.response_mask)
    # The room is used up in the first answer.
    (output,) = played(tokenizer, ("```python\nprint(1)\n```" * 20,), "codeblock", room=100)
    assert output.reward_score == -1.0
    assert len(output.response_ids) == 100


def test_a_failure_of_ours_is_masked(tokenizer: Any) -> None:
    with ours_failing() as broken:
        (output,) = played(tokenizer, TEXTS, "codeblock", **broken)
    assert output.reward_score == ours.NEUTRAL
    assert output.response_ids
    assert not any(output.response_mask)
    assert "127.0.0.1:9" in output.extra_fields["failure"]


def test_rows_and_registration() -> None:
    assert set(ours.TASKS) <= set(training_tasks())
    (row,) = ours.rows(SPLIT, 1)
    assert row["agent_name"] in agent_loop._agent_loop_registry
    assert row["extra_info"]["index"] == 0
    assert {"prompt", "data_source", "reward_model"} <= row.keys()
