"""What a task shows and hides, by instrument and day, from the data that it is built from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from openfingym.task.exposure import ALWAYS, NOTHING, Days, Exposure

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.task import Task

DATED = frozenset({"forecast", "rolling", "trading", "generation"})
"""Kinds whose rows have days."""
GAP_DAYS = 14
"""Rows that lie farther apart than this are of two intervals of days."""


def is_dated(task: Task) -> bool:
    """Whether the rows of a task have days."""
    return task.spec.contract.kind in DATED


def exposure_of(task: Task, *, own: str = "", given: bool = False) -> Exposure:
    """What a task shows and hides, from the data that it is built from.

    Args:
        task: the task.
        own: digest of an author's own data, which may be known under other names; empty where it is not at hand.
        given: whether to tell of its given tape, although rollouts may have data that are drawn anew.

    Raises:
        OpenFinGymError: its data cannot be loaded.
    """
    from openfingym.data.instruments import instrument
    from openfingym.kinds import kind_of
    from openfingym.kinds.paths import Paths

    kind = kind_of(task)
    # Before anything is loaded: what is drawn anew was seen by nobody.
    if (simulated := kind.data_kind(task) != "real") and kind.renewable(task) and not given:
        return NOTHING
    if task.spec.contract.kind == "qa":
        return _of_questions(task)
    if not is_dated(task) or simulated:
        whole = {f"dataset {task.spec.dataset.name or own[:12] or task.name}": ALWAYS}
        return Exposure(whole, whole)
    source = kind.load(task)
    material = kind.shape(task, source)
    arrays = {name: array for part in (material.public, material.hidden) for name, array in part.items()}
    # Windows to generate have no times in the package.
    times = source.times if isinstance(source, Paths) else {}
    own = "" if task.spec.dataset.name else material.dataset_digest
    facts = {**material.facts, "n_public": material.n_public}
    return exposure_by_times(task, partial(instrument, material.info, own=own), facts, {**arrays, **times})


def exposure_by_times(
    task: Task, named: Callable[[str], str], facts: Mapping[str, Any], arrays: Mapping[str, Any]
) -> Exposure:
    """What a task shows and hides, by the times of its rows.

    Args:
        task: the task.
        named: the instrument of a channel.
        facts: what its contract states of its data, and how many items its public fold has.
        arrays: arrays by name, those of times among them.
    """
    import numpy as np

    contract = task.spec.contract
    lookback, channels = int(facts["lookback"]), facts.get("symbols") or facts["channels"]
    names = sorted(set(map(named, channels)))
    train = np.ravel(arrays["train_times"])
    if contract.kind in {"rolling", "trading"}:
        hidden, played = arrays["private_times"], np.concatenate([arrays["public_times"], arrays["private_times"]])
    else:
        test = np.asarray(arrays["test_times"])
        hidden = test[int(facts["n_public"]) :, lookback:]
        # A window shows what was asked for by those before it; of one to generate, nothing but its context is shown.
        played = test if contract.kind == "forecast" else test[:, :lookback]
    return Exposure(*(dict.fromkeys(names, _days(times)) for times in (train, hidden, played)))


def _of_questions(task: Task) -> Exposure:
    """What a suite's tools show, and what its questions hide."""
    from openfingym.kinds.qa_contract import qa_contract

    contract = qa_contract(task.spec.contract)
    return contract.asked_by.exposure(task.spec.dataset.name or task.name, contract.chosen)


def _days(times: Array) -> Days:
    """The days of some times as intervals."""
    import numpy as np

    days = np.unique(np.asarray(times).astype("datetime64[D]"))
    if not len(days):
        return ()
    ends = np.flatnonzero(np.diff(days) > np.timedelta64(GAP_DAYS, "D"))
    firsts, lasts = days[np.r_[0, ends + 1]], days[np.r_[ends, len(days) - 1]]
    return tuple(zip(map(str, firsts), map(str, lasts), strict=True))
