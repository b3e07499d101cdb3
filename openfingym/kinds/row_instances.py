"""Instances of tasks whose items are in the order of time: rows of features, and questions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.instances import Instance, between, fresh_seed, origin, some_of, too_little
from openfingym.kinds.material import Array, Material
from openfingym.kinds.stretches import placed, public_part, public_share, room
from openfingym.kinds.walk import hidden_until_due

if TYPE_CHECKING:
    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.questions.contract import QuestionsContract
    from openfingym.kinds.stretches import TimeStretch

FEWEST_SERIES = 20
"""Fewest series of an instance, since a metric forms portfolios of them."""
MOST_ROWS = 2400
"""Most training rows of an instance."""
HIDDEN_QUESTIONS = (80, 200)
"""Fewest and most questions to answer."""
TRAINING_QUESTIONS = (900, 1200)
"""Fewest and most questions to learn from: with fewer, the quantiles of the baseline would be so coarse that a shift
could improve it."""


def rows_instance(
    data: TrainingData, split: InstanceSplit, generator: np.random.Generator, *, centred: bool
) -> Instance:
    """An instance of a rows task: some of the moments of its training rows, and some of the series.

    All rows of a moment, such as a month, are in one part.

    Args:
        data: the training data of the task.
        split: split of the instance.
        generator: random generator that everything about the instance is drawn from.
        centred: whether targets are taken less their mean in the training part.

    Raises:
        UsageError: the task has too few moments.
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
        # Numbered anew, from 0. Rows of other series get wrong numbers, and are not kept.
        series = np.searchsorted(np.array(places), series)
    parts = [
        np.arange(moments[part.start], moments[part.stop])[kept[moments[part.start] : moments[part.stop]]]
        for part in (stretch.train, stretch.public, stretch.private)
    ]
    if any(len(part) < 2 for part in parts):
        raise too_little(task, f"{len(times)} rows", "two rows at least in each part")
    train, test = parts[0][-MOST_ROWS:], np.concatenate(parts[1:])
    inputs, targets = data.read("train_inputs"), np.asarray(data.read("train_targets"), dtype=np.float64)
    # fsum is exact, so the result does not depend on the order in which a machine adds.
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
        # The task's targets are already less a mean; both together are what was subtracted from the data.
        facts["centre"] = float(data.facts["centre"]) + centre
    material = Material(
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
    return Instance(hidden_until_due(material))


def questions_instance(
    data: TrainingData, contract: QuestionsContract, name: str, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a questions task: earlier questions with their outcomes, and later ones to answer.

    All of them are drawn anew from the simulator of the task's dataset, with seeds that differ between the splits:
    among the few questions of a package there are always some that are answered well by chance.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        name: name of the dataset of questions.
        split: split of the instance.
        generator: random generator that everything about the instance is drawn from.
    """
    from openfingym.data.processes.draws import Branch
    from openfingym.data.questions import ROWS, simulated_questions
    from openfingym.kinds.questions.kind import question_arrays

    # A branch that keeps none of the rows of the package's own set: ROWS of them are drawn from the new seed.
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
    public, axes = question_arrays(source, rows)
    numbers = contract.numbers
    # Facts that hold of the instance as of the task.
    same = ("lookback", "horizon", "channels", "form", "levels", "coverage", "market_implied", "moments")
    material = Material(
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
        facts={fact: data.facts[fact] for fact in same},
    )
    return Instance(hidden_until_due(material))


def _in_time(
    data: TrainingData,
    count: int,
    fewest: tuple[int, int],
    most: tuple[int, int],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> tuple[TimeStretch, tuple[int, int]]:
    """Where the three parts of an instance lie, and how many items are in the two folds.

    Args:
        data: the training data of the task.
        count: number of the task's training items.
        fewest: fewest items of the training part, if there are so many; and fewest hidden items.
        most: a number of hidden items that is reached wherever there are so many; and most hidden items.
        split: split of the instance.
        generator: random generator that numbers and place are drawn from.

    Raises:
        UsageError: the task has too few training items.
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
