"""Forecasts of a panel: every option against the rows themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openfingym.data.volatility import rows_apart
from openfingym.errors import TaskError
from openfingym.kinds.forecast import kind as forecast
from openfingym.leaks import find_leak
from tests.openfingym.kinds.materials import ROWS, changed_by_scrambling, made, ranks, read_of, walk

LEVEL = {"value_semantics": '"price_level"', "low": "-1e9", "high": "1e9"}
RAMP = {"alpha": np.arange(1.0, ROWS + 1), "beta": 1000.0 + np.arange(ROWS)}
"""Levels that say which row they are."""


def test_shapes_axes_and_folds(make) -> None:
    task = make(columns=RAMP, **LEVEL)
    material = made(task)
    inputs, targets = (material.public[name] for name in ("train_inputs", "train_targets"))
    test = material.hidden["test_inputs"]
    assert inputs.shape == (material.n_train, 20, 2)
    assert targets.shape == (material.n_train, 5, 2)
    assert test.shape == (material.n_public + material.n_private, 20, 2)
    assert material.shape == material.hidden["targets"].shape == (len(test), 5, 2)
    assert material.submission_axes == ("window", "step", "channel")
    assert material.labels == ("alpha", "beta")
    hidden = {name: array for name, array in material.hidden.items() if name != "targets"}
    assert {name: len(axes) for name, axes in material.axes.items()} == {
        name: a.ndim for name, a in (*material.public.items(), *hidden.items())
    }
    assert set(hidden) == {"test_inputs", "test_times"}, "what windows show is hidden until they are due"
    # The rows say it themselves: the targets follow the inputs, and training ended before.
    assert np.array_equal(material.hidden["targets"][:, 0, 0], test[:, -1, 0] + 1)
    assert targets[:, :, 0].max() < test[:, :, 0].min()
    # Each row is asked for once; a window shows none that it, or a later one, asks for.
    asked = material.hidden["targets"][:, :, 0]
    assert len(set(asked.ravel())) == asked.size
    for fold in (slice(material.n_public), slice(material.n_public, None)):
        assert np.array_equal(asked[fold][1:, 0], asked[fold][:-1, -1] + 1)
    assert all(test[n, :, 0].max() < asked[n:].min() for n in range(len(test)))
    public, private = forecast.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    assert np.array_equal(
        np.concatenate([public.truth.arrays["y_true"], private.truth.arrays["y_true"]]), material.hidden["targets"]
    )
    assert public.truth.arrays["last_value"][0].tolist() == test[0, -1].tolist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        LEVEL,
        {**LEVEL, "targets": '["beta"]'},
        {**LEVEL, "horizons": "[1, 3, 5]"},
        {**LEVEL, "horizon": "1", "pooled": "true", "embargo": "5"},
        {**LEVEL, "scaling": '"mean"'},
        {"scaling": '"standard"'},
        {"value_semantics": '"realised_vol"', "low": "0.0", "lookback": "5"},
        {"value_semantics": '"realised_vol"', "low": "0.0", "graph_window": "30", "lookback": "5"},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_no_public_byte_depends_on_a_hidden_value_and_the_truth_is_best(make, options) -> None:
    task = make(columns={"alpha": walk(1, 1200), "beta": walk(2, 1200)}, **options)
    assert changed_by_scrambling(task) == set()
    material = made(task)
    contract = task.spec.contract
    noise = np.random.default_rng(0).uniform(max(contract.low, -1e3), min(contract.high, 1e3), material.shape)
    found = ranks(task, material, noise=noise)
    assert found["oracle"] < found["baseline"] == 1.0 < found["noise"]


def test_a_planted_leak_is_noticed(make, monkeypatch) -> None:
    """A recipe that scales by all rows, the hidden ones too: the commonest leak there is."""
    task = make(columns=RAMP, **LEVEL)
    honest = forecast.KIND.shape

    def careless(task, source):
        material = honest(task, source)
        whole = {**material.public, "train_inputs": material.public["train_inputs"] / source.values.mean()}
        return replace(material, public=whole)

    monkeypatch.setattr(forecast.KIND, "shape", careless)
    assert changed_by_scrambling(task) == {"train_inputs"}


def test_a_planted_column_is_found(make, tmp_path) -> None:
    material = made(make())
    (tmp_path / "public").mkdir()
    np.save(tmp_path / "public" / "features.npy", material.hidden["targets"][:, :, 0] * 100.0)
    assert "features.npy" in str(find_leak(tmp_path / "public", material.hidden))


def test_a_subset_of_targets_keeps_every_input(make) -> None:
    task = make(columns=RAMP, targets='["beta"]', **LEVEL)
    material = made(task)
    assert material.hidden["test_inputs"].shape[2] == 2
    assert material.shape[2] == 1
    assert material.labels == ("beta",)
    assert material.public["target_columns"].tolist() == [1]
    assert (material.public["train_targets"] >= 1000.0).all()
    naive = forecast.KIND.naive(task.spec.contract, read_of(material), material.shape)
    assert np.array_equal(naive, np.repeat(material.hidden["test_inputs"][:, -1:, 1:], 5, axis=1))


def test_an_unknown_target_is_suggested(make) -> None:
    with pytest.raises(TaskError, match=r"contract\.targets: no channel 'bta'; did you mean 'beta'"):
        made(make(columns=RAMP, targets='["bta"]', **LEVEL))


def test_horizons_pick_steps(make) -> None:
    material = made(make(columns=RAMP, horizons="[1, 3, 5]", **LEVEL))
    assert material.shape[1] == 3
    last = material.hidden["test_inputs"][:, -1, 0]
    assert np.array_equal(material.hidden["targets"][:, :, 0] - last[:, None], np.tile([1.0, 3.0, 5.0], (len(last), 1)))
    assert material.facts["steps"] == [1, 3, 5]


def test_pooled_makes_every_channel_a_window(make) -> None:
    task = make(columns=RAMP, horizon="1", pooled="true", **LEVEL)
    material = made(task)
    apart = made(make(columns=RAMP, horizon="1", **LEVEL))
    assert material.shape == (2 * apart.shape[0], 1, 1)
    assert (material.n_public, material.n_private) == (2 * apart.n_public, 2 * apart.n_private)
    series = material.hidden["test_series"]
    for number in (0, 1):
        assert np.array_equal(
            material.hidden["test_inputs"][series == number, :, 0], apart.hidden["test_inputs"][:, :, number]
        )
        assert np.array_equal(material.hidden["targets"][series == number, :, 0], apart.hidden["targets"][:, :, number])
    assert material.facts["series"] == ["alpha", "beta"]
    public, private = forecast.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    assert public.truth.arrays["y_true"].shape == (material.n_public,)
    assert (np.diff(private.truth.arrays["period"]) >= 0).all()
    assert set(public.truth.arrays["period"]).isdisjoint(private.truth.arrays["period"])


def test_mean_scaling_divides_by_the_training_mean_and_leaves_prices_positive(make) -> None:
    plain, scaled = made(make(columns=RAMP, **LEVEL)), made(make(columns=RAMP, scaling='"mean"', **LEVEL))
    mean = np.array([np.arange(1.0, 281).mean(), (1000.0 + np.arange(280)).mean()])
    assert np.allclose(scaled.hidden["test_inputs"] * mean, plain.hidden["test_inputs"], rtol=1e-12)
    assert scaled.facts["scaling"]["scale"] == pytest.approx(mean)
    assert (scaled.hidden["targets"] > 0.0).all()


def test_scaled_and_log1p_touch_the_named_channels_alone(make) -> None:
    mixed = {"value_semantics": '"mixed"', "measure": '"mixed"', "low": "-1e9", "high": "1e9"}
    plain = made(make(columns=RAMP, **mixed))
    one = made(make(columns=RAMP, scaling='"standard"', scaled='["beta"]', log1p='["beta"]', **mixed))
    assert np.array_equal(one.public["train_inputs"][:, :, 0], plain.public["train_inputs"][:, :, 0])
    logs = np.log1p(1000.0 + np.arange(280))
    expected = (np.log1p(plain.public["train_inputs"][:, :, 1]) - logs.mean()) / logs.std()
    assert np.allclose(one.public["train_inputs"][:, :, 1], expected, atol=1e-6)
    with pytest.raises(TaskError, match=r"split\.scaled: no channel 'gamma'"):
        made(make(columns=RAMP, scaling='"standard"', scaled='["gamma"]', **mixed))
    below = {**RAMP, "beta": RAMP["beta"] - 1200.0}
    with pytest.raises(TaskError, match=r"split\.log1p: log1p needs values above -1"):
        made(make(columns=below, log1p='["beta"]', **mixed))


def test_prices_that_are_none_are_refused_where_returns_are_taken(make) -> None:
    columns = {"alpha": walk(1), "beta": walk(2) - 100.0}
    options = {**LEVEL, "measure": '"mixed"'}
    with pytest.raises(TaskError, match="price_level needs targets above 0 everywhere, as scaled; beta is not"):
        made(make(columns=columns, **options))
    assert made(make(columns=columns, targets='["alpha"]', **options)).labels == ("alpha",)


def test_graphs_are_of_the_rows_up_to_each_windows_last(make) -> None:
    columns = {"alpha": walk(1, 1200), "beta": walk(2, 1200), "gamma": walk(3, 1200)}
    names = '["alpha", "beta", "gamma"]'
    options = {
        "value_semantics": '"realised_vol"',
        "low": "0.0",
        "graph_window": "30",
        "lookback": "5",
        "channels": names,
    }
    task = make(columns=columns, **options)
    material = made(task)
    graphs = material.hidden["test_correlation"]
    assert graphs.shape == (material.shape[0], 3, 3)
    assert np.allclose(graphs, graphs.transpose(0, 2, 1))
    assert np.allclose(
        material.public["train_spillover"].sum(axis=2), material.public["train_spillover"].sum(axis=2)[0, 0]
    )
    lead = rows_apart(5, 30, 21)
    assert lead > 0
    last, first = material.public["train_times"][-1, -1], material.hidden["test_times"][0, 0]
    assert (first - last) / np.timedelta64(1, "D") > lead, "the first graph is of hidden rows alone"
