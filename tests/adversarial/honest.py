"""Agents that do what people do, rollout after rollout: fit, tune, average, round, repair. None of it is an attempt to
read labels.

A *participant* is a function from a rollout's number to its submissions in order, the last of which is scored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openfingym.packages.package import BuiltPackage
from openfingym_verifier.scoring.truth import HiddenTask

Values = NDArray[np.float64]
Participant = Callable[[int], list[Values]]


@dataclass(frozen=True, eq=False)
class Levels:
    """A forecasting task of levels, as an agent sees it, and simple models of it."""

    inputs: Values
    moves: Values
    """Training targets less the last value, [windows, steps * channels]."""
    test: Values
    shape: tuple[int, ...]

    @classmethod
    def of(cls, package: BuiltPackage) -> Levels:
        inputs, targets, test = (
            np.array(package.shown_array(name)) for name in ("train_inputs", "train_targets", "test_inputs")
        )
        # Windows slide by a day, so that neighbours say nearly the same: every fourth will do, and takes a fourth of
        # the time.
        inputs, targets = inputs[::4], targets[::4]
        moves = (targets - inputs[:, -1:]).reshape(len(inputs), -1)
        return cls(inputs, moves, test, package.manifest.submission_shape)

    @functools.cached_property
    def naive(self) -> Values:
        return np.broadcast_to(self.test[:, -1:], self.shape).copy()

    def features(self, windows: Values, lookback: int) -> Values:
        past = windows[:, -lookback:]
        return (past[:, :-1] - past[:, -1:]).reshape(len(windows), -1)

    @functools.cache  # noqa: B019  # one object a test run
    def ridge(self, penalty: float = 10.0, lookback: int = 20, seed: int | None = None, nonlinear: int = 0) -> Values:
        """Moves by ridge regression; a seed draws the training rows anew, ``nonlinear`` adds random cosines of the
        features."""
        x, new = self.features(self.inputs, lookback), self.features(self.test, lookback)
        scale = x.std(axis=0) + 1e-12
        x, new = x / scale, new / scale
        generator = np.random.default_rng(seed)
        if nonlinear:
            weights = generator.standard_normal((x.shape[1], nonlinear)) / np.sqrt(x.shape[1])
            phases = generator.uniform(0, 2 * np.pi, nonlinear)
            x, new = np.cos(x @ weights + phases), np.cos(new @ weights + phases)
        rows = np.arange(len(x)) if seed is None else generator.integers(0, len(x), len(x))
        centre, target = x[rows].mean(axis=0), self.moves[rows].mean(axis=0)
        centred = x[rows] - centre
        gram = centred.T @ centred + penalty * len(rows) * np.eye(x.shape[1])
        found = (new - centre) @ np.linalg.solve(gram, centred.T @ (self.moves[rows] - target)) + target
        return found.reshape(self.shape)

    @functools.cache  # noqa: B019
    def trees(self, seed: int, depth: int = 4, count: int = 10, apart: bool = False) -> Values:
        """Moves by extremely random trees, one forest for all cells of a window or one apart for each."""
        from sklearn.ensemble import ExtraTreesRegressor

        x, new = self.features(self.inputs, 5), self.features(self.test, 5)
        if not apart:
            model = ExtraTreesRegressor(count, max_depth=depth, random_state=seed).fit(x, self.moves)
            return model.predict(new).reshape(self.shape)
        columns = self.moves.T
        models = (
            ExtraTreesRegressor(3, max_depth=depth, random_state=1000 * seed + k).fit(x, y)
            for k, y in enumerate(columns)
        )
        return np.stack([model.predict(new) for model in models], axis=1).reshape(self.shape)


def forecasters(data: Levels) -> Mapping[str, Participant]:
    """Participants in a task of levels, by name."""
    naive, model = data.naive, data.ridge()
    penalties = 10.0 ** np.linspace(-3, 3, 50)

    def shrinkage(r: int) -> list[Values]:
        return [naive + factor * model for factor in np.linspace(0.02 * r, 0.02 * r + 0.02, 5)]

    def channel(r: int) -> list[Values]:
        answer = naive.copy()
        k = r % data.shape[2]
        answer[..., k] += data.ridge(penalties[r])[..., k]
        return [naive, answer]

    def repaired(r: int) -> list[Values]:
        moves = data.ridge(0.1, seed=r)
        limit = 3.0 * moves.std()
        others = (np.clip(moves, -limit, limit), np.where(np.abs(moves) > limit, 0.0, moves))
        return [naive + moves, naive + others[r % 2]]

    def clipped(r: int) -> list[Values]:
        size = np.quantile(np.abs(data.ridge(0.1)), 0.98 + 0.0004 * r)
        return [naive + np.clip(data.ridge(0.1), -size, size)]

    def averaged(r: int) -> list[Values]:
        return [
            naive + np.mean([data.ridge(1.0, seed=s) for s in range(k + 1)], axis=0)
            for k in range(max(0, r - 4), r + 1)
        ]

    def constants(r: int) -> list[Values]:
        return [naive + 0.002 * (k - 2) + 0.001 * r for k in range(5)]

    def drift(r: int) -> list[Values]:
        steps = np.arange(1, data.shape[1] + 1)[:, None] / data.shape[1]
        return [naive + 0.001 * r * steps * sign for sign in (1.0, -1.0)]

    def seasonal(r: int) -> list[Values]:
        lag = 1 + r % 19
        return [np.broadcast_to(data.test[:, -lag][:, None], data.shape).copy()]

    def mean_reverting(r: int) -> list[Values]:
        mean = data.test[:, -2 - r % 18 :].mean(axis=1)[:, None]
        return [naive + 0.05 * (k + 1) * (mean - naive) for k in range(3)]

    def tinkering(r: int) -> list[Values]:
        first = naive + data.ridge(penalties[r])
        second = first.copy()
        second[:, :, 0] = naive[:, :, 0]
        third = np.round(second, 2)
        return [first, second, third, 0.5 * (first + naive), first]

    def one_step(r: int) -> list[Values]:
        answer = naive + data.ridge(1.0)
        answer[:, r % data.shape[1] :] = (naive + data.ridge(penalties[r]))[:, r % data.shape[1] :]
        return [answer]

    return {
        "ridge, penalties": lambda r: [naive + data.ridge(penalties[r])],
        "ridge, lookbacks": lambda r: [naive + data.ridge(10.0, 2 + (r + k) % 19) for k in range(5)],
        "ridge, bagged anew": lambda r: [naive + data.ridge(1.0, seed=5 * r + k) for k in range(5)],
        "ridge, bagged anew, rounded": lambda r: [
            np.round(naive + data.ridge(1.0, seed=5 * r + k), 2) for k in range(5)
        ],
        "random features": lambda r: [naive + data.ridge(0.1, 10, r, 100)],
        "forest, seeds": lambda r: [naive + data.trees(r)],
        "forest, seeds, rounded": lambda r: [np.round(naive + data.trees(r), 2)],
        "forests apart, seeds": lambda r: [naive + data.trees(r % 20, apart=True)],
        "the same again": lambda r: [naive + model] * 5,
        "the same, rounded in ways": lambda r: [np.round(naive + model, k) for k in (1, 2, 3, 4)],
        "finer and finer penalties, rounded": lambda r: [np.round(naive + data.ridge(10.0 * (1 + 0.002 * r)), 2)],
        "naive scaled": lambda r: [naive * factor for factor in (0.9 + 0.002 * r, 0.95 + 0.001 * r, 1.0)],
        "shrinkage, a fine grid": shrinkage,
        "one channel's model": channel,
        "outliers repaired": repaired,
        "clipped ever less": clipped,
        "an average that grows": averaged,
        "constants added": constants,
        "drifts": drift,
        "seasonal lags": seasonal,
        "mean reversion": mean_reverting,
        "tinkering": tinkering,
        "steps of two models": one_step,
    }


def scorers(package: BuiltPackage) -> Mapping[str, Participant]:
    """Participants in a task of nodes, by name."""
    from scipy.sparse import csr_matrix, diags
    from sklearn.ensemble import IsolationForest
    from sklearn.linear_model import LogisticRegression

    features = np.asarray(package.array("graph_features"), dtype=np.float64)
    edges = np.asarray(package.array("graph_edges"))
    known, labels, test = (np.array(package.array(name)) for name in ("train_nodes", "train_labels", "test_nodes"))
    count = len(features)
    ends = np.concatenate([edges[0], edges[1]]), np.concatenate([edges[1], edges[0]])
    adjacency = csr_matrix((np.ones(2 * edges.shape[1]), ends), (count, count))
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    mean = diags(1.0 / np.maximum(degree, 1.0)) @ adjacency
    standard = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-12)

    @functools.cache
    def isolation(seed: int) -> Values:
        return (
            -IsolationForest(n_estimators=20, max_samples=128, random_state=seed)
            .fit(standard[::4])
            .score_samples(standard[test])
        )

    @functools.cache
    def logistic(power: int) -> Values:
        return (
            LogisticRegression(C=10.0 ** (power / 2 - 4), max_iter=200)
            .fit(standard[known], labels)
            .decision_function(standard[test])
        )

    @functools.cache
    def propagated(rounds: int) -> Values:
        spread = np.zeros(count)
        for _ in range(rounds):
            spread[known] = labels
            spread = mean @ spread
        return np.asarray(spread[test])

    def stump(r: int) -> list[Values]:
        column = standard[test, r % standard.shape[1]]
        return [(column > np.quantile(column, level)).astype(float) for level in (0.5, 0.9, 0.95, 0.98)]

    def top_few(r: int) -> list[Values]:
        return [np.where(isolation(0) > np.quantile(isolation(0), 0.95 + 0.0009 * r), isolation(0), 0.0)]

    return {
        "degree": lambda r: [degree[test] ** (1.0 + 0.1 * r), np.log1p(degree[test])],
        "isolation forest, seeds": lambda r: [isolation(r)],
        "isolation forests, averaged": lambda r: [np.mean([isolation(s) for s in range(r + 1)], axis=0)],
        "logistic, penalties": lambda r: [logistic(r % 14)],
        "label propagation": lambda r: [propagated(1 + r % 6)],
        "one feature": lambda r: [standard[test, r % standard.shape[1]], -standard[test, r % standard.shape[1]]],
        "one feature, cut": stump,
        "only the highest": top_few,
        "a blend": lambda r: [logistic(6) + 0.1 * r * propagated(2)],
        "blends of ranks": lambda r: [
            (1 - 0.02 * r) * logistic(6).argsort().argsort() + 0.02 * r * isolation(0).argsort().argsort()
        ],
        "smoothed over the graph": lambda r: [(standard[:, 0] + 0.1 * r * (mean @ standard[:, 0]))[test]],
        "random, seeds": lambda r: [np.random.default_rng(r).uniform(size=len(test))],
    }


def traders(
    task: HiddenTask, symbols: int, lookback: int
) -> Mapping[str, Callable[[int], Callable[[Values, int], object]]]:
    """Policies by name: of a rollout's number, then of the bars seen and the step."""

    def momentum(r: int) -> Callable[[Values, int], object]:
        span, every = 2 + r % (lookback - 2), 5 + r % 20

        def act(bars: Values, step: int) -> object:
            moved = np.log(bars[-1, :, 3] / bars[-span, :, 3])
            return None if step % every else {"weights": ((moved > 0) / symbols).tolist()}

        return act

    def reversion(r: int) -> Callable[[Values, int], object]:
        span = 2 + r % (lookback - 2)

        def act(bars: Values, step: int) -> object:
            low = bars[-1, :, 3] < bars[-span:, :, 3].mean(axis=0)
            return None if step % 10 else {"weights": (low / symbols).tolist()}

        return act

    def at_random(r: int) -> Callable[[Values, int], object]:
        generator = np.random.default_rng(r)

        def act(bars: Values, step: int) -> object:
            return (
                None
                if step % 10
                else {"weights": (generator.dirichlet(np.ones(symbols)) * generator.uniform()).tolist()}
            )

        return act

    def hold(r: int) -> Callable[[Values, int], object]:
        weights = np.random.default_rng(r).dirichlet(np.ones(symbols)).tolist()
        return lambda bars, step: {"weights": weights} if step == 0 else None

    return {"momentum": momentum, "mean reversion": reversion, "random": at_random, "buy and hold": hold}


def traded(task: HiddenTask, act: Callable[[Values, int], object]) -> Values:
    """The record of a policy on the private episodes; the public ones are the baseline's."""
    assert task.open_episode is not None
    record = task.grader.baseline.copy()
    first = task.manifest.n_public
    for number in range(task.manifest.n_private):
        episode = task.open_episode(first + number)
        step, count = episode.start(), 0
        while not (step.terminated or step.truncated):
            step = episode.step(act(np.asarray(step.observation["bars"]), count))  # type: ignore[index]
            count += 1
        record[first + number] = episode.outcome()
    return record
