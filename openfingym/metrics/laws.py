"""Questions whose answer is a law, for the admission of metrics that rank.

In :mod:`openfingym.metrics.cases` the best answer is what happened. Nobody knows that beforehand: here the
truth is drawn from a law, the *honest* answer says what is known of the law and no more, and beside it stand
answers without that knowledge, or with noise on top. A metric in which one of those scores better can be won
without skill, however well it treats the truth in hindsight: the gap of two pooled risk statistics is closed by
adding volatility, a Sharpe ratio does not see the size of a position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from openfingym.metrics.cases import (
    NORMAL_LEVELS,
    NORMAL_QUANTILES,
    Arrays,
    account,
    amounts,
    drifting_paths,
    named_codes,
    packed,
    with_first_level,
)
from openfingym.metrics.record import Problem

HALF_WIDTH = 1.959963984540054
"""Half the width of the interval that holds 95 % of a standard normal law."""


@dataclass(frozen=True)
class Law:
    """One question about a law."""

    truth: Arrays
    """The verifier's arrays, drawn from the law."""
    honest: Arrays
    """The answer that states what is known of the law: its mean, its quantiles or probabilities, other draws of it, the
    bet that grows most."""
    beaten: tuple[Arrays, ...] = ()
    """Answers that must score worse than the honest one, on average."""
    no_better: tuple[Arrays, ...] = ()
    """Answers that must not score better than the honest one; a metric may be blind to what is wrong with them."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The task's options."""


def point(rng: np.random.Generator) -> Law:
    """Returns of which a little is known, with a drift; float64[2000, 4, 3]."""
    signal, drift = 0.3 * rng.standard_normal((2000, 4, 3)), 0.15
    mean = signal + drift
    noise, other = rng.standard_normal((2, *mean.shape))
    rivals = (np.zeros_like(mean), mean + other, mean[::-1].copy(), signal, np.full_like(mean, 3.0 * drift))
    return Law({"y_true": mean + noise}, {"y_pred": mean}, tuple({"y_pred": rival} for rival in rivals))


def forecast(rng: np.random.Generator) -> Law:
    """The values of :func:`point` as log returns, a hundredth of their size.

    Rivals are the values themselves in another order, the means with a few cells of the law's tail among them, and
    zeros.
    """
    law = point(rng)
    truth, mean = 0.01 * law.truth["y_true"], 0.01 * law.honest["y_pred"]
    tail = np.where(rng.random(mean.shape) < 0.05, np.quantile(truth, 0.03), mean)
    rivals = (rng.permuted(truth.ravel()).reshape(truth.shape), tail, np.zeros_like(mean))
    return Law(
        {"y_true": truth, "last_value": np.zeros((len(truth), truth.shape[2]))},
        {"y_pred": mean},
        tuple({"y_pred": rival} for rival in rivals),
        options={"semantics": "log_return", "periods_per_year": 252.0, "tail_level": 0.05},
    )


def benchmark(rng: np.random.Generator) -> Law:
    """The law of :func:`point` beside a benchmark of zero."""
    law = point(rng)
    return Law({**law.truth, "benchmark": np.array(0.0)}, law.honest, law.beaten)


def panel(rng: np.random.Generator) -> Law:
    """Two hundred months of fifty stocks, calm ones and wild ones.

    The honest forecast is their means; rivals are means a unit of variance, noise, and zeros.
    """
    period = np.repeat(np.arange(200), 50)
    size = np.tile(np.geomspace(0.01, 0.2, 50), 200)
    mean = 0.2 * size * rng.standard_normal(period.size)
    y = mean + size * rng.standard_normal(period.size)
    rivals = (mean / size**2, rng.standard_normal(y.size), np.zeros_like(y))
    return Law({"y_true": y, "period": period}, {"y_pred": mean}, tuple({"y_pred": rival} for rival in rivals))


def interval(rng: np.random.Generator) -> Law:
    """Four thousand normal values around known means; the honest interval holds 95 % of their law.

    Rivals are wider or narrower, or buy their coverage with huge intervals in 95 % of the cells.
    """
    mean = rng.standard_normal((4000, 1, 1))
    y = mean + rng.standard_normal(mean.shape)

    def around(half: NDArray[np.float64] | float, centre: NDArray[np.float64] = mean) -> Arrays:
        return {"lower": centre - half, "upper": centre + half}

    covered = (np.arange(len(y)) % 20 > 0)[:, None, None]
    bought = around(np.where(covered, 1e4, 0.0), np.where(covered, mean, 100.0))
    return Law(
        {"y_true": y}, around(HALF_WIDTH), (bought, around(1.2 * HALF_WIDTH), around(0.8 * HALF_WIDTH), around(0.0))
    )


def quantiles(rng: np.random.Generator) -> Law:
    """Four thousand normal values and the quantiles of their law; rivals are too narrow, too wide, or without means."""
    mean = rng.standard_normal((4000, 1))
    law = np.array(NORMAL_QUANTILES)
    rivals = (mean[..., None] + 0.5 * law, mean[..., None] + 1.5 * law, 0.0 * mean[..., None] + law)
    return Law(
        {"y_true": mean + rng.standard_normal(mean.shape), "levels": np.array(NORMAL_LEVELS)},
        {"quantiles": mean[..., None] + law},
        tuple({"quantiles": rival} for rival in rivals),
    )


def ensemble(rng: np.random.Generator) -> Law:
    """Four thousand normal values and sixty draws of their laws; rivals are too narrow, too wide, or without means."""
    mean = rng.standard_normal((4000, 1))
    draws = rng.standard_normal((4000, 1, 60))
    rivals = (mean[..., None] + 0.5 * draws, mean[..., None] + 2.0 * draws, draws)
    return Law(
        {"y_true": mean + rng.standard_normal(mean.shape)},
        {"samples": mean[..., None] + draws},
        tuple({"samples": rival} for rival in rivals),
    )


def paths(rng: np.random.Generator) -> Law:
    """Four hundred windows and as many fresh ones; rivals are calmer, wilder, without dependence, or without spread.

    A metric may be blind to scale or to dependence, but must not prefer windows that have it wrong.
    """
    real, fresh = drifting_paths(rng, 400, 30), drifting_paths(rng, 400, 30)
    centre = fresh.mean(axis=(0, 1))
    scaled = [centre + factor * (fresh - centre) for factor in (0.5, 2.0, 0.0)]
    # Every step and channel has its own law still, and nothing to do with any other.
    return Law(
        {"real": real}, {"fake": fresh}, (), tuple({"fake": rival} for rival in (*scaled, rng.permuted(fresh, axis=0)))
    )


def futures(rng: np.random.Generator) -> Law:
    """Two hundred contexts of daily log returns and sixteen fresh futures each; rivals are calmer, wilder, or without
    spread.
    """
    real, fresh = 0.02 * rng.standard_normal((200, 5, 2)), 0.02 * rng.standard_normal((200, 16, 5, 2))
    return Law({"real": real}, {"futures": fresh}, tuple({"futures": factor * fresh} for factor in (0.5, 2.0, 0.0)))


def copying(rng: np.random.Generator) -> Law:
    """Fresh windows; the rival repeats those of training."""
    train, held_out, fresh = (drifting_paths(rng, count) for count in (400, 200, 300))
    return Law({"train": train, "held_out": held_out}, {"fake": fresh}, ({"fake": train[:300].copy()},))


def ranking(rng: np.random.Generator) -> Law:
    """Four thousand rows and the probability of each, one in ten on average.

    Rivals give all rows one score, or score at random, or know half of the probabilities.
    """
    chance = rng.beta(0.5, 4.5, 4000)
    labels = (rng.random(chance.size) < chance).astype(np.int64)
    rivals = (
        np.ones(chance.size),
        rng.random(chance.size),
        np.where(np.arange(chance.size) % 2, chance, rng.permutation(chance)),
    )
    return Law({"labels": labels}, {"scores": chance}, tuple({"scores": rival} for rival in rivals))


def trading(rng: np.random.Generator) -> Law:
    """Fifty years of a market in which the best bet is the whole equity.

    Rivals bet a thousandth or half of that, twice or nearly three times as much, or nothing.
    """
    # No return below -0.34, so that three times the bet is not ruined by it.
    returns = np.clip(0.01 + 0.1 * rng.standard_normal((50, 100)), -0.34, None)
    return Law(
        {},
        account(returns),
        tuple(account(size * returns) for size in (0.001, 0.5, 2.0, 2.9, 0.0)),
        options={"periods_per_year": 100.0},
    )


def codes(rng: np.random.Generator) -> Law:
    """Five hundred rows with three likely codes each, and others that come once in a hundred.

    The honest answer names the likely codes by their chances. Rivals name nothing, everything, the codes of another
    row, codes at random besides, half of the codes, or the most frequent codes in every row.
    """
    likely, chance = named_codes(rng, 500, 3)
    true = rng.random(chance.shape) < chance
    # Every row must have a true code.
    true[np.arange(500), likely.argmax(axis=1)] |= ~true.any(axis=1)
    honest, noise = np.where(likely, chance, 0.0), rng.random(likely.shape)
    often = np.tile(np.argsort(np.argsort(-true.sum(axis=0))) < 3, (500, 1))
    rivals = (
        np.zeros_like(chance),
        np.ones_like(chance),
        honest[::-1],
        honest + (noise < 0.1),
        np.where(noise < 0.5, honest, 0.0),
        often,
    )
    return Law(
        {"y_true": with_first_level(true)},
        {"y_pred": with_first_level(honest)},
        tuple({"y_pred": with_first_level(rival)} for rival in rivals),
    )


def code_samples(rng: np.random.Generator) -> Law:
    """The law of :func:`codes` with five samples a row.

    The honest answer names what is likely in every sample. Rivals are those of :func:`codes`, and the honest answer
    with codes at random that differ from sample to sample.
    """
    law = codes(rng)
    honest = np.repeat(law.honest["y_pred"][:, :, None], 5, axis=2)
    varied = np.where(rng.random(honest.shape) < 0.004, honest == 0.0, honest)
    rivals = (np.repeat(rival["y_pred"][:, :, None], 5, axis=2) for rival in law.beaten)
    return Law(law.truth, {"samples": honest}, ({"samples": varied}, *({"samples": rival} for rival in rivals)))


def items(rng: np.random.Generator) -> Law:
    """The second level of :func:`codes` alone."""
    law = codes(rng)

    def second(arrays: Arrays) -> Arrays:
        return {name: values[:, 20:].copy() for name, values in arrays.items()}

    return Law(second(law.truth), second(law.honest), tuple(map(second, law.beaten)))


def words(rng: np.random.Generator) -> Law:
    """Three hundred questions for a price, for each of which two prices are likely, one of them more.

    The honest answer is the likelier price. Rivals are the other one, both, a range that holds both, nothing, and one
    of the two at random.
    """
    first, second = np.round(rng.uniform(10.0, 99.0, (2, 300)), 2)
    truth = np.where(rng.random(300) < 0.7, first, second).tolist()
    either = np.where(rng.random(300) < 0.5, first, second)
    answers: tuple[list[str], ...] = (
        [f"{price:.2f}" for price in first],
        [f"{price:.2f}" for price in second],
        [f"{one:.2f} or {other:.2f}" for one, other in zip(first, second, strict=True)],
        [f"{min(one, other):.2f}-{max(one, other):.2f}" for one, other in zip(first, second, strict=True)],
        [""] * 300,
        [f"{price:.2f}" for price in either],
    )
    honest, *rivals = ({"y_pred": np.pad(packed(texts), ((0, 0), (0, 30)))} for texts in answers)
    return Law({"y_true": amounts(truth)}, honest, tuple(rivals))


LAWS: Mapping[Problem, Callable[[np.random.Generator], Law]] = MappingProxyType(
    {
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
)
"""A law for each kind of question."""
