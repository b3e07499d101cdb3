"""The facts and the lines of Python in the instruction of a generation task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.kinds.material import Brief
from openfingym.kinds.walk import walk_usage

if TYPE_CHECKING:
    from openfingym.kinds.generation_contract import GenerationContract
    from openfingym.kinds.material import Material
    from openfingym.task import Task


def brief_of_generation(task: Task, contract: GenerationContract, material: Material) -> Brief:
    """What an agent is told of a generation task.

    Args:
        task: the task that the instruction is for.
        contract: the contract of the task.
        material: the arrays of the task and the facts about them.
    """
    inputs, targets = (tuple(material.public[name].shape) for name in ("train_inputs", "train_targets"))
    given = f"{contract.lookback} rows of context and " if contract.lookback else ""
    train = f"contexts, windows = interface.load_train()  # float64 {inputs}, {targets}"
    facts = (
        ("value", f"{contract.value_semantics.replace('_', ' ')}, {contract.unit}, {task.spec.frequency}"),
        ("channels", ", ".join(material.labels)),
        (
            "training windows",
            f"{material.n_train}: {given}{contract.horizon} rows x {len(material.labels)} channels",
        ),
        *_wanted(contract, material),
    )
    note = (
        "What counts is the law of the windows, not any single one: they are compared with real windows that are "
        "in none of the\n"
        "data you have. Returning training windows, or small changes of them, is detected: beyond a share of\n"
        f"{contract.max_memorised:.0%} more than among real windows, a submission is refused."
    )
    if contract.dated:
        note += (
            "\nContexts are in time order and later than all of training, and are shown one after the other: the next\n"
            "when the futures of this one are drawn. Copies are counted over all of them, at the end."
        )
        return Brief(facts, note, f"{train}\n{walk_usage(material)}")
    test = tuple(material.public["test_inputs"].shape)
    context = "  # contexts" if contract.lookback else "  # no context: zero rows"
    usage = f"""{train}
test = interface.load_test_inputs(){context}, float64 {test}
feedback = interface.submit(samples)  # samples: float64 {material.shape}"""
    return Brief(facts, note, usage)


def _wanted(contract: GenerationContract, material: Material) -> tuple[tuple[str, str], ...]:
    """How many windows, or futures, are to be drawn, as rows of the table of facts."""
    if contract.dated:
        return (
            ("wanted", f"{contract.futures} futures for each context"),
            ("contexts that count", str(material.n_private)),
            ("contexts to practise on", str(material.n_public)),
        )
    count = material.shape[0]
    return (
        (
            "wanted",
            f"{contract.futures} futures for each of {count} contexts" if contract.lookback else f"{count} windows",
        ),
    )


def rules_on_copies(contract: GenerationContract) -> str:
    """Which windows count as copies of training windows, as docs/metrics.md has it.

    Args:
        contract: the contract of the task.
    """
    return f"""\
A submission with too many copies of training windows (more than {contract.max_memorised:.0%} above the share among \
real windows) is refused, and gets
no score. These count as copies, in any combination:

- a training window as it is, or mirrored, scaled, moved by a constant, shifted in time, run backward, with its \
channels exchanged
  or mixed, or with a little noise added
- the average of two training windows, in any proportion
- a splice: the beginning of one training window, then the end of another, joined or not

A window of three or more pieces of training windows, none of them longer than half a window, does not; nor does a \
window that is drawn
from a model which was fitted to them all."""
