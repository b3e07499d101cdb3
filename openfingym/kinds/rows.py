"""Rows of features with one number to predict each, in blocks of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from openfingym.data.characteristics import NAME, SHA256
from openfingym.errors import TaskError
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.months import MonthsKind
from openfingym.kinds.panels import split_text
from openfingym.kinds.skillless.rows import skillless
from openfingym.kinds.start import Start
from openfingym.task.contracts import Contract, Family

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.characteristics import Characteristics
    from openfingym.kinds.plots.plot import Plot
    from openfingym.task import Spec, Task


class RowsContract(Contract):
    """Rows of features, one number each: a submission is [rows]."""

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["rows"]
    lookback: Literal[1] = 1
    horizon: Literal[1] = 1
    value_semantics: Literal["log_return"] = "log_return"


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
    """Rows of features, with one number each to predict."""

    contract = RowsContract
    start = START
    dataset = NAME
    dataset_sha256 = SHA256
    load_train = ("train_inputs", "train_targets")
    load_test = ("test_inputs",)
    takes_pulled = False

    def load(self, task: Task) -> Characteristics:
        """The simulated characteristics."""
        from openfingym.data.characteristics import simulated_characteristics

        self.require_known(task)
        return simulated_characteristics()

    def renewed(self, task: Task, seed: int) -> Characteristics:
        """The characteristics and returns with every month behind the training block drawn anew."""
        from openfingym.data.characteristics import MONTHS, simulated_characteristics
        from openfingym.data.processes.draws import Branch
        from openfingym.data.recipe import train_rows

        self.require_known(task)
        return simulated_characteristics(branch=Branch(seed, MONTHS - train_rows(MONTHS, task.spec.rows)))

    def shape(self, task: Task, source: Characteristics) -> Material:
        """Months in three blocks; the rows of a month are its stocks."""
        train, public, private = _blocks(task, len(source.months))
        stocks = len(source.stocks)
        hidden = np.concatenate([public, private])

        def rows(months: NDArray[np.int64]) -> tuple[Array, Array, Array, Array]:
            features = np.ascontiguousarray(source.features[months].reshape(len(months) * stocks, -1))
            returns = np.ascontiguousarray(source.excess_return[months].reshape(-1))
            times = np.repeat(source.months[months].astype("datetime64[ns]"), stocks)
            return features, returns, times, np.tile(np.arange(stocks, dtype=np.int64), len(months))

        known, asked = rows(train), rows(hidden)
        names = ("inputs", "targets", "times", "series")
        arrays = {f"train_{name}": array for name, array in zip(names, known, strict=True)}
        arrays |= {f"test_{name}": array for name, array in zip(names, asked, strict=True) if name != "targets"}
        split, info = task.spec.rows, source.info
        n_public, n_private = len(public) * stocks, len(private) * stocks
        return Material(
            info=info,
            dataset_digest=info.sha256,
            public=arrays,
            axes={name: ("row", "feature") if name.endswith("inputs") else ("row",) for name in arrays},
            hidden={"targets": asked[1]},
            n_train=len(known[0]),
            n_public=n_public,
            n_private=n_private,
            shape=(n_public + n_private,),
            submission_axes=("row",),
            labels=("excess_return",),
            recipe=(
                f"dataset {info.name}: {info.kind}, {info.source}",
                f"{len(source.months)} months of {stocks} stocks, {info.first} to {info.last}",
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
            ),
            facts={
                "lookback": 1,
                "horizon": 1,
                "channels": list(source.names),
                "series": list(source.stocks),
            },
        )

    def scramble(self, task: Task, source: Characteristics, generator: np.random.Generator) -> Characteristics:
        """The same features, with every hidden return replaced by noise."""
        _, public, private = _blocks(task, len(source.months))
        returns = source.excess_return.copy()
        hidden = np.concatenate([public, private])
        returns[hidden] = generator.normal(scale=0.1, size=returns[hidden].shape)
        return replace(source, excess_return=returns)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Zero excess return."""
        return np.zeros(shape)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Forecasts that look at no feature."""
        return skillless(contract, read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden returns."""
        return np.asarray(hidden["targets"], dtype=np.float64)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier and the later months."""
        from openfingym.metrics import Truth

        targets = np.ascontiguousarray(hidden["targets"], dtype=np.float64)
        benchmark = float(np.mean(read("train_targets")))
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
        """The month of each row."""
        return np.asarray(read("test_times"))

    def known_targets(self, contract: Contract, read: Reader) -> Array:
        """The returns of training, as one column."""
        return np.asarray(read("train_targets"))[:, None]

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Programs for this kind."""
        return frozenset({"mean", "ridge", "gbm"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Targets by month, and distributions of targets and features."""
        from openfingym.kinds.plots.series import row_plots

        return row_plots(read, hidden, counts[0], facts)

    def brief(self, task: Task, material: Material) -> Brief:
        """What is asked, in numbers."""
        inputs, targets, test = (
            material.public[name].shape for name in ("train_inputs", "train_targets", "test_inputs")
        )
        names = [str(name) for name in material.facts["channels"]]  # type: ignore[attr-defined]  # a list of names
        facts = (
            ("value", f"excess log return of the next month, {task.spec.contract.unit}"),
            ("features", ", ".join(names)),
            ("stocks a month", str(len(material.facts["series"]))),  # type: ignore[arg-type]  # a list of names
            ("training rows", str(material.n_train)),
            ("rows to predict", str(material.shape[0])),
        )
        note = (
            "Rows are in time order, month by month; those to predict are later than all of training. No feature is "
            "computed\n"
            "from returns or prices, so no row tells the return of another."
        )
        usage = f"""features, returns = interface.load_train()  # float64 {inputs}, {targets}
test = interface.load_test_inputs()  # float64 {test}
months = interface.load("test_times")  # datetime64[ns], the month of each row; which stock: test_series
feedback = interface.submit(predictions)  # predictions: float64 {material.shape}"""
        return Brief(facts, note, usage)


def _blocks(task: Task, months: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The months of the training, the public and the private block, without the embargoes between them."""
    from openfingym.data.recipe import train_rows

    split = task.spec.rows
    first = train_rows(months, split)
    second = first + int(Fraction(str(split.public)) * months)
    blocks = np.arange(first), np.arange(first + split.embargo, second), np.arange(second + split.embargo, months)
    if any(len(block) < 2 for block in blocks):
        raise TaskError(f"{months} months leave a block with fewer than two", path=task.config_path, key="split")
    return blocks


KIND = RowsKind()
