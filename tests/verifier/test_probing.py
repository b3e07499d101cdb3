"""The label recovery attack, for real: it must not pay, and it must be seen. Honest work must not be flagged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openfingym.package import BuiltPackage
from openfingym_verifier.probing import looks_like_probing


def test_recovering_labels_by_coordinates_does_not_help_on_the_private_fold(server: Any, packages: dict[str, BuiltPackage]) -> None:
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
    assert result.total >= 0.99 * result.naive_total
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
    "one channel at a time": [np.concatenate([models(2)[1][..., :k], models(2)[0][..., k:]], axis=-1) for k in range(7)],
    "one horizon step at a time": [np.concatenate([models(2)[1][:, :k], models(2)[0][:, k:]], axis=1) for k in range(6)],
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
