"""LLaMA-Factory: what it trains on of ``openfingym export trajectories --format sharegpt``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from masks import Masks, main

DATASET = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
}
"""The entry of ``dataset_info.json``; ``file_name`` is the exported file."""


def masks(file: Path, model: Path, dataset: dict[str, object] = DATASET) -> Masks:
    """Tokens and masks as ``llamafactory-cli train`` makes them, with ``template: qwen3``."""
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "dataset_info.json").write_text(json.dumps({"ours": dataset | {"file_name": str(file)}}))
        chosen = {"stage": "sft", "template": "qwen3", "dataset": "ours", "cutoff_len": 100_000, "report_to": "none"}
        places = {"model_name_or_path": str(model), "dataset_dir": folder, "output_dir": f"{folder}/out"}
        model_args, data_args, training_args, *_ = get_train_args({**chosen, **places, "do_train": True})
        tokenizer = load_tokenizer(model_args)
        template = get_template_and_fix_tokenizer(tokenizer["tokenizer"], data_args)
        rows = get_dataset(template, model_args, data_args, training_args, stage="sft", **tokenizer)["train_dataset"]
        return [(row["input_ids"], [label != -100 for label in row["labels"]]) for row in rows]


if __name__ == "__main__":
    main(masks, __doc__)
