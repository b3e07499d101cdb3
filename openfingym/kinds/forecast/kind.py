"""The kind ``forecast``: from the last rows of a panel, predict the next rows of some or all of its channels.

Hidden windows advance by the horizon (:mod:`openfingym.data.recipe`), and are walked through in the order of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds.forecast.contract import ForecastContract
from openfingym.kinds.forecast.data import (
    cut,
    filled_in_training,
    noisy_returns,
    pooled,
    public_arrays,
    require_positive,
    select,
    unknown_targets,
    unpivot,
    windows_recipe,
    without_unknown,
)
from openfingym.kinds.forecast.skillless import skillless
from openfingym.kinds.forecast.text import brief_of_forecast
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader, metric_options
from openfingym.kinds.own_tables import start_from_values
from openfingym.kinds.panels import PanelKind, renewed_panel
from openfingym.kinds.pictures import by_step
from openfingym.kinds.start import Given, Start
from openfingym.kinds.walk import hidden_until_due
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.kinds.plots.plot import Plot
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import Spec, Task


START = Start(
    data="your own CSV",
    description="Forecast five days of log returns of two series.",
    asks="Forecast the log returns of two series for each of the next five days.",
    asset_class="synthetic",
    frequency="daily",
    panel="two random walks",
    dataset=None,
    split=(0.7, 0.15, 0.15, 5),
    contract="""lookback = 20
horizon = 5
value_semantics = "log_return"   # log_return | price_level | yield_level | realised_vol | mixed
unit = "log return per day"
low = -1.0
high = 1.0
""",
    metrics=(("mae", 0.5), ("rmse", 0.5)),
)


class ForecastKind(PanelKind):
    """Windows of a panel, whose next rows are to be predicted."""

    contract = ForecastContract
    start = START
    forging = Forging(
        stated=("horizons", "targets", "pooled", "low", "high"),
        open_range=True,
        overlapping=True,
        one_target=True,
        scaled_as_stated=True,
    )
    load_train = ("train_inputs", "train_targets")
    interface = "interface_walk.py"
    environment = "openfingym.envs.walk:WalkEnv"
    partly_known = True
    always_scores = True
    structured = True

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's table."""
        return start_from_values(self.start, given, "Forecast")

    def shape(self, task: Task, source: Panel) -> Material:
        """Cut the panel into windows; see :meth:`openfingym.kinds.Kind.shape`."""
        contract, split = _contract(task.spec.contract), task.spec.rows
        _require_channels(task, contract, source)
        windows = cut(task, contract, source)
        targets = [source.channels.index(name) for name in contract.targets] or list(range(len(source.channels)))
        labels = tuple(source.channels[i] for i in targets)
        # A panel of prices is positive as it is, but may be scaled so that returns cannot be formed any more.
        if contract.value_semantics == "price_level" and (source.info.measure == "mixed" or _has_returns(task)):
            require_positive(task, windows, dict(zip(labels, targets, strict=True)))
        steps = [step - 1 for step in contract.steps]
        public, axes = public_arrays(contract, source, windows, steps, targets)
        hidden = {"targets": select(windows.test_targets, steps, targets)}
        unknown = unknown_targets(contract, source, windows, steps, targets)
        n_train, counts = len(windows.train_inputs), (windows.n_public, windows.n_private)
        if contract.pooled:
            # Every number of windows becomes as many times larger as there are series.
            width = len(source.channels)
            public, hidden = pooled(public), {"targets": unpivot(hidden["targets"])}
            axes |= {"train_series": ("window",), "test_series": ("window",)}
            labels, n_train, counts = ("value",), n_train * width, (counts[0] * width, counts[1] * width)
            unknown = None if unknown is None else unpivot(unknown)
        said: tuple[str, ...] = ()
        if unknown is not None:
            public, hidden["targets"], counts, said = without_unknown(task, public, hidden["targets"], counts, unknown)
        material = Material(
            info=source.info,
            dataset_digest=source.digest,
            public=public,
            axes=axes,
            hidden=hidden,
            n_train=n_train,
            n_public=counts[0],
            n_private=counts[1],
            shape=(sum(counts), len(steps), len(labels)),
            submission_axes=("window", "step", "channel"),
            labels=labels,
            recipe=(*windows_recipe(task, contract, source, windows), *said),
            facts={
                "lookback": contract.lookback,
                "horizon": contract.horizon,
                "steps": list(contract.steps),
                "channels": ["value"] if contract.pooled else list(source.channels),
                "targets": list(labels),
                **({"series": list(source.channels)} if contract.pooled else {}),
                **filled_in_training(contract, source, windows),
                "scaling": {
                    "method": split.scaling,
                    "mean": windows.mean.tolist(),
                    "scale": windows.scale.tolist(),
                    "log1p": list(split.log1p),
                },
            },
        )
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        """Every window has a time."""
        return True

    def due(self, contract: Contract, read: Reader) -> Array:
        """The time of the last input of each window, after which it is to be answered."""
        return np.asarray(read("test_times"))[:, _contract(contract).lookback - 1]

    def renewed(self, task: Task, seed: int) -> Panel:
        """The panel with every row after the training block drawn anew."""
        from openfingym.data import recipe

        # The split divides returns, of which there are fewer than rows of the panel.
        lost = recipe.rows_lost(_contract(task.spec.contract).value_semantics)
        return renewed_panel(task, seed, lambda times: lost + recipe.train_rows(times[lost:], task.spec.rows))

    def scramble(self, task: Task, source: Panel, generator: np.random.Generator) -> Panel:
        """The panel with the rows of every hidden target replaced by noise in the range of the panel."""
        from openfingym.data import recipe

        contract = _contract(task.spec.contract)
        times = cut(task, contract, source).test_times[:, contract.lookback :]
        hidden = np.isin(recipe.stamps(source.times), times)
        if contract.value_semantics in {"log_return", "realised_vol"}:
            # Here the hidden values are returns: other prices in hidden rows would change the return after them too.
            return replace(source, values=noisy_returns(source.values, hidden, generator))
        values = source.values.copy()
        low, high = values.min(axis=0), values.max(axis=0)
        values[hidden] = generator.uniform(low, high, (int(hidden.sum()), values.shape[1]))
        return replace(source, values=values)

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the training rows; see :mod:`openfingym.kinds.forecast.training`."""
        from openfingym.kinds.forecast.training import forecast_instance

        return forecast_instance(data, _contract(data.task.spec.contract), split, generator)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Returns of zero, or the last level repeated."""
        from openfingym.metrics import naive_forecast

        own = _contract(contract)
        return naive_forecast(_last(own, read), shape[1], own.value_semantics)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Forecasts that ignore the inputs, or depart from the baseline in disregard of them."""
        return skillless(_contract(contract), read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden targets; where nobody knows them, which is not scored, their median."""
        targets = np.asarray(hidden["targets"], dtype=np.float64).reshape(shape)
        return np.where(np.isnan(targets), np.nanmedian(targets), targets) if np.isnan(targets).any() else targets

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The first windows are the public fold, the others the private one."""
        from openfingym.metrics import Truth
        from openfingym.metrics.comparison import UNKNOWN

        contract = _contract(spec.contract)
        last = _last(contract, read)[:, -1, :]
        benchmark = float(np.mean(read("train_targets")))
        # Windows that end at the same time are one period, of which a panel metric forms one portfolio.
        periods = np.unique(np.asarray(read("test_times"))[:, -1], return_inverse=True)[1]
        options = metric_options(contract.value_semantics, spec.scoring)

        def fold(rows: slice) -> Fold:
            y_true = np.ascontiguousarray(hidden["targets"][rows], dtype=np.float64)
            unknown = np.isnan(y_true)
            known = np.where(unknown, 0.0, y_true)
            arrays = {
                "y_true": known.reshape(-1) if contract.pooled else known,
                "last_value": np.ascontiguousarray(last[rows], dtype=np.float64),
                "benchmark": np.full(y_true.size if contract.pooled else y_true.shape, benchmark),
                "period": periods[rows].astype(np.int64),
            }
            if unknown.any():
                arrays[UNKNOWN] = unknown.reshape(-1) if contract.pooled else unknown
            return Fold(rows, Truth(arrays, options, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The predictions; one number a row where series are pooled."""
        return {"y_pred": values.reshape(-1) if _contract(contract).pooled else values}

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """A bootstrap of blocks of periods: windows, or all pooled series at a time, whose errors go together."""
        from openfingym.kinds.resampled import count_of_periods
        from openfingym.metrics.resampling import block_bootstrap

        return block_bootstrap(count_of_periods(fold), fold.truth.seed, units_are_rows=not _contract(contract).pooled)

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold and the submission restricted to the rows of the drawn periods."""
        from openfingym.kinds.resampled import taken_by_period

        return taken_by_period(fold, values, units)

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64] | None:
        """The time of each predicted step of each window, datetime64[ns][windows * steps]; None without dates."""
        own = _contract(contract)
        if read("test_times").dtype.kind != "M":
            return None
        columns = [own.lookback + step - 1 for step in own.steps]
        return np.ascontiguousarray(np.asarray(read("test_times"))[:, columns]).reshape(-1)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs that fit what the values of the task are."""
        contract = _contract(spec.contract)
        semantics, compared = contract.value_semantics, {metric.name for metric in spec.scoring.metrics}
        fits = {
            "seasonal": not contract.horizons and spec.frequency != "none",
            "var": not contract.pooled,
            "arima": not contract.pooled,
            "historical": "delta_var" in compared and semantics in {"log_return", "price_level"},
            "har": semantics == "realised_vol",
            "nelson-siegel": semantics == "yield_level",
        }
        return frozenset({"mean", "ridge", "gbm", *(name for name, fit in fits.items() if fit)})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Series in time, with their hidden parts, and distributions of targets."""
        from openfingym.kinds.forecast.plots import panel_plots

        return panel_plots(_contract(spec.contract), read, hidden, counts[0], facts)

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """The forecasts of the first and of the last step, window by window."""
        ahead = dict(enumerate(_contract(contract).steps))
        return tuple(
            by_step(f"{step} rows ahead, window by window", answer.labels, answer.values[:, n])
            for n, step in ahead.items()
            if n in {0, len(ahead) - 1}
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        return brief_of_forecast(task, _contract(task.spec.contract), material)


def _contract(contract: Contract) -> ForecastContract:
    assert isinstance(contract, ForecastContract)
    return contract


def _require_channels(task: Task, contract: ForecastContract, source: Panel) -> None:
    """Refuse a task that names channels that its panel does not have."""
    from openfingym.data.dataset import suggestion

    split = task.spec.rows
    for key, names in (
        ("split.log1p", split.log1p),
        ("split.scaled", split.scaled),
        ("contract.targets", contract.targets),
    ):
        for name in names:
            if name not in source.channels:
                raise TaskError(
                    f"no channel {name!r}{suggestion(name, source.channels)}", path=task.config_path, key=key
                )


def _last(contract: ForecastContract, read: Reader) -> NDArray[np.float64]:
    """The last input row of the predicted channels, float64[n, 1, targets]."""
    last = np.asarray(read("test_inputs")[:, -1:, :], dtype=np.float64)
    return np.ascontiguousarray(last[:, :, read("target_columns")]) if contract.targets else last


def _has_returns(task: Task) -> bool:
    """Whether a metric of the task forms returns from the values."""
    from openfingym.metrics import find_metric

    return any("semantics" in find_metric(metric.name).options for metric in task.spec.scoring.metrics)


KIND = ForecastKind()
