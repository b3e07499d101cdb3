"""What a trainer's data set trains on: a tiny tokenizer to look with, and the tokens as text."""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

Masks = list[tuple[list[int], list[bool]]]
"""For each conversation its tokens, and which of them are trained."""
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>"]
CONTROL += ["</tool_response>", "<think>", "</think>"]


def tiny_tokenizer(folder: Path, texts: list[str], template: str = "qwen3_training") -> Path:
    """Save a byte-level BPE tokenizer with the control tokens of Qwen3, trained on ``texts``.

    Its chat template is one of those that TRL ships, if TRL is installed; TRL itself is not imported.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=2000, special_tokens=CONTROL, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=CONTROL[2], pad_token=CONTROL[0])
    trl = importlib.util.find_spec("trl")
    if trl is not None and trl.origin is not None:
        shipped = Path(trl.origin).parent / "chat_templates" / f"{template}.jinja"
        if shipped.exists():
            fast.chat_template = shipped.read_text(encoding="utf-8")
    fast.save_pretrained(folder)
    return folder


def pieces(tokenizer: object, ids: list[int], mask: list[bool]) -> list[tuple[bool, str]]:
    """A conversation as texts that are trained and texts that are not."""
    decode = tokenizer.decode  # type: ignore[attr-defined]
    runs = groupby(zip(ids, mask, strict=True), key=lambda pair: bool(pair[1]))
    return [(trained, decode([token for token, _ in run])) for trained, run in runs]


def main(masks: Callable[[Path, Path], Masks], doc: str | None) -> None:
    """Print what is trained of a file, in the terms of a model's tokenizer."""
    from transformers import AutoTokenizer

    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("file", type=Path, help="rows that `openfingym export trajectories` wrote")
    parser.add_argument("--model", type=Path, help="folder of a tokenizer with a chat template; default: a tiny one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or tiny_tokenizer(Path(folder), [options.file.read_bytes().decode(errors="ignore")])
        tokenizer = AutoTokenizer.from_pretrained(model)
        for number, (ids, mask) in enumerate(masks(options.file.resolve(), model)):
            print(f"\n== conversation {number}: {sum(mask)} of {len(ids)} tokens are trained:")
            for trained, text in pieces(tokenizer, ids, mask):
                if trained:
                    print(f"   {text!r}")
