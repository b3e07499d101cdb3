"""Instances of tasks whose items are rows in the order of time: rows of features, and questions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.instances import Instance, between, fresh_seed, origin, some_of, too_little
from openfingym.kinds.material import Array, Material
from openfingym.kinds.stretches import placed, public_part, public_share, room

if TYPE_CHECKING:
    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.questions_contract import QuestionsContract
    from openfingym.kinds.stretches import TimeStretch

FEWEST_SERIES = 20
"""Series of an instance at least, of which a metric forms portfolios."""
MOST_ROWS = 2400
"""Training rows of an instance at most."""
HIDDEN_QUESTIONS = (80, 200)
"""Questions to answer, at least and at most."""
TRAINING_QUESTIONS = (900, 1200)
"""Questions to learn from: few of them would make quantiles so coarse that a shift of the baseline was better."""


def rows_instance(
    data: TrainingData, split: InstanceSplit, generator: np.random.Generator, *, centred: bool
) -> Instance:
    """An instance of a rows task: some of the moments of its training rows, and some of the series.

    The rows of a moment stay together.

    Args:
        data: what the task gives to train on.
        split: what the instance is for.
        generator: decides what is in it.
        centred: whether targets are taken less their mean in the training part.

    Raises:
        UsageError: there are too few moments.
    """
    from openfingym.data.rows import starts_of

    task, table = data.task, data.task.spec.rows
    times, series = np.asarray(data.read("train_times")), np.asarray(data.read("train_series"))
    moments = starts_of(times)
    count = len(moments) - 1
    stretch, hidden = _in_time(data, count, (20, 4), (3, 40), split, generator)
    names = [str(name) for name in data.facts["series"]]
    kept, chosen = np.ones(len(series), dtype=np.bool_), names
    if names:
        places, chosen = some_of(generator, names, min(FEWEST_SERIES, len(names)))
        kept = np.isin(series, places)
        series = np.searchsorted(np.array(places), series)
    parts = [
        np.arange(moments[part.start], moments[part.stop])[kept[moments[part.start] : moments[part.stop]]]
        for part in (stretch.train, stretch.public, stretch.private)
    ]
    if any(len(part) < 2 for part in parts):
        raise too_little(task, f"{len(times)} rows", "two rows at least in each part")
    train, test = parts[0][-MOST_ROWS:], np.concatenate(parts[1:])
    inputs, targets = data.read("train_inputs"), np.asarray(data.read("train_targets"), dtype=np.float64)
    centre = math.fsum(targets[train]) / len(train) if centred else 0.0
    public: dict[str, Array] = {
        "train_inputs": inputs[train],
        "train_targets": targets[train] - centre,
        "train_times": times[train],
        "train_series": series[train],
        "test_inputs": inputs[test],
        "test_times": times[test],
        "test_series": series[test],
    }
    facts: dict[str, object] = {"lookback": 1, "horizon": 1, "channels": data.facts["channels"], "series": chosen}
    if centred:
        facts["centre"] = float(data.facts["centre"]) + centre
    return Instance(
        Material(
            info=data.info,
            dataset_digest=data.digest,
            public=public,
            axes={name: ("row", "feature") if name.endswith("inputs") else ("row",) for name in public},
            hidden={"targets": targets[test] - centre},
            n_train=len(train),
            n_public=len(parts[1]),
            n_private=len(parts[2]),
            shape=(len(test),),
            submission_axes=("row",),
            labels=tuple(str(name) for name in data.facts["labels"]),
            recipe=(
                *origin(data, f"moments {stretch.train.start} to {stretch.private.stop - 1} of its training rows"),
                f"{len(chosen)} of {len(names)} series" if names else "all rows of a moment",
                f"{table.embargo} moments dropped between; {hidden[0]} public and {hidden[1]} private ones",
            ),
            facts=facts,
        )
    )


def questions_instance(
    data: TrainingData, contract: QuestionsContract, name: str, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a questions task: earlier questions with their outcomes, and later ones to answer, all of them
    drawn anew from the simulator of the task's set, with seeds that differ between the splits.

    Among the few questions of a package there are always some that are answered well by chance.

    Args:
        data: what the task gives to train on.
        contract: its contract.
        name: name of the set of questions.
        split: what the instance is for.
        generator: decides what is in it.
    """
    from openfingym.data.processes.draws import Branch
    from openfingym.data.questions import ROWS, simulated_questions

    source = simulated_questions(name, Branch(fresh_seed(split, generator), ROWS))
    table = data.task.spec.rows
    asked = between(generator, *HIDDEN_QUESTIONS)
    n_public = public_part(asked, public_share(table))
    first = between(generator, *TRAINING_QUESTIONS) + table.embargo
    second = first + n_public + table.embargo
    rows = {
        "train": np.arange(first - table.embargo),
        "test": np.r_[first : first + n_public, second : second + asked - n_public],
    }
    public: dict[str, Array] = {}
    axes: dict[str, tuple[str, ...]] = {}
    texts = np.array(source.texts)
    known = {
        "inputs": (source.features, ("question", "feature")),
        "times": (source.times, ("question", "moment")),
        "texts": (texts, ("question",)),
    }
    for part, chosen in rows.items():
        for about, (values, meaning) in known.items():
            public[f"{part}_{about}"], axes[f"{part}_{about}"] = values[chosen], meaning
        public[f"{part}_series"], axes[f"{part}_series"] = np.arange(len(chosen)), ("question",)
    public["train_targets"], axes["train_targets"] = source.targets[rows["train"]], ("question",)
    numbers = contract.numbers
    same = ("lookback", "horizon", "channels", "form", "levels", "coverage", "market_implied", "moments")
    return Instance(
        Material(
            info=data.info,
            dataset_digest=data.digest,
            public=public,
            axes=axes,
            hidden={"targets": source.targets[rows["test"]]},
            n_train=len(rows["train"]),
            n_public=n_public,
            n_private=asked - n_public,
            shape=(asked, len(numbers)) if len(numbers) > 1 else (asked,),
            submission_axes=("question", "number") if len(numbers) > 1 else ("question",),
            labels=numbers,
            recipe=(
                *origin(data, "questions drawn anew"),
                f"{table.embargo} questions dropped between; {n_public} public, {asked - n_public} private",
            ),
            facts={**{fact: data.facts[fact] for fact in same}, "n_public": n_public},
        )
    )


def _in_time(
    data: TrainingData,
    count: int,
    fewest: tuple[int, int],
    most: tuple[int, int],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> tuple[TimeStretch, tuple[int, int]]:
    """Items of the three parts, and how many are in the folds; the same numbers for both splits.

    Args:
        data: what the task gives to train on.
        count: its training items.
        fewest: items of the training part at least, if there are so many, and hidden ones at least.
        most: hidden items below which there are never fewer if there are so many, and at most.
        split: what the instance is for.
        generator: decides which they are.

    Raises:
        UsageError: there are too few items.
    """
    task, table = data.task, data.task.spec.rows
    space = room(count, table.embargo)
    if space < fewest[1]:
        raise too_little(task, f"{count} training items", f"{5 * (fewest[1] + table.embargo)} or more")
    largest = min(space, most[1])
    hidden = between(generator, max(min(most[0], largest), largest // 2, fewest[1]), largest)
    n_public = public_part(hidden, public_share(table))
    parts = n_public, hidden - n_public
    train = min(max(fewest[0], 2 * hidden), count // 2)
    return placed(task, count, parts, (train, count), split, generator, embargo=table.embargo), parts
