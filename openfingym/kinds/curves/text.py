"""The words of a task about curves: in the recipe of its data, and in the facts of its instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openfingym.kinds.material import Brief
from openfingym.kinds.months import is_own
from openfingym.kinds.panels import panel_recipe
from openfingym.kinds.walk import walk_usage

if TYPE_CHECKING:
    from openfingym.data.curves import Curves
    from openfingym.kinds.curves.contract import CurvesContract
    from openfingym.kinds.material import Material
    from openfingym.task import Task


class Words(NamedTuple):
    """Names for rows and curves: for an author's data, of which it is not known how long a row is or whose a curve is,
    or for the bundled data.
    """

    row: str
    """A row in time."""
    series: str
    """That which has a curve."""
    all_series: str
    """The same, in the plural."""
    one: str
    """Behind "rows of one"."""


def words_of(task: Task) -> Words:
    """The words that fit a task's data."""
    if is_own(task):
        return Words("row", "curve", "curves", "curve")
    return Words("month", "country", "countries", "country's curve")


def origin_of(task: Task, source: Curves) -> tuple[str, ...]:
    """The steps by which the curves were made, up to where windows are cut from them, as sentences."""
    info, words = source.info, words_of(task)
    if is_own(task):
        return (*panel_recipe(source), f"{len(source.maturities)} maturities a curve; curves: {len(source.countries)}")
    return (
        f"dataset {info.name}: {info.kind}, {info.source}",
        f"{len(source.times)} {words.row}s of {len(source.countries)} {words.all_series}, {info.first} to {info.last}",
        f"calendar: {info.calendar}",
        f"missing values: {info.missing or 'none'}; nothing is filled",
    )


def brief_of_curves(task: Task, contract: CurvesContract, material: Material) -> Brief:
    """What an agent is told of a task about curves.

    Args:
        task: the task that the instruction is for.
        contract: the contract of the task.
        material: the arrays of the task and the facts about them.
    """
    inputs, targets = (material.public[name].shape for name in ("train_inputs", "train_targets"))
    words = words_of(task)
    frequency = material.info.frequency if is_own(task) else "monthly"
    facts = (
        ("value", f"yield, {contract.unit}, {'no dates' if frequency == 'none' else frequency}"),
        # The fact `series` is a list of names.
        (words.all_series, ", ".join(map(str, material.facts["series"]))),  # type: ignore[call-overload]
        ("maturities", f"{len(material.labels)}, in years: {material.labels[0][1:]} to {material.labels[-1][1:]}"),
        ("training windows", str(material.n_train)),
        ("windows that count", str(material.n_private)),
        ("windows to practise on", str(material.n_public)),
        ("inputs of a window", f"{contract.lookback} {words.row}s of one {words.one}"),
        (
            "targets of a window",
            (
                f"the next {words.row}'s curve: lower, central and upper, which should hold "
                f"{contract.coverage:.0%} of the values"
            ),
        ),
    )
    note = (
        "Windows are in time order. Hidden ones are later than all of training, and are shown one after the other:\n"
        "the next when this one is answered, so that its inputs may show what came of it. Nowhere may lower be above\n"
        "central, or central above upper."
    )
    usage = f"""inputs, targets = interface.load_train()  # float64 {inputs}, {targets}
{words.series} = interface.load("train_series")  # int64, which {words.series} a window is of; window.arrays["series"]
{walk_usage(material, words.all_series)}  # lower, central, upper"""
    return Brief(facts, note, usage)
