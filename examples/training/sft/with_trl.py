"""TRL's SFTTrainer: what it trains on of ``openfingym export trajectories --format messages``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from masks import Masks, main


def masks(file: Path, model: Path, **options: object) -> Masks:
    """Tokens and masks as the trainer makes them; a model of random weights stands for a real one."""
    from datasets import load_dataset
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
    from trl import SFTConfig, SFTTrainer

    tokenizer = AutoTokenizer.from_pretrained(model)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16,
    )  # fmt: skip
    rows = load_dataset(file.suffix.strip(".").replace("jsonl", "json"), data_files=str(file), split="train")
    with tempfile.TemporaryDirectory() as out:
        arguments = SFTConfig(
            out, assistant_only_loss=True, max_length=None, report_to="none", use_cpu=True, max_steps=1, **options,
            per_device_train_batch_size=1, bf16=False,
        )  # fmt: skip
        # The other columns are for choosing rows: rows.filter(lambda row: row["relative_total"] < 1).
        trainer = SFTTrainer(
            Qwen3ForCausalLM(config), arguments, train_dataset=rows.select_columns(["messages", "tools"]),
            processing_class=tokenizer,
        )  # fmt: skip
        trainer.train()
        found = []
        for row in trainer.train_dataset:
            batch = trainer.data_collator([row])
            labels = batch["labels"][0].tolist()
            found.append((batch["input_ids"][0].tolist(), [label != -100 for label in labels]))
    return found


if __name__ == "__main__":
    main(masks, __doc__)
