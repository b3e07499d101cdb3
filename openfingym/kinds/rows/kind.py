"""The kind ``rows``: rows of features, with one number to predict for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from openfingym.data.characteristics import NAME, SHA256
from openfingym.errors import TaskError
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.months import MonthsKind, is_own
from openfingym.kinds.panels import panel_recipe, split_text
from openfingym.kinds.rows.skillless import skillless
from openfingym.kinds.start import Start
from openfingym.kinds.walk import hidden_until_due, walk_usage
from openfingym.task.contracts import Contract, Family

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.rows import FeatureRows
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.plots.plot import Plot
    from openfingym.kinds.start import Given
    from openfingym.task import Spec, Task


class RowsContract(Contract):
    """Rows of features, with one number to predict for each: a submission is [rows]."""

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["rows"]
    lookback: Literal[1] = 1
    horizon: Literal[1] = 1
    value_semantics: Literal["log_return"] = "log_return"
    """What the targets are: numbers for which zero is a sensible forecast without any knowledge, as for returns."""
    centred: bool = False
    """Whether the mean of training is subtracted from targets, so that zero is a sensible forecast of any number."""


START = Start(
    data="the bundled rows 'sim-us-characteristics'",
    description="Forecast next month's excess returns of simulated stocks from their characteristics.",
    asks="Forecast the excess return of every stock in the next month.",
    asset_class="equity",
    frequency="monthly",
    panel="60 simulated US stocks, 42 characteristics",
    dataset="sim-us-characteristics",
    split=(0.6, 0.2, 0.2, 1),
    contract="""unit = "log return per month"
low = -1.0
high = 1.0
""",
    metrics=(("mse", 1.0),),
)


class RowsKind(MonthsKind):
    """Rows of features, with one number to predict for each."""

    contract = RowsContract
    start = START
    forging = Forging(open_range=True, overlapping=True)
    dataset = NAME
    dataset_sha256 = SHA256
    load_train = ("train_inputs", "train_targets")
    interface = "interface_walk.py"
    environment = "openfingym.envs.walk:WalkEnv"
    takes_pulled = False

    def load(self, task: Task) -> FeatureRows:
        """The simulated characteristics, or the author's own rows."""
        from openfingym.data.characteristics import simulated_characteristics
        from openfingym.data.rows import rows_of

        self.require_known(task)
        if is_own(task):
            from openfingym.kinds.rows.own import own_rows

            return own_rows(task)
        return rows_of(simulated_characteristics())

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's rows."""
        from openfingym.kinds.rows.own import start_from_rows

        return start_from_rows(self.start, given)

    def renewed(self, task: Task, seed: int) -> FeatureRows:
        """The characteristics and returns with every month after the training block drawn anew."""
        from openfingym.data.characteristics import MONTHS, simulated_characteristics
        from openfingym.data.processes.draws import Branch
        from openfingym.data.recipe import train_share
        from openfingym.data.rows import rows_of

        self.require_known(task)
        return rows_of(
            simulated_characteristics(branch=Branch(seed, MONTHS - train_share(task.spec.rows.shares[0], MONTHS)))
        )

    def shape(self, task: Task, source: FeatureRows) -> Material:
        """Divide dates into three blocks; all rows of a date are in one block."""
        train, public, private = _blocks(task, source)
        hidden = np.concatenate([public, private])
        # Of training rows alone, and exact, so that it does not depend on the order in which a machine adds.
        centre = math.fsum(source.targets[train]) / len(train) if _contract(task).centred else 0.0
        targets = source.targets - centre if _contract(task).centred else source.targets
        arrays: dict[str, Array] = {
            "train_inputs": source.features[train],
            "train_targets": targets[train],
            "train_times": source.times[train],
            "train_series": source.series[train],
            "test_inputs": source.features[hidden],
            "test_times": source.times[hidden],
            "test_series": source.series[hidden],
        }
        facts: dict[str, object] = {
            "lookback": 1,
            "horizon": 1,
            "channels": list(source.names),
            "series": list(source.series_names),
        }
        if _contract(task).centred:
            facts["centre"] = centre
        material = Material(
            info=source.info,
            dataset_digest=source.info.sha256,
            public=arrays,
            axes={name: ("row", "feature") if name.endswith("inputs") else ("row",) for name in arrays},
            hidden={"targets": targets[hidden]},
            n_train=len(train),
            n_public=len(public),
            n_private=len(private),
            shape=(len(hidden),),
            submission_axes=("row",),
            labels=(source.target,),
            recipe=_recipe(task, source, centre),
            facts=facts,
        )
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        """Every row has a date."""
        return True

    def due(self, contract: Contract, read: Reader) -> Array:
        """The date of each row; all rows of a date are to be answered together."""
        return np.asarray(read("test_times"))

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the moments and series; see :mod:`openfingym.kinds.row_instances`."""
        from openfingym.kinds.row_instances import rows_instance

        return rows_instance(data, split, generator, centred=_contract(data.task).centred)

    def scramble(self, task: Task, source: FeatureRows, generator: np.random.Generator) -> FeatureRows:
        """The same features, with every hidden target replaced by noise."""
        _, public, private = _blocks(task, source)
        targets = source.targets.copy()
        hidden = np.concatenate([public, private])
        # About as large as monthly returns are; of other targets, noise of any size will do.
        targets[hidden] = generator.normal(scale=0.1, size=targets[hidden].shape)
        return replace(source, targets=targets)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Zero: no excess return, or the mean of training."""
        return np.zeros(shape)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Forecasts that take no account of the features."""
        return skillless(contract, read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden targets."""
        return np.asarray(hidden["targets"], dtype=np.float64)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier dates are the public fold, the later ones the private one."""
        from openfingym.metrics import Truth

        targets = np.ascontiguousarray(hidden["targets"], dtype=np.float64)
        benchmark = float(np.mean(read("train_targets")))
        # The rows of a date are one period, of which a metric forms one portfolio.
        periods = np.unique(np.asarray(read("test_times")), return_inverse=True)[1].astype(np.int64)

        def fold(rows: slice) -> Fold:
            y_true = targets[rows]
            arrays = {"y_true": y_true, "period": periods[rows], "benchmark": np.full(y_true.shape, benchmark)}
            return Fold(rows, Truth(arrays, {"periods_per_year": spec.scoring.periods_per_year}, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The predictions."""
        return {"y_pred": values}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64]:
        """The date of each row."""
        return np.asarray(read("test_times"))

    def known_targets(self, contract: Contract, read: Reader) -> Array:
        """The training targets, as one column."""
        return np.asarray(read("train_targets"))[:, None]

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset({"mean", "ridge", "gbm"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Targets by date, and distributions of targets and features."""
        from openfingym.kinds.plots.series import row_plots

        return row_plots(read, hidden, counts[0], facts)

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        if is_own(task):
            from openfingym.kinds.rows.own import brief_of_own_rows

            return brief_of_own_rows(task, material)
        inputs, targets = (material.public[name].shape for name in ("train_inputs", "train_targets"))
        names = [str(name) for name in material.facts["channels"]]  # type: ignore[attr-defined]  # a list of names
        facts = (
            ("value", f"excess log return of the next month, {task.spec.contract.unit}"),
            ("features", ", ".join(names)),
            ("stocks a month", str(len(material.facts["series"]))),  # type: ignore[arg-type]  # a list of names
            ("training rows", str(material.n_train)),
            ("rows that count", str(material.n_private)),
            ("rows to practise on", str(material.n_public)),
        )
        note = (
            "Rows are in time order. Hidden ones are later than all of training, and are shown month by month: the\n"
            "next when this one is answered. No feature is computed from returns or prices, so no row tells the\n"
            "return of another."
        )
        usage = f"""features, returns = interface.load_train()  # float64 {inputs}, {targets}
months = interface.load("train_times")  # datetime64[ns], the month of each row; which stock: train_series
{walk_usage(material, "stocks")}"""
        return Brief(facts, note, usage)


def _contract(task: Task) -> RowsContract:
    contract = task.spec.contract
    assert isinstance(contract, RowsContract)
    return contract


def _recipe(task: Task, source: FeatureRows, centre: float) -> tuple[str, ...]:
    """What was done to the data, step by step, as sentences."""
    split, info, own = task.spec.rows, source.info, is_own(task)
    moments, stocks = len(source.moments) - 1, len(source.series_names)
    if not own:
        return (
            f"dataset {info.name}: {info.kind}, {info.source}",
            f"{moments} months of {stocks} stocks, {info.first} to {info.last}",
            f"calendar: {info.calendar}",
            f"corporate actions: {info.corporate_actions}",
            f"missing values: {info.missing or 'none'}; nothing is filled",
            f"{split_text(split)} months dropped between",
            "one row a stock and month: features known at the month's end, the excess return of the month after",
            (
                "years are the steps of a walk-forward: fit on the years before, predict a year; the times of all "
                "rows "
                "are given"
            ),
        )
    clock = "dates" if task.spec.dataset.dates else "rows"
    return (
        *panel_recipe(source),
        f"{split_text(split)} {clock} dropped between, and all rows of a date are in one block",
        *([f"{source.target} less its mean in training, {centre!r}"] if _contract(task).centred else []),
    )


def _blocks(task: Task, source: FeatureRows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the training, the public and the private block, without the embargoes between them; int64[rows] each.

    Raises:
        TaskError: a block has fewer than two moments.
    """
    from openfingym.data.recipe import train_share

    # The split divides moments (months, dates), each of which has any number of rows.
    split, starts = task.spec.rows, source.moments
    moments = len(starts) - 1
    train_part, public_part, _ = split.shares
    first = train_share(train_part, moments)
    second = first + train_share(public_part, moments)
    blocks = (0, first), (first + split.embargo, second), (second + split.embargo, moments)
    if any(end - begin < 2 for begin, end in blocks):
        noun = "months" if not is_own(task) else "dates" if task.spec.dataset.dates else "rows"
        raise TaskError(f"{moments} {noun} leave a block with fewer than two", path=task.config_path, key="split")
    train, public, private = (np.arange(starts[begin], starts[end]) for begin, end in blocks)
    return train, public, private


KIND = RowsKind()
