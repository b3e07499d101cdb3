"""The kind ``rolling``: rolling-origin forecasts. Predict, see the next bar, predict again.

At each origin an agent sees the last bars of every symbol and predicts the log return of each close over the next bars.
The origin then moves on by one bar, so that outcomes become known over time, and a program may learn from them. What it
answered cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from openfingym.data.bars import FIELDS
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds.bars import episodes as bar_episodes
from openfingym.kinds.bars.data import BarsContract, BarSource
from openfingym.kinds.bars.kind import BarsKind, bars_start
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader, metric_options
from openfingym.kinds.pictures import by_step, spread
from openfingym.kinds.skillless.rolling import skillless
from openfingym.task.contracts import Contract, Family, PositiveInt
from openfingym.task.episodes import Step, SteppedEpisode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.task import Spec, Task

CLOSE = FIELDS.index("close")
"""Position of the closing price in a bar."""
VOLUME = FIELDS.index("volume")
"""Position of the volume in a bar; 0 is a halt."""


class RollingEpisode:
    """One pass of the origin over hidden bars; an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(self, contract: RollingContract, window: bar_episodes.Window) -> None:
        """Begin at the first origin.

        Args:
            contract: the contract of the task.
            window: the hidden rows of the episode.
        """
        self._contract = contract
        self._window = window
        self._returns = realised(contract, window.bars)
        self._known = ~halted(contract, window.bars)
        self._predictions = np.zeros_like(self._returns)
        self._done = 0

    def start(self) -> Step:
        """The bars up to the first origin."""
        return self._shown(0.0)

    def step(self, action: object) -> Step:
        """Take the predictions of the current origin, and move on by one bar.

        The reward is minus the mean absolute error of the predictions whose outcome this bar has made known, which were
        made ``horizon`` steps ago. It is 0 while there are none, or where all symbols were in a halt.

        Args:
            action: ``{"predictions": [one number a symbol]}`` as JSON values; None predicts zero, that is no change.

        Raises:
            SubmissionError: the action is not of this form, or a number is outside the contract's range.
        """
        values = _predictions(self._contract, action)
        if values is not None:
            self._predictions[self._done] = values
        self._done += 1
        # The origin whose outcome the bar that is shown next completes.
        known = self._done - self._contract.horizon
        reward = 0.0
        if known >= 0 and self._known[known].any():
            error = np.abs(self._predictions[known] - self._returns[known])
            reward = -float(error[self._known[known]].mean())
        return self._shown(reward)

    def outcome(self) -> NDArray[np.float64]:
        """The predictions of all steps, float64[steps, symbols]; 0 where none were made."""
        return self._predictions.copy()

    def _shown(self, reward: float) -> Step:
        contract, done = self._contract, self._done
        return Step(
            observation={"bars": self._window.bars[done : done + contract.lookback].tolist()},
            reward=reward,
            truncated=done == contract.steps,
            info={"time_index": self._window.first + contract.lookback - 1 + done, "steps_left": contract.steps - done},
        )


def _predictions(contract: RollingContract, action: object) -> NDArray[np.float64] | None:
    """The predictions that an action holds, float64[symbols]; None for an action of None."""
    width = len(contract.symbols)
    if action is None:
        return None
    if not isinstance(action, dict) or set(action) != {"predictions"}:
        found = f"the keys {sorted(map(str, action))}" if isinstance(action, dict) else type(action).__name__
        raise _malformed(f'expected {{"predictions": [{width} numbers]}} or null, found {found}')
    values = action["predictions"]
    if not isinstance(values, list) or len(values) != width:
        found = f"{len(values)}" if isinstance(values, list) else type(values).__name__
        raise _malformed(
            f"predictions must be a list of {width} numbers, one for each of {', '.join(contract.symbols)}; found "
            f"{found}"
        )
    for symbol, value in zip(contract.symbols, values, strict=True):
        # True would pass for 1; NaN fails the comparison with the limits.
        if isinstance(value, bool) or not isinstance(value, int | float) or not contract.low <= value <= contract.high:
            raise _malformed(
                f"the prediction of {symbol} is {value!r}; expected a number in [{contract.low:g}, {contract.high:g}]"
            )
    return np.array(values, dtype=np.float64)


def _malformed(text: str) -> SubmissionError:
    return SubmissionError(text, problem="malformed-action")


def realised(contract: RollingContract, bars: Array) -> NDArray[np.float64]:
    """The returns that were to be predicted at each origin of an episode, float64[steps, symbols].

    Args:
        contract: the contract of the task.
        bars: the rows of the episode, float64[lookback - 1 + steps + horizon, symbols, 5].
    """
    returns = _returns(bars[contract.lookback - 1 :], contract.horizon)
    assert len(returns) >= contract.steps, "an episode holds what its last origin predicts"
    return returns[: contract.steps]


def halted(contract: RollingContract, bars: Array) -> NDArray[np.bool_]:
    """The returns at each origin of an episode that nobody knows, because they begin or end in a halt, whose close is
    that of a bar before; bool[steps, symbols].

    Args:
        contract: the contract of the task.
        bars: the rows of the episode, as for :func:`realised`.
    """
    idle = np.asarray(bars[contract.lookback - 1 :, :, VOLUME]) == 0.0
    found: NDArray[np.bool_] = (idle[contract.horizon :] | idle[: -contract.horizon])[: contract.steps]
    return found


class RollingContract(BarsContract):
    """Forecasts from a moving origin: at each bar, predict every symbol's log return over the next ``horizon`` bars.

    A submission is [episodes, steps, symbols]: the predictions that an agent made step by step.
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["rolling"]
    horizon: PositiveInt
    """Bars from the origin to the close that is predicted."""
    value_semantics: Literal["log_return"] = "log_return"


START = bars_start(
    description="Forecast the next return of two stocks, day after day.",
    asks="Forecast the log return of AAPL and MSFT over the next trading day, day after day.",
    contract="""symbols = ["aapl", "msft"]
lookback = 20                # bars that an observation shows
horizon = 1                  # bars ahead that are predicted
steps = 100                  # of an episode
unit = "log return per trading day"
low = -1.0
high = 1.0
""",
    metrics=(("mae", 0.5), ("rmse", 0.5)),
)


class RollingKind(BarsKind):
    """Bars that are forecast, one after the other."""

    contract = RollingContract
    start = START
    forging = Forging()
    asked = "Forecast the next return"
    environment = "openfingym.envs.rolling:RollingEnv"

    def shape(self, task: Task, source: BarSource) -> Material:
        """Divide bars into training bars and hidden episodes; see :meth:`openfingym.kinds.Kind.shape`."""
        contract = _contract(task.spec.contract)
        # Trading handles splits, which change positions; a forecast of prices cannot.
        if (source.bars.split != 1.0).any():
            raise TaskError(
                "a split would pass for a return; take bars that are adjusted for splits",
                path=task.config_path,
                key="dataset",
            )
        return self.shaped(task, source, bar_episodes.cut(task, source.bars.times, contract.horizon))

    def shaped(self, task: Task, source: BarSource, cut: bar_episodes.Cut) -> Material:
        """The material of a task with given blocks of rows; see :meth:`BarsKind.shaped`."""
        contract = _contract(task.spec.contract)
        return bar_episodes.material(
            task,
            source,
            cut,
            episode=(contract.steps, len(contract.symbols)),
            axes=("step", "symbol"),
            labels=contract.symbols,
        )

    def episode(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> SteppedEpisode:
        """One of the hidden episodes; see :meth:`openfingym.kinds.SequentialKind.episode`."""
        contract = _contract(spec.contract)
        return RollingEpisode(contract, bar_episodes.window(contract, hidden, number, contract.horizon))

    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterator[object]:
        """The action of each step that predicts what then happened."""
        contract = _contract(spec.contract)
        for values in realised(contract, bar_episodes.window(contract, hidden, number, contract.horizon).bars).tolist():
            yield {"predictions": values}

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Predictions of zero, that is of no change."""
        return np.zeros(shape)

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Predictions that take no account of the bars."""
        return skillless(_contract(contract), read, shape, generator)

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The returns that were to be predicted."""
        own = _contract(contract)
        windows = (bar_episodes.window(own, hidden, number, own.horizon) for number in range(shape[0]))
        return np.stack([realised(own, window.bars) for window in windows])

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier episodes are the public fold, the later ones the private one."""
        from openfingym.metrics import Truth
        from openfingym.metrics.comparison import UNKNOWN

        contract = _contract(spec.contract)
        returns = self.oracle(contract, hidden, (sum(counts), contract.steps, len(contract.symbols)))
        windows = (bar_episodes.window(contract, hidden, number, contract.horizon) for number in range(sum(counts)))
        unknown = np.stack([halted(contract, window.bars) for window in windows])
        benchmark = self.known_targets(contract, read).mean(axis=0)
        options = metric_options(contract.value_semantics, spec.scoring)

        def fold(rows: slice) -> Fold:
            y_true = np.ascontiguousarray(returns[rows])
            arrays = {"y_true": y_true, "benchmark": np.broadcast_to(benchmark, y_true.shape).copy()}
            if unknown[rows].any():
                arrays[UNKNOWN] = unknown[rows]
            return Fold(rows, Truth(arrays, options, seed))

        return fold(slice(counts[0])), fold(slice(counts[0], sum(counts)))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The predictions."""
        return {"y_pred": values}

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The fold and the submission made of the drawn steps, one after the other."""
        from openfingym.metrics import Truth

        # Steps are counted through all episodes of the fold, [episodes, steps, symbols].
        def drawn(array: NDArray[np.float64]) -> NDArray[np.float64]:
            return array.reshape(-1, array.shape[2])[units].reshape(array.shape)

        arrays = {name: drawn(np.asarray(array)) for name, array in fold.truth.arrays.items()}
        return Fold(slice(None), Truth(arrays, fold.truth.options, fold.truth.seed)), drawn(values)

    def known_targets(self, contract: Contract, read: Reader) -> NDArray[np.float64]:
        """Log returns of the training bars over ``horizon`` bars, float64[rows, symbols]."""
        return _returns(read("train_bars"), _contract(contract).horizon)

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset({"rolling-ridge"})

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """The predictions of some episodes, step by step."""
        return tuple(
            by_step(f"Episode {episode + 1} of {len(answer.values)}", answer.labels, answer.values[episode])
            for episode in spread(len(answer.values), 4)
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        contract = _contract(task.spec.contract)
        width, unit = len(contract.symbols), "bar" if contract.horizon == 1 else f"{contract.horizon} bars"
        facts = (
            ("value", f"{contract.unit}, {task.spec.frequency}"),
            ("symbols", ", ".join(contract.symbols)),
            ("an observation", f"the last {contract.lookback} bars: {', '.join(FIELDS)}"),
            ("training bars", str(material.n_train)),
            ("episodes that count", f"{material.n_private} of {contract.steps} steps"),
            ("episodes to practise on", str(material.n_public)),
        )
        note = (
            f"A step predicts the log return of each close over the next {unit}; the next observation is one bar "
            "later, so outcomes become\n"
            "known as you go on, and what you answered stays. Hidden bars are later than all of training, carry a "
            "running number\n"
            "(`time_index`) and no date, and are shown in the order of time."
        )
        usage = f"""\
bars, times = interface.load_train()  # float64 {material.public["train_bars"].shape}: row, symbol, field; \
datetime64[ns]
env = interface.make()
while env.episodes_left:
    observation, info = env.reset()  # observation["bars"]: float64 ({contract.lookback}, {width}, 5), \
the last row is now
    done = False
    while not done:
        action = {{"predictions": [0.0] * {width}}}  # one number a symbol; None for no change
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated"""
        return Brief(facts, note, usage)


def _returns(bars: Array, horizon: int) -> NDArray[np.float64]:
    """Log returns of closes over ``horizon`` bars, float64[rows - horizon, symbols]."""
    closes = np.asarray(bars[:, :, CLOSE], dtype=np.float64)
    returns: NDArray[np.float64] = np.log(closes[horizon:] / closes[:-horizon])
    return returns


def _contract(contract: Contract) -> RollingContract:
    assert isinstance(contract, RollingContract)
    return contract


KIND = RollingKind()
