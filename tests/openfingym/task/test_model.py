"""``task.toml``: what is accepted, and what a mistake is answered with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openfingym.catalog import task_folders
from openfingym.errors import TaskError
from openfingym.task import Task
from openfingym.task.model import parse_task_file

PATH = Path("task.toml")
DAYS = 'public_from = "2015-07-31"\nprivate_from = "2017-08-11"'
SPLIT = "[metadata.openfingym.split]\ntrain = 0.5\npublic = 0.25\nprivate = 0.25\nembargo = 1\n\n"


@pytest.fixture(scope="module")
def text() -> str:
    return (task_folders()["treasury-forecast"] / "task.toml").read_text()


def test_a_built_in_task_reads(text: str) -> None:
    file = parse_task_file(text, PATH)
    spec = file.metadata.openfingym
    assert (spec.contract.lookback, spec.contract.horizon) == (20, 5)
    assert spec.dataset.channels == ("3m", "6m", "1y", "2y", "3y", "5y")
    assert [metric.name for metric in spec.scoring.metrics] == ["mse", "rmse", "mae"]


MISTAKES = {
    "unknown key": (
        "lookback = 20",
        "lookback = 20\nlokback = 3",
        ["contract.lokback", "unknown key", "did you mean 'lookback'"],
    ),
    "unknown table": ("[agent]", "[agnt]", ["agnt", "unknown key", "did you mean 'agent'"]),
    "wrong type": ("lookback = 20", 'lookback = "20"', ["contract.lookback", "valid integer", "found '20'"]),
    "negative": ("horizon = 5", "horizon = -5", ["contract.horizon", "greater than 0"]),
    "missing": ("horizon = 5\n", "", ["contract.horizon", "required"]),
    "weights of a family": (
        "weight = 0.333333334",
        "weight = 0.5",
        ["scoring: the weights of F2 are mse 0.3333, rmse 0.3333, mae 0.3333"],
    ),
    "unknown metric": ('name = "rmse"', 'name = "rmsee"', ["scoring", "'rmsee'", "did you mean rmse"]),
    "metric twice": ('name = "rmse"', 'name = "mae"', ["scoring", "listed twice"]),
    "split": (DAYS, "train = 0.90\npublic = 0.15\nprivate = 0.15", ["split", "must be 1", "1.2"]),
    "split by days in order": (
        'public_from = "2015-07-31"',
        'public_from = "2017-08-11"',
        ["split", "public_from must be a day before private_from, found 2017-08-11 and 2017-08-11"],
    ),
    "split by half of the days": (
        'private_from = "2017-08-11"\n',
        "",
        [
            "split: needs train, public, private (shares of the rows), or public_from and private_from",
            "found public_from",
        ],
    ),
    "split by shares and days": (
        'public_from = "2015-07-31"',
        'public_from = "2015-07-31"\ntrain = 0.7',
        ["split: needs train, public, private", "found train, public_from, private_from"],
    ),
    "no split": (DAYS, "", ["split: needs train, public, private", "found none of them"]),
    "split by a moment": (
        'public_from = "2015-07-31"',
        'public_from = "2015-07-31T12:00:00"',
        ["split.public_from", "date"],
    ),
    "embargo below horizon": ("embargo = 5", "embargo = 4", ["split.embargo", "at least contract.horizon (5)"]),
    "range": ("low = -5.0", "low = 40.0", ["contract", "low < high"]),
    "channel twice": ('"3m", "6m"', '"3m", "3m"', ["dataset.channels", "more than once: 3m"]),
    "network": ('network_mode = "no-network"', 'network_mode = "public"', ["environment.network_mode", "no-network"]),
    "task name": ('name = "openfingym/treasury-forecast"', 'name = "Treasury Forecast"', ["task.name", "kebab-case"]),
    "schema": ('schema_version = "1.4"', 'schema_version = "9.9"', ["schema_version", "1.4"]),
    "family": ('family = "forecasting"', 'family = "guessing"', ["family", "forecasting"]),
    "name and file": ('name = "ust-par-yields"', 'name = "ust-par-yields"\nfile = "x.csv"', ["dataset", "exactly one"]),
    "file without provenance": (
        'name = "ust-par-yields"',
        'file = "x.csv"',
        ["dataset", "measure, kind, source, licence"],
    ),
    "absolute path": ('name = "ust-par-yields"', 'file = "/etc/passwd"', ["dataset.file", "relative path inside"]),
    "climbing path": ('name = "ust-par-yields"', 'file = "../../secret.csv"', ["dataset.file", "relative path inside"]),
    "not toml": ("[agent]", "[agent", ["not valid TOML"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_file_and_key(mistake: str, text: str) -> None:
    old, new, expected = MISTAKES[mistake]
    assert old in text
    with pytest.raises(TaskError) as caught:
        parse_task_file(text.replace(old, new, 1), PATH)
    message = str(caught.value)
    assert message.startswith("task.toml: ")
    for part in expected:
        assert part in message


def _file(name: str) -> str:
    return (task_folders()[name] / "task.toml").read_text()


OF_A_KIND = {
    "unknown kind": (
        "treasury-forecast",
        'kind = "forecast"',
        'kind = "forcast"',
        ["contract.kind: unknown kind 'forcast'; known: array, curves, forecast"],
    ),
    "no kind": (
        "treasury-forecast",
        'kind = "forecast"\n',
        "",
        ["contract.kind: required, but not there; known: array, curves, forecast"],
    ),
    "key of another kind": (
        "ou-generation",
        "horizon = 64",
        "horizon = 64\ngraph_window = 3",
        ["contract.graph_window: unknown key"],
    ),
    "near miss of its kind": (
        "ou-generation",
        "horizon = 64",
        "horizn = 64",
        ["contract.horizon: required", "did you mean 'horizon'"],
    ),
    "missing of its kind": ("ou-generation", "horizon = 64\n", "", ["contract.horizon: required, but not there"]),
    "futures without context": (
        "ou-generation",
        "horizon = 64",
        "horizon = 64\nfutures = 3",
        ["contract", "futures needs a context: set lookback"],
    ),
    "copies": (
        "ou-generation",
        "horizon = 64",
        "horizon = 64\nmax_memorised = 1.5",
        ["contract.max_memorised", "less than 1"],
    ),
    "horizons": (
        "treasury-forecast",
        "horizon = 5",
        "horizon = 5\nhorizons = [5, 1]",
        ["horizons must increase and end with horizon = 5"],
    ),
    "pooled": ("treasury-forecast", "horizon = 5", "horizon = 5\npooled = true", ["pooled needs horizon = 1"]),
    "graphs of levels": (
        "treasury-forecast",
        "horizon = 5",
        "horizon = 5\ngraph_window = 9",
        ["graph_window goes with value_semantics = 'realised_vol'"],
    ),
    "no split": (
        "treasury-forecast",
        "[metadata.openfingym.split]",
        "[metadata.openfingym.splt]",
        ["unknown key; did you mean 'split'"],
    ),
    "split of a graph": (
        "cert-fraud",
        "[metadata.openfingym.contract]",
        SPLIT + "[metadata.openfingym.contract]",
        ["split: labels of a graph"],
    ),
    "dates of a graph": (
        "cert-fraud",
        'name = "cert"',
        'name = "cert"\nfirst = 2020-01-01',
        ["first and last choose rows of a panel"],
    ),
    "period": (
        "treasury-forecast",
        'name = "ust-par-yields"',
        'name = "ust-par-yields"\nfirst = 2012-01-01\nlast = 2010-01-01',
        ["must not be after last"],
    ),
    "baseline of another kind": (
        "treasury-forecast",
        '"naive"',
        '"gaussian"',
        ["scoring.baseline is 'gaussian', but that of a forecast task is 'naive'"],
    ),
    "no baseline": ("treasury-forecast", 'baseline = "naive"\n', "", ["scoring.baseline: required, but not there"]),
    "family of another kind": (
        "cert-fraud",
        'family = "fraud"',
        'family = "forecasting"',
        ["a nodes task is of the family 'fraud'"],
    ),
    "no panel": ("cert-fraud", "panel = ", "panl = ", ["panel: required", "did you mean 'panel'"]),
    "unknown family of scores": (
        "treasury-forecast",
        'family = "F2"',
        'family = "F22"',
        ["unknown family 'F22'; known: F1, F2"],
    ),
    "metrics of another family": (
        "treasury-forecast",
        'family = "F2"',
        'family = "F1"',
        ["the weights of F1 are mae 0.35, rmse 0.25"],
    ),
    "negative relative weight": (
        "cert-fraud",
        "weight = 0.5",
        "weight = 0.5\nrelative_weight = -1.0",
        ["relative_weight", "greater than or equal to 0"],
    ),
    "nothing ranks": (
        "cert-fraud",
        "weight = 0.5",
        "weight = 0.5\nrelative_weight = 0.0",
        ["nothing would be scored or ranked"],
    ),
}


@pytest.mark.parametrize("mistake", OF_A_KIND)
def test_a_mistake_in_what_a_kind_has_of_its_own(mistake: str) -> None:
    name, old, new, expected = OF_A_KIND[mistake]
    text = _file(name)
    assert old in text
    with pytest.raises(TaskError) as caught:
        parse_task_file(text.replace(old, new), PATH)
    for part in expected:
        assert part in str(caught.value)


def test_without_a_family_weights_add_up_to_one(text: str) -> None:
    with pytest.raises(TaskError, match=r"scoring: weights must add up to 1, found 1\.16667"):
        parse_task_file(text.replace('family = "F2"\n', "").replace("weight = 0.333333334", "weight = 0.5"), PATH)


def test_a_family_without_a_weight_is_one_message() -> None:
    text = re.sub(r"\nweight = [0-9.]+", "\nweight = 0.0", _file("ou-generation"))
    with pytest.raises(TaskError, match="nothing would be scored or ranked"):
        parse_task_file(text, PATH)


def test_the_key_is_said_once(text: str) -> None:
    with pytest.raises(TaskError) as caught:
        parse_task_file(text.replace("lookback = 20", "lookback = 0"), PATH)
    assert str(caught.value).count("contract.lookback") == 1
    assert caught.value.key == "metadata.openfingym.contract.lookback"


def test_several_mistakes_are_reported_together(text: str) -> None:
    broken = text.replace("lookback = 20", "lookback = 0").replace("embargo = 5", "embargo = 0")
    with pytest.raises(TaskError) as caught:
        parse_task_file(broken, PATH)
    assert "contract.lookback" in str(caught.value)
    assert "split.embargo" in str(caught.value)


def test_a_folder_without_a_task_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="task new"):
        Task.read(tmp_path)


def test_a_task_without_an_instruction_is_refused(own_task: Path) -> None:
    (own_task / "instruction.md").unlink()
    with pytest.raises(TaskError, match=r"instruction\.md"):
        Task.read(own_task)


def test_the_task_is_frozen(text: str) -> None:
    file = parse_task_file(text, PATH)
    with pytest.raises(ValueError, match="frozen"):
        file.task.version = "2"  # type: ignore[misc]
