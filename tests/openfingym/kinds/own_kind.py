"""A kind of task from outside the library, whole in one file, as a distribution of somebody else's would bring it.

From the last prices, predict the highest price of the next ones. The test puts this file and an entry point on a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from openfingym.data import Windows, cut
from openfingym.envs import WalkEnv
from openfingym.kinds import Array, Brief, Fold, Material, PanelKind, Reader, Start, hidden_until_due, walk_usage
from openfingym.metrics import Truth
from openfingym.task import Contract, Family, PositiveInt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.task import Spec, Task


class HighsContract(Contract):
    """The highest of the next ``horizon`` prices: a submission is [windows, 1, channels]."""

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "last price"
    has_period: ClassVar[bool] = True

    kind: Literal["highs"]
    lookback: PositiveInt
    horizon: PositiveInt


class HighsEnv(WalkEnv):
    """A step answers a window."""


class HighsKind(PanelKind):
    """The highest price of the next rows."""

    contract = HighsContract
    start = Start(
        data="your own CSV",
        description="Predict the highest price of the next five days.",
        asks="Predict the highest price of each series in the next five days.",
        asset_class="synthetic",
        frequency="daily",
        panel="two random walks",
        dataset=None,
        split=(0.7, 0.15, 0.15, 5),
        contract='lookback = 10\nhorizon = 5\nunit = "price"\nlow = 0.0\nhigh = 10000.0\n',
        metrics=(("mae", 0.5), ("rmse", 0.5)),
    )
    load_train = ("train_inputs", "train_targets")
    interface = "interface_walk.py"
    environment = "own_kind:HighsEnv"
    naive_program = """import interface

interface.predict_each(lambda inputs: inputs[:, -1:])
"""
    heavy = True  # so that a worker of the verifier, a process of its own, scores it

    def shape(self, task: Task, source: Panel) -> Material:
        windows = self._cut(task, source)
        public = {
            "train_inputs": windows.train_inputs,
            "train_targets": windows.train_targets.max(axis=1, keepdims=True),
            "test_inputs": windows.test_inputs,
            "train_times": windows.train_times,
            "test_times": windows.test_times,
        }
        hidden = windows.test_targets.max(axis=1, keepdims=True)
        material = Material(
            info=source.info,
            dataset_digest=source.digest,
            public=public,
            axes={name: ("window", "row", "channel")[: array.ndim] for name, array in public.items()},
            hidden={"targets": hidden},
            n_train=len(windows.train_inputs),
            n_public=windows.n_public,
            n_private=windows.n_private,
            shape=hidden.shape,
            submission_axes=("window", "step", "channel"),
            labels=source.channels,
            recipe=("the highest of the next prices",),
        )
        return hidden_until_due(material)

    def walks(self, contract: Contract) -> bool:
        return True

    def due(self, contract: Contract, read: Reader) -> Array:
        return np.asarray(read("test_times"))[:, contract.lookback - 1]  # type: ignore[attr-defined]  # of this kind

    def scramble(self, task: Task, source: Panel, generator: np.random.Generator) -> Panel:
        lookback = task.spec.contract.lookback  # type: ignore[attr-defined]  # of this kind
        hidden = np.isin(source.times.astype("datetime64[ns]"), self._cut(task, source).test_times[:, lookback:])
        values = source.values.copy()
        values[hidden] = generator.uniform(values.min(), values.max(), values[hidden].shape)
        return replace(source, values=values)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.array(read("test_inputs")[:, -1:])

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        return {"training mean": np.full(shape, np.asarray(read("train_targets")).mean())}

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.asarray(hidden["targets"])

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        def fold(rows: slice) -> Fold:
            return Fold(
                rows,
                Truth({"y_true": np.ascontiguousarray(hidden["targets"][rows])}, {"semantics": "price_level"}, seed),
            )

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        return {"y_pred": values}

    def brief(self, task: Task, material: Material) -> Brief:
        return Brief(
            (("windows to predict", str(material.shape[0])),),
            "Later than all of training.",
            walk_usage(material),
        )

    def _cut(self, task: Task, source: Panel) -> Windows:
        contract = task.spec.contract
        assert isinstance(contract, HighsContract)
        return cut(
            source.values, source.times, split=task.spec.rows, lookback=contract.lookback, horizon=contract.horizon
        )


KIND = HighsKind()
