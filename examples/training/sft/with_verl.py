"""verl's MultiTurnSFTDataset: what it trains on of ``openfingym export trajectories --format messages``, in Parquet."""

from __future__ import annotations

from pathlib import Path

from masks import Masks, main


def masks(file: Path, model: Path, *, plain: bool = False) -> Masks:
    """Tokens and masks as the data set makes them; ``plain``: verl's own one in place of ``verl_rows.Rows``."""
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset
    from verl_rows import Rows

    # Qwen3's template writes an answer otherwise if it is the last one, so that turns one by one do not add up.
    config = OmegaConf.create({"max_length": 1_000_000, "pad_mode": "no_padding", "ignore_input_ids_mismatch": True})
    rows = (MultiTurnSFTDataset if plain else Rows)(str(file), AutoTokenizer.from_pretrained(model), config)
    return [
        (row["input_ids"].tolist(), [bool(one) for one in row["loss_mask"]])
        for row in map(rows.__getitem__, range(len(rows)))
    ]


if __name__ == "__main__":
    main(masks, __doc__)
