"""The environment of examples/training/skyrl_gym_env.py under SkyRL's own generator, with an engine that answers by a
script."""

from __future__ import annotations

import asyncio
import sys
import typing
from typing import Any

import pytest
import typing_extensions

from ..byte_tokens import END, START, byte_tokenizer
from ..conftest import example, required
from ..same_episode import INDEX, SPLIT, TASK, TEXTS, check, desk, ours_failing

if sys.version_info < (3, 12):  # SkyRL says that it runs on 3.11, where pydantic refuses the other
    typing.TypedDict = typing_extensions.TypedDict

gym_generator = required("skyrl.train.generators.skyrl_gym_generator")
base = required("skyrl.train.generators.base")
config = required("skyrl.train.config")
transformers = required("transformers")
ours = example("skyrl_gym_env")

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BABBLE = "```python\nprint('x' * 3000)\n```"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return byte_tokenizer(eos_token=END, additional_special_tokens=[START], chat_template=TEMPLATE)


class Engine:
    """Answers by a script, or with babble where the prompt is of another instance."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.given = tokenizer, {}

    async def generate(self, engine_input: dict[str, Any], **more: Any) -> dict[str, Any]:
        (session,) = engine_input["session_ids"]
        number = self.given[session] = self.given.get(session, -1) + 1
        text = BABBLE if "babble" in str(session) else TEXTS[min(number, 1)]
        ids = self.tokenizer.encode(text + "<|im_end|>", add_special_tokens=False)
        return {"responses": [text], "response_ids": [ids], "stop_reasons": ["stop"], "response_logprobs": None}

    async def finish_session(self, *_: Any, **__: Any) -> None:
        return None


def generated(tokenizer: Any, names: tuple[str, ...], room: int = 60_000) -> dict[str, Any]:
    settings = config.GeneratorConfig(max_turns=8, max_input_length=room)
    gym = config.SkyRLGymConfig(max_env_workers=8)
    inner = gym_generator.SkyRLGymGenerator(settings, gym, Engine(tokenizer), tokenizer)
    row = {"task": TASK, "index": INDEX, "split": SPLIT, "seed": 0}
    batch = {
        "prompts": [[{"role": "user", "content": "OpenFinGym"}] for _ in names],
        "env_classes": ["openfingym"] * len(names),
        "env_extras": [dict(row) for _ in names],
        "trajectory_ids": [base.TrajectoryID(name, number) for number, name in enumerate(names)],
        "sampling_params": None,
    }
    found: dict[str, Any] = asyncio.run(ours.Verified(inner).generate(batch, disable_tqdm=True))
    for ids, mask, rewards in zip(found["response_ids"], found["loss_masks"], found["rewards"], strict=True):
        assert len(ids) == len(mask) == len(rewards)
    return found


def test_the_same_episode(tokenizer: Any) -> None:
    with desk("codeblock") as own:
        ours._desks[SPLIT] = own
        found = generated(tokenizer, ("same", "same"))
    for ids, mask, rewards in zip(found["response_ids"], found["loss_masks"], found["rewards"], strict=True):
        check(sum(rewards))
        said = tokenizer.decode([token for token, learnt in zip(ids, mask, strict=True) if learnt])
        assert said == "".join(f"{text}<|im_end|>" for text in TEXTS)


def test_an_episode_that_skyrl_breaks_off_gets_the_floor(tokenizer: Any) -> None:
    with desk("codeblock") as own:
        ours._desks[SPLIT] = own
        length = len(tokenizer.encode("".join(item["content"] for item in own.brief(TASK, INDEX).messages)))
        found = generated(tokenizer, ("babble",), room=length + 2000)
    assert found["stop_reasons"] == ["length"]
    assert sum(found["rewards"][0]) == -1.0


def test_a_failure_of_ours_is_masked(tokenizer: Any) -> None:
    with ours_failing() as broken, desk("codeblock", **broken) as own:
        ours._desks[SPLIT] = own
        found = generated(tokenizer, ("same",))
    assert not any(found["loss_masks"][0])
    assert found["stop_reasons"] == ["error"]
