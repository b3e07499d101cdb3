"""``openfingym score``: every sort of file, every refusal, and the verifier's own numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.errors import DataError, OpenFinGymError, SubmissionError, UsageError
from openfingym.kinds import kind_of, walks
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.rollouts.launcher import Launcher
from openfingym.verifiers.plausibility import warnings_for
from openfingym.verifiers.scorecard import Scorecard, score_files
from tests.sweeps import fixed_part

Values = NDArray[np.float64]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuiltPackage]:
    """One task of each kind."""
    folder = tmp_path_factory.mktemp("tasks")
    kinds = ("forecast", "curves", "rows", "generation", "nodes", "graphs")
    return {kind: build(load_task(new_task(f"score-{kind}", folder, kind))) for kind in kinds}


@pytest.fixture(scope="module")
def forecast(packages: dict[str, BuiltPackage]) -> BuiltPackage:
    return packages["forecast"]


def near_truth(package: BuiltPackage) -> Values:
    """The best answer, a little off."""
    contract = package.task.spec.contract
    best = kind_of(package.task).oracle(contract, package.read_truth(), package.manifest.submission_shape)
    size = 1e-3 * np.random.default_rng(0).standard_normal(best.shape)
    return (
        np.sort(best + size, axis=1) if contract.kind == "curves" else np.clip(best + size, contract.low, contract.high)
    )


def saved(folder: Path, values: NDArray[np.generic]) -> Path:
    np.save(folder / "answer.npy", values)
    return folder / "answer.npy"


@pytest.mark.parametrize("kind", fixed_part(["forecast", "curves", "rows", "generation", "nodes", "graphs"], 2))
def test_it_is_what_the_verifier_says_to_the_last_digit(
    kind: str, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    package = packages[kind]
    values = near_truth(package)
    card = score_files(package, saved(tmp_path, values), package.truth)
    with Launcher([package]) as launcher:
        client = launcher.client_for(package)
        ticket = client.create_rollout(package.manifest.name, agent="array")
        if walks(package.task.spec.contract):
            client.walk(ticket.token, values[package.manifest.n_public :])
        else:
            client.submit(ticket.token, values)
        verified = client.finalize(ticket.rollout_id)
    assert (card.private.total, card.private.relative_total) == (verified.total, verified.relative_total)
    assert card.private.metrics == verified.metrics
    assert card.private.baseline_metrics == verified.baseline_metrics
    assert (card.task_digest, card.baseline) == (verified.task_digest, verified.baseline)
    assert card.private.relative_total < 1.0


def _table(package: BuiltPackage, values: Values) -> pd.DataFrame:
    return pd.DataFrame(values.reshape(-1, values.shape[-1]), columns=list(package.manifest.labels))


def _npz(path: Path, values: Values, _: BuiltPackage) -> None:
    np.savez(path, predictions=values)


def _json(path: Path, values: Values, _: BuiltPackage) -> None:
    path.write_text(json.dumps({"predictions": values.tolist()}))


def _csv(path: Path, values: Values, package: BuiltPackage) -> None:
    _table(package, values).to_csv(path, index=False, float_format="%.17g")


def _parquet(path: Path, values: Values, package: BuiltPackage) -> None:
    pyarrow.parquet.write_table(pa.Table.from_pandas(_table(package, values), preserve_index=False), path)


def _arrow(path: Path, values: Values, package: BuiltPackage) -> None:
    table = pa.Table.from_pandas(_table(package, values), preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


SORTS: dict[str, Callable[[Path, Values, BuiltPackage], None]] = {
    ".npz": _npz,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


@pytest.mark.parametrize("suffix", SORTS)
def test_every_sort_of_file_is_read_the_same(suffix: str, forecast: BuiltPackage, tmp_path: Path) -> None:
    values = near_truth(forecast)
    path = tmp_path / f"answer{suffix}"
    SORTS[suffix](path, values, forecast)
    assert score_files(forecast, path, forecast.truth) == score_files(forecast, saved(tmp_path, values), forecast.truth)


def test_a_truth_may_be_a_folder_an_npz_or_one_npy(forecast: BuiltPackage, tmp_path: Path) -> None:
    answer = saved(tmp_path, near_truth(forecast))
    targets = forecast.read_truth()["targets"]
    np.save(tmp_path / "targets.npy", targets)
    np.savez(tmp_path / "truth.npz", targets=targets)
    cards = [
        score_files(forecast, answer, path)
        for path in (forecast.truth, tmp_path / "targets.npy", tmp_path / "truth.npz", tmp_path)
    ]
    assert all(card == cards[0] for card in cards)
    assert isinstance(cards[0], Scorecard)


def changed(values: Values, where: tuple[int, ...], value: float) -> Values:
    out = values.copy()
    out[where] = value
    return out


REFUSED: dict[str, tuple[str, Callable[[Values], NDArray[np.generic]], str, str]] = {
    "reversed axes": (
        "forecast",
        lambda v: v.transpose(2, 1, 0),
        "wrong-shape",
        r"Found shape \[2, 5, 79\]; expected \[79, 5, 2\].*other order",
    ),
    "one fold": ("forecast", lambda v: v[:39], "wrong-shape", r"Every hidden item is wanted, of both folds"),
    "nan": (
        "forecast",
        lambda v: changed(v, (3, 1, 0), np.nan),
        "not-finite",
        r"predictions\[3, 1, 0\] is nan, one of 1",
    ),
    "infinity": ("rows", lambda v: changed(v, (17,), -np.inf), "not-finite", r"predictions\[17\] is -inf"),
    "out of range": (
        "forecast",
        lambda v: changed(v, (0, 0, 1), 7.0),
        "out-of-range",
        r"predictions\[0, 0, 1\] is 7, .* range \[-1, 1\]",
    ),
    "text": ("forecast", lambda v: v.astype(str), "wrong-dtype", "expected float64"),
    "complex": ("forecast", lambda v: v.astype(complex), "wrong-dtype", "complex128"),
    "crossed bounds": (
        "curves",
        lambda v: v[:, ::-1],
        "out-of-range",
        r"window 0, maturity \d+: lower is above central",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_answer_is_refused_by_position_and_expectation(
    case: str, packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    kind, damage, problem, words = REFUSED[case]
    answer = saved(tmp_path, damage(near_truth(packages[kind])))
    with pytest.raises(SubmissionError, match=words) as refused:
        score_files(packages[kind], answer, packages[kind].truth)
    assert refused.value.problem == problem


def test_memorised_windows_are_refused(packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    package = packages["generation"]
    train = np.asarray(package.array("train_targets"))
    with pytest.raises(SubmissionError, match="memorised"):
        score_files(package, saved(tmp_path, train[: package.manifest.submission_shape[0]]), package.truth)


TEXTS: dict[str, tuple[str, str, type[OpenFinGymError], str]] = {
    "ragged": ("answer.json", '{"predictions": [[1.0, 2.0], [3.0]]}', SubmissionError, "ragged"),
    "bare list": ("answer.json", "[1, 2]", SubmissionError, 'the single key "predictions"'),
    "not json": ("answer.json", "{", SubmissionError, "not valid JSON"),
    "text cell": ("answer.json", '{"predictions": ["a"]}', SubmissionError, "hold str"),
    "a sort of its own": ("answer.xlsx", "", UsageError, r"not a known sort of submission; known: \.csv, \.npy"),
    "empty": ("answer.npy", "", SubmissionError, "npy"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_that_is_no_answer_says_so(case: str, forecast: BuiltPackage, tmp_path: Path) -> None:
    name, content, error, words = TEXTS[case]
    (tmp_path / name).write_text(content)
    with pytest.raises(error, match=words) as refused:
        score_files(forecast, tmp_path / name, forecast.truth)
    assert str(tmp_path / name) in str(refused.value)


def test_a_missing_file_is_named(forecast: BuiltPackage, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.npy: cannot be read \(No such file"):
        score_files(forecast, tmp_path / "gone.npy", forecast.truth)


def _target_days(package: BuiltPackage) -> list[str]:
    lookback = package.task.spec.contract.lookback  # type: ignore[union-attr]  # a forecast
    return (
        np.asarray(package.shown_array("test_times"))[:, lookback:]
        .reshape(-1)
        .astype("datetime64[D]")
        .astype(str)
        .tolist()
    )


def _doubled(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[[0, 0, *range(2, len(table))]]


TABLES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "a column is missing": (lambda t: t.drop(columns="beta"), "no column 'beta'; expected alpha, beta"),
    "rows are missing": (lambda t: t.iloc[:-2], r"393 rows, expected 395 \(window x step\)"),
    "a cell is text": (
        lambda t: t.assign(beta=["much" if i == 4 else v for i, v in enumerate(t["beta"])]),
        "row 6, column 'beta': 'much' is not",
    ),
    "half a key": (lambda t: t.assign(window=0), "has a column window and none called step"),
    "a number that is none": (lambda t: t.assign(id=-1), "row 2: id is -1, expected a whole number from 0 to 394"),
    "a number twice": (lambda t: t.assign(id=[0, 0, *range(2, len(t))]), "rows 2 and 3 have the same 'id'"),
    "two orders": (lambda t: t.assign(id=range(len(t))[::-1]), "date and 'id' put its rows in two orders"),
    "a row twice": (_doubled, r"row 3: date is .*, expected"),
    "no date": (
        lambda t: t.assign(date=["soon" if i == 9 else v for i, v in enumerate(t["date"])]),
        "row 11: date is soon, expected",
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_does_not_fit_names_row_and_column(case: str, forecast: BuiltPackage, tmp_path: Path) -> None:
    damage, words = TABLES[case]
    table = _table(forecast, near_truth(forecast)).assign(date=_target_days(forecast))
    path = tmp_path / "answer.csv"
    table.to_csv(path, index=False)
    score_files(forecast, path, forecast.truth)
    damage(table).to_csv(path, index=False)
    with pytest.raises(SubmissionError, match=words):
        score_files(forecast, path, forecast.truth)


KEYS: dict[str, Callable[[BuiltPackage], dict[str, object]]] = {
    "Date": lambda package: {"Date": _target_days(package)},
    "timestamp": lambda package: {"timestamp": [f"{day}T00:00:00Z" for day in _target_days(package)]},
    "axes": lambda package: {"window": np.repeat(np.arange(79), 5), "Step": np.tile(np.arange(5), 79)},
    "id": lambda package: {"id": np.arange(395)},
    "all": lambda package: {"id": np.arange(395), "window": np.repeat(np.arange(79), 5),
                            "step": np.tile(np.arange(5), 79), "date": _target_days(package)},
}  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("keys", KEYS)
def test_rows_are_ordered_by_the_keys_that_a_table_has(
    keys: str, suffix: str, forecast: BuiltPackage, tmp_path: Path
) -> None:
    values = near_truth(forecast)
    table = _table(forecast, values).assign(**KEYS[keys](forecast)).sample(frac=1.0, random_state=3)
    path = tmp_path / f"answer{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    elif suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.reset_index(drop=True).to_feather(path, compression="uncompressed")
    assert score_files(forecast, path, forecast.truth) == score_files(forecast, saved(tmp_path, values), forecast.truth)


def test_nodes_are_ordered_by_their_numbers(packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    package = packages["nodes"]
    values = near_truth(package)
    table = pd.DataFrame({"node": np.arange(len(values)), package.manifest.labels[0]: values.ravel()})
    table.sample(frac=1.0, random_state=3).to_csv(tmp_path / "answer.csv", index=False)
    found = score_files(package, tmp_path / "answer.csv", package.truth)
    assert found == score_files(package, saved(tmp_path, values), package.truth)
    table.rename(columns={"node": "time"}).to_csv(tmp_path / "answer.csv", index=False)
    with pytest.raises(SubmissionError, match="have no times"):
        score_files(package, tmp_path / "answer.csv", package.truth)


def test_a_truth_that_does_not_fit_is_refused(packages: dict[str, BuiltPackage], tmp_path: Path) -> None:
    package = packages["nodes"]
    answer = saved(tmp_path, near_truth(package))
    labels = package.read_truth()["labels"]

    def refusal(**arrays: NDArray[np.generic]) -> str:
        np.savez(tmp_path / "truth.npz", **arrays)
        with pytest.raises(DataError) as refused:
            score_files(package, answer, tmp_path / "truth.npz")
        return str(refused.value)

    assert "labels has shape [599], expected [600]" in refusal(labels=labels[1:])
    assert "no array 'labels'; found targets" in refusal(targets=labels)
    assert "labels must be 0 or 1, found 2 at 3" in refusal(labels=changed(labels, (3,), 2))
    assert "labels must hold finite numbers" in refusal(labels=changed(labels.astype(float), (3,), np.nan))
    assert "class" in refusal(labels=np.zeros_like(labels))
    with pytest.raises(
        UsageError, match=r"a truth is a folder of \.npy files, an \.npz, or one \.npy; the arrays are labels"
    ):
        score_files(package, answer, tmp_path / "truth.txt")
    with pytest.raises(UsageError, match=r"labels\.npy: no such file"):
        score_files(package, answer, tmp_path)


def test_percent_for_decimals_is_remarked_on(tmp_path: Path, forecast: BuiltPackage) -> None:
    values = np.clip(near_truth(forecast), -0.5, 0.5)
    assert warnings_for(forecast, values) == ()
    (remark,) = warnings_for(forecast, 100.0 * values)
    assert remark.startswith("units: a typical prediction of alpha is")
    assert "expected log return per day. Percent for decimals?" in remark
    card = score_files(forecast, saved(tmp_path, np.clip(40.0 * values, -1.0, 1.0)), forecast.truth)
    assert [warning.split(":")[0] for warning in card.warnings] == ["units"]
    assert card.to_dict()["warnings"] == list(card.warnings)


def test_decimals_for_percent_are_remarked_on_for_levels_alone(treasury: BuiltPackage, forecast: BuiltPackage) -> None:
    yields = near_truth(treasury)
    assert warnings_for(treasury, yields) == ()
    assert re.search(r"1/\d[\d.]+ of a typical training target", warnings_for(treasury, yields / 100.0)[0])
    assert warnings_for(forecast, near_truth(forecast) / 100.0) == (), "a good forecast of a return is small"


def test_constants_and_repetitions_are_remarked_on(packages: dict[str, BuiltPackage], treasury: BuiltPackage) -> None:
    shape = treasury.manifest.submission_shape
    assert warnings_for(treasury, np.full(shape, 2.0)) == ("constant: all 5790 predictions are 2",)
    one = near_truth(treasury)
    one[:, :, 1] = 3.0
    assert warnings_for(treasury, one) == ("constant: every prediction of 6m is 3",)
    same = np.broadcast_to(near_truth(treasury)[:1], shape)
    assert warnings_for(treasury, np.array(same)) == ("identical: the answer is the same for all 193 windows",)
    package = packages["generation"]
    drawn = kind_of(package.task).naive(package.task.spec.contract, package.array, package.manifest.submission_shape)
    assert warnings_for(package, drawn) == ()
    drawn[: len(drawn) // 2] = drawn[-1]
    assert warnings_for(package, drawn)[0].startswith(f"identical: {len(drawn) // 2} of {len(drawn)} windows repeat")
    assert warnings_for(packages["nodes"], np.zeros(600)) == ("constant: all 600 predictions are 0",)
    assert warnings_for(packages["rows"], near_truth(packages["rows"])) == ()
    assert warnings_for(packages["curves"], near_truth(packages["curves"])) == ()
