"""Score the model before and after on the five tasks that are held out, each with several seeds, one program a seed.

python examples/training/paper/evaluate.py --size 1.7B --out models --runs runs/paper
openfingym report runs/paper --tasks
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recipe import AGENT, SIZES, TEMPLATE, Size, load, parser, stage

from openfingym.agents import resolve
from openfingym.models import from_function
from openfingym.results import RolloutResult
from openfingym.rollouts import Launcher, RolloutOrder
from openfingym.training import HELD_OUT

STAGES = ("base", "sft", "rl")


def sampler(where: str, size: Size) -> Callable[[list[Any], list[Any]], dict[str, Any]]:
    """A model as a function of messages, at temperature 1; a task's answers for all seeds are sampled at once."""
    import torch

    model, tokenizer = load(where, half=True)
    torch.manual_seed(0)
    waiting: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def answer(messages: list[Any], _: list[Any]) -> dict[str, Any]:
        told = [{"role": message["role"], "content": message["content"]} for message in messages]
        kept = waiting[repr(told)]
        if not kept:
            kept += sample(told)
        return kept.pop(0)

    @torch.inference_mode()
    def sample(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        inputs = tokenizer.apply_chat_template(
            told, add_generation_prompt=True, return_tensors="pt", return_dict=True, **TEMPLATE
        ).to(model.device)
        start = inputs["input_ids"].shape[1]
        made = model.generate(
            **inputs, do_sample=True, temperature=1.0, top_p=1.0, top_k=0, num_return_sequences=size.seeds,
            max_new_tokens=size.answer, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        )[:, start:]  # fmt: skip
        return [
            {
                "content": tokenizer.decode(ids, skip_special_tokens=True),
                "finish_reason": "stop" if tokenizer.eos_token_id in ids else "length",
            }
            for ids in made
        ]

    return answer


def evaluate(
    name: str, size: Size, out: Path, runs: Path, stages: Sequence[str] = STAGES, tasks: Sequence[str] = HELD_OUT,
    backend: str = "auto",
) -> dict[tuple[str, str], list[RolloutResult]]:  # fmt: skip
    """Run every stage on every task with every seed, and keep the runs below ``runs / stage / task``.

    Raises:
        SystemExit: runs of a stage on a task are there. The same seeds give the same answers, so that a report of both
            would count each twice, and know too much.
    """
    if there := [str(runs / one / task) for one in stages for task in tasks if (runs / one / task).exists()]:
        raise SystemExit(f"{there[0]} holds runs already; remove it, or name another --runs, --stages or --tasks")
    agent = resolve(AGENT)
    found: dict[tuple[str, str], list[RolloutResult]] = {}
    with Launcher.for_tasks(tasks, backend=backend) as launcher:
        for one in stages:
            model = from_function(f"{name}-{one}", sampler(stage(out, one, size), size))
            for package in launcher.packages:
                task = package.manifest.name
                found[one, task] = [
                    launcher.run(package, agent, RolloutOrder(seed=seed), model=model, out=runs / one / task)
                    for seed in range(size.seeds)
                ]
    return found


def table(found: dict[tuple[str, str], list[RolloutResult]]) -> str:
    """The paper's Table 5: mean loss of what was scored, and the share of programs that were."""
    lines = ["| task | model | loss | success |", "|---|---|---|---|"]
    for (one, task), results in found.items():
        losses = [result.total for result in results if result.state == "scored" and result.total is not None]
        known = sum(result.state in {"scored", "rejected"} for result in results)
        loss = f"{sum(losses) / len(losses):.4f}" if losses else "-"
        lines.append(
            f"| {task} | {one} | {loss} | {f'{len(losses) / known:.0%} of {known}' if known else 'not known'} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Evaluate."""
    options = parser(__doc__)
    options.add_argument("--runs", type=Path, required=True, help="folder of the runs, for `openfingym report`")
    options.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    options.add_argument("--tasks", nargs="+", choices=HELD_OUT, default=HELD_OUT)
    options.add_argument("--seeds", type=int, help="default: what the size has")
    given = options.parse_args(arguments)
    size = SIZES[given.size]
    size = replace(size, seeds=given.seeds or size.seeds)
    print(table(evaluate(given.size, size, given.out, given.runs, given.stages, given.tasks)))


if __name__ == "__main__":
    main()
