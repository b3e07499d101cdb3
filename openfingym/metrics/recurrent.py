"""Post-hoc scores by recurrent networks, as published: for numbers that can be set beside a paper's.

They need PyTorch (the extra ``faithful``) and tens of processor seconds; :mod:`openfingym.metrics.posthoc`
has the fast variants, which separate known laws better. Networks and training are those of PCF-GAN's
code (Lou, Li and Ni 2023). Two things differ: values are standardised by the real channels' mean and
deviation, without which the networks do not learn an unscaled series in so few epochs; and the score is
that of the last epoch, where the papers' code picks the best epoch on the windows it scores.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import DataError
from openfingym.metrics.arrays import MissingPackageError, Numbers, number, windows
from openfingym.metrics.posthoc import FEWEST_WINDOWS, LARGEST_SET, moments, told_apart
from openfingym.metrics.record import Metric

HELD_OUT = 0.2
"""Share of the windows that are held out to measure the accuracy."""
BATCH = 128
"""Number of windows in a batch of training."""
LEARNING_RATE = 1e-3
LAYERS = 2
"""Number of recurrent layers."""
GRU_HIDDEN, GRU_EPOCHS, GRU_REPEATS = 16, 30, 3
"""Width, passes over the windows, and repeats of the discriminative score."""
LSTM_HIDDEN, LSTM_EPOCHS = 32, 50
"""Width and passes over the windows of the predictive score."""


def disc_gru(
    real: Numbers, fake: Numbers, repeats: int = GRU_REPEATS, epochs: int = GRU_EPOCHS, *, seed: int = 0
) -> float:
    """|accuracy - 0.5| of a two-layer GRU on the fifth of windows held out, in [0, 0.5].

    Real and generated windows at the same position are held out together, so windows submitted
    unchanged score exactly 0.

    Args:
        real: real windows, [n, t, d], n >= 20.
        fake: generated windows, [m, t, d], m >= 20.
        repeats: number of networks, each with a division of its own, over which the accuracy is averaged.
        epochs: number of passes over the training windows.
        seed: seed of divisions, weights and batches; fixed by the task.

    Raises:
        UsageError: PyTorch is not installed, or fewer than 20 windows were generated.
    """
    ours, theirs, count = told_apart(real, fake)
    sides = _standardised(ours, theirs)
    accuracies = []
    for repeat in range(repeats):
        with seeded(seed + 7919 * repeat) as torch:
            generator = np.random.default_rng([seed, repeat])
            # One order for both sides, so that windows at the same position are held out together.
            order = generator.permutation(max(len(ours), len(theirs)))
            chosen = [values[order[order < len(values)][:count]] for values in sides]
            cut = max(1, round(HELD_OUT * count))
            x = torch.from_numpy(np.concatenate([values[cut:] for values in chosen]))
            x_held = torch.from_numpy(np.concatenate([values[:cut] for values in chosen]))
            y, y_held = (
                torch.from_numpy(np.repeat(np.array([0.0, 1.0], dtype=np.float32), n)) for n in (count - cut, cut)
            )
            predict = _trained(
                torch, "GRU", GRU_HIDDEN, x, y[:, None], torch.nn.functional.binary_cross_entropy_with_logits, epochs
            )
            accuracies.append(float(((predict(x_held)[:, 0] > 0.0) == (y_held > 0.5)).double().mean()))
    return abs(float(np.mean(accuracies)) - 0.5)


def pred_lstm(real: Numbers, fake: Numbers, epochs: int = LSTM_EPOCHS, *, seed: int = 0) -> float:
    """Mean absolute error, on real windows, of a two-layer LSTM trained on generated ones.

    It predicts the last max(1, int(t / 10)) steps of every channel from the steps before; the error
    is a multiple of a real channel's deviation.

    Args:
        real: real windows, [n, t, d], t >= 2.
        fake: generated windows, [m, t, d].
        epochs: number of passes over the generated windows.
        seed: seed of weights and batches; fixed by the task.

    Raises:
        DataError: windows have one step, or every real channel is constant.
        UsageError: PyTorch is not installed; the extra ``faithful`` has it.
    """
    ours, theirs = windows(real, fake)
    steps = ours.shape[1]
    if steps < 2:
        raise DataError("the predictive score needs windows of at least two steps")
    sides = _standardised(ours, theirs)
    cut = steps - max(1, steps // 10)
    with seeded(seed) as torch:
        real_set, fake_set = (torch.from_numpy(values[:LARGEST_SET]) for values in sides)
        targets = fake_set[:, cut:].flatten(1)
        predict = _trained(torch, "LSTM", LSTM_HIDDEN, fake_set[:, :cut], targets, torch.nn.functional.l1_loss, epochs)
        error = (predict(real_set[:, :cut]) - real_set[:, cut:].flatten(1)).abs().double().mean()
    return number("the predictive score", float(error))


def _trained(
    torch: Any, kind: str, hidden: int, x: Any, y: Any, loss: Callable[[Any, Any], Any], epochs: int
) -> Callable[[Any], Any]:
    """Fit a network of two recurrent layers, and a linear one on the last state, to (x, y).

    Returns:
        The network's prediction, as a function of windows.
    """
    # Weights and the order of batches are drawn from PyTorch's generator, which :func:`seeded` has seeded.
    layers = getattr(torch.nn, kind)(x.shape[2], hidden, num_layers=LAYERS, batch_first=True)
    head = torch.nn.Linear(hidden, y.shape[1])

    def forward(values: Any) -> Any:
        return head(layers(values)[0][:, -1])

    optimizer = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=LEARNING_RATE)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            loss(forward(x[rows]), y[rows]).backward()
            optimizer.step()

    def predict(values: Any) -> Any:
        with torch.no_grad():
            return forward(values)

    return predict


def _standardised(
    real: NDArray[np.float64], fake: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Real and generated windows in deviations of each real channel from its mean, float32; absurd values are held at
    a million deviations.
    """
    centre, scale = moments(real)
    ours, theirs = (np.clip((values - centre) / scale, -1e6, 1e6).astype(np.float32) for values in (real, fake))
    return ours, theirs


@contextmanager
def seeded(seed: int) -> Iterator[Any]:
    """PyTorch with one thread and this seed; the number of threads and the generator's state are restored afterwards.

    Raises:
        MissingPackageError: PyTorch is not installed.
    """
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise MissingPackageError(
            "this score needs PyTorch; install the extra: pip install 'openfingym[faithful]'"
        ) from None
    threads = torch.get_num_threads()
    # On networks this small a second thread costs several times the processor time of one.
    torch.set_num_threads(1)
    try:
        # The caller's own draws go on afterwards as if nothing had been drawn here.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield torch
    finally:
        torch.set_num_threads(threads)


_SOURCE = "Lou, Li and Ni 2023 (code)"
METRICS = (
    Metric(
        "disc_gru",
        disc_gru,
        "paths",
        "excess accuracy of a GRU over chance",
        "none",
        f"Yoon et al. 2019; {_SOURCE}",
        (0.0, 0.5),
        parameters={"repeats": GRU_REPEATS, "epochs": GRU_EPOCHS},
        stochastic=True,
        repeats=GRU_REPEATS,
        noise=0.1,
        minimum_rows=FEWEST_WINDOWS,
        heavy=True,
        differs=(
            "standardised values, the last epoch (the code: the best on the windows it scores), 3 repeats of 2,000 "
            "windows (10 of 10,000)"
        ),
    ),
    Metric(
        "pred_lstm",
        pred_lstm,
        "paths",
        "error on real windows of an LSTM trained on generated ones",
        "deviations",
        f"Esteban et al. 2017; {_SOURCE}",
        optimum=None,
        diagnostic=True,
        parameters={"epochs": LSTM_EPOCHS},
        stochastic=True,
        noise=0.3,
        minimum_rows=2,
        heavy=True,
        proper=False,
        differs="standardised values, the last epoch (the code: the best on the windows it scores), 2,000 windows",
    ),
)
