"""The label recovery attack, for real: it must not pay, and it must be seen. Honest work must not be flagged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openfingym.kinds import kind_named
from openfingym.kinds.generation_contract import GenerationContract
from openfingym.kinds.nodes import NodesContract
from openfingym.packages.package import BuiltPackage
from openfingym.task.contracts import Contract
from openfingym_verifier.disclosure.probing import looks_like_probing


def test_recovering_labels_by_coordinates_does_not_help_on_the_private_fold(
    server: Any, packages: dict[str, BuiltPackage]
) -> None:
    package = packages["tiny"]
    shape, n = package.manifest.submission_shape, package.manifest.n_public
    ticket = server.client.create_rollout("tiny", agent="thief")
    base = server.client.submit(ticket.token, np.zeros(shape)).metrics["mae"]
    stolen = np.zeros(shape)
    cells = n * shape[1] * shape[2]
    for cell in range(cells):
        index = np.unravel_index(cell, (n, *shape[1:]))
        probe = np.zeros(shape)
        probe[index] = 1.0  # |1 - y| - |y| = 1 - 2y for 0 <= y <= 1, and 1 for y < 0
        change = cells * (server.client.submit(ticket.token, probe).metrics["mae"] - base)
        stolen[index] = (1.0 - change) / 2.0
    for window in range(n, shape[0]):  # the best the thief can do with stolen labels: carry their mean over
        stolen[window] = stolen[:n].mean(axis=0)
    server.client.submit(ticket.token, stolen)
    result = server.client.finalize(ticket.rollout_id)
    assert result.total is not None
    assert result.total >= 0.99 * result.baseline_total
    assert result.flags == ("probing",)


def models(count: int) -> list[np.ndarray]:
    """Submissions of an agent that retrains: every cell moves a little, some more than others."""
    generator = np.random.default_rng(0)
    base = generator.standard_normal((40, 5, 6))
    return [base + 0.1 * generator.standard_t(3, base.shape) for _ in range(count)]


def probes(count: int, noise: float = 0.0) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    series = []
    for i in range(count):
        probe = np.zeros((40, 5, 6))
        probe.flat[i] = 1.0
        series.append(probe + noise * generator.standard_normal(probe.shape))
    return series


HONEST = {
    "one": models(1),
    "retrained": models(20),
    "the same again and again": [models(1)[0]] * 5,
    "scaled": [models(1)[0] * factor for factor in (0.0, 0.25, 0.5, 0.75, 1.0)],
    "shifted": [models(1)[0] + offset for offset in (0.0, 0.1, 0.2)],
    "one channel at a time": [
        np.concatenate([models(2)[1][..., :k], models(2)[0][..., k:]], axis=-1) for k in range(7)
    ],
    "one horizon step at a time": [
        np.concatenate([models(2)[1][:, :k], models(2)[0][:, k:]], axis=1) for k in range(6)
    ],
    "a repair of outliers": [models(1)[0], np.where(np.abs(models(1)[0]) > 2.8, 0.0, models(1)[0])],
    "refined": [models(2)[0] + 0.5**k * models(2)[1] for k in range(8)],
}
DISHONEST = {
    "coordinates": probes(3),
    "coordinates under noise": probes(5, noise=0.004),
    "between honest ones": [series for pair in zip(probes(4), models(4), strict=True) for series in pair],
    "pairs of cells": [a + b for a, b in zip(probes(8)[::2], probes(8)[1::2], strict=True)],
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_series_are_not_flagged(name: str) -> None:
    assert not looks_like_probing(HONEST[name])


@pytest.mark.parametrize("name", DISHONEST)
def test_probing_series_are_flagged(name: str) -> None:
    assert looks_like_probing(DISHONEST[name])


NODES = NodesContract(kind="nodes", unit="score", low=-1e6, high=1e6)
WINDOWS = GenerationContract(
    kind="generation", horizon=4, value_semantics="log_return", unit="return", low=-1.0, high=1.0
)
FUTURES = GenerationContract(
    kind="generation", lookback=3, futures=6, horizon=4, value_semantics="log_return", unit="return", low=-1.0, high=1.0
)


def flagged(contract: Contract, series: list[np.ndarray]) -> bool:
    compared = [kind_named(contract).compared(values) for values in series]
    return looks_like_probing(values for values in compared if values is not None)


def scores(count: int, change: Any) -> list[np.ndarray]:
    generator = np.random.default_rng(2)
    base = generator.standard_normal(500)
    return [change(i, base.copy(), generator) for i in range(count)]


def raise_one(i: int, base: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    base[np.argsort(base)[i]] = 10.0
    return base


def raise_one_and_rescale(i: int, base: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return np.exp((1.0 + i) * raise_one(i, base, generator) / 3.0) + 100.0 * i


def raise_one_of_equals(i: int, base: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return (np.arange(500) == i).astype(float) + 7.0 * i


RANKINGS = {
    "one node to the top": (raise_one, True),
    "one node to the top, all rescaled": (raise_one_and_rescale, True),
    "one node above all others": (raise_one_of_equals, True),
    "retrained": (lambda i, base, generator: base + 0.1 * generator.standard_normal(500), False),
    "rescaled only": (lambda i, base, generator: np.exp(base * (1.0 + i)), False),
    "another feature": (lambda i, base, generator: base + i * np.sin(np.arange(500.0)), False),
    "neighbours smoothed": (lambda i, base, generator: np.convolve(base, np.ones(2 * i + 1), "same"), False),
}


@pytest.mark.parametrize("name", RANKINGS)
def test_scores_are_compared_by_rank(name: str) -> None:
    change, dishonest = RANKINGS[name]
    assert flagged(NODES, scores(5, change)) is dishonest


def test_ranks_are_those_of_scipy() -> None:
    from scipy.stats import rankdata

    values = np.random.default_rng(0).integers(0, 20, 200).astype(float)
    np.testing.assert_array_equal(kind_named(NODES).compared(values), rankdata(values) - 1.0)


@pytest.mark.parametrize("exchange", [False, True])
def test_one_context_at_a_time_is_a_probe_however_its_futures_are_ordered(exchange: bool) -> None:
    generator = np.random.default_rng(3)
    base = generator.standard_normal((60, 6, 4, 2))
    series = []
    for i in range(4):
        probe = base.copy()
        probe[i] += 5.0
        series.append(probe[:, generator.permutation(6)] if exchange else probe)
    assert flagged(FUTURES, series)
    assert not flagged(FUTURES, [base[:, generator.permutation(6)] for _ in range(5)])
    assert not flagged(FUTURES, [generator.standard_normal(base.shape) for _ in range(5)])


def test_windows_without_a_context_have_no_label_to_probe() -> None:
    assert kind_named(WINDOWS).compared(np.zeros((50, 4, 2))) is None
    assert not flagged(WINDOWS, [np.zeros((50, 4, 2)) for _ in range(3)])


def test_probing_scores_is_seen_by_the_verifier(kinds_server: Any, kinds: dict[str, BuiltPackage]) -> None:
    package = kinds["nodes"]
    ticket = kinds_server.client.create_rollout("nodes")
    for i in range(4):
        values = np.zeros(package.manifest.submission_shape)
        values[i] = 1.0
        kinds_server.client.submit(ticket.token, values + i)
    assert kinds_server.client.finalize(ticket.rollout_id).flags == ("probing",)
