"""The scores by recurrent networks: with PyTorch they separate known laws, without it they say what to install."""

import importlib.util
import sys

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.metrics import METRICS, Truth, score
from openfingym.metrics.arrays import MissingPackageError
from openfingym.metrics.cases import drifting_paths
from openfingym.metrics.recurrent import disc_gru, pred_lstm

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def sides(count=300):
    rng = np.random.default_rng(0)
    return drifting_paths(rng, count, 20), drifting_paths(rng, count, 20)


@needs_torch
def test_a_gru_tells_noise_from_dependence_and_nothing_from_itself():
    real, same = sides()
    noise = real.std() * np.random.default_rng(1).standard_normal(real.shape) + real.mean()
    # However well or badly it is trained: what is held out is the same on both sides.
    assert disc_gru(real, real, repeats=1, epochs=5) == 0.0
    assert disc_gru(real, same) < 0.12
    assert disc_gru(real, noise, repeats=1) > 0.3


@needs_torch
def test_an_lstm_learns_more_from_the_law_than_from_noise():
    real, same = sides()
    noise = real.std() * np.random.default_rng(1).standard_normal(real.shape) + real.mean()
    assert pred_lstm(real, same) < 0.9 * pred_lstm(real, noise)


@needs_torch
@pytest.mark.parametrize(("metric", "quick"), [(disc_gru, {"repeats": 1, "epochs": 3}), (pred_lstm, {"epochs": 3})])
def test_a_seed_fixes_the_result_and_nothing_of_torch_stays_changed(metric, quick):
    import torch

    real, same = sides(60)
    torch.manual_seed(5)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    results = [metric(real, same, seed=3, **quick) for _ in range(2)]
    assert results[0] == results[1]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    scaled = [1000.0 * values - 7.0 for values in (real, same)]
    assert metric(*scaled, seed=3, **quick) == pytest.approx(results[0], abs=0.02)


@needs_torch
def test_faults_with_torch():
    real, same = sides(30)
    with pytest.raises(UsageError, match="needs 20 windows, found 5"):
        disc_gru(real, same[:5])
    with pytest.raises(DataError, match="two steps"):
        pred_lstm(real[:, :1], same[:, :1])
    with pytest.raises(DataError, match="constant"):
        disc_gru(np.ones_like(real), same)


@pytest.mark.parametrize("name", ["disc_gru", "pred_lstm"])
def test_without_torch_the_message_says_what_to_install_and_blames_no_answer(name, monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setitem(sys.modules, "torch", None)  # as good as not installed
    real, same = sides(30)
    with pytest.raises(UsageError, match=r"install 'openfingym\[faithful\]'"):
        METRICS[name].compute({"real": real, "fake": same})
    line = SimpleNamespace(name=name, weight=1.0, relative_weight=None, on="path")
    rules = SimpleNamespace(metrics=(line,), periods_per_year=1.0, tail_level=0.05)
    with pytest.raises(MissingPackageError, match="PyTorch"):
        score(rules, Truth({"real": real}), {"fake": same})
