"""Yield curves of several countries: forecast next month's curve with an interval, from the last months."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from openfingym.data.curves import NAME, SHA256
from openfingym.data.recipe import stamps
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.months import MonthsKind, is_own
from openfingym.kinds.panels import panel_of, panel_recipe, split_text
from openfingym.kinds.pictures import Curve, Picture, spread
from openfingym.kinds.real_forms import required_form, split_of
from openfingym.kinds.skillless.curves import skillless
from openfingym.kinds.start import Start
from openfingym.task.contracts import Contract, Family, Fraction, PositiveInt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.curves import Curves
    from openfingym.data.recipe import Windows
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.pictures import AgentAnswer
    from openfingym.kinds.plots.plot import Plot
    from openfingym.kinds.start import Given
    from openfingym.task import DataKind, Spec, Split, Task

BOUNDS = ("lower", "central", "upper")
CURVES_SOURCE = "eiopa"
"""The one source of whole curves."""
NAIVE_QUANTILE = 1.96
"""Half-width, in standard deviations of monthly changes in training, of the baseline's interval."""


class CurvesContract(Contract):
    """Whole curves of several countries: from ``lookback`` months, predict the next with an interval.

    A submission is [windows, 3, maturities]: lower, central, upper.
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["curves"]
    lookback: PositiveInt
    """Months of input a window shows."""
    horizon: Literal[1] = 1
    value_semantics: Literal["yield_level"] = "yield_level"
    coverage: Fraction = 0.95
    """Share of values that the interval should hold."""


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
    load_test = ("test_inputs",)
    structured = True

    def data_kind(self, task: Task) -> DataKind:
        """``real`` where pulled curves take the place of the simulated ones."""
        return "real" if task.real else super().data_kind(task)

    def source_key(self, task: Task) -> str:
        """The digest of the curves."""
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
        from openfingym.kinds.own_curves import start_from_curves

        return start_from_curves(self.start, given)

    def renewed(self, task: Task, seed: int) -> Curves:
        """The curves with every month behind the training block drawn anew."""
        from openfingym.data import recipe
        from openfingym.data.curves import MONTHS, simulated_curves
        from openfingym.data.processes.draws import Branch

        self.require_known(task)
        return simulated_curves(branch=Branch(seed, MONTHS - recipe.train_rows(MONTHS, task.spec.rows)))

    def shape(self, task: Task, source: Curves) -> Material:
        """Windows of each country, month by month."""
        contract = _contract(task.spec.contract)
        windows = _cut(task, source)
        countries = len(source.countries)
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
        words = _words(task)
        axes = {
            "train_inputs": ("window", words.row, "maturity"),
            "train_targets": ("window", "maturity"),
            "test_inputs": ("window", words.row, "maturity"),
            "train_times": ("window", words.row),
            "test_times": ("window", words.row),
            "train_series": ("window",),
            "test_series": ("window",),
        }
        n_public, n_private = windows.n_public * countries, windows.n_private * countries
        split, info = _split(task), source.info
        return Material(
            info=info,
            dataset_digest=info.sha256,
            public=public,
            axes=axes,
            hidden={"targets": arrays["test_targets"][:, 0]},
            n_train=len(public["train_inputs"]),
            n_public=n_public,
            n_private=n_private,
            shape=(n_public + n_private, 3, len(source.maturities)),
            submission_axes=("window", "bound", "maturity"),
            labels=tuple(f"y{years:g}" for years in source.maturities),
            recipe=(
                *_origin(task, source),
                f"{split_text(split)} {words.row}s dropped between",
                (
                    f"training windows of {contract.lookback} + 1 {words.row}s a {words.series}, one every "
                    f"{split.train_stride} {words.row}s"
                ),
                f"hidden windows tile their block without overlap: {n_public} public, {n_private} private",
            ),
            facts={
                "lookback": contract.lookback,
                "horizon": 1,
                "bounds": list(BOUNDS),
                "coverage": contract.coverage,
                "maturities": source.maturities.tolist(),
                "series": list(source.countries),
                "channels": [f"y{years:g}" for years in source.maturities],
            },
        )

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """Other countries, months and look-backs; see :mod:`openfingym.kinds.curve_instances`."""
        from openfingym.kinds.curve_instances import curves_instance

        contract = _contract(data.task.spec.contract)
        return curves_instance(data, contract, split, generator, fresh=self.renewable(data.task))

    def scramble(self, task: Task, source: Curves, generator: np.random.Generator) -> Curves:
        """The curves with every hidden month replaced by noise."""
        hidden = np.isin(stamps(source.times), _cut(task, source).test_times[:, -1])
        values = source.values.copy()
        values[hidden] = generator.uniform(values.min(), values.max(), values[hidden].shape)
        return replace(source, values=values)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The last curve, with the interval that would hold 95 % of a month's changes if they were normal."""
        inputs, targets, test = read("train_inputs"), read("train_targets"), read("test_inputs")
        width = NAIVE_QUANTILE * (np.asarray(targets) - inputs[:, -1]).std(axis=0)
        last = np.asarray(test[:, -1], dtype=np.float64)
        return np.stack([last - width, last, last + width], axis=1)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Curves and intervals that look at no window."""
        return skillless(_contract(contract), read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The hidden curves, with the narrowest intervals that cover exactly the asked share of them."""
        targets = np.asarray(hidden["targets"], dtype=np.float64)
        out = np.repeat(targets[:, None, :], 3, axis=1)
        # Missing one cell in twenty by a hair, bounds and centre alike, keeps the width at zero.
        missed = (np.arange(targets.size) % 20 == 0).reshape(targets.shape)
        out += 1e-9 * missed[:, None, :]
        return out

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Noise, of which the smallest number is the lower bound and the largest the upper one."""
        return np.sort(super().worst(contract, hidden, shape), axis=1)

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The first and the remaining windows."""
        from openfingym.metrics import Truth

        targets = np.ascontiguousarray(hidden["targets"], dtype=np.float64)
        periods = np.unique(np.asarray(read("test_times"))[:, -1], return_inverse=True)[1].astype(np.int64)
        parts = slice(counts[0]), slice(counts[0], sum(counts))
        # There are always two folds.
        return tuple(Fold(rows, Truth({"y_true": targets[rows], "period": periods[rows]}, {}, seed)) for rows in parts)  # type: ignore[return-value]

    def check(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> None:
        """Refuse intervals whose lower bound is above the upper one, or that do not hold the central forecast.

        Raises:
            SubmissionError: a lower bound is above the central forecast or that above the upper one; names the
                position.
        """
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
        """Central forecast and bounds."""
        return {"lower": values[:, 0], "y_pred": values[:, 1], "upper": values[:, 2]}

    def hidden_shapes(self, shape: tuple[int, ...], n_test: int) -> Mapping[str, tuple[int, ...]]:
        """A curve a window."""
        return {"targets": (shape[0], shape[2])}

    def target_times(self, contract: Contract, read: Reader) -> NDArray[np.datetime64]:
        """The month of each window, once a bound."""
        return np.repeat(np.asarray(read("test_times"))[:, -1], len(BOUNDS))

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Programs for this kind."""
        return frozenset({"mean", "nelson-siegel"})

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Curves at a few dates, a yield in time, and distributions."""
        from openfingym.kinds.plots.series import curve_plots

        return curve_plots(read, hidden, counts[0], facts)

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """The last known curve of some windows, and the one that was predicted with its bounds."""
        known = answer.read("test_inputs")
        maturities = np.array([float(label.removeprefix("y")) for label in answer.labels])
        return tuple(
            Picture(
                f"Window {window}",
                f"maturity, from {answer.labels[0]} to {answer.labels[-1]}",
                (
                    Curve("last known curve", maturities, known[window, -1], True),
                    *(Curve(bound, maturities, answer.values[window, n]) for n, bound in enumerate(BOUNDS)),
                ),
            )
            for window in spread(len(answer.values))
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What is asked, in numbers."""
        contract = _contract(task.spec.contract)
        inputs, targets, test = (
            material.public[name].shape for name in ("train_inputs", "train_targets", "test_inputs")
        )
        words = _words(task)
        frequency = material.info.frequency if is_own(task) else "monthly"
        facts = (
            ("value", f"yield, {contract.unit}, {'no dates' if frequency == 'none' else frequency}"),
            # The fact `series` is a list of names.
            (words.all_series, ", ".join(map(str, material.facts["series"]))),  # type: ignore[call-overload]
            ("maturities", f"{len(material.labels)}, in years: {material.labels[0][1:]} to {material.labels[-1][1:]}"),
            ("training windows", str(material.n_train)),
            ("windows to predict", str(material.shape[0])),
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
            "Windows are in time order; those to predict are later than all of training, and none of their targets "
            "appears\n"
            "anywhere in the data you have. Nowhere may lower be above central, or central above upper."
        )
        usage = f"""inputs, targets = interface.load_train()  # float64 {inputs}, {targets}
test = interface.load_test_inputs()  # float64 {test}
{words.series} = interface.load("test_series")  # int64, which {words.series} a window is of; also train_series
feedback = interface.submit(predictions)  # predictions: float64 {material.shape}: lower, central, upper"""
        return Brief(facts, note, usage)


def _pulled(task: Task) -> Curves:
    """The real curves that were pulled.

    Raises:
        TaskError: the source that the task states has no curves.
        DataError: they have not been pulled; the message is the command that does.
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


class _Words(NamedTuple):
    """What rows and curves are called: of an author's data nobody knows how long a row is, or whose a curve is."""

    row: str
    series: str
    all_series: str
    one: str


def _words(task: Task) -> _Words:
    if is_own(task):
        return _Words("row", "curve", "curves", "curve")
    return _Words("month", "country", "countries", "country's curve")


def _origin(task: Task, source: Curves) -> tuple[str, ...]:
    """The steps by which the curves were made, in words."""
    info, words = source.info, _words(task)
    if is_own(task):
        return (*panel_recipe(source), f"{len(source.maturities)} maturities a curve; curves: {len(source.countries)}")
    return (
        f"dataset {info.name}: {info.kind}, {info.source}",
        f"{len(source.times)} {words.row}s of {len(source.countries)} {words.all_series}, {info.first} to {info.last}",
        f"calendar: {info.calendar}",
        f"missing values: {info.missing or 'none'}; nothing is filled",
    )


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


def _by_country(windows: NDArray[np.float64], countries: int) -> NDArray[np.float64]:
    """[n, months, countries * maturities] -> [n * countries, months, maturities], window by window."""
    n, months, width = windows.shape
    apart = windows.reshape(n, months, countries, width // countries).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(apart.reshape(n * countries, months, width // countries))


KIND = CurvesKind()
