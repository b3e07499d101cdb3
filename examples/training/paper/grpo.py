"""Train the fine-tuned model with GRPO, all of its parameters, on verified rewards: the paper's second stage.

python examples/training/paper/grpo.py --size 1.7B --out models
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from recipe import AGENT, SIZES, TEMPLATE, TRAINING, Size, load, parser, require_training, stage

from openfingym.results import SplitName
from openfingym.training.trl import TrlSpec


def train(
    size: Size, out: Path, tasks: Sequence[str] = TRAINING, split: SplitName = "train", backend: str = "auto"
) -> list[float]:
    """Train the model of ``out / "sft"`` into ``out / "rl"``; the mean reward of each step."""
    import torch
    from trl import GRPOConfig, GRPOTrainer

    require_training(tasks)
    gpu = torch.cuda.is_available()
    rows = len(tasks) if split == "test" else size.prompts * size.grpo_steps
    spec = TrlSpec(tasks, agent=AGENT, reward="grpo", split=split, rows=rows, backend=backend)
    # AdamW needs weights of 32 bits at a rate as low as this one; they are computed with in 16.
    model, tokenizer = load(stage(out, "sft", size))
    each = size.rollouts if not size.cpu else size.prompts * size.rollouts
    arguments = GRPOConfig(
        str(out / "rl-trainer"),
        max_steps=size.grpo_steps,
        per_device_train_batch_size=each,
        gradient_accumulation_steps=size.prompts * size.rollouts // each,
        num_generations=size.rollouts,
        max_completion_length=size.answer,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        chat_template_kwargs=TEMPLATE,
        beta=0.01,
        use_bias_correction_kl=False,
        learning_rate=size.grpo_rate,
        lr_scheduler_type="constant",
        activation_checkpointing=not size.cpu,
        disable_tqdm=size.cpu,
        use_vllm=gpu,
        vllm_max_model_length=size.tokens,
        vllm_importance_sampling_correction=True,
        vllm_importance_sampling_mode="token_truncate",
        vllm_importance_sampling_clip_max=2.0,
        bf16=gpu,
        use_cpu=not gpu,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        seed=0,
    )
    trainer = GRPOTrainer(
        model,
        reward_funcs=spec.reward_funcs,
        args=arguments,
        train_dataset=spec.train_dataset,
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model(str(out / "rl"))
    tokenizer.save_pretrained(out / "rl")
    return [row["reward"] for row in trainer.state.log_history if "reward" in row]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument(
        "--split", choices=["train", "test"], default="train",
        help="instances of the training tasks, or these tasks as they are, as the paper did; see README.md",
    )  # fmt: skip
    options.add_argument("--tasks", nargs="+", default=TRAINING, help="default: the 20 of the plan")
    given = options.parse_args(arguments)
    size = SIZES[given.size]
    size = replace(size, grpo_steps=given.steps or size.grpo_steps)
    rewards = train(size, given.out, given.tasks, given.split)
    print(f"{len(rewards)} steps of GRPO, mean reward {rewards[0]:.3f}, then {rewards[-1]:.3f}: {given.out / 'rl'}")


if __name__ == "__main__":
    main()
