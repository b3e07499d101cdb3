"""A tokenizer to which every byte is a token, so that nothing has to be loaded from anywhere."""

from __future__ import annotations

from typing import Any

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
"""Its control tokens."""


def byte_tokenizer(**options: Any) -> Any:
    """The tokenizer, with these options of a ``PreTrainedTokenizerFast``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = [PAD, START, END, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    made = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, **options)
