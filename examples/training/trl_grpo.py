"""Train a model with TRL's GRPO on instances of a task: ``python examples/training/trl_grpo.py --steps 2``.

With ``--model Qwen/Qwen3-4B`` it trains a real one. Without, it makes one from scratch: a Qwen3 with two layers, and a
tokenizer trained on the spot. Since that can do nothing yet, it first learns by heart a few conversations, in which a
naive forecast is scaled by one of some factors. Which of them pays is for GRPO to find out.

It needs ``pip install openfingym trl torch``, and runs in about a minute on a CPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from openfingym.training.trl import TrlSpec

TEMPLATES = Path(trl.__file__).parent / "chat_templates"
FACTORS = ("1.00", "0.95", "0.80")
PROGRAM = """import interface, numpy as np
interface.predict_each(lambda x: {factor} * np.repeat(x[:, -1:], interface.HORIZON, axis=1))"""
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")


def conversations(spec: TrlSpec, tools: list[Any]) -> list[list[dict[str, Any]]]:
    """Conversations to learn by heart, played for real: with tools, or with one program as the answer.

    Each is there several times, with the instructions of other instances.
    """
    found = []
    for number in range(2 * len(FACTORS)):
        row, program = spec.train_dataset[number], PROGRAM.format(factor=FACTORS[number % len(FACTORS)])
        messages = [dict(message) for message in row["prompt"]]
        if spec.one_shot:
            found.append([*messages, {"role": "assistant", "content": f"```python\n{program}\n```"}])
            continue
        environment = tools[0].__self__
        messages[-1]["content"] += environment.reset(**row)
        call = {"type": "function", "function": {"name": "run_python", "arguments": {"code": program}}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "name": "run_python", "content": environment.run_python(program)})
        found.append([*messages, {"role": "assistant", "content": "Done."}])
    for number in range(len(found), 24):
        row, played = spec.train_dataset[number % len(spec.train_dataset)], found[number % (2 * len(FACTORS))]
        messages = [dict(message) for message in row["prompt"]]
        if not spec.one_shot:
            messages[-1]["content"] += tools[0].__self__.reset(**row)
        found.append([*messages, *played[len(messages) :]])
    return found


def tiny_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-pair tokenizer of these texts, with the chat template of Qwen3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens(list(MARKS))  # which are text: calls are read by them
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[0],
        chat_template=(TEMPLATES / "qwen3.jinja").read_text(),
    )


def tiny_model(spec: TrlSpec, lessons: int) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]:
    """A model that knows a few conversations by heart, and its tokenizer."""
    environment = None if spec.one_shot else spec.environment_factory()
    names = ("read_file", "run_python", "write_file")  # in the order in which TRL tells them
    tools = [] if environment is None else [getattr(environment, name) for name in names]
    told = conversations(spec, tools)
    template = (TEMPLATES / "qwen3_training.jinja").read_text()
    tokenizer = tiny_tokenizer([str(message["content"]) for one in told for message in one] + [template])
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    model = Qwen3ForCausalLM(config)
    rows = [
        tokenizer.apply_chat_template(
            one,
            tools=tools or None,
            chat_template=template,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        for one in told
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=lessons)
    for number in range(lessons):
        row = rows[number % len(rows)]
        # Whatever the instruction says, and however long it is: it varies, and of every other one a part is left out.
        first = int(torch.randint(row["assistant_masks"].index(1) - 8, ())) if number % 2 else 0
        ids, said = torch.tensor(row["input_ids"][first:]), torch.tensor(row["assistant_masks"][first:]).bool()
        states = model.model(input_ids=ids[None]).last_hidden_state[0, :-1]
        loss = torch.nn.functional.cross_entropy(model.lm_head(states[said[1:]]), ids[1:][said[1:]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slower.step()
    print(
        f"a model of {model.num_parameters():,} parameters, after {lessons} lessons at a loss of {loss.item():.3f}",
        flush=True,
    )
    return model, tokenizer


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description="Train a model with TRL's GRPO.")
    parser.add_argument("--task", nargs="+", default=["treasury-forecast"])
    parser.add_argument("--agent", default="react", choices=["react", "oneshot"])
    parser.add_argument("--model", help="a model that TRL loads; default: one that is made here")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--generations", type=int, default=4, help="rollouts of an instance")
    parser.add_argument("--batch", type=int, default=8, help="rollouts of a step")
    parser.add_argument("--lessons", type=int, default=300, help="of the tiny model, beforehand")
    parser.add_argument("--backend", default="auto")
    options = parser.parse_args()
    torch.manual_seed(0)
    started = time.monotonic()
    spec = TrlSpec(options.task, agent=options.agent, backend=options.backend, rows=100)
    model, tokenizer = options.model, None
    if model is None:
        torch.set_num_threads(1)  # it is so small that threads would wait for one another
        model, tokenizer = tiny_model(spec, options.lessons)
    with tempfile.TemporaryDirectory() as folder:
        arguments = trl.GRPOConfig(
            output_dir=folder,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            num_generations=options.generations,
            max_completion_length=512 if options.model is None else 4096,
            max_tool_calling_iterations=8,
            temperature=0.5 if options.model is None else 1.0,
            learning_rate=1e-3 if options.model is None else 1e-6,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            use_cpu=not torch.cuda.is_available(),
        )
        trainer = trl.GRPOTrainer(
            model=model,
            args=arguments,
            processing_class=tokenizer,
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            reward_funcs=spec.reward_funcs,
        )
        trainer.train()
    for number, row in enumerate(row for row in trainer.state.log_history if "reward" in row):
        print(
            f"step {number + 1}: mean reward {row['reward']:+.3f}, deviation in a group {row['reward_std']:.3f}, "
            f"tool calls a rollout {row.get('tools/call_frequency', 0.0):.2f}"
        )
    print(f"{options.steps} steps in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
