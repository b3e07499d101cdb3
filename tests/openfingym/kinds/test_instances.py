"""Instances to train on: nothing hidden of their task is in them, nothing that validation hides in those of train.

A task of each form is tried in an ordinary run, and all tasks of the library where OPENFINGYM_ALL is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task, task_folders
from openfingym.errors import SubmissionError, UsageError
from openfingym.kinds import Material, SequentialKind, kind_of
from openfingym.kinds.instances import FRESH_SEEDS, Instance, TrainingData, fresh_seed
from openfingym.task import Task
from tests.openfingym.kinds.instance_data import Played, bytes_of, instance_of, training_data, written
from tests.openfingym.kinds.materials import array, made, walk
from tests.sweeps import ALL, fixed_part, sweep

A_FORM_EACH = (
    "treasury-forecast-v6", "lob-forecast", "yield-curve-forecast", "equity-excess-return-forecast",
    "stock-return-generation", "fbm-generation", "cert-fraud", "dblp-fraud", "ba2motifs-fraud",
    "equity-rolling-forecast", "equity-trading", "equity-trading-live", "polymarket-forecast", "equity-forecast-live",
)  # fmt: skip
"""A task of the library for each form that instances have."""
TASKS = tuple(sorted(task_folders())) if ALL else A_FORM_EACH
SPLITS = ("train", "validation")
DRAWN_ANEW = {"curves", "questions", "graphs"}
"""Kinds whose simulated instances have no row in common with the package."""


@cache
def known(name: str) -> tuple[Material, TrainingData]:
    """A task's material and training data, made once."""
    task = load_task(name)
    material = made(task)
    return material, training_data(task, material)


def own(make: Callable[..., Task], columns: Mapping[str, NDArray], **edits: str) -> TrainingData:
    """Training data of an author's own table."""
    names = ", ".join(f'"{name}"' for name in columns)
    return training_data(make(columns=columns, channels=f"[{names}]", **edits))


def data_of(name: str) -> TrainingData:
    return known(name)[1]


def some(name: str, split: str, count: int) -> Iterator[Instance]:
    return (instance_of(data_of(name), split, index) for index in range(count))


# -- form


@pytest.mark.parametrize("name", TASKS)
def test_an_instance_has_the_form_of_its_task(name: str) -> None:
    base, data = known(name)
    contract = data.task.spec.contract
    for split in SPLITS:
        for number, instance in enumerate(some(name, split, 3)):
            played, found = Played(data, instance), instance.material
            assert found.public.keys() == base.public.keys()
            assert found.axes.keys() == base.axes.keys() >= base.public.keys()
            assert found.hidden.keys() == base.hidden.keys()
            for part, same in ((found.public, base.public), (found.hidden, base.hidden)):
                for key, values in part.items():
                    one, other = array(values), array(same[key])
                    assert (one.ndim, one.dtype.kind) == (other.ndim, other.dtype.kind), key
                    assert one.flags.c_contiguous, key
            assert found.facts.keys() == base.facts.keys()
            assert found.submission_axes == base.submission_axes
            assert played.baseline.shape == found.shape
            if number == 0:
                assert played.oracle.shape == found.shape
            for key in ("lookback", "horizon", "steps", "futures", "graph_window"):
                value = getattr(contract, key, None)
                if isinstance(value, int):
                    assert 0 <= getattr(played.contract, key) <= value, key
            assert played.kind.brief(played.task, found).facts


@pytest.mark.parametrize("name", TASKS)
def test_instances_follow_from_their_index_and_differ(name: str) -> None:
    data, count = data_of(name), 200 if ALL else 10
    found = {split: [bytes_of(one) for one in some(name, split, count)] for split in SPLITS}
    assert len({*found["train"], *found["validation"]}) == 2 * count
    assert [bytes_of(instance_of(data, split, 7)) for split in SPLITS] == [found[split][7] for split in SPLITS]
    # Of one and the same generator the splits have different instances as well: what is reserved is the kind's to know.
    drawn_alike = [kind_of(data.task).instance(data, split, np.random.default_rng(7)) for split in SPLITS]
    assert len({*map(bytes_of, drawn_alike)}) == 2


# -- nothing hidden of the task


@pytest.mark.parametrize("name", fixed_part(TASKS, 2))
def test_whatever_the_task_hides_its_instances_are_the_same(name: str) -> None:
    """Other hidden values, and other public rows of what is hidden: the same instances, to the last byte."""
    base, data = known(name)
    others = list(_others(data.task, base))
    assert others
    for other in others:
        for key, values in base.hidden.items():
            assert not np.array_equal(array(values), array(other.hidden[key])) or key.endswith(
                ("times", "actions", "series", "texts")
            )
        changed = training_data(data.task, other)
        for split in SPLITS:
            for index in (0, 1):
                assert bytes_of(instance_of(changed, split, index)) == bytes_of(instance_of(data, split, index))


def _others(task: Task, base: Material) -> Iterator[Material]:
    """The task with other hidden values, and other values of what is known of hidden items."""
    kind, generator = kind_of(task), np.random.default_rng(3)
    if kind.renewable(task):
        yield kind.shape(task, kind.renewed(task, 77))
    scrambled = kind.scramble(task, kind.load(task), generator)
    if scrambled is None:
        return
    found = kind.shape(task, scrambled)
    public, hidden = ({key: array(values) for key, values in part.items()} for part in (found.public, found.hidden))
    for part in (public, hidden):
        for key, values in part.items():
            if key.startswith("test_") and values.dtype.kind == "f":
                part[key] = generator.normal(size=values.shape)
    if kind.name == "nodes":
        public |= _other_nodes(public, generator)
    yield replace(found, public=public, hidden=hidden)


def _other_nodes(public: Mapping[str, NDArray], generator: np.random.Generator) -> dict[str, NDArray]:
    """The graph with other features of hidden nodes, and without a part of their edges."""
    hidden, edges = public["test_nodes"], public["graph_edges"]
    touches = np.isin(edges, hidden).any(axis=0)
    kept = ~touches | (generator.uniform(size=len(touches)) < 0.5)
    out = {"graph_edges": np.ascontiguousarray(edges[:, kept])}
    if "graph_features" in public:
        features = public["graph_features"].copy()
        features[hidden] = generator.normal(size=features[hidden].shape)
        return out | {"graph_features": features}
    owner = np.repeat(np.arange(len(public["graph_features_indptr"]) - 1), np.diff(public["graph_features_indptr"]))
    values = public["graph_features_values"].copy()
    values[np.isin(owner, hidden)] += 1.0
    return out | {"graph_features_values": values}


@pytest.mark.parametrize("name", [name for name in TASKS if kind_of(load_task(name)).name not in DRAWN_ANEW])
def test_only_training_arrays_and_the_graph_between_training_nodes_are_read(name: str) -> None:
    read: list[str] = []
    data = data_of(name)

    def reading(key: str) -> NDArray:
        read.append(key)
        return data.read(key)

    instance_of(replace(data, read=reading), "train", 0)
    assert read
    assert all(key.startswith(("train_", "graph_")) for key in read)


@pytest.mark.parametrize("name", ["fx-forecast-v5", "stock-return-generation", "equity-rolling-forecast"])
def test_no_hidden_value_of_the_task_is_in_an_instance(name: str) -> None:
    """Of returns and volumes, of which two in a row are never the same by chance."""
    base, data = known(name)
    # Two prices move by the same ticks once in a long time: what training shows of its own does not count.
    trained = set().union(*(_pairs(array(values)) for values in base.public.values()))
    hidden = set().union(*(_pairs(array(values)) for values in base.hidden.values())) - trained
    assert len(hidden) > 500
    # The search finds what is there: the hidden values of an instance among the training values of its task.
    found = instance_of(data, "train", 0).material
    assert set().union(*(_pairs(array(values)) for values in found.hidden.values())) <= trained
    for split in SPLITS:
        for instance in some(name, split, 4):
            material = instance.material
            arrays = [array(values) for values in (*material.public.values(), *material.hidden.values())]
            assert not hidden & set().union(*map(_pairs, arrays))


def _pairs(values: NDArray) -> set[bytes]:
    """Two values of a channel in a row, of which each has at least five digits, or is in the thousands."""
    if values.dtype.kind != "f" or values.ndim != 3 or min(values.shape) == 0:
        return set()
    rows = (
        values[:, :, 4]
        if values.shape[2] == 5 and values.max() > 1e3
        else np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
    )
    both = np.stack([rows[:-1].ravel(), rows[1:].ravel()], axis=1)
    return {one.tobytes() for one in both[(np.abs(both * 1e4) % 1.0 > 1e-6).all(axis=1) | (both > 1e3).all(axis=1)]}


# -- validation


@pytest.mark.parametrize("name", fixed_part(TASKS, 2, first=1))
def test_what_validation_hides_is_in_no_instance_of_train(name: str) -> None:
    count = 40 if ALL else 12
    shown = set().union(*(_marks(one, name, whole=True) for one in some(name, "train", count)))
    hidden = set().union(*(_marks(one, name, whole=False) for one in some(name, "validation", count)))
    assert hidden
    assert not hidden & shown
    # The marks do tell: instances of one split have some in common, unless everything is drawn anew.
    again = set().union(*(_marks(one, name, whole=True) for one in some(name, "validation", count)))
    assert hidden <= again


def _marks(instance: Instance, name: str, *, whole: bool) -> set[bytes]:
    """What tells the items of an instance, or those it hides, from all others: times, features or values."""
    material, kind = instance.material, kind_of(load_task(name))
    hidden = {key: array(values) for key, values in material.hidden.items()}
    # What windows show of hidden items, beside what is shown at once.
    public = {**{key: array(values) for key, values in material.public.items()}, **hidden}
    if kind.name in {"forecast"}:
        lookback = int(material.facts["lookback"])
        times = [public["test_times"][:, 0 if whole else lookback :], *([public["train_times"]] if whole else [])]
        return _each(np.concatenate([one.ravel() for one in times]))
    if kind.name == "rows":
        parts = ("train", "test") if whole else ("test",)
        return _each(np.concatenate([public[f"{part}_times"] for part in parts]))
    if isinstance(kind, SequentialKind):
        times = [hidden["public_times"], hidden["private_times"], *([public["train_times"]] if whole else [])]
        if not whole:
            # The context of a fold's first episode is shown, and not asked for.
            times = [one[int(material.facts["lookback"]) :] for one in times]
        return _each(np.concatenate(times))
    if kind.name == "nodes":
        return _nodes(public, None if whole else public["test_nodes"])
    if kind.name == "graphs":
        numbers = np.concatenate([public["test_graphs"], *([public["train_graphs"]] if whole else [])])
        edges, offsets = public["graph_edges"], public["graph_offsets"]
        own = (edges[:, (edges[0] >= offsets[i]) & (edges[0] < offsets[i + 1])] - offsets[i] for i in numbers)
        return {one.tobytes() for one in own}
    values = [hidden["real"] if "real" in hidden else hidden["targets"]]
    values += [public["train_targets"], public["train_inputs"]] if whole else []
    if kind.name == "questions":
        # Outcomes are few; what is known of a question tells it.
        n = len(hidden["targets"])
        values = [public["test_inputs"][-n:], *([public["train_inputs"]] if whole else [])]
    rows = [one.reshape(-1, one.shape[-1]) for one in values]
    # Of other channels, too: three numbers in a row of one channel are told by none by chance.
    return {one.tobytes() for part in rows for one in np.ascontiguousarray(part)}


def _each(times: NDArray) -> set[bytes]:
    return {np.asarray(one).tobytes() for one in np.unique(times)}


def _nodes(public: Mapping[str, NDArray], chosen: NDArray[np.int64] | None) -> set[bytes]:
    """Features of nodes."""
    if "graph_features" in public:
        features = public["graph_features"]
        return {one.tobytes() for one in (features if chosen is None else features[chosen])}
    ends = public["graph_features_indptr"]
    nodes = range(len(ends) - 1) if chosen is None else chosen
    words = (slice(ends[node], ends[node + 1]) for node in nodes)
    rows = ((public["graph_features_indices"][one], public["graph_features_values"][one]) for one in words)
    # A document of few words is not the only one that has them.
    return {np.concatenate([which, values]).tobytes() for which, values in rows if len(which) >= 12}


def test_no_seed_of_an_instance_is_a_seed_of_anything_else() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    seeds = {split: {fresh_seed(split, generator) for _ in range(50)} for split in SPLITS}
    # Seeds of packages have 32 bits, those of fresh tapes as many as a SHA-256.
    assert min(seeds["train"] | seeds["validation"]) >= 1 << FRESH_SEEDS
    assert len(seeds["train"] | seeds["validation"]) == 100
    assert {one >> FRESH_SEEDS for one in seeds["train"]} == {2}
    assert {one >> FRESH_SEEDS for one in seeds["validation"]} == {3}


# -- scores


@pytest.mark.parametrize("name", sweep(TASKS, 2))
def test_the_oracle_beats_the_baseline(name: str) -> None:
    kind = kind_of(load_task(name))
    # Generated windows take long to score, and the best ones are those of the private fold alone.
    for split in SPLITS if ALL or not kind.heavy else SPLITS[:1]:
        played = Played(data_of(name), instance_of(data_of(name), split, 2))
        for fold in (1,) if kind.drawn else (0, 1):
            assert played.relative(played.baseline, fold) == 1.0
            assert played.relative(played.oracle, fold) < 1.0


@pytest.mark.parametrize("name", ["treasury-forecast-v6", "lob-forecast", "fx-forecast", "yield-curve-forecast"])
def test_hidden_windows_advance_by_the_horizon_and_are_not_shown_at_once(name: str) -> None:
    """As those of a task: a window shows what came of the one before it."""
    data = data_of(name)
    shown = np.unique(np.asarray(data.read("train_times")))
    for split in SPLITS:
        for index in range(8):
            found = instance_of(data, split, index).material
            assert not any(key.startswith("test_") for key in found.public)
            times, targets = array(found.hidden["test_times"]), array(found.hidden["targets"])
            folds = slice(0, found.n_public), slice(found.n_public, None)
            assert 12 <= sum(len(np.unique(times[fold], axis=0)) for fold in folds) <= 40
            for fold in folds:
                windows = np.unique(times[fold], axis=0)
                if name == "yield-curve-forecast":  # drawn anew, month by month
                    rows = windows.astype("datetime64[M]").astype(np.int64)
                else:
                    rows = np.searchsorted(shown, windows)
                horizon = int(found.facts["horizon"])
                assert (rows[1:, 0] - rows[:-1, 0] == horizon).all()
                if found.shape[1] == horizon and targets.shape[2] == array(found.hidden["test_inputs"]).shape[2]:
                    came = array(found.hidden["test_inputs"])[fold][1:, -horizon:]
                    np.testing.assert_array_equal(came, targets[fold][:-1])


@pytest.mark.parametrize("name", [name for name in TASKS if ALL or not name.endswith("generation")])
def test_no_answer_without_skill_is_better_than_the_baseline_on_average(name: str) -> None:
    """Averages of the log relative total over instances, with its standard error."""
    found: dict[str, list[float]] = {}
    stepped = isinstance(kind_of(load_task(name)), SequentialKind)
    for split in SPLITS:
        for index in range(2 if stepped and not ALL else 4):
            played = Played(data_of(name), instance_of(data_of(name), split, index))
            for answer, values in played.skillless(index).items():
                try:
                    found.setdefault(answer, []).append(float(np.log(max(played.relative(values), 1e-9))))
                except SubmissionError:
                    continue
    for answer, logs in found.items():
        mean, error = np.mean(logs), np.std(logs, ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else 0.0
        # Instances of one task share rows, so that their errors are larger than if they did not.
        assert mean > np.log(0.999) or mean + 6.0 * max(error, 0.004) > 0.0, (answer, logs)


@pytest.mark.parametrize(
    "name", ["treasury-forecast-v6", "lob-forecast", "yield-curve-forecast", "equity-trading-live", "cert-fraud"]
)
def test_a_verifier_scores_the_package_of_an_instance(name: str, tmp_path: Path) -> None:
    from openfingym_verifier.scoring.truth import load_task as load_truth

    data = data_of(name)
    instance = instance_of(data, "train", 1)
    package = written(data, instance, tmp_path)
    played, truth = Played(data, instance), load_truth(package)
    assert package.read_truth().keys() == instance.material.hidden.keys()
    assert truth.shape == instance.material.shape
    text = package.read_instruction()
    for value in instance.contract.values():
        if isinstance(value, list):
            assert all(str(one).lower() in text.lower() for one in value)
    np.testing.assert_array_equal(truth.grader.baseline, played.baseline)


# -- tasks of an author's own


def test_a_pooled_task_has_instances_of_some_series(make: Callable[..., Task]) -> None:
    columns = {f"c{i}": walk(i, 900) for i in range(16)}
    data = own(make, columns, horizon="1", lookback="12", pooled="true", train_stride="3")
    for split in SPLITS:
        instance = instance_of(data, split, 0)
        width = len(instance.material.facts["series"])
        assert 12 <= width <= 16
        played = Played(data, instance)
        assert played.oracle.shape == (instance.material.n_public + instance.material.n_private, 1, 1)
        assert instance.material.n_private % width == 0
        assert played.relative(played.oracle) < 1.0


def test_graphs_of_an_instance_are_made_of_its_own_volatilities(make: Callable[..., Task]) -> None:
    from openfingym.data.volatility import rolling_graphs

    columns = {f"c{i}": walk(i, 2000) for i in range(5)}
    edits = {"value_semantics": '"realised_vol"', "graph_window": "40", "lookback": "21", "embargo": "5"}
    data = own(make, columns, **edits)
    instance = instance_of(data, "validation", 1)
    hidden, window = instance.material.hidden, int(instance.contract["graph_window"])
    names = instance.material.facts["channels"]
    assert array(hidden["test_spillover"]).shape[1:] == (len(names), len(names))
    # The same rows as the task's, whatever of them the windows of the instance show.
    base = made(data.task)
    rows = {str(time): row for row, time in enumerate(np.unique(array(base.public["train_times"])))}
    shown = np.full((len(rows), 5), np.nan)
    for times, inputs in zip(array(base.public["train_times"]), array(base.public["train_inputs"]), strict=True):
        shown[rows[str(times[0])] : rows[str(times[0])] + len(inputs)] = inputs
    places = [list(base.facts["channels"]).index(name) for name in names]
    lookback = int(instance.contract["lookback"])
    for number in (0, 3):
        end = rows[str(array(hidden["test_times"])[number, lookback - 1])]
        before = np.ascontiguousarray(shown[end - window + 1 : end + 1, places])
        correlation, _ = rolling_graphs(before, np.array([window - 1]), window)
        np.testing.assert_array_equal(array(hidden["test_correlation"])[number], correlation[0])


def test_windows_of_an_instance_lie_in_rows_that_follow_one_another(make: Callable[..., Task]) -> None:
    """Where training windows leave rows out between them, no window reaches over such a gap."""
    data = own(make, {"a": walk(1, 4000), "b": walk(2, 4000)}, train_stride="40")
    for split in SPLITS:
        instance = instance_of(data, split, 0)
        for found in (instance.material.public["train_times"], instance.material.hidden["test_times"]):
            times = array(found).astype("datetime64[D]")
            assert len(times) > 1
            assert (np.diff(times, axis=1) == np.timedelta64(1, "D")).all()


def test_an_instance_is_scaled_by_its_own_training_rows(make: Callable[..., Task]) -> None:
    """By the task's mean, one could tell whether later values are larger than those that an instance shows."""
    columns = {"a": 100.0 * 1.002 ** np.arange(1500) * walk(1, 1500) / 100.0, "b": walk(2, 1500)}
    edits = {"value_semantics": '"price_level"', "scaling": '"mean"', "high": "50.0", "low": "0.0"}
    data = own(make, columns, **edits)
    base = made(data.task).facts["scaling"]
    for index in range(4):
        instance = instance_of(data, "train", index)
        scaling, names = instance.material.facts["scaling"], list(instance.material.facts["channels"])
        first = array(instance.material.public["train_inputs"])[:, 0].mean(axis=0)
        assert (np.abs(first - 1.0) < 0.3).all()
        assert scaling["scale"] != [base["scale"][["a", "b"].index(name)] for name in names]


def test_too_little_training_data_is_said(make: Callable[..., Task]) -> None:
    data = own(
        make,
        {"a": walk(1, 130), "b": walk(2, 130)},
        embargo="14",
        lookback="5",
        train="0.5",
        public="0.25",
        private="0.25",
    )
    with pytest.raises(UsageError, match=r"training data has .* but an instance of the task needs"):
        instance_of(data, "train", 0)
