"""Scores by networks against the papers' training loops, written out; without PyTorch they say what to install."""

import sys

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.published.measures import MEASURES
from openfingym.published.sample import Sample

NAMES = ("best_epoch_accuracy", "best_epoch_error", "iterated_accuracy", "iterated_error")
PCF = {"hidden": 4, "layers": 2, "epochs": 4, "batch": 16}
TIMEGAN = {"iterations": 12, "batch": 16}


def sample(t=10, d=4):
    rng = np.random.default_rng(0)
    real, fake = (rng.random((count, t, d)) for count in (50, 50))
    return Sample(real, fake**2, 0.2, real, 0, None, 11)


def torch_and_sides(given):
    torch = pytest.importorskip("torch")
    torch.manual_seed(given.seed)
    return torch, *(torch.tensor(x, dtype=torch.float32) for x in (given.real, given.fake))


def fitted(torch, model, x, y, held_x, held_y, criterion, score):
    """The loop of PCF-GAN's evaluate.py: a pass over the windows, then a look at those that are scored."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    found = []
    for _ in range(PCF["epochs"]):
        for start in range(0, len(x), PCF["batch"]):
            optimizer.zero_grad()
            criterion(model(x[start : start + PCF["batch"]]), y[start : start + PCF["batch"]]).backward()
            optimizer.step()
        with torch.no_grad():
            found.append(score(model(held_x), held_y))
    return found


def recurrent(torch, cell, channels, out):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = cell(input_size=channels, num_layers=2, hidden_size=PCF["hidden"], batch_first=True)
            self.linear = torch.nn.Linear(PCF["hidden"], out)

        def forward(self, x):
            return self.linear(self.rnn(x)[0][:, -1])

    return Model()


def test_the_accuracy_is_that_of_the_best_epoch_on_the_windows_held_out():
    given = sample()
    torch, real, fake = torch_and_sides(given)
    parts = []
    for ours, theirs in ((real[:-10], fake[:-10]), (real[-10:], fake[-10:])):
        x, y = torch.cat([ours, theirs]), torch.tensor([1] * len(ours) + [0] * len(theirs))
        order = torch.randperm(len(x))
        parts += [x[order], y[order]]
    model = recurrent(torch, torch.nn.GRU, 4, 2)
    found = fitted(
        torch, model, *parts, torch.nn.CrossEntropyLoss(), lambda out, y: (out.argmax(1) == y).double().mean().item()
    )
    assert MEASURES["best_epoch_accuracy"](given, **PCF) == pytest.approx(abs(max(found) - 0.5))


def test_the_error_is_that_of_the_best_epoch_on_the_real_windows():
    given = sample()
    torch, real, fake = torch_and_sides(given)
    parts = []
    for windows in (fake, real):
        order = torch.randperm(len(windows))
        parts += [windows[:, :-1][order], windows[:, -1][order]]
    model = recurrent(torch, torch.nn.LSTM, 4, 4)
    found = fitted(torch, model, *parts, torch.nn.L1Loss(), lambda out, y: (out - y).abs().mean().item())
    assert MEASURES["best_epoch_error"](given, **PCF) == pytest.approx(min(found), rel=1e-5)
    with pytest.raises(UsageError, match="windows need ten, found 9"):
        MEASURES["best_epoch_error"](sample(t=9), **PCF)


def timegan(torch, inputs):
    """GRU of two units and a linear layer, with Keras's beginnings, the cell's equations written out."""
    gru, head = torch.nn.GRU(inputs, 2, batch_first=True), torch.nn.Linear(2, 1)
    for layer in (gru, head):
        for name, value in layer.named_parameters():
            begin = torch.nn.init.zeros_ if "bias" in name else torch.nn.init.xavier_uniform_
            (torch.nn.init.orthogonal_ if "hh" in name and "bias" not in name else begin)(value)
    weights = [*gru.parameters(), *head.parameters()]

    def forward(x):
        from_x, from_h, bias_x, bias_h, to_out, bias_out = weights
        h, out = torch.zeros(len(x), 2), []
        for t in range(x.shape[1]):
            a, b = x[:, t] @ from_x.T + bias_x, h @ from_h.T + bias_h
            reset, update = (torch.sigmoid(a[:, i : i + 2] + b[:, i : i + 2]) for i in (0, 2))
            new = torch.tanh(a[:, 4:] + reset * b[:, 4:])
            h = (1 - update) * new + update * h
            out.append(h @ to_out.T + bias_out)
        return torch.stack(out, dim=1)

    return forward, torch.optim.Adam(weights, lr=1e-3)


def test_timegans_accuracy_after_its_last_step():
    given = sample()
    torch, real, fake = torch_and_sides(given)
    forward, optimizer = timegan(torch, 4)
    for _ in range(TIMEGAN["iterations"]):
        p, q = (torch.sigmoid(forward(x[torch.randperm(40)[:16]])[:, -1]) for x in (real[:40], fake[:40]))
        optimizer.zero_grad()
        (-torch.log(p).mean() - torch.log(1 - q).mean()).backward()
        optimizer.step()
    with torch.no_grad():
        right = [*(forward(real[40:])[:, -1] > 0), *(forward(fake[40:])[:, -1] <= 0)]
    assert MEASURES["iterated_accuracy"](given, **TIMEGAN) == pytest.approx(abs(sum(map(bool, right)) / 20 - 0.5))


def test_timegans_error_of_the_last_channel_foretold_by_the_others():
    given = sample()
    torch, real, fake = torch_and_sides(given)
    forward, optimizer = timegan(torch, 3)
    for _ in range(TIMEGAN["iterations"]):
        x = fake[torch.randperm(50)[:16]]
        optimizer.zero_grad()
        (torch.sigmoid(forward(x[:, :-1, :3])[..., 0]) - x[:, 1:, 3]).abs().mean().backward()
        optimizer.step()
    with torch.no_grad():
        expected = np.mean([(torch.sigmoid(forward(w[None, :-1, :3])[0, :, 0]) - w[1:, 3]).abs().mean() for w in real])
    assert MEASURES["iterated_error"](given, **TIMEGAN) == pytest.approx(expected, rel=1e-4)
    with pytest.raises(UsageError, match="two channels"):
        MEASURES["iterated_error"](sample(d=1), **TIMEGAN)


@pytest.mark.parametrize("name", NAMES)
def test_without_torch_the_message_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as good as not installed
    with pytest.raises(UsageError, match=r"install 'openfingym\[faithful\]'"):
        MEASURES[name](sample(), **(PCF if name.startswith("best") else TIMEGAN))
