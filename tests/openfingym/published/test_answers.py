"""``openfingym published``: a run's last submission or a file, never a verified score."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.kinds import kind_of
from openfingym.packages.build import build
from openfingym.published.answers import run_to_score, score_answer
from openfingym.published.measures import MEASURES
from openfingym.published.protocol import protocol_of
from openfingym.published.sample import SampleWindows, draw
from openfingym.results.result import RolloutResult
from openfingym.results.run_folder import RunFiles, write_run

TASK = "us5-stock-generation"
OPTIONS = ["--metric", "onnd"]


@pytest.fixture(scope="module")
def package(store_home):
    return build(load_task(TASK))


@pytest.fixture(scope="module")
def values(package):
    return kind_of(package.task).naive(
        package.task.spec.contract, package.shown_array, package.manifest.submission_shape
    )


def result(package, **changes):
    known = RolloutResult("r1", TASK, package.manifest.digest, "real", "naive", "inline", 0, "scored")
    return replace(known, **{"submissions_accepted": 2, "total": 1.0, "relative_total": 1.0, **changes})


@pytest.fixture
def run(package, values, tmp_path):
    """Writes the folder of a run whose second submission counts."""

    def write(**changes):
        paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
        for path, array in zip(paths, (np.zeros_like(values), values), strict=True):
            np.save(path, array)
        files = RunFiles({}, "", b"", [], {i + 1: path.read_bytes() for i, path in enumerate(paths)})
        return write_run(tmp_path, result(package, **changes), files).path

    return write


def test_a_run_and_a_file_say_what_they_are_not(package, values, run, tmp_path):
    """Of a run the private walk counts, since what is kept of the public fold may be the baseline's."""
    np.save(tmp_path / "answer.npy", values)
    folder = run()
    before = (folder / "result.json").read_bytes()
    named = [TASK, str(tmp_path / "answer.npy")]
    calls = ([str(folder)], named, [*named, "--truth", str(package.truth)])
    found = [json.loads(CliRunner().invoke(cli, ["published", *call, *OPTIONS, "--json"]).stdout) for call in calls]
    assert found[1] == found[2]
    walked = f"the {package.manifest.n_private} contexts of the private walk alone, and not those of practice"
    assert [line for line in found[0]["differs"] if line not in found[1]["differs"]] == [walked]
    assert found[0]["verified"] is False
    assert found[0]["protocol"] == "high-rank-pcf-gan-stock"
    assert any("the paper has AAPL" in line for line in found[0]["differs"])
    assert (folder / "result.json").read_bytes() == before
    truth = package.read_truth()["real"]
    whole = np.concatenate([package.shown_array("test_inputs"), truth], axis=1)
    drawing = protocol_of(TASK).drawing
    for first, told in ((package.manifest.n_public, found[0]["values"][0]), (0, found[1]["values"][0])):
        own = whole[first:]
        windows = SampleWindows(own, own, values[first:])
        each = [MEASURES["nearest_generated"](draw(drawing, windows, own, r, 0), windows=8000) for r in range(5)]
        assert (told["mean"], told["sd"]) == (pytest.approx(np.mean(each)), pytest.approx(np.std(each)))
    shown = CliRunner().invoke(cli, ["published", str(folder), *OPTIONS]).stdout
    assert "NOT verified scores" in shown
    assert "none were at hand" in shown


def test_an_answer_that_a_verifier_refuses_is_scored_as_published_and_says_so(package, tmp_path):
    train = package.array("train_targets")
    shape = package.manifest.submission_shape
    np.save(tmp_path / "copied.npy", np.resize(train, (shape[0] * shape[1], *shape[2:])).reshape(shape))
    found = score_answer(package, tmp_path / "copied.npy", only=["onnd"])
    assert "a verifier refuses this answer" in found.differs[-1]
    assert "memorised" in found.differs[-1]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"disclosure": "held", "state": "deferred", "total": None, "relative_total": None},
            "held until its season is closed",
        ),
        ({"tape": "fresh"}, "on fresh hidden data"),
        ({"submissions_accepted": 0}, "no accepted submission"),
        ({"submissions_accepted": 3}, "no accepted submission"),
    ],
)
def test_runs_that_cannot_be_scored_again(changes, fault, run):
    with pytest.raises(UsageError, match=fault):
        run_to_score(run(**changes))


def test_of_a_run_with_practice_the_walk_that_counts_is_scored(run):
    assert run_to_score(run(submissions_accepted=1))[1].name == "2.npy"


def test_a_link_in_a_strangers_run_is_not_followed(package, run):
    folder = run()
    kept = folder / "submissions" / "2.npy"
    kept.unlink()
    kept.symlink_to(package.truth / "real.npy")
    with pytest.raises(UsageError, match="no accepted submission"):
        run_to_score(folder)
    kept.unlink()
    os.mkfifo(kept)
    with pytest.raises(UsageError, match="no accepted submission"):
        run_to_score(folder)


def test_a_run_on_other_hidden_data_is_refused(run):
    told = CliRunner().invoke(cli, ["published", str(run(task_digest="0" * 64)), *OPTIONS])
    assert "its hidden data is not here" in str(told.exception)
