"""Discriminative and predictive scores by recurrent networks, as the papers' codes train them.

:mod:`openfingym.metrics.recurrent` has those of the library. These keep what is wrong with the published ones:
PCF-GAN's code reports the best epoch on the very windows that are scored, values are not scaled, and a real window that
is drawn twice may be both trained and tested on. All need PyTorch, of the extra ``faithful``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.recurrent import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from openfingym.published.sample import Sample

T = TypeVar("T")
RATE = 1e-3
"""Learning rate of Adam, the same in all codes."""


def best_epoch_accuracy(sample: Sample, hidden: int, layers: int, epochs: int, batch: int) -> float:
    """|accuracy - 0.5| of a GRU that tells real windows from generated ones, in the epoch that was best on the
    windows held out (PCF-GAN, High-Rank PCF-GAN).

    Args:
        sample: windows to compare; a share at the end of either side is held out.
        hidden: number of units of a layer.
        layers: number of layers of the GRU.
        epochs: number of passes over the windows.
        batch: number of windows in a step of training; the order of the windows is drawn once.
    """
    with seeded(sample.seed) as torch:
        sides = [_halves(torch, values, sample.held_out) for values in (sample.real, sample.fake)]
        # Windows to train on, and windows held out, both sides shuffled together.
        sets = []
        for part in (0, 1):
            x = torch.cat([side[part] for side in sides])
            y = torch.cat([torch.ones(len(sides[0][part])), torch.zeros(len(sides[1][part]))]).long()
            order = torch.randperm(len(x))
            sets.append((x[order], y[order]))
        forward, parameters = _network(torch, "GRU", sets[0][0].shape[2], hidden, layers, 2)
        loss = torch.nn.CrossEntropyLoss()

        def judged() -> tuple[float, float]:
            # Of epochs with equal accuracy, the one with the smallest loss is the best.
            x, y = sets[1]
            scores = forward(x)
            return float((scores.argmax(1) == y).double().mean()), -float(loss(scores, y))

        best = max(_epochs(torch, forward, parameters, *sets[0], loss, epochs, batch, judged))
    return abs(best[0] - 0.5)


def best_epoch_error(sample: Sample, hidden: int, layers: int, epochs: int, batch: int) -> float:
    """Mean absolute error on all real windows of an LSTM trained on all generated ones, in its best epoch (PCF-GAN,
    High-Rank PCF-GAN). It predicts the last int(t / 10) steps of every channel from those before.

    Args:
        sample: windows to compare.
        hidden: number of units of a layer.
        layers: number of layers of the LSTM.
        epochs: number of passes over the generated windows.
        batch: number of windows in a step of training; the order of the windows is drawn once.

    Raises:
        UsageError: windows have fewer than ten steps.
    """
    ahead = sample.real.shape[1] // 10
    if ahead == 0:
        raise UsageError(
            "the published predictive score predicts a tenth of a window's steps; windows need ten, "
            f"found {sample.real.shape[1]}"
        )
    with seeded(sample.seed) as torch:
        # Trained on generated windows, judged on real ones.
        sets = []
        for values in (sample.fake, sample.real):
            whole = _tensor(torch, values)
            order = torch.randperm(len(whole))
            sets.append((whole[:, :-ahead][order], whole[:, -ahead:].flatten(1)[order]))
        forward, parameters = _network(torch, "LSTM", sets[0][0].shape[2], hidden, layers, sets[0][1].shape[1])
        loss = torch.nn.L1Loss()

        def judged() -> float:
            x, y = sets[1]
            return float(loss(forward(x), y))

        return min(_epochs(torch, forward, parameters, *sets[0], loss, epochs, batch, judged))


def iterated_accuracy(sample: Sample, iterations: int, batch: int) -> float:
    """|accuracy - 0.5| on the windows held out of a GRU of one layer of int(d / 2) units, after its last step
    (TimeGAN).

    Args:
        sample: windows to compare; a share at the end of either side is held out.
        iterations: number of steps of training.
        batch: number of windows of either side in a step, drawn anew for each.
    """
    with seeded(sample.seed) as torch:
        (real, real_held), (fake, fake_held) = (
            _halves(torch, values, sample.held_out) for values in (sample.real, sample.fake)
        )
        forward, parameters = _gru_of_timegan(torch, real.shape[2], real.shape[2])
        loss = torch.nn.functional.binary_cross_entropy_with_logits

        def step() -> Any:
            ours, theirs = (forward(side[torch.randperm(len(side))[:batch]])[:, -1] for side in (real, fake))
            return loss(ours, torch.ones_like(ours)) + loss(theirs, torch.zeros_like(theirs))

        _steps(torch, parameters, step, iterations)
        with torch.no_grad():
            # A logit above 0 says that a window is real.
            right = torch.cat([forward(real_held)[:, -1] > 0.0, forward(fake_held)[:, -1] <= 0.0])
        return abs(float(right.double().mean()) - 0.5)


def iterated_error(sample: Sample, iterations: int, batch: int) -> float:
    """Mean absolute error, on all real windows, of a GRU that predicts the last channel's next value from the other
    channels, trained on generated windows; its output is a sigmoid (TimeGAN).

    Args:
        sample: windows to compare, with values in [0, 1].
        iterations: number of steps of training.
        batch: number of generated windows in a step, drawn anew for each.

    Raises:
        UsageError: windows have fewer than two channels.
    """
    channels = sample.real.shape[2]
    if channels < 2:
        raise UsageError("TimeGAN's predictive score foretells the last of at least two channels from the others")
    with seeded(sample.seed) as torch:
        real, fake = (_tensor(torch, values) for values in (sample.real, sample.fake))
        forward, parameters = _gru_of_timegan(torch, channels - 1, channels)

        def error(windows: Any) -> Any:
            return (torch.sigmoid(forward(windows[:, :-1, :-1])) - windows[:, 1:, -1:]).abs().mean()

        _steps(torch, parameters, lambda: error(fake[torch.randperm(len(fake))[:batch]]), iterations)
        with torch.no_grad():
            return float(error(real))


def _tensor(torch: Any, values: NDArray[np.float64]) -> Any:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _halves(torch: Any, values: NDArray[np.float64], held_out: float) -> tuple[Any, Any]:
    """Windows to train on, and the windows at the end that are held out."""
    held = max(1, round(held_out * len(values)))
    whole = _tensor(torch, values)
    return whole[:-held], whole[-held:]


def _network(
    torch: Any, kind: Literal["GRU", "LSTM"], channels: int, hidden: int, layers: int, out: int
) -> tuple[Callable[[Any], Any], list[Any]]:
    """A recurrent network as (function from windows to the output of its last state, its parameters)."""
    recurrent = getattr(torch.nn, kind)(channels, hidden, num_layers=layers, batch_first=True)
    head = torch.nn.Linear(hidden, out)
    return lambda x: head(recurrent(x)[0][:, -1]), [*recurrent.parameters(), *head.parameters()]


def _gru_of_timegan(torch: Any, inputs: int, channels: int) -> tuple[Callable[[Any], Any], list[Any]]:
    """TimeGAN's GRU as (function from windows to one number for each window and step, its parameters).

    Weights begin as Keras begins them, since TimeGAN's code is in TensorFlow and PyTorch's defaults train differently.
    """
    units = max(1, channels // 2)
    recurrent = torch.nn.GRU(inputs, units, batch_first=True)
    head = torch.nn.Linear(units, 1)
    for name, value in (*recurrent.named_parameters(), *head.named_parameters()):
        if "bias" in name:
            torch.nn.init.zeros_(value)
        elif "hh" in name:
            torch.nn.init.orthogonal_(value)
        else:
            torch.nn.init.xavier_uniform_(value)
    return lambda x: head(recurrent(x)[0]), [*recurrent.parameters(), *head.parameters()]


def _epochs(
    torch: Any,
    forward: Callable[[Any], Any],
    parameters: list[Any],
    x: Any,
    y: Any,
    loss: Callable[[Any, Any], Any],
    epochs: int,
    batch: int,
    judged: Callable[[], T],
) -> list[T]:
    """Train on (x, y), whose order stays the same, and return what ``judged`` gives after each pass."""
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    judgements = []
    for _ in range(epochs):
        for inputs, wanted in zip(x.split(batch), y.split(batch), strict=True):
            optimizer.zero_grad()
            loss(forward(inputs), wanted).backward()
            optimizer.step()
        with torch.no_grad():
            judgements.append(judged())
    return judgements


def _steps(torch: Any, parameters: list[Any], loss: Callable[[], Any], iterations: int) -> None:
    """Train for some steps, on a loss that draws its own windows."""
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    for _ in range(iterations):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
