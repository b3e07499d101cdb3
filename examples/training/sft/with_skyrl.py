"""SkyRL's SFT trainer: what it trains on of ``openfingym export trajectories --format messages``."""

from __future__ import annotations

from pathlib import Path

from masks import Masks, main


def masks(file: Path, model: Path) -> Masks:
    """Tokens and masks as ``SFTTrainer`` makes them with ``train_on_what=all_assistant_messages``."""
    from datasets import load_dataset
    from skyrl.train.config.sft_config import TrainOnWhat
    from skyrl.train.sft_trainer import tokenize_chat_example
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    rows = load_dataset(file.suffix.strip(".").replace("jsonl", "json"), data_files=str(file), split="train")
    found = []
    for row in rows:
        made = tokenize_chat_example(row, tokenizer, None, "messages", TrainOnWhat.ALL_ASSISTANT_MESSAGES)
        if made is not None:
            context = len(made["input_ids"]) - made["num_actions"]
            found.append((made["input_ids"], [False] * context + [bool(one) for one in made["loss_mask"]]))
    return found


if __name__ == "__main__":
    main(masks, __doc__)
