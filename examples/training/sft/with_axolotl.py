"""axolotl's chat_template strategy: what it trains on of ``openfingym export trajectories --format messages``."""

from __future__ import annotations

from pathlib import Path

from masks import Masks, main

DATASET = {
    "type": "chat_template",
    "field_messages": "messages",
    "field_tools": "tools",
    "message_field_training": "train",
    "roles_to_train": ["assistant"],
    "train_on_eos": "turn",
}
"""An entry of ``datasets`` in the configuration; ``path`` is the exported file."""


def masks(file: Path, model: Path, template: str = "tokenizer_default") -> Masks:
    """Tokens and masks as the strategy makes them, with ``chat_template: tokenizer_default``.

    axolotl's own templates of Qwen3 and Qwen3.5 write a conversation's beginning otherwise than the whole, and what is
    trained with them is shifted: parts of calls are not, and words that begin a user's turn are.
    """
    from axolotl.prompt_strategies.chat_template import load
    from axolotl.utils.dict import DictDefault
    from datasets import load_dataset
    from transformers import AutoTokenizer

    cfg = DictDefault({"chat_template": template, "sequence_len": 1_000_000, "train_on_inputs": False})
    strategy = load(AutoTokenizer.from_pretrained(model), cfg, DictDefault(DATASET))
    rows = load_dataset(file.suffix.strip(".").replace("jsonl", "json"), data_files=str(file), split="train")
    made = [strategy.tokenize_prompt(row) for row in rows]
    return [(row["input_ids"], [label != -100 for label in row["labels"]]) for row in made]


if __name__ == "__main__":
    main(masks, __doc__)
