"""The kind ``curves``: from the last months of a country's yield curve, forecast the next month's with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.curves import NAME, SHA256
from openfingym.data.recipe import hidden_stride, stamps
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds.curves.contract import CurvesContract
from openfingym.kinds.curves.skillless import skillless
from openfingym.kinds.curves.text import brief_of_curves, origin_of, words_of
from openfingym.kinds.forging import Forging
from openfingym.kinds.known_windows import left_of, training_facts
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.months import MonthsKind, is_own
from openfingym.kinds.panels import panel_oddities, panel_of, split_text
from openfingym.kinds.pictures import Curve, Picture, spread
from openfingym.kinds.real_forms import required_form, split_of
from openfingym.kinds.start import Start
from openfingym.kinds.walk import hidden_until_due
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.curves import Curves
    from openfingym.data.recipe import Windows
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.pictures import AgentAnswer
    from openfingym.kinds.plots.plot import Plot
    from openfingym.kinds.start import Given
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.model import Split

BOUNDS = ("lower", "central", "upper")
"""The three curves of an answer, in the order of the second axis of a submission."""
CURVES_SOURCE = "eiopa"
"""The only source of real curves."""
NAIVE_QUANTILE = 1.96
"""Half-width, in standard deviations of monthly changes in training, of the baseline's interval."""


START = Start(
    data="the bundled curves 'sim-eiopa-curves'",
    description="Forecast next month's simulated yield curves with an interval.",
    asks="Forecast next month's yield curve of each country, with an interval around it.",
    asset_class="rates",
    frequency="monthly",
    panel="risk-free curves of 24 currency areas",
    dataset="sim-eiopa-curves",
    split=(0.4, 0.3, 0.3, 1),
    contract="""lookback = 10                # months of input
unit = "percent per annum"
low = -5.0
high = 30.0
""",
    metrics=(("relative_mae", 0.5), ("interval_score", 0.5)),
)


class CurvesKind(MonthsKind):
    """Curves of several countries, with an interval to predict."""

    contract = CurvesContract
    start = START
    forging = Forging(overlapping=True)
    dataset = NAME
    dataset_sha256 = SHA256
    load_train = ("train_inputs", "train_targets")
    interface = "interface_walk.py"
    environment = "openfingym.envs.walk:WalkEnv"
    structured = True

    def data_kind(self, task: Task) -> DataKind:
        """``real`` if pulled curves take the place of the simulated ones; else what the bundled or own data is."""
        return "real" if task.real else super().data_kind(task)

    def source_key(self, task: Task) -> str:
        """The digest of the curves; real ones are loaded for it."""
        return self.load(task).info.sha256 if task.real else super().source_key(task)

    def load(self, task: Task) -> Curves:
        """The simulated curves, the author's own, or the real ones that were pulled."""
        from openfingym.data.curves import simulated_curves

        self.require_known(task)
        if is_own(task):
            from openfingym.data.own.curves import own_curves

            return own_curves(panel_of(task))
        return _pulled(task) if task.real else simulated_curves()

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's curves."""
        from openfingym.kinds.curves.own import start_from_curves

        return start_from_curves(self.start, given)

    def oddities(self, task: Task) -> tuple[str, ...]:
        """What is odd about the author's own curves."""
        return panel_oddities(task, panel_of(task)) if is_own(task) else ()

    def renewed(self, task: Task, seed: int) -> Curves:
        """The curves with every month after the training block drawn anew."""
        from openfingym.data import recipe
        from openfingym.data.curves import MONTHS, simulated_curves
        from openfingym.data.processes.draws import Branch

        self.require_known(task)
        return simulated_curves(branch=Branch(seed, MONTHS - recipe.train_share(task.spec.rows.shares[0], MONTHS)))

    def shape(self, task: Task, source: Curves) -> Material:
        """Cut the curves into windows, month by month, with a window for each country."""
        contract = _contract(task.spec.contract)
        windows = _cut(task, source)
        countries = len(source.countries)
        # Cut with the curves of all countries side by side in a row, and taken apart here.
        arrays = {
            name: _by_country(getattr(windows, name), countries)
            for name in ("train_inputs", "train_targets", "test_inputs", "test_targets")
        }
        public: dict[str, Array] = {
            "train_inputs": arrays["train_inputs"],
            "train_targets": arrays["train_targets"][:, 0],
            "test_inputs": arrays["test_inputs"],
            "train_times": np.repeat(windows.train_times, countries, axis=0),
            "test_times": np.repeat(windows.test_times, countries, axis=0),
            "train_series": np.tile(np.arange(countries, dtype=np.int64), len(windows.train_inputs)),
            "test_series": np.tile(np.arange(countries, dtype=np.int64), len(windows.test_inputs)),
        }
        hidden, counts = arrays["test_targets"][:, 0], (windows.n_public * countries, windows.n_private * countries)
        public, hidden, counts, said = _known_alone(task, source, windows, public, hidden, counts)
        words = words_of(task)
        axes = {
            "train_inputs": ("window", words.row, "maturity"),
            "train_targets": ("window", "maturity"),
            "test_inputs": ("window", words.row, "maturity"),
            "train_times": ("window", words.row),
            "test_times": ("window", words.row),
            "train_series": ("window",),
            "test_series": ("window",),
        }
        n_public, n_private = counts
        split, info = _split(task), source.info
        material = Material(
            info=info,
            dataset_digest=info.sha256,
            public=public,
            axes=axes,
            hidden={"targets": hidden},
            n_train=len(public["train_inputs"]),
            n_public=n_public,
            n_private=n_private,
            shape=(n_public + n_private, 3, len(source.maturities)),
            submission_axes=("window", "bound", "maturity"),
            labels=tuple(f"y{years:g}" for years in source.maturities),
            recipe=(
                *origin_of(task, source),
                f"{split_text(split)} {words.row}s dropped between",
                (
                    f"training windows of {contract.lookback} + 1 {words.row}s a {words.series}, one every "
                    f"{split.train_stride} {words.row}s"
                ),
                (
                    f"hidden windows, one every {hidden_stride(split, 1)} {words.row}s: {n_public} public, {n_private} "
                    "private"
                ),
                *said,
            ),
            facts={
                "lookback": contract.lookback,
                "horizon": 1,
                "bounds": list(BOUNDS),
                "coverage": contract.coverage,
                "maturities": source.maturities.tolist(),
                "series": list(source.countries),
                "channels": [f"y{years:g}" for years in source.maturities],
                **training_facts(_flat(source.filled), windows.train_starts, contract.lookback + contract.horizon),
            },
        )
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        """Every window has a time."""
        return True

    def due(self, contract: Contract, read: Reader) -> Array:
        """The time of the last input of each window, after which it is to be answered."""
        return np.asarray(read("test_times"))[:, _contract(contract).lookback - 1]

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the curves and months; see :mod:`openfingym.kinds.curves.training`."""
        from openfingym.kinds.curves.training import curves_instance

        contract = _contract(data.task.spec.contract)
        return curves_instance(data, contract, split, generator, fresh=self.renewable(data.task))

    def scramble(self, task: Task, source: Curves, generator: np.random.Generator) -> Curves:
        """The curves with every hidden month replaced by noise."""
        hidden = np.isin(stamps(source.times), _cut(task, source).test_times[:, -1])
        values = source.values.copy()
        values[hidden] = generator.uniform(values.min(), values.max(), values[hidden].shape)
        return replace(source, values=values)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The last curve, with an interval that would hold 95 % of monthly changes if these were normal."""
        inputs, targets, test = read("train_inputs"), read("train_targets"), read("test_inputs")
        width = NAIVE_QUANTILE * (np.asarray(targets) - inputs[:, -1]).std(axis=0)
        last = np.asarray(test[:, -1], dtype=np.float64)
        return np.stack([last - width, last, last + width], axis=1)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Curves and intervals that take no account of the inputs."""
        return skillless(_contract(contract), read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden curves, with the narrowest intervals that cover exactly 95 % of them."""
        targets = np.asarray(hidden["targets"], dtype=np.float64)
        out = np.repeat(targets[:, None, :], 3, axis=1)
        # A metric wants a coverage of 95 %, not more. One cell in twenty is missed by a hair, by bounds and centre
        # alike, so that intervals still have no width.
        missed = (np.arange(targets.size) % 20 == 0).reshape(targets.shape)
        out += 1e-9 * missed[:, None, :]
        return out

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Uniform noise, sorted so that the bounds do not cross."""
        return np.sort(super().worst(contract, hidden, shape), axis=1)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The first windows are the public fold, the others the private one."""
        from openfingym.metrics import Truth

        targets = np.ascontiguousarray(hidden["targets"], dtype=np.float64)
        # Windows of all countries that end in the same month are one period.
        periods = np.unique(np.asarray(read("test_times"))[:, -1], return_inverse=True)[1].astype(np.int64)

        def fold(rows: slice) -> Fold:
            return Fold(rows, Truth({"y_true": targets[rows], "period": periods[rows]}, {}, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse intervals whose lower bound is above the upper one, or that do not hold the central forecast.

        Raises:
            SubmissionError: a lower bound is above the central forecast, or the central forecast above the upper bound;
                the message names the position.
        """
        # Lower and central, then central and upper.
        for below, above in ((0, 1), (1, 2)):
            crossed = values[:, below] > values[:, above]
            if crossed.any():
                window, maturity = (int(i) for i in np.unravel_index(int(crossed.argmax()), crossed.shape))
                raise SubmissionError(
                    f"window {window}, maturity {maturity}: {BOUNDS[below]} is above {BOUNDS[above]} "
                    f"({values[window, below, maturity]:g} > {values[window, above, maturity]:g})",
                    problem="out-of-range",
                )

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """Central forecast and bounds, float64[windows, maturities] each."""
        return {"lower": values[:, 0], "y_pred": values[:, 1], "upper": values[:, 2]}

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """One curve for each window."""
        return {"targets": (shape[0], shape[2])}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64]:
        """The month that each window predicts, repeated for each of the three curves of its answer."""
        return np.repeat(np.asarray(read("test_times"))[:, -1], len(BOUNDS))

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset({"mean", "nelson-siegel"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Curves at a few dates, a yield over time, and distributions of yields."""
        from openfingym.kinds.plots.series import curve_plots

        return curve_plots(read, hidden, counts[0], facts)

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """The predicted curve of some windows with its bounds."""
        maturities = np.array([float(label.removeprefix("y")) for label in answer.labels])
        return tuple(
            Picture(
                f"Window {window}",
                f"maturity, from {answer.labels[0]} to {answer.labels[-1]}",
                tuple(Curve(bound, maturities, answer.values[window, n]) for n, bound in enumerate(BOUNDS)),
            )
            for window in spread(len(answer.values))
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        return brief_of_curves(task, _contract(task.spec.contract), material)


def _pulled(task: Task) -> Curves:
    """The real curves that were pulled.

    Raises:
        TaskError: the source that the task states has no curves.
        DataError: the curves have not been pulled; the message is the command that pulls them.
    """
    from openfingym.data.pulled import pulled_curves, source_of

    _, pulled = required_form(task)
    if source_of(pulled.source) != CURVES_SOURCE:
        raise TaskError(
            f"{pulled.source} has no curves of 1 to 150 years; use a dataset of the source {CURVES_SOURCE}, such as "
            "eiopa-euro-curves",
            path=task.config_path,
            key="dataset.pulled.source",
        )
    return pulled_curves(pulled.symbols or ("Euro",), source=pulled.source)


def _contract(contract: Contract) -> CurvesContract:
    assert isinstance(contract, CurvesContract)
    return contract


def _split(task: Task) -> Split:
    split = split_of(task)
    assert split is not None, "a curves task needs one"
    return split


def _cut(task: Task, source: Curves) -> Windows:
    from openfingym.data import recipe

    contract = _contract(task.spec.contract)
    flat = source.values.reshape(len(source.values), -1)
    return recipe.cut(flat, source.times, split=_split(task), lookback=contract.lookback, horizon=contract.horizon)


def _flat(filled: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Which cells of curves were filled, with the curves of all countries side by side in a row; None for none."""
    return None if filled is None else filled.reshape(len(filled), -1)


def _known_alone(
    task: Task, source: Curves, windows: Windows, public: dict[str, Array], hidden: Array, counts: tuple[int, int]
) -> tuple[dict[str, Array], Array, tuple[int, int], tuple[str, ...]]:
    """The hidden windows without those whose curve has a value that was filled in: an answer is a whole curve.

    Returns:
        Public arrays, hidden curves, windows of both folds, and what was done as sentences.

    Raises:
        TaskError: a fold has no window left.
    """
    if source.filled is None:
        return public, hidden, counts, ()
    rows = windows.test_starts + _contract(task.spec.contract).lookback
    kept = ~source.filled[rows].any(axis=2).reshape(-1)
    left, said = left_of(task, kept, counts, "in whose curve a value was filled in")
    own = {name: array[kept] if name.startswith("test_") else array for name, array in public.items()}
    return own, hidden[kept], left, said


def _by_country(windows: NDArray[np.float64], countries: int) -> NDArray[np.float64]:
    """Make a window for each country: [n, months, countries * maturities] to [n * countries, months, maturities]."""
    n, months, width = windows.shape
    apart = windows.reshape(n, months, countries, width // countries).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(apart.reshape(n * countries, months, width // countries))


KIND = CurvesKind()
