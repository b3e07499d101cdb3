"""Questions with a known best answer, for the admission of metrics.

Each kind of question has a seeded case: the verifier's arrays, the perfect answer, a ladder of
answers each clearly worse than the one before, and rivals, which are answers of other kinds that
a flawed metric might prefer to the perfect one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.answers import Part, Reference
from openfingym.answers.packing import pack
from openfingym.metrics.record import Problem

Arrays = Mapping[str, NDArray[Any]]
LADDER = (0.3, 1.0, 4.0)
"""Size of the noise added to the perfect answer, in standard deviations."""
NORMAL_QUANTILES = (-1.2815515655446004, -0.6744897501960817, 0.0, 0.6744897501960817, 1.2815515655446004)
"""Quantiles of the standard normal law at :data:`NORMAL_LEVELS`."""
NORMAL_LEVELS = (0.10, 0.25, 0.50, 0.75, 0.90)
"""Levels of the quantiles that answers to a case state."""


@dataclass(frozen=True)
class Case:
    """One question."""

    truth: Arrays
    """The verifier's arrays by name."""
    perfect: Arrays
    """The best answer: the agent's arrays by name."""
    ladder: tuple[Arrays, ...]
    """Answers each of which is clearly worse than the one before."""
    rivals: tuple[Arrays, ...]
    """Other answers, none better than the perfect one."""
    misplaced: Arrays | None = None
    """The values of the perfect answer in the wrong places, which is worse wherever places matter; None where they do
    not."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The task's options."""


def point(rng: np.random.Generator) -> Case:
    """Forty windows of a trending series with a seasonal mean."""
    y = rng.standard_normal((40, 4, 3)) + 0.5 * rng.standard_normal((1, 4, 3))
    noise = rng.standard_normal(y.shape)
    return Case(
        {"y_true": y},
        {"y_pred": y},
        tuple({"y_pred": y + s * noise} for s in LADDER),
        tuple({"y_pred": p} for p in (0.5 * y, -y, np.zeros_like(y), np.full_like(y, y.mean()), y + 0.1)),
        {"y_pred": y[::-1].copy()},
    )


def forecast(rng: np.random.Generator) -> Case:
    """Sixty windows of three prices of unlike drift and risk; the statistics pool windows, so places do not matter."""
    last = 100.0 * np.exp(0.1 * rng.standard_normal((60, 3)))
    steps = np.array([0.01, 0.02, 0.04]) * (0.2 + rng.standard_normal((60, 5, 3)))
    noise = 0.04 * rng.standard_normal(steps.shape)

    def prices(returns: NDArray[np.float64]) -> NDArray[np.float64]:
        path: NDArray[np.float64] = last[:, None, :] * np.exp(np.cumsum(returns, axis=1))
        return path

    return Case(
        {"y_true": prices(steps), "last_value": last},
        {"y_pred": prices(steps)},
        tuple({"y_pred": prices(steps + s * noise)} for s in LADDER),
        tuple({"y_pred": prices(p)} for p in (0.0 * steps, -steps, 0.5 * steps, 0.0 * steps + 0.1)),
        options={"semantics": "price_level", "periods_per_year": 252.0, "tail_level": 0.05},
    )


def benchmark(rng: np.random.Generator) -> Case:
    """The point case beside a constant benchmark."""
    case = point(rng)
    return Case({**case.truth, "benchmark": np.array(0.1)}, case.perfect, case.ladder, case.rivals, case.misplaced)


def panel(rng: np.random.Generator) -> Case:
    """Thirty-six months of forty stocks."""
    period = np.repeat(np.arange(36), 40)
    y = 0.05 * rng.standard_normal(period.size)
    noise = 0.05 * rng.standard_normal(period.size)
    return Case(
        {"y_true": y, "period": period},
        {"y_pred": y},
        (*({"y_pred": y + s * noise} for s in LADDER[1:]), {"y_pred": -y}),
        ({"y_pred": np.zeros_like(y)}, {"y_pred": rng.standard_normal(y.size)}),
        {"y_pred": np.roll(y, 17)},
    )


def interval(rng: np.random.Generator) -> Case:
    """Four hundred normal values around a known mean; the perfect interval holds exactly 95 % of them."""
    mean = rng.standard_normal((400, 1, 1))
    y = mean + rng.standard_normal(mean.shape)
    # The 380th of 400 distances: 95 %.
    half = float(np.sort(np.abs(y - mean).ravel())[379])

    def around(centre: NDArray[np.float64], width: float) -> Arrays:
        return {"lower": centre - width, "upper": centre + width}

    return Case(
        {"y_true": y},
        around(mean, half),
        (around(mean, 0.6 * half), around(mean, 0.1 * half), around(mean + 10.0 * half, 0.1 * half)),
        (around(mean, 0.0), around(mean, 10.0 * half), around(mean, 1e6)),
        around(mean[::-1].copy(), half),
    )


def quantiles(rng: np.random.Generator) -> Case:
    """Four hundred normal values; the perfect answer is the quantiles of their law."""
    mean = rng.standard_normal((400, 1))
    y = mean + rng.standard_normal(mean.shape)
    law = np.array(NORMAL_QUANTILES)
    spread = mean[..., None] + law
    return Case(
        {"y_true": y, "levels": np.array(NORMAL_LEVELS)},
        {"quantiles": spread},
        tuple({"quantiles": spread + shift} for shift in (1.0, 3.0, 10.0)),
        ({"quantiles": mean[..., None] + 0.0 * law}, {"quantiles": mean[..., None] + 5.0 * law}),
        {"quantiles": spread[::-1].copy()},
    )


def ensemble(rng: np.random.Generator) -> Case:
    """Four hundred normal values; the perfect answer is a sample of their law."""
    mean = rng.standard_normal((400, 1))
    y = mean + rng.standard_normal(mean.shape)
    draws = rng.standard_normal((400, 1, 60))
    samples = mean[..., None] + draws
    return Case(
        {"y_true": y},
        {"samples": samples},
        tuple({"samples": samples + shift} for shift in (1.0, 3.0, 10.0)),
        ({"samples": mean[..., None] + 0.0 * draws}, {"samples": mean[..., None] + 5.0 * draws}),
        {"samples": samples[::-1].copy()},
    )


def drifting_paths(rng: np.random.Generator, count: int, steps: int = 12) -> NDArray[np.float64]:
    """Autocorrelated, cross-correlated returns with a drift, float64[count, steps, 3]."""
    mixing = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.4, 0.5, 0.77]])
    shocks = rng.standard_normal((count, steps, 3)) @ mixing.T
    paths: NDArray[np.float64] = np.empty_like(shocks)
    last = shocks[:, 0]
    for t in range(steps):
        last = 0.7 * last + 0.7 * shocks[:, t]
        paths[:, t] = 0.5 + last
    return paths


def paths(rng: np.random.Generator) -> Case:
    """Two hundred windows, long enough to trade on; the perfect answer is the same windows."""
    real = drifting_paths(rng, 200, 30)
    noise = real.std() * rng.standard_normal(real.shape)
    collapsed = np.repeat(real[:1], len(real), axis=0)
    return Case(
        {"real": real},
        {"fake": real},
        tuple({"fake": real + s * noise} for s in LADDER),
        tuple(
            {"fake": f}
            for f in (collapsed, np.full_like(real, real.mean()), real[:, ::-1], rng.permuted(real, axis=0), 0.5 * real)
        ),
    )


def futures(rng: np.random.Generator) -> Case:
    """Sixty contexts of daily log returns and eight futures each; the perfect answer is what happened, eight times."""
    real = 0.02 * rng.standard_normal((60, 5, 2))
    perfect = np.repeat(real[:, None], 8, axis=1)
    fresh = 0.02 * rng.standard_normal(perfect.shape)
    return Case(
        {"real": real},
        {"futures": perfect},
        tuple({"futures": scale * perfect} for scale in (1.5, 3.0, 6.0)),
        ({"futures": 0.0 * perfect}, {"futures": -0.01 + 0.0 * perfect}, {"futures": fresh}),
    )


def copying(rng: np.random.Generator) -> Case:
    """A generator that knows the law, and others that repeat the training windows."""
    train, held_out, fresh = (drifting_paths(rng, count) for count in (400, 200, 300))
    jitter = 1e-3 * rng.standard_normal(fresh.shape)

    def copied(share: float) -> Arrays:
        count = round(share * len(fresh))
        return {"fake": np.concatenate((train[:count] + jitter[:count], fresh[count:]))}

    return Case({"train": train, "held_out": held_out}, {"fake": fresh}, (copied(0.2), copied(0.6), copied(1.0)), ())


def ranking(rng: np.random.Generator) -> Case:
    """Five hundred rows, one in ten positive; perfect scores separate them at 0.5."""
    labels = (np.arange(500) % 10 == 3).astype(np.int64)
    perfect = 0.25 + 0.5 * labels
    noise = rng.standard_normal(labels.size)
    return Case(
        {"labels": labels},
        {"scores": perfect},
        tuple({"scores": perfect + s * noise} for s in (0.2, 0.5, 3.0)),
        tuple(
            {"scores": s} for s in (np.zeros(labels.size), np.ones(labels.size), 1.0 - perfect, rng.random(labels.size))
        ),
        {"scores": np.roll(perfect, 3)},
    )


def account(returns: NDArray[np.float64]) -> Arrays:
    """The record of an account that starts with 1,000 and makes these returns, always half invested.

    Args:
        returns: return of each step as a fraction, float64[episodes, steps].
    """
    equity = np.cumprod(np.concatenate((np.ones((len(returns), 1)), 1.0 + returns), axis=1), axis=1)
    record = np.zeros((*equity.shape, 7))
    record[:, :, 0] = 1000.0 * equity
    record[:, :, 3] = 0.5 * record[:, :, 0]
    return {"record": record}


def trading(rng: np.random.Generator) -> Case:
    """Four years of fifty-two weeks; the perfect account gains in each, by different amounts."""
    gains, losses = 0.001 + 0.01 * np.abs(rng.standard_normal((2, 4, 52)))
    lottery = np.zeros_like(gains)
    lottery[:, 30] = gains.sum(axis=1)
    return Case(
        {},
        account(gains),
        tuple(account(gains - s * losses) for s in LADDER),
        tuple(account(r) for r in (np.zeros_like(gains), 0.5 * gains, -gains, lottery, np.full_like(gains, 1e-4))),
        options={"periods_per_year": 52.0},
    )


def named_codes(rng: np.random.Generator, rows: int, likely: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """What is known of the 60 second-level codes of each row.

    Args:
        rng: the generator that they are drawn from.
        rows: number of rows.
        likely: number of likely codes in a row.

    Returns:
        Which codes are likely, bool[rows, 60], and the chance of each, float64[rows, 60]; code c belongs to the
        first-level code c % 20.
    """
    known = rng.permuted(np.arange(60) < np.full((rows, 1), likely), axis=1)
    return known, np.where(known, 0.7 + 0.2 * rng.random(known.shape), 0.01)


def with_first_level(second: NDArray[Any]) -> NDArray[np.float64]:
    """Values of 20 first-level codes, each the highest of its second level, and then of the 60 second-level codes.

    Args:
        second: values of the second-level codes, [rows, 60].

    Returns:
        float64[rows, 20 + 60].
    """
    first = second.reshape(len(second), 3, 20).max(axis=1)
    return np.concatenate((first, second), axis=1).astype(np.float64)


def codes(rng: np.random.Generator) -> Case:
    """Sixty rows of three to six codes; the ladder leaves out more and more of them, and of the rows."""
    known, _ = named_codes(rng, 60, 6)
    true = known & (rng.random(known.shape) < 0.7)
    true[np.arange(60), known.argmax(axis=1)] = True
    # A code is named where a number of its own and one of its row are both below a share: the lower it is, the fewer
    # codes and rows are left.
    kept = np.maximum(rng.random(true.shape), rng.random((60, 1)))
    truth = with_first_level(true)
    other = with_first_level(rng.permuted(true, axis=1))
    return Case(
        {"y_true": truth},
        {"y_pred": truth},
        tuple({"y_pred": with_first_level(true & (kept < share))} for share in (0.8, 0.5, 0.0)),
        tuple({"y_pred": named} for named in (np.ones_like(truth), 1 - truth, other)),
        {"y_pred": truth[::-1].copy()},
    )


def code_samples(rng: np.random.Generator) -> Case:
    """Five samples a row, all like one answer of :func:`codes`."""
    case = codes(rng)

    def repeated(answer: Arrays) -> Arrays:
        return {"samples": np.repeat(answer["y_pred"][:, :, None], 5, axis=2)}

    assert case.misplaced is not None
    return Case(
        case.truth,
        repeated(case.perfect),
        tuple(map(repeated, case.ladder)),
        tuple(map(repeated, case.rivals)),
        repeated(case.misplaced),
    )


def items(rng: np.random.Generator) -> Case:
    """The second level of :func:`codes` alone."""
    case = codes(rng)

    def second(arrays: Arrays) -> Arrays:
        return {name: values[:, 20:].copy() for name, values in arrays.items()}

    assert case.misplaced is not None
    return Case(
        second(case.truth),
        second(case.perfect),
        tuple(map(second, case.ladder)),
        tuple(map(second, case.rivals)),
        second(case.misplaced),
    )


def packed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Texts of at most 120 bytes as rows, float64[texts, 30]."""
    return np.stack([pack(text, 30) for text in texts])


def amounts(numbers: Sequence[float]) -> NDArray[np.float64]:
    """References whose answers are these numbers of dollars and cents, in six groups, float64[numbers, 60]."""
    plain = [Reference((Part("price", "number", n, "USD", decimals=2),)) for n in numbers]
    grouped = [replace(reference, group=("abc"[i % 3], "de"[i // 3 % 2])) for i, reference in enumerate(plain)]
    return np.stack([pack(reference.to_json(), 60) for reference in grouped])


def words(rng: np.random.Generator) -> Case:
    """Sixty prices; the ladder gets more and more of them wrong, the rivals hedge, or say nothing."""
    prices = np.round(rng.uniform(10.0, 99.0, 60), 2).tolist()
    wrong = rng.permutation(60)

    def mistaken(count: int) -> Arrays:
        return {"y_pred": said([f"{p + (1.0 if i in wrong[:count] else 0.0):.2f}" for i, p in enumerate(prices)])}

    def said(texts: Sequence[str]) -> NDArray[np.float64]:
        return np.pad(packed(texts), ((0, 0), (0, 30)))

    return Case(
        {"y_true": amounts(prices)},
        {"y_pred": said([f"${p:.2f}" for p in prices])},
        tuple(map(mistaken, (6, 20, 60))),
        tuple(
            {"y_pred": said(texts)}
            for texts in (
                [""] * 60,
                ["unknown"] * 60,
                ["10 to 99"] * 60,
                [f"{p:.2f} or {p + 1.0:.2f}" for p in prices],
                [f"{p:.0f}" for p in prices],
            )
        ),
        {"y_pred": said([f"{p:.2f}" for p in prices[::-1]])},
    )


CASES: Mapping[Problem, Callable[[np.random.Generator], Case]] = {
    "point": point,
    "forecast": forecast,
    "benchmark": benchmark,
    "panel": panel,
    "interval": interval,
    "quantiles": quantiles,
    "ensemble": ensemble,
    "paths": paths,
    "futures": futures,
    "copying": copying,
    "ranking": ranking,
    "codes": codes,
    "code_samples": code_samples,
    "items": items,
    "words": words,
    "trading": trading,
}
"""A case of each kind of question."""
