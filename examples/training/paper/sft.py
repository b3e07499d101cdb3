"""Fine-tune a model on collected programs, with LoRA on every linear layer, and merge it: the paper's first stage.

python examples/training/paper/sft.py --size 1.7B --data sft.jsonl --out models
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipe import SIZES, TEMPLATE, Size, load, parser, require_training, stage


def rows(file: Path) -> list[dict[str, Any]]:
    """Rows for TRL: of each trajectory what the model was told, and its program, on which alone the loss is taken.

    Raises:
        SystemExit: a trajectory is of a task that is held out, is of the test, or has more than one answer.
    """
    exported = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    require_training(row["task"] for row in exported)
    if tested := sorted({row["task"] for row in exported if row["split"] == "test"}):
        raise SystemExit(
            f"{file} has rows of the split test ({', '.join(tested)}); collect instances, as the plan does"
        )
    made = []
    for row in exported:
        said = [{"role": message["role"], "content": message["content"]} for message in row["messages"]]
        if [message["role"] for message in said] != ["system", "user", "assistant"]:
            raise SystemExit(f"{file}, rollout {row['id']}: expected one answer, by the agent oneshot")
        made.append({"prompt": said[:2], "completion": said[2:], "chat_template_kwargs": TEMPLATE})
    if not made:
        raise SystemExit(f"{file} is empty")
    return made


def train(size: Size, data: Path, out: Path) -> float:
    """Fine-tune the base model of ``out`` into ``out / "sft"``; the mean loss of the last steps."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    found = rows(data)
    texts = [message["content"] for row in found for message in (*row["prompt"], *row["completion"])]
    model, tokenizer = load(stage(out, "base", size, texts), half=True)
    lora = LoraConfig(
        r=size.rank, lora_alpha=size.alpha, lora_dropout=size.dropout, target_modules="all-linear",
        task_type="CAUSAL_LM",
    ) if size.rank else None  # fmt: skip
    arguments = SFTConfig(
        str(out / "sft-trainer"),
        max_steps=size.sft_steps,
        per_device_train_batch_size=1 if not size.cpu else size.sft_batch,
        gradient_accumulation_steps=size.sft_batch if not size.cpu else 1,
        max_length=size.tokens,
        learning_rate=size.sft_rate,
        lr_scheduler_type="cosine",
        warmup_steps=0.05,  # a share of the steps; the paper does not state it
        optim="adamw_torch",
        activation_checkpointing=not size.cpu,
        disable_tqdm=size.cpu,
        bf16=torch.cuda.is_available(),
        use_cpu=not torch.cuda.is_available(),
        logging_steps=max(1, size.sft_steps // 10),
        save_strategy="no",
        report_to="none",
        seed=0,
    )
    trainer = SFTTrainer(
        model, arguments, train_dataset=Dataset.from_list(found), processing_class=tokenizer, peft_config=lora
    )
    trainer.train()
    tuned = trainer.model.merge_and_unload() if lora else trainer.model
    tuned.save_pretrained(out / "sft")
    tokenizer.save_pretrained(out / "sft")
    return float([row["loss"] for row in trainer.state.log_history if "loss" in row][-1])


def main(arguments: Sequence[str] | None = None) -> None:
    """Fine-tune."""
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True, help="what `openfingym export trajectories` wrote")
    given = options.parse_args(arguments)
    size = SIZES[given.size]
    size = replace(size, sft_steps=given.steps or size.sft_steps)
    loss = train(size, given.data, given.out)
    print(f"{size.sft_steps} steps of fine-tuning, loss {loss:.3f}: {given.out / 'sft'}")


if __name__ == "__main__":
    main()
