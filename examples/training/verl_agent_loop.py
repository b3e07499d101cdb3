r"""OpenFinGym as an agent loop of verl: a copy of this file, its rows and three settings are all that is needed.

    python verl_agent_loop.py data/openfingym                        # rows, and agent_loop.yaml
    PYTHONPATH=. python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \
        data.train_files=data/openfingym/train.parquet data.val_files=data/openfingym/validation.parquet \
        actor_rollout_ref.rollout.agent.agent_loop_config_path=data/openfingym/agent_loop.yaml \
        actor_rollout_ref.rollout.multi_turn.format=hermes ...

A loop of one's own is the home of a sandbox: verl's tools are created, executed and released at every call. All loops
of a worker share one event loop and are gathered, so that nothing here blocks, and nothing is raised for a failure of
ours, which would end the batch.

Such a failure has no reward, but verl wants one: it gets ``NEUTRAL``, and no token of it is learnt from. Its score
still counts in the mean of its group, for which the baseline's is the least harm.
"""

import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
from verl.experimental.agent_loop.tool_parser import ToolParser
from verl.tools.schemas import OpenAIFunctionToolSchema

from openfingym.training import Desk

TASKS = ["nifty50-forecast", "global-volatility-forecast"]
NEUTRAL = 0.0
"""The reward where there is none: the baseline's, which is nobody's merit and nobody's fault."""
YAML = """\
- name: openfingym
  _target_: verl_agent_loop.FinAgentLoop
  agent: react                # codeblock for models that call no tools
  places: 32                  # sandboxes that are open at once, in each worker
"""
_desks: dict[tuple[Any, ...], Desk] = {}  # kept: a process starts one verifier for all episodes


@register("openfingym")
class FinAgentLoop(AgentLoopBase):
    """Plays one episode: verl generates, and the agent's own loop runs programs and says what to tell the model."""

    def __init__(self, *args: Any, agent: str = "react", places: int = 32, **kwargs: Any) -> None:
        """See :data:`YAML` for what is its own."""
        super().__init__(*args, **kwargs)
        self.agent, self.places = agent, places
        self.room = self.rollout_config.response_length
        self.parser = ToolParser.get_tool_parser(self.rollout_config.multi_turn.format, self.tokenizer)

    def desk(self, split: str) -> Desk:
        """What opens the episodes of a split, in this process."""
        key = split, self.agent, self.places
        return _desks.setdefault(key, Desk(TASKS, split=split, agent=self.agent, places=self.places))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the episode that the row names."""
        wanted = row["extra_info"]
        episode = await self.desk(wanted["split"]).open(wanted["task"], int(wanted["index"]), seed=int(wanted["seed"]))
        async with episode:
            tokens = await self.play(episode, sampling_params, list(row["raw_prompt"]))
            await episode.finish()
        ids, mask, logprobs, turns = tokens
        start = len(ids) - len(mask)
        ours = episode.reward is None
        if not mask:  # it was over before it began; verl wants a token
            ids, mask, logprobs = [*ids, self.tokenizer.eos_token_id], [0], None
        return AgentLoopOutput(
            prompt_ids=ids[:start],
            response_ids=ids[start:][: self.room],
            response_mask=[0] * len(mask[: self.room]) if ours else mask[: self.room],
            response_logprobs=logprobs[: self.room] if logprobs else None,
            reward_score=NEUTRAL if episode.reward is None else episode.reward,
            num_turns=turns,
            metrics={},
            extra_fields={"turn_scores": [], "tool_rewards": [], "failure": episode.failure or ""},
        )

    async def play(
        self, episode: Any, sampling_params: dict[str, Any], prompt: list[dict[str, Any]]
    ) -> tuple[list[int], list[int], list[float] | None, int]:
        """Generate until the episode is over, or the room is used up: token ids, mask, log probabilities, turns."""
        # A copy: what is told later is merged token by token, and never rendered again.
        messages, tools = list(episode.messages) or prompt, episode.tools or None
        ids = await self.ct_build_initial_tokens(messages, tools=tools)
        mask: list[int] = []
        logprobs: list[float] | None = None
        request, turns = uuid4().hex, 1
        while not episode.over and len(mask) < self.room:
            found = await self.server_manager.generate(
                request_id=request, prompt_ids=ids, sampling_params=sampling_params
            )
            merged, mask, logprobs = await self.ct_merge_assistant_token(
                ids,
                found.token_ids,
                mask,
                (logprobs or []) if found.log_probs or logprobs else None,
                assistant_logprobs=found.log_probs or None,
            )
            ids, turns = merged.token_ids, turns + 1
            message = await self.message(found.token_ids, tools)
            told = await episode.answer(message, cut=len(mask) >= self.room)
            if episode.over or not told or len(mask) >= self.room:
                break
            before, messages = [*messages, message], [*messages, message, *told]
            merged, with_told, logprobs = await self.ct_merge_context_msg(
                before, messages, ids, mask, logprobs, tools=tools
            )
            if len(with_told) >= self.room:
                break
            ids, mask, turns = merged.token_ids, with_told, turns + 1
        return ids, mask, logprobs, turns

    async def message(self, token_ids: list[int], tools: list[dict[str, Any]] | None) -> dict[str, Any]:
        """What the model said, in the chat form."""
        if tools is None:
            return {"role": "assistant", "content": self.tokenizer.decode(token_ids, skip_special_tokens=True)}
        schemas = [OpenAIFunctionToolSchema.model_validate(tool) for tool in tools]
        text, calls = await self.parser.extract_tool_calls(token_ids, schemas)
        made = [
            {
                "id": call.tool_call_id or f"call_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(calls)
        ]
        return {"role": "assistant", "content": text or "", **({"tool_calls": made} if made else {})}


def rows(split: str, n: int) -> list[dict[str, Any]]:
    """Rows of a data set; the prompt is a placeholder that the episode replaces."""
    return [
        {
            "prompt": [{"role": "user", "content": "OpenFinGym"}],
            "data_source": "openfingym",
            "agent_name": "openfingym",
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"number": number, **row},
        }
        for number, row in enumerate(Desk(TASKS, split=split).rows(n))
    ]


if __name__ == "__main__":
    import pandas as pd

    out = Path(sys.argv[1] if len(sys.argv) > 1 else "data/openfingym")
    out.mkdir(parents=True, exist_ok=True)
    (out / "agent_loop.yaml").write_text(YAML)
    for split, n in (("train", 1000), ("validation", 64)):
        pd.DataFrame(rows(split, n)).to_parquet(out / f"{split}.parquet")
        print(out / f"{split}.parquet", n)
