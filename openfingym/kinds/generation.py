"""The kind ``generation``: draw windows from the distribution of the training windows, with or without a context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds.forging import Forging
from openfingym.kinds.gaussian import gaussian_windows
from openfingym.kinds.generation_brief import brief_of_generation, rules_on_copies
from openfingym.kinds.generation_contract import GenerationContract, generation_contract
from openfingym.kinds.kind import Kind
from openfingym.kinds.material import Array, Blocks, Brief, Fold, Material, Reader, metric_options
from openfingym.kinds.own_tables import start_from_values
from openfingym.kinds.panels import (
    panel_key,
    panel_kind,
    panel_renewable,
    panel_width,
    renewed_panel,
)
from openfingym.kinds.paths import Paths, from_panel, from_process, path_oddities, paths_of, process_of
from openfingym.kinds.pictures import paths
from openfingym.kinds.skillless.generation import skillless
from openfingym.kinds.start import Given, Start
from openfingym.kinds.walk import hidden_until_due, require_sendable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.kinds.plots.plot import Plot
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.contracts import Contract

AXES = ("window", "row", "channel")
"""Axes of an array of windows."""
FEWEST_IN_GROUP = 20
"""Fewest windows of a group that is scored on its own: with fewer, a classifier learns nothing."""
TRAIN_SAMPLE = 10_000
"""Number of training windows that metrics about copies compare with."""


START = Start(
    data="your own CSV",
    description="Generate windows of five daily log returns of two series.",
    asks="Generate windows of five daily log returns of two series, as real ones are.",
    asset_class="synthetic",
    frequency="daily",
    panel="two random walks",
    dataset=None,
    split=(0.6, 0.2, 0.2, 5),
    contract="""lookback = 0                 # rows of context; 0 for unconditional generation
horizon = 5
value_semantics = "log_return"   # log_return | price_level | yield_level | realised_vol | mixed
unit = "log return per day"
low = -1.0
high = 1.0
""",
    metrics=(("marginal_total_variation", 0.5), ("covariance_paths", 0.5)),
    feedback="feedback_clip = 100.0\n",
)


class GenerationKind(Kind):
    """Windows to generate, with or without a context."""

    contract = GenerationContract
    start = START
    forging = Forging(
        stated=("futures", "low", "high"),
        open_range=True,
        scaling_of_prices="start",
        # Comparing many windows at once takes the verifier long.
        limits={"requests_per_minute": 10.0, "burst": 5, "feedback_clip": 100.0},
    )
    load_train = ("train_inputs", "train_targets")
    load_test = ("test_inputs",)
    heavy = True
    drawn = True
    reference_version = 3
    """Version 1 drew white noise for paths too; version 2 decided for each channel whether it was a random walk."""

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's table."""
        return start_from_values(self.start, given, "Generate", FEWEST_IN_GROUP)

    def data_kind(self, task: Task) -> DataKind:
        """The kind of data of the process set or of the panel, without loading it."""
        known = process_of(task)
        return panel_kind(task) if known is None else known.kind

    def source_key(self, task: Task) -> str:
        """A value that changes whenever the process set or the panel does."""
        from openfingym.data.processes.info import process_info

        known = process_of(task)
        return panel_key(task) if known is None else process_info(known).sha256

    def load(self, task: Task) -> Paths:
        """The windows to train on, and those of both folds."""
        return paths_of(task, generation_contract(task.spec.contract))

    def oddities(self, task: Task) -> tuple[str, ...]:
        """What is odd about the panel that windows are cut from."""
        return path_oddities(task)

    def renewable(self, task: Task) -> bool:
        """Whether the windows come from a process set, or from a simulated panel."""
        return process_of(task) is not None or panel_renewable(task)

    def renewed(self, task: Task, seed: int) -> Paths:
        """The same training windows, with those of both folds drawn anew."""
        from openfingym.data import recipe

        known, contract = process_of(task), generation_contract(task.spec.contract)
        if known is not None:
            return from_process(task, contract, known, seed)
        lost = recipe.rows_lost(contract.value_semantics)
        panel = renewed_panel(task, seed, lambda times: lost + recipe.train_rows(times[lost:], task.spec.rows))
        return from_panel(task, contract, panel)

    def interface_of(self, contract: Contract) -> str:
        """One that shows windows, where contexts have times."""
        return "interface_walk.py" if self.walks(contract) else self.interface

    def environment_of(self, contract: Contract) -> str:
        """One that shows windows, where contexts have times."""
        return "openfingym.envs.walk:WalkEnv" if self.walks(contract) else self.environment

    def shape(self, task: Task, source: Paths) -> Material:
        """Divide windows into contexts and futures; without a context, the contexts have no rows."""
        contract = generation_contract(task.spec.contract)
        lookback, length, width = contract.lookback, contract.lookback + contract.horizon, len(source.channels)
        if source.public.shape[1:] != (length, width):
            raise TaskError(
                f"the data has windows of {source.public.shape[1]} rows, but lookback + horizon is {length}",
                path=task.config_path,
                key="contract.horizon",
            )
        hidden = np.concatenate([source.public, source.private])
        counts = len(source.public), len(source.private)
        conditional = lookback > 0
        # Without contexts the same samples are compared with either fold, and there are as many as private windows.
        samples = sum(counts) if conditional else counts[1]
        train = source.train
        public: dict[str, Array | Blocks] = {
            "train_inputs": _part(train, slice(lookback)),
            "train_targets": _part(train, slice(lookback, None)),
            "test_inputs": np.ascontiguousarray(hidden[:, :lookback]) if conditional else np.empty((samples, 0, width)),
        }
        times = source.times if contract.dated else {}
        material = Material(
            info=source.info,
            dataset_digest=source.digest,
            public={**public, **times},
            axes=dict.fromkeys(public, AXES) | dict.fromkeys(times, AXES[:2]),
            hidden={"real": np.ascontiguousarray(hidden[:, lookback:])},
            n_train=train.shape[0],
            n_public=counts[0],
            n_private=counts[1],
            shape=(samples, contract.futures, contract.horizon, width)
            if conditional
            else (samples, contract.horizon, width),
            submission_axes=("context", "future", "row", "channel") if conditional else AXES,
            labels=source.channels,
            recipe=source.recipe,
            facts={
                "lookback": lookback,
                "horizon": contract.horizon,
                "futures": contract.futures,
                "channels": list(source.channels),
                "max_memorised": contract.max_memorised,
                **source.facts,
            },
        )
        if not contract.dated:
            return material
        require_sendable(task, material)
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        """Whether contexts have times."""
        return generation_contract(contract).dated

    def due(self, contract: Contract, read: Reader) -> Array:
        """The time of the last row of each context, after which its futures are to be drawn."""
        return np.asarray(read("test_times"))[:, generation_contract(contract).lookback - 1]

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the training windows; see :mod:`openfingym.kinds.generation_instances`."""
        from openfingym.kinds.generation_instances import generation_instance

        return generation_instance(data, generation_contract(data.task.spec.contract), split, generator)

    def scramble(self, task: Task, source: Paths, generator: np.random.Generator) -> Paths:
        """The same training windows and contexts, with everything hidden replaced by noise."""
        lookback = generation_contract(task.spec.contract).lookback

        def noise(windows: NDArray[np.float64]) -> NDArray[np.float64]:
            out = windows.copy()
            out[:, lookback:] = generator.uniform(windows.min(), windows.max(), out[:, lookback:].shape)
            return out

        return replace(source, public=noise(source.public), private=noise(source.private))

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Independent Gaussian values with the moments of training, or random walks if training windows are paths."""
        return gaussian_windows(read("train_targets"), shape, contract.low, contract.high)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Windows that know no more of the distribution than the baseline does, or are copied from training."""
        return skillless(contract, read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The real future of each context, once for each future asked for; without contexts, the private windows."""
        real = np.asarray(hidden["real"], dtype=np.float64)
        if len(shape) == 4:
            return np.repeat(real[:, None], shape[1], axis=1)
        return real[-shape[0] :]

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """With contexts, the first are the public fold, the others the private one; without, either fold compares all
        samples with its own real windows.
        """
        from openfingym.metrics import Truth, find_metric
        from openfingym.metrics.copying import copy_reference

        contract = generation_contract(spec.contract)
        real = np.asarray(hidden["real"], dtype=np.float64)
        train = read("train_targets")
        # Public windows alone are the ones held out: whether an answer is refused must tell nothing of private ones.
        reference = copy_reference(train, real[: counts[0]], seed=seed)
        copies = any(find_metric(entry.name).problem == "copying" for entry in spec.scoring.metrics)
        sample = {"train": np.asarray(train[:TRAIN_SAMPLE], dtype=np.float64)} if copies else {}
        options = metric_options(contract.value_semantics, spec.scoring)

        def fold(rows: slice) -> Fold:
            futures = np.ascontiguousarray(real[rows])
            known = {f"copy_{field.name}": getattr(reference, field.name) for field in fields(reference)}
            arrays = {**sample, "held_out": futures} if copies else {}
            if not contract.lookback:
                return Fold(slice(None), Truth({**arrays, "real": futures}, options, seed), known)
            # Metrics compare whole paths, or (with `on = "future"`) futures alone.
            contexts = np.ascontiguousarray(read("test_inputs")[rows], dtype=np.float64)
            whole = np.concatenate([contexts, futures], axis=1)
            return Fold(
                rows,
                Truth({**arrays, "real": whole, "future.real": futures}, options, seed),
                {**known, "contexts": contexts},
            )

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse an answer that holds more copies of training windows than chance explains.

        A share of copies is of all windows: the futures of one context are too few and too alike to tell it from.

        Raises:
            SubmissionError: the share of copies is too large; the message states it.
        """
        from openfingym.metrics.copying import CopyReference, examine

        if generation_contract(contract).dated and len(values) == 1:
            return
        limit = generation_contract(contract).max_memorised
        flat = values.reshape(-1, *values.shape[-2:])
        reference = CopyReference(**{field.name: fold.known[f"copy_{field.name}"] for field in fields(CopyReference)})
        report = examine(reference, flat, seed=fold.truth.seed)
        # Real windows resemble training windows as well, by as much as held-out ones do.
        excess = report.memorised_share - report.held_out_share
        if report.flagged and excess > limit:
            raise SubmissionError(
                f"memorised: the share of windows that are copies of training windows, or nearly, is {excess:.0%} "
                "higher than among real "
                f"windows; at most {limit:.0%} is accepted",
                problem="memorised",
            )

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The generated windows: whole paths (``fake``), futures alone, and futures by context."""
        flat = values.reshape(-1, *values.shape[-2:])
        own = generation_contract(contract)
        if not own.lookback:
            return {"fake": values}
        contexts = np.repeat(fold.known["contexts"], own.futures, axis=0)
        return {"fake": np.concatenate([contexts, flat], axis=1), "future.fake": flat, "futures": values}

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """Groups of consecutive windows, real and generated ones; these metrics take too long for a bootstrap."""
        from openfingym.metrics.resampling import grouped

        return grouped(len(fold.truth.arrays["real"]), FEWEST_IN_GROUP)  # type: ignore[arg-type]  # an array

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold restricted to the real windows ``units``, with the generated ones at the same relative position."""
        from openfingym.metrics import Truth

        real = len(fold.truth.arrays["real"])  # type: ignore[arg-type]  # an array
        of_real = {"real", "future.real", "held_out"}
        arrays = {
            name: array[units] if name in of_real else array  # type: ignore[index]  # an array
            for name, array in fold.truth.arrays.items()
        }
        known = {name: array[units] if name == "contexts" else array for name, array in fold.known.items()}
        # Without contexts there may be more or fewer generated windows than real ones, in an order that means nothing:
        # each group of real windows gets its share of them.
        place = np.arange(len(values)) * real // len(values)
        return Fold(slice(None), Truth(arrays, fold.truth.options, fold.truth.seed), known), values[
            np.isin(place, units)
        ]

    def channels(self, task: Task) -> int | None:
        """Channels of the process set, or series of the panel."""
        known = process_of(task)
        return panel_width(task) if known is None or task.spec.dataset.channels else len(known.process.channels)

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """One real window for each hidden item."""
        return {"real": (n_test, *shape[-2:])}

    def compared(self, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The futures of each context, sorted, since exchanging them changes no metric.

        Without contexts there is nothing to probe: a generated window belongs to no hidden window, and whatever the
        score of a submission tells, it tells about the distribution of all of them.
        """
        return None if values.ndim == 3 else np.sort(values, axis=1)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs that draw windows; a GARCH model fits returns and prices only."""
        garch = (
            {"garch-sim"}
            if generation_contract(spec.contract).value_semantics in {"log_return", "price_level"}
            else set()
        )
        return frozenset({"bootstrap", "copula"} | garch)

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Some windows, their quantiles by row, and distributions of values."""
        from openfingym.kinds.plots.windows import path_plots

        return path_plots(read, hidden, counts[0], facts["labels"])

    def rules(self, contract: Contract) -> str:
        """What counts as a copy of training windows."""
        return rules_on_copies(generation_contract(contract))

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """Generated paths beside windows of training."""
        # What a walk has shown is no public data.
        return paths(answer, with_contexts=not self.walks(contract))

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        return brief_of_generation(task, generation_contract(task.spec.contract), material)


def _part(train: Blocks | NDArray[np.float64], rows: slice) -> Blocks | NDArray[np.float64]:
    """Some rows of every training window; of windows that are made in blocks, in blocks again."""
    if not isinstance(train, Blocks):
        return np.ascontiguousarray(train[:, rows])
    steps = len(range(*rows.indices(train.shape[1])))

    def make() -> Iterator[NDArray[np.float64]]:
        for block in train:
            yield np.ascontiguousarray(block[:, rows])

    return Blocks((train.shape[0], steps, train.shape[2]), make)


KIND = GenerationKind()
