"""The facts and the lines of Python in the instruction of a forecasting task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.kinds.forecast.data import scaling
from openfingym.kinds.material import Brief
from openfingym.kinds.walk import walk_usage

if TYPE_CHECKING:
    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.kinds.material import Material
    from openfingym.task import Task


def brief_of_forecast(task: Task, contract: ForecastContract, material: Material) -> Brief:
    """What an agent is told of a forecasting task.

    Args:
        task: the task that the instruction is for.
        contract: the contract of the task.
        material: the arrays of the task and the facts about them.
    """
    inputs, targets = material.public["train_inputs"].shape, material.public["train_targets"].shape
    channels = [str(name) for name in _listed(material.facts["series" if contract.pooled else "channels"])]
    value = (
        "unlike things, see the text above"
        if contract.value_semantics == "mixed"
        else contract.value_semantics.replace("_", " ")
    )
    ahead = "the next row" if contract.horizon == 1 else f"the next {contract.horizon} rows"
    if contract.horizons:
        ahead = f"the rows {', '.join(map(str, contract.horizons))} steps ahead"
    facts = [
        ("value", f"{value}, {contract.unit}, {task.spec.frequency}"),
        ("series, each a window of its own" if contract.pooled else "channels", ", ".join(channels)),
        ("training windows", str(material.n_train)),
        ("windows that count", str(material.n_private)),
        ("windows to practise on", str(material.n_public)),
        ("inputs of a window", f"{inputs[1]} rows x {inputs[2]} channels"),
        (
            "targets of a window",
            f"{ahead}: {', '.join(material.labels)}" if contract.targets else f"{ahead} x {targets[2]} channels",
        ),
        ("scaling", scaling(task, channels)),
    ]
    extra = ""
    if contract.graph_window is not None:
        facts.append(
            (
                "graphs of a window",
                f"correlation and Diebold-Yilmaz spillover of the last {contract.graph_window} daily volatilities",
            )
        )
        extra = (
            '\ngraphs = interface.load("train_correlation"), interface.load("train_spillover")'
            '  # float64 (windows, from, to); of a hidden window: window.arrays["correlation"]'
        )
    if contract.pooled:
        extra = (
            '\nseries = interface.load("train_series")  # int64, which series a window is of; also '
            'window.arrays["series"] and ["times"]'
        )
    usage = f"""inputs, targets = interface.load_train()  # float64 {inputs}, {targets}{extra}
{walk_usage(material, "series" if contract.pooled else "1")}"""
    note = (
        "Windows are in time order. Hidden ones are later than all of training, and are shown one after the other:\n"
        "the next when this one is answered, so that its inputs may show what came of it."
    )
    return Brief(tuple(facts), note, usage)


def _listed(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
