"""Proofs: an honest task stands them, a planted fault is refused with its code, and nothing is half installed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from openfingym_forge.assembly.stage import assembled
from openfingym_forge.blueprint import Blueprint
from openfingym_forge.proving.install import install
from openfingym_forge.proving.probes import attack, probes
from openfingym_forge.proving.stage import ProveStage, prove
from openfingym_forge.review.drawings import totals_drawing
from openfingym_forge.stage import CandidateTask
from tests.openfingym.cli.test_cli import invoke
from tests.openfingym_forge.blueprints import forecast_blueprint, write_data

Hidden = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A paper's folder with an assembled task."""
    folder = tmp_path_factory.mktemp("forge") / "papers" / "yields-in-three-steps-1a2b3c4d"
    write_data(folder)
    _write_task(folder, forecast_blueprint())
    return folder


@pytest.fixture(scope="module")
def built(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    place = tmp_path_factory.mktemp("built")
    package = BuiltPackage(place / "public", place / "truth")
    write_package(Task.read(honest / "task"), package.public, package.truth)
    return package


def test_an_honest_task_is_proved(honest: Path) -> None:
    # Neither paper nor models are used.
    result = ProveStage().run(CandidateTask(honest, paper=None, asking=None))  # type: ignore[arg-type]
    assert result.state == "passed", result.reasons
    trials = result.facts["trials"]
    assert isinstance(trials, dict)
    assert len(trials["better_than_noise"]) >= 2
    assert trials["beyond_the_interval"]
    assert trials["relative_totals"]["oracle"] == min(trials["relative_totals"].values())
    intervals = trials["intervals"]
    assert set(intervals) == {*trials["relative_totals"], "noise"} - {"naive"}
    values = trials["relative_totals"] | {"noise": trials["noise"]}
    assert all(low <= values[name] <= high for name, (low, high) in intervals.items()), intervals
    assert all(intervals[name][1] < intervals["noise"][0] for name in trials["beyond_the_interval"] if name != "naive")
    rows = {row["name"]: row for row in totals_drawing(trials)}
    assert rows["oracle"]["span"] is not None
    assert rows["naive"]["span"] is None
    assert result.facts["contamination"]["published"] is True  # type: ignore[index]  # a mapping
    json.dumps(dict(result.facts))


def _hidden_in_inputs(public: Path, hidden: Hidden) -> None:
    hidden["test_inputs"][:, -5:, :] = hidden["targets"]


def _nearly_hidden_in_inputs(public: Path, hidden: Hidden) -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.003, hidden["targets"].shape)
    hidden["test_inputs"][:, -5:, :] = hidden["targets"] + noise


def _hidden_rows_in_train(public: Path, hidden: Hidden) -> None:
    _put_first(public, hidden["test_inputs"], hidden["targets"])


def _nearly_hidden_rows_in_train(public: Path, hidden: Hidden) -> None:
    noise = np.random.default_rng(1).normal(0.0, 1e-5, hidden["targets"].shape)
    _put_first(public, hidden["test_inputs"], hidden["targets"] + noise)


def _labels_in_metadata(public: Path, hidden: Hidden) -> None:
    path = public / "environment" / "data" / "contract.json"
    found = json.loads(path.read_text())
    found["panel"] += " " + " ".join(f"{value:.3f}" for value in hidden["targets"][2].ravel())
    path.write_text(json.dumps(found))


def _labels_in_a_name(public: Path, hidden: Hidden) -> None:
    content = (public / "instruction.md").read_text()
    (public / "instruction.md").write_text(content + f"\n{np.round(hidden['targets'][:6].ravel(), 2).tolist()}\n")


def _windows_out_of_order(public: Path, hidden: Hidden) -> None:
    hidden["test_times"][[0, 1]] = hidden["test_times"][[1, 0]]


def _training_reaches_into_the_test_part(public: Path, hidden: Hidden) -> None:
    times = _load(public, "train_times")
    times[-1] = hidden["test_times"][0]
    _save(public, "train_times", times)


def _shuffled_rows(public: Path, hidden: Hidden) -> None:
    times = _load(public, "train_times")
    _save(public, "train_times", times[:, np.random.default_rng(0).permutation(times.shape[1])])


def _scaling_parameters(public: Path, hidden: Hidden) -> None:
    path = public / "environment" / "data" / "contract.json"
    found = json.loads(path.read_text())
    found["scaling"] |= {"method": "standard", "mean": hidden["targets"].mean(axis=(0, 1)).tolist()}
    path.write_text(json.dumps(found))


BEHIND_THE_CHECK = (_nearly_hidden_rows_in_train, _scaling_parameters)
"""What ``task check`` does not find of itself, so that the whole of it need not be run."""


@pytest.mark.parametrize(
    ("plant", "codes"),
    [
        (_hidden_in_inputs, {"look-ahead-column"}),
        (_nearly_hidden_in_inputs, {"look-ahead-column"}),
        (_hidden_rows_in_train, {"leak"}),
        (_nearly_hidden_rows_in_train, {"duplicated-rows"}),
        (_labels_in_metadata, {"leak"}),
        (_labels_in_a_name, {"leak"}),
        (_windows_out_of_order, {"shuffled-split"}),
        (_training_reaches_into_the_test_part, {"overlapping-windows"}),
        (_shuffled_rows, {"shuffled-split"}),
        (_scaling_parameters, {"scaling-on-test"}),
    ],
)
def test_a_planted_fault_is_refused_with_its_code(
    plant: Callable[[Path, Hidden], None], codes: set[str], honest: Path, built: BuiltPackage, tmp_path: Path
) -> None:
    shutil.copytree(built.public, tmp_path / "public", copy_function=shutil.copyfile)
    for path in (tmp_path / "public").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    hidden = {name: np.array(array) for name, array in built.read_truth().items()}
    plant(tmp_path / "public", hidden)
    planted = BuiltPackage(tmp_path / "public", built.truth)
    review = probes if plant in BEHIND_THE_CHECK else attack
    missing = set(codes)
    for reason in review(Task.read(honest / "task"), planted, hidden):
        missing.discard(reason.code)
        if not missing:  # the rest of the review takes long
            break
    assert not missing


def test_without_a_fault_nothing_is_found(honest: Path, built: BuiltPackage) -> None:
    assert list(attack(Task.read(honest / "task"), built, built.read_truth())) == []


def test_a_column_of_the_next_days_values_is_refused(tmp_path: Path) -> None:
    """A table in which one column is tomorrow's value of another: the fault is in the data, not in the package."""
    generator = np.random.default_rng(7)
    steps = generator.normal(0.0, 0.01, (700, 2))
    prices = 100.0 * np.exp(np.cumsum(steps, axis=0))
    ahead = np.append(prices[1:, 0], prices[-1, 0])
    days = np.datetime64("2015-01-01") + np.arange(700)
    # In training the column is honest, so that only hidden rows are given away.
    ahead[:420] = 100.0 * np.exp(np.cumsum(generator.normal(0.0, 0.01, 420)))
    rows = [f"{day},{a},{b},{c}" for day, (a, b), c in zip(days, prices.round(4), ahead.round(4), strict=True)]
    dataset = {"file": "data.csv", "measure": "price", "kind": "simulated", "channels": ["a", "b", "signal"]}
    data = write_data(tmp_path, dataset, how="script", address="http://data.example.org/x.csv")
    (data / "data.csv").write_text("date,a,b,signal\n" + "\n".join(rows) + "\n")
    blueprint = forecast_blueprint(
        contract__value_semantics="log_return",
        contract__unit="log return per day",
        contract__lookback=3,
        contract__horizon=1,
        data__target="a",
    )
    _write_task(tmp_path, blueprint)
    result = prove(Task.read(tmp_path / "task"))
    assert result.state == "refused"
    assert "look-ahead-column" in {reason.code for reason in result.reasons}, result.reasons


@settings(
    max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@example(lookback=2, horizon=2, train=0.5, channels={"3m"})  # answers of two numbers, which have one step
@given(
    lookback=st.integers(2, 20),
    horizon=st.integers(2, 5),
    train=st.sampled_from([0.5, 0.6, 0.7]),
    channels=st.sets(st.sampled_from(["3m", "1y", "2y", "5y", "10y", "30y"]), min_size=1, max_size=4),
)
def test_honest_variants_are_not_refused(
    lookback: int, horizon: int, train: float, channels: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("variant")
    write_data(folder, {"name": "ust-par-yields", "channels": sorted(channels), "first": "2006-02-09"})
    _write_task(folder, forecast_blueprint(contract__lookback=lookback, contract__horizon=horizon, split__train=train))
    result = prove(Task.read(folder / "task"))
    assert result.state == "passed", result.reasons


def test_installing_is_whole_and_once(honest: Path, tmp_path: Path) -> None:
    root = honest.parent.parent
    first = install(honest, root)
    assert first.facts["task"] == "yields-forecast"
    installed = {path.name: path.read_bytes() for path in (root / "tasks" / "yields-forecast").iterdir()}
    assert install(honest, root).state == "passed"
    assert [path.name for path in (root / "tasks").iterdir()] == ["yields-forecast"]
    same = honest.with_name("the-same-again-99990000")
    write_data(same)
    _write_task(same, forecast_blueprint().model_copy(update={"paper": same.name, "title": "Other Words"}))
    again = install(same, root)
    assert (again.state, again.reasons[0].code) == ("refused", "duplicate-task")
    other = honest.with_name("other-horizon-77770000")
    write_data(other)
    _write_task(other, forecast_blueprint(contract__horizon=3).model_copy(update={"paper": other.name}))
    renamed = install(other, root)
    assert renamed.facts["task"] == "yields-forecast-77770000"
    assert Task.read(root / "tasks" / "yields-forecast-77770000").name == "yields-forecast-77770000"
    assert installed == {path.name: path.read_bytes() for path in (root / "tasks" / "yields-forecast").iterdir()}


def test_all_tasks_of_a_folder_are_checked(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(honest / "task", tmp_path / "yields-forecast")
    status, out, _ = invoke(monkeypatch, capsys, "task", "check", "--all", "--folder", str(tmp_path), "--json")
    assert (status, [one["task"] for one in json.loads(out)]) == (0, ["yields-forecast"])
    status, _, err = invoke(monkeypatch, capsys, "task", "check", "--folder", str(tmp_path))
    assert (status, "--all" in err) == (2, True)


def _write_task(folder: Path, blueprint: Blueprint) -> None:
    files, _ = assembled(blueprint, folder / "data")
    (folder / "task").mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / "task" / name).write_bytes(content)


def _load(public: Path, name: str) -> np.ndarray:
    return np.load(public / "environment" / "data" / f"{name}.npy")


def _save(public: Path, name: str, array: np.ndarray) -> None:
    np.save(public / "environment" / "data" / f"{name}.npy", array)


def _put_first(public: Path, inputs: np.ndarray, targets: np.ndarray) -> None:
    """Hidden windows in the place of the first training windows."""
    for name, values in (("train_inputs", inputs), ("train_targets", targets)):
        array = _load(public, name)
        array[: len(values)] = values
        _save(public, name, array)
